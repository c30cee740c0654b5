"""Opening the network that was chosen: TensorFlow's at once, those of other engines through the cache."""

from collections.abc import Callable
from dataclasses import replace

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.calibration import calibration_id, chosen_pictures
from ssd_detect.engines.converted import MODEL, REFERENCE, prepare, room_explained
from ssd_detect.engines.entry import PROOFS, Entry
from ssd_detect.engines.network import Network
from ssd_detect.engines.packages import CONVERTER, imported, install_line
from ssd_detect.engines.processor import processor_id, within_cores
from ssd_detect.engines.superseded import form_name, remove_older_forms, remove_older_models
from ssd_detect.engines.support import check_supported
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.optional_packages import explained_import
from ssd_detect.settings import SessionSettings

_Note = Callable[[str], None]


def open_network(checkpoint: Checkpoint, settings: SessionSettings, on_note: _Note = lambda line: None) -> Network:
    """The network of a checkpoint, on the engine that was chosen; only TensorFlow's own imports TensorFlow.

    Args:
        checkpoint: what to run.
        settings: engine, device, threads, precision.
        on_note: is told what takes long, and which engine `auto` has chosen when it has measured.

    Raises:
        SettingError: engine, precision and device do not go together.
        MissingPackageError: the engine, or what converts for it, is not installed.
        DeviceError: the device is not there; the engine fails, or computes other numbers than TensorFlow.
        OutputError: the cache cannot be written.
    """
    check_possible(settings)
    settings = _within_cores(settings, on_note)
    if settings.engine is EngineName.AUTO:
        from ssd_detect.engines.choice import choose

        settings = replace(settings, engine=choose(checkpoint, settings, on_note))
    if settings.engine is EngineName.TENSORFLOW:
        from ssd_detect.model.session import NetworkSession

        return NetworkSession(checkpoint, settings)
    imported(settings.engine)  # before the conversion, which would be for nothing
    if settings.engine is EngineName.ONNXRUNTIME:
        from ssd_detect.engines.onnxruntime_network import uses_cpu

        uses_cpu(settings)
    with room_explained(checkpoint):
        entry = prepare(checkpoint, settings.engine, on_note)
        return open_converted(entry, model_of(entry, checkpoint, settings, on_note), settings, on_note)


def check_possible(settings: SessionSettings) -> None:
    """Refuse what can be refused before all that takes long.

    Raises:
        SettingError: as `check_supported`; the folder of calibration pictures holds none.
    """
    check_supported(settings)
    if settings.calibration is not None:
        chosen_pictures(settings.calibration)


def _within_cores(settings: SessionSettings, on_note: _Note) -> SessionSettings:
    possible = within_cores(settings)
    if possible != settings:
        cores = possible.intra_op_threads
        on_note(f"{settings.intra_op_threads} threads asked for, {cores} taken: one for each core there is to use")
    return possible


def model_of(entry: Entry, checkpoint: Checkpoint, settings: SessionSettings, on_note: _Note) -> str:
    """The name of the entry's file in the precision that is wanted, made if need be.

    Raises:
        SsdDetectError: as the quantiser, and the reader of the calibration pictures.
    """
    name = _model_name(settings)
    if settings.precision is Arithmetic.INT8 and not entry.has(name):
        needs = f"int8 needs the package {CONVERTER}, which it is written with"
        with explained_import(CONVERTER, CONVERTER, needs, install_line(settings.engine)):
            from ssd_detect.engines.quantised import calibration_inputs, quantised_onnx

        inputs = calibration_inputs(settings, checkpoint.spec, on_note)
        on_note(f"{settings.engine.value}: calibrating {checkpoint.name} for int8 (once, about a minute)")
        entry.made(name, lambda path: quantised_onnx(entry.path(MODEL), path, inputs))
        remove_older_models(entry, name)
    return name


def _model_name(settings: SessionSettings) -> str:
    return f"int8-{calibration_id(settings.calibration)}.onnx" if settings.precision is Arithmetic.INT8 else MODEL


def is_ready(entry: Entry, settings: SessionSettings) -> bool:
    """Whether the network is there for the engine of `settings`, and proved, so that nothing need be written."""
    model = _model_name(settings)
    begin, end = f"{settings.engine.value} ", f" {settings.precision.value} {model} {processor_id()}"
    is_proved = any(name.startswith(begin) and name.endswith(end) for name in entry.told(PROOFS))
    return is_proved and all(entry.has(name) for name in (MODEL, REFERENCE, model))


def open_converted(entry: Entry, model: str, settings: SessionSettings, on_note: _Note = lambda line: None) -> Network:
    """The network in the entry's file `model`, proved if it has not been on this machine, which `on_note` hears.

    Raises:
        MissingPackageError, DeviceError: as `open_network`.
    """
    network = _loaded(entry, model, settings)
    name = f"{' '.join(map(_word, network.runs_on))} {model} {processor_id()}"
    try:
        if name not in entry.told(PROOFS):
            from ssd_detect.engines.proving import prove
            from ssd_detect.engines.reference import read_reference

            on_note(f"{settings.engine.value}: proving that it finds what TensorFlow does (once, some seconds)")
            entry.note(PROOFS, name, prove(network, read_reference(entry.path(REFERENCE)))._asdict())
    except BaseException:
        network.close()
        raise
    return network


def _word(value: str) -> str:
    return getattr(value, "value", value)


def _loaded(entry: Entry, model: str, settings: SessionSettings) -> Network:
    if settings.engine is EngineName.OPENCV:
        from ssd_detect.engines.opencv_network import OpenCvNetwork

        return OpenCvNetwork(entry.path(model), settings)
    name = form_name(settings.engine, imported(settings.engine).__version__, model)
    is_known = entry.path(name).exists()
    network = (_openvino if settings.engine is EngineName.OPENVINO else _onnxruntime)(entry, model, name, settings)
    if not is_known:
        remove_older_forms(entry, settings.engine, model)
    return network


def _openvino(entry: Entry, model: str, name: str, settings: SessionSettings) -> Network:
    from ssd_detect.engines.openvino_network import OpenVinoNetwork

    return OpenVinoNetwork(entry.path(model), settings, entry.path(name))


def _onnxruntime(entry: Entry, model: str, name: str, settings: SessionSettings) -> Network:
    from ssd_detect.engines.onnxruntime_network import OnnxRuntimeNetwork, uses_cpu, write_optimised

    path = entry.path(model)
    if not uses_cpu(settings):
        return OnnxRuntimeNetwork(path, settings)
    optimised = entry.made(name, lambda target: write_optimised(path, target))
    return OnnxRuntimeNetwork(optimised, settings, is_optimised=True)

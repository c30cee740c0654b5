"""What engines refuse before anything takes long, and what goes wrong outside of them: packages, room on the disk."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines import packages
from ssd_detect.engines.activation_ranges import activation_ranges
from ssd_detect.engines.converted import entry_of, prepare, weights_file
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.open import model_of, open_network
from ssd_detect.engines.reference import compute_reference
from ssd_detect.environment import Terminated, import_untracked
from ssd_detect.errors import DeviceError, MissingPackageError, OutputError, SettingError
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.conversion.convert import _format
from ssd_detect.model.conversion.settings import FileFormat
from ssd_detect.optional_packages import explained_import
from ssd_detect.settings import CheckpointSettings, Device, SessionSettings

ENGINES = (EngineName.ONNXRUNTIME, EngineName.OPENVINO, EngineName.OPENCV)
CPU = SessionSettings(Device("cpu"))


@pytest.fixture(scope="module")
def checkpoint(seeded_checkpoint: Callable[[int], Path]) -> Checkpoint:
    return load_checkpoint(CheckpointSettings(str(seeded_checkpoint(300))))


def imported_anew(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this test; what comes of that is forgotten at its end."""
    monkeypatch.setitem(sys.modules, module, sys)
    monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raise ImportError('libfoo.so: no such file')", "libfoo.so: no such file"),
        ("raise RuntimeError('boom\\nand more')", "RuntimeError: boom"),
        ("raise KeyError()", "KeyError"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("dnn = InferenceSession = Core = None", "AttributeError: module '{}' has no attribute '__version__'"),
    ],
)
def test_a_broken_package(
    engine: EngineName,
    fault: str,
    reason: str,
    checkpoint: Checkpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is there, and fails inside, as for want of a library of the system; installing it changes nothing."""
    module = packages.PACKAGES[engine].module
    (tmp_path / f"{module}.py").write_text(fault)
    monkeypatch.syspath_prepend(str(tmp_path))
    imported_anew(module, monkeypatch)
    with pytest.raises(DeviceError) as caught:
        open_network(checkpoint, replace(CPU, engine=engine))
    assert str(caught.value) == (
        f"engine {engine.value} needs the package {module}, which is installed but does not start "
        f"({reason.format(module)}): pip install --force-reinstall {packages._installed(engine)}"
    )


def test_what_a_removed_package_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of that name, and nothing in it."""
    for engine in ENGINES:
        module, _, _, (part, _) = packages.PACKAGES[engine]
        (tmp_path / f"{module}.py").touch()
        monkeypatch.syspath_prepend(str(tmp_path))
        imported_anew(module, monkeypatch)
        with pytest.raises(DeviceError, match=f"module '{module}' has no attribute '{part}'"):
            packages.imported(engine)


def test_the_end_of_the_process_is_not_the_packages_fault() -> None:
    with pytest.raises(Terminated), explained_import("runtime", "runtime-gpu", "needs it", "pip install it"):
        raise Terminated(143)


def test_int8_with_a_broken_onnx(checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    int8 = replace(CPU, engine=EngineName.OPENVINO, precision=Arithmetic.INT8)
    for name in [name for name in sys.modules if name.split(".")[0] == "onnx" or "ssd_detect.engines.q" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "ssd_detect.engines.activation_ranges", raising=False)
    (tmp_path / "onnx.py").write_text("raise OSError(28, 'No space left on device')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(DeviceError, match=r"int8 needs the package onnx, .* does not start \(OSError: .*install onnx$"):
        model_of(Entry(tmp_path / "entry"), checkpoint, int8, lambda line: None)


def test_a_broken_dependency_of_a_package() -> None:
    with (
        pytest.raises(DeviceError, match=r"\(No module named 'no_such'\): pip install --force-reinstall runtime-gpu$"),
        explained_import("runtime", "runtime-gpu", "needs it", "pip install it"),
    ):
        raise ModuleNotFoundError("No module named 'no_such'", name="no_such")


@pytest.mark.parametrize(
    ("module", "use", "needs"),
    [
        ("onnxruntime", lambda: _format(FileFormat.ONNX), "ONNX files need the package onnxruntime, for their proof"),
        ("onnx", lambda: _format(FileFormat.ONNX), "ONNX files need the package onnx"),
        ("onnxruntime", lambda: _ranges(), "int8 needs the package onnxruntime, which calibrates it"),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_packages_that_convert(
    module: str,
    use: Callable[[], object],
    needs: str,
    is_there: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (module, "ssd_detect.model.conversion.to_onnx"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    if is_there:
        (tmp_path / f"{module}.py").write_text("raise RuntimeError('boom')")
        monkeypatch.syspath_prepend(str(tmp_path))
        with pytest.raises(DeviceError) as broken:
            use()
        expected = "which is installed but does not start (RuntimeError: boom): pip install --force-reinstall"
        assert str(broken.value) == f"{needs}, {expected} {module}"
        return
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as missing:
        use()
    assert str(missing.value).startswith(f"{needs} (")
    assert str(missing.value).endswith('): pip install "ssd-detect[onnx]"')


def _ranges() -> object:
    import onnx

    return activation_ranges(onnx.ModelProto(), [], [])


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits there")
def test_no_room(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    never_made = replace(checkpoint, sha256="01" * 32)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot be written: .* up to \d\d\d MB there: SSD_DETECT_HOME "):
            open_network(never_made, replace(CPU, engine=EngineName.OPENCV))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not entry_of(never_made).folder.exists()

    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    with pytest.raises(OutputError, match=r"1 MB are free; networks for other engines take up to"):
        open_network(never_made, replace(CPU, engine=EngineName.OPENCV))
    assert not entry_of(never_made).folder.exists()


def test_a_cache_that_is_removed_while_a_network_is_made(tmp_path: Path) -> None:
    """Nobody is to be sent to look for faults of TensorFlow."""
    (tmp_path / "entry").mkdir()
    weights = tmp_path / "entry" / "weights.safetensors"
    weights.write_bytes(b"none")  # the child comes to it after half a second
    Timer(0.2, lambda: shutil.rmtree(tmp_path / "entry")).start()
    with pytest.raises(OutputError, match=r"entry: was removed while a network was made ready there; start again"):
        compute_reference(weights, tmp_path / "entry" / "reference.npz")


def test_an_empty_folder_for_calibration_is_refused_before_all_else(checkpoint: Checkpoint, tmp_path: Path) -> None:
    never_made, told = replace(checkpoint, sha256="02" * 32), list[str]()
    asked = replace(CPU, engine=EngineName.OPENVINO, precision=Arithmetic.INT8, calibration=tmp_path)
    with pytest.raises(SettingError, match=r"empty folder, expected pictures in it; int8 is calibrated with up to 64"):
        open_network(never_made, asked, told.append)
    assert (told, entry_of(never_made).folder.exists()) == ([], False)


def test_a_precision_of_gpus_is_refused_before_all_else(checkpoint: Checkpoint) -> None:
    if "CUDAExecutionProvider" in import_untracked("onnxruntime").get_available_providers():
        return
    never_made, told = replace(checkpoint, sha256="03" * 32), list[str]()
    asked = SessionSettings(engine=EngineName.ONNXRUNTIME, precision=Arithmetic.TF32)
    with pytest.raises(SettingError, match="onnxruntime computes with tf32 on GPUs only, not on the CPU"):
        open_network(never_made, asked, told.append)
    assert (told, entry_of(never_made).folder.exists()) == ([], False)


def test_what_takes_long_is_told(checkpoint: Checkpoint) -> None:
    """Once; and again, with the reason, where a file of the cache is no longer what it was."""
    told: list[str] = []
    fresh = replace(checkpoint, sha256="04" * 32)
    settings = replace(CPU, engine=EngineName.OPENCV)
    ready = f"opencv: making {checkpoint.name} ready"
    proving = "opencv: proving that it finds what TensorFlow does (once, some seconds)"
    open_network(fresh, settings, told.append).close()
    assert told == [f"{ready} (once; up to a minute)", proving]
    open_network(fresh, settings, told.append).close()
    assert len(told) == 2
    entry = entry_of(fresh)
    for name in (".reference.0123abcd.safetensors", ".auto.0123abcd.safetensors"):  # of runs that were killed
        entry.path(name).write_bytes(b"half")
    entry.path("reference.npz").write_bytes(b"damaged")
    prepare(fresh, EngineName.OPENCV, told.append)
    assert told[2:] == [f"{ready} (anew, since what was kept is damaged; up to a minute)"]
    with weights_file(fresh, entry.path("auto.safetensors")):
        assert len(list(entry.folder.glob(".*"))) == 1
    assert not list(entry.folder.glob(".*"))

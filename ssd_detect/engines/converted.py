"""Networks made ready for engines other than TensorFlow, in a cache: converted once for each checkpoint.

An entry holds `model.onnx`, the network, and `reference.npz`, what TensorFlow computes with it, against which every
engine is proved before its first use; besides, what single engines leave there to start quicker.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from ssd_detect import __version__
from ssd_detect.conventions import EngineName
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.packages import CONVERTER, install_line
from ssd_detect.engines.reference import compute_reference
from ssd_detect.engines.superseded import NETWORK_DIGITS, remove_older_entries
from ssd_detect.environment import engine_cache
from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing, remove_leftovers, scratch_file
from ssd_detect.hashing import feed
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.spec import network
from ssd_detect.optional_packages import explained_import

MODEL = "model.onnx"
REFERENCE = "reference.npz"
_REFERENCE_WEIGHTS = "reference.safetensors"
_CODE_DIGITS = 8
_REST_BYTES = 20_000_000  # the reference's arrays, the records
_PACKAGE = Path(__file__).parent.parent
# What files of the cache, and whether they are proved, depend on. Our version tells that too, but not while we develop.
_MAKERS = (
    "boxes/anchors.py",
    "boxes/toss_ups.py",
    "model/spec.py",
    "model/graph.py",
    "model/resize.py",
    "model/conversion/onnx_nodes.py",
    "model/conversion/proof.py",
    "model/conversion/quantise.py",
    "model/conversion/to_onnx.py",
    "engines/activation_ranges.py",
    "engines/converted.py",
    "engines/entry.py",
    "engines/proving.py",
    "engines/qdq_nodes.py",
    "engines/quantised.py",
    "engines/reference.py",
)
_Note = Callable[[str], None]


def entry_of(checkpoint: Checkpoint, on_note: _Note = lambda line: None) -> Entry:
    """Where the network is, or would be. `on_note` hears of waiting for another process."""
    wait = f"waiting for another run that makes {checkpoint.name} ready"
    return Entry(engine_cache() / key_of(checkpoint), lambda: on_note(wait))


def key_of(checkpoint: Checkpoint) -> str:
    """A short name: first for everything that shapes the network, then for the code that writes it.

    The hash of its file does not tell which classes were cut out, nor in which colour order the file was read; the
    kernels that depend on it do.
    """
    head = network(checkpoint.spec.size).heads[-1].scope
    network_digest = hashlib.sha256()
    choices = [checkpoint.sha256, asdict(checkpoint.spec)]
    network_digest.update(json.dumps(choices, sort_keys=True, default=str).encode())
    for name in ("conv1/conv1_1/weights", f"{head}/conv_cls/weights"):
        network_digest.update(checkpoint.variables[name].tobytes())
    code_digest = hashlib.sha256(__version__.encode())
    for name in _MAKERS:
        feed(code_digest, _PACKAGE / name)
    return network_digest.hexdigest()[:NETWORK_DIGITS] + code_digest.hexdigest()[:_CODE_DIGITS]


def prepare(checkpoint: Checkpoint, engine: EngineName, on_note: _Note) -> Entry:
    """The entry with the network and its reference, made if they are not there; TensorFlow is not imported here.

    Args:
        checkpoint: what to convert.
        engine: for which, in words to the user.
        on_note: is told what takes long.

    Raises:
        MissingPackageError: the package that writes ONNX files is not installed.
        OutputError: the cache cannot be written.
        DeviceError: TensorFlow fails to compute the reference; the converter does not start.
    """
    entry = entry_of(checkpoint, on_note)
    missing = [name for name in (MODEL, REFERENCE) if not entry.has(name)]
    if missing:
        is_damaged = any(entry.path(name).exists() for name in missing)
        again = "anew, since what was kept is damaged" if is_damaged else "once"
        on_note(f"{engine.value}: making {checkpoint.name} ready ({again}; up to a minute)")
        try:
            _check_room(entry, checkpoint)
            entry.made(MODEL, lambda path: _convert(checkpoint, path, engine))
            entry.made(REFERENCE, lambda path: _refer(checkpoint, entry, path))
        finally:
            with suppress(OSError):  # it is not empty, or not there
                entry.folder.rmdir()
        remove_older_entries(entry)
    with suppress(OSError):  # another user's
        entry.folder.touch()  # used now: the time by which old ones go
    return entry


@contextmanager
def room_explained(checkpoint: Checkpoint) -> Iterator[None]:
    """Where the block, which makes or opens the checkpoint's entry, cannot write, say what it takes.

    Raises:
        OutputError: it cannot.
    """
    try:
        yield
    except OutputError as error:
        megabytes = round(_bytes_needed(checkpoint) / 1e6)
        raise OutputError(
            f"{error}; networks for other engines take up to {megabytes} MB there: SSD_DETECT_HOME names another "
            "place, and --engine tensorflow needs none"
        ) from error


def _check_room(entry: Entry, checkpoint: Checkpoint) -> None:
    place = next(path for path in (entry.folder, *entry.folder.parents) if path.is_dir())
    with suppress(OSError):  # a file system that does not tell
        free = shutil.disk_usage(place).free
        if free < _bytes_needed(checkpoint):
            raise OutputError(f"{entry.folder}: cannot be written: {free / 1e6:.0f} MB are free")


def _bytes_needed(checkpoint: Checkpoint) -> int:
    """Of the network, of the weights that TensorFlow gets meanwhile or an engine's own form, and of the rest."""
    weights = sum(values.nbytes for values in checkpoint.variables.values())
    return 2 * weights + _REST_BYTES


def _convert(checkpoint: Checkpoint, path: Path, engine: EngineName) -> None:
    from ssd_detect.model.conversion.outgoing import outgoing_of

    needs = f"engine {engine.value} needs the package {CONVERTER}, which converts the network for it"
    with explained_import(CONVERTER, CONVERTER, needs, install_line(engine)):
        from ssd_detect.model.conversion.to_onnx import write_onnx
    write_onnx(path, outgoing_of(checkpoint))


def _refer(checkpoint: Checkpoint, entry: Entry, path: Path) -> None:
    with weights_file(checkpoint, entry.path(_REFERENCE_WEIGHTS)) as weights:
        compute_reference(weights, path)


@contextmanager
def weights_file(checkpoint: Checkpoint, place: Path) -> Iterator[Path]:
    """A file with the weights and all that is known of them, for a child process; it goes with the block.

    Args:
        checkpoint: whose.
        place: the file is beside it, where nobody else may do the same: what a killed run has left there goes.

    Raises:
        OutputError: the system refuses.
    """
    from ssd_detect.model.conversion.outgoing import outgoing_of
    from ssd_detect.model.conversion.to_safetensors import write_safetensors

    remove_leftovers(place)
    with scratch_file(place) as path:
        with explained_writing(path):
            write_safetensors(path, outgoing_of(checkpoint))
        yield path

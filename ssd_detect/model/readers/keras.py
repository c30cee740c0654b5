"""Keras's files: ssd_keras's `.h5`, Keras 3's `.weights.h5` and `.keras`. h5py runs in a process of its own."""

import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ssd_detect.children import command, signal_of
from ssd_detect.environment import variables
from ssd_detect.model.readers.faults import DamagedError, RefusedError, explained
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.zips import ZIP_ERRORS, open_zip, stored_member

_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_WEIGHTS = "model.weights.h5"

_CHILD = "ssd_detect.model.readers.keras_child"
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "WINDIR", "TMPDIR", "TEMP", "TMP")
_SET_VARIABLES = {
    "HDF5_PLUGIN_PRELOAD": "::",  # no filter that is a program of its own is ever loaded
    "HDF5_USE_FILE_LOCKING": "FALSE",  # network drives that cannot lock
    "OPENBLAS_NUM_THREADS": "1",  # which would reserve memory for each
}
_SECONDS = 20
_BYTES_A_SECOND = 10_000_000
_PATIENCE = 3  # a busy machine gives the child a third of a processor
_INDEX = "index.json"
_TENSORS = "tensors"


@contextmanager
def open_keras(path: Path) -> Iterator[StoredTensors]:
    """The tensors of an HDF5 file of Keras, as `layer/kernel` (HWIO), `layer/bias`, `layer/gamma`.

    Files of weights and of whole models, of Keras 1 to 3; of whole models the optimiser's tensors are counted only, in
    the metadata. The child process reads all tensors at once, into a temporary file as large as the weights.

    Raises:
        CheckpointError: cannot be read, is damaged, is another HDF5 file, or the HDF5 library fails on it.
    """
    with tempfile.TemporaryDirectory(prefix="ssd-detect-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with explained(path, *ZIP_ERRORS):
            tensors = _stored_tensors(path, folder, _ask_child(_hdf5_file(path, folder), folder))
        yield tensors


def _hdf5_file(path: Path, folder: Path) -> Path:
    """The file itself; of a `.keras` zip, its weights, taken out into the folder."""
    with path.open("rb") as file:
        head = file.read(8)
        if head == _HDF5:
            return path.absolute()
        if not head.startswith(_ZIP):
            raise DamagedError("no HDF5 file")
        archive = open_zip(file)
        member = stored_member(archive, _WEIGHTS, most=path.stat().st_size)
        with archive.open(member) as source, (folder / _WEIGHTS).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    return folder / _WEIGHTS


def _ask_child(hdf5: Path, folder: Path) -> Any:
    """What the child's index says."""
    seconds = _SECONDS + hdf5.stat().st_size // _BYTES_A_SECOND
    environment = {name: value for name, value in variables().items() if name in _KEPT_VARIABLES} | _SET_VARIABLES
    try:
        done = subprocess.run(
            command(_CHILD, str(hdf5), str(folder), str(seconds), options=("-I",)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_PATIENCE * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DamagedError(f"the HDF5 library is still busy with it after {_PATIENCE * seconds} s") from error
    index = folder / _INDEX
    if done.returncode != 0 or not index.exists():
        death = signal_of(done.returncode) or f"exit status {done.returncode}"
        raise DamagedError(f"the HDF5 library died of it, {death}")
    return json.loads(index.read_text(encoding="utf-8"))


def _stored_tensors(path: Path, folder: Path, index: Any) -> StoredTensors:
    if "refused" in index:
        raise RefusedError(index["refused"])
    if "damaged" in index:
        raise DamagedError(index["damaged"])
    tensors = index["tensors"]
    shapes = {name: tuple(told["shape"]) for name, told in tensors.items()}
    dtypes = {name: told["dtype"] for name, told in tensors.items()}

    def read(name: str) -> npt.NDArray[np.generic]:
        with explained(path, ValueError):
            count = math.prod(shapes[name])
            values = np.fromfile(folder / _TENSORS, dtypes[name], count, offset=tensors[name]["start"])
            return values.reshape(shapes[name])

    return StoredTensors(index["container"], shapes, dtypes, read, index["metadata"])

"""One way to open every kind of checkpoint."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from ssd_detect.errors import CheckpointError
from ssd_detect.model.locate import FoundCheckpoint, found_file
from ssd_detect.model.readers.archive import unpack
from ssd_detect.model.readers.bundle import open_bundle
from ssd_detect.model.readers.frozen_graph import open_frozen_graph
from ssd_detect.model.readers.safetensors_file import open_safetensors
from ssd_detect.model.readers.saved_model import open_saved_model
from ssd_detect.model.readers.sniff import Kind
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.v1_checkpoint import open_v1_checkpoint

Reader = Callable[[Path], AbstractContextManager[StoredTensors]]


@contextmanager
def open_tensors(found: FoundCheckpoint) -> Iterator[StoredTensors]:
    """The tensors of a checkpoint of any kind.

    Raises:
        CheckpointError: damaged, or of a kind that cannot be read here.
    """
    with _reader(found.kind)(found.path) as tensors:
        yield tensors


def _reader(kind: Kind) -> Reader:
    """The readers of other frameworks' files are imported when there is such a file: they import more."""
    if kind == "caffe":
        from ssd_detect.model.readers.caffe import open_caffe

        return open_caffe
    if kind == "pytorch":
        from ssd_detect.model.readers.pytorch import open_pytorch

        return open_pytorch
    if kind == "keras":
        from ssd_detect.model.readers.keras import open_keras

        return open_keras
    return _READERS[kind]


@contextmanager
def open_zipped(path: Path) -> Iterator[StoredTensors]:
    """The tensors of the one checkpoint in a zip, which is unpacked into a temporary folder.

    Raises:
        CheckpointError: as `open_tensors`, or the zip cannot be unpacked; names the zip.
    """
    with tempfile.TemporaryDirectory(prefix="ssd-detect-", ignore_cleanup_errors=True) as folder:
        unpacked = unpack(path, Path(folder))
        try:
            with open_tensors(found_file(unpacked)) as tensors:
                yield replace(tensors, container=f"{tensors.container} in a zip")
        except CheckpointError as error:
            raise CheckpointError(str(error).replace(str(Path(folder)), f"{path}")) from error


_READERS: Mapping[Kind, Reader] = {
    "tensorflow": open_bundle,
    "tensorflow-v1": open_v1_checkpoint,
    "saved-model": open_saved_model,
    "frozen-graph": open_frozen_graph,
    "safetensors": open_safetensors,
    "zip": open_zipped,
}

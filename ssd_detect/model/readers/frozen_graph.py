"""Frozen graphs: `.pb` files in which TensorFlow's variables have become constants of the same names."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssd_detect.model.readers.faults import explained, opened
from ssd_detect.model.readers.graph_constants import constants, stored_constants
from ssd_detect.model.readers.protos import whole
from ssd_detect.model.readers.stored import StoredTensors


@contextmanager
def open_frozen_graph(path: Path) -> Iterator[StoredTensors]:
    """The constants of the graph in the file `path`.

    Raises:
        CheckpointError: no such graph, or a damaged one.
    """
    with opened(path) as file:
        with explained(path):
            found = constants(whole(file))
        yield stored_constants(path, "TensorFlow frozen graph", found)

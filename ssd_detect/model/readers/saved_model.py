"""SavedModel folders: `saved_model.pb`, which holds graphs, and beside it the variables as a V2 checkpoint.

Source: `saved_model.proto` and `meta_graph.proto` of TensorFlow, and its guide to the format.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ssd_detect.model.readers.bundle import open_bundle
from ssd_detect.model.readers.faults import explained, opened
from ssd_detect.model.readers.graph_constants import Constant, constants, stored_constants
from ssd_detect.model.readers.protos import Message, parts, whole
from ssd_detect.model.readers.stored import StoredTensors

_CONTAINER = "TensorFlow SavedModel"


@contextmanager
def open_saved_model(folder: Path) -> Iterator[StoredTensors]:
    """The weights of the SavedModel in `folder`: its variables, or, where it has none to speak of, its constants.

    Raises:
        CheckpointError: no SavedModel, or a damaged one.
    """
    prefix = folder / "variables" / "variables"
    if prefix.with_suffix(".index").exists():
        with open_bundle(prefix) as variables:
            if any(variables.shapes.values()):  # not only counters, which are scalars
                yield replace(variables, container=_CONTAINER)
                return
    path = folder / "saved_model.pb"
    with opened(path) as file:
        with explained(path):
            found = _constants(whole(file))
        yield stored_constants(path, _CONTAINER, found)


def _constants(saved_model: Message) -> Mapping[str, Constant]:
    found: dict[str, Constant] = {}
    for meta_graph in parts(saved_model, 2):
        for graph in parts(meta_graph, 2):
            found = {**constants(graph), **found}
    return found

"""The numbers of a checkpoint's variables: read when asked for, brought to our type and layout, and looked through."""

import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ssd_detect.arrays import Floats
from ssd_detect.conventions import ColourOrder
from ssd_detect.errors import CheckpointError
from ssd_detect.files import file_stamp
from ssd_detect.model import naming
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.recognise import Recognised
from ssd_detect.model.spec import variable_shapes

SCALE_SUFFIX = "/scale"
"""Added to an int8 kernel's name: the variable that holds its scales."""

_FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})


@dataclass(frozen=True)
class StoredNetwork:
    """Which tensors of an open file are a network, and how.

    Args:
        path: of the file, for messages.
        tensors: the open file.
        network: what was recognised in it.
        colour_order: of the file's first convolution.
    """

    path: Path
    tensors: StoredTensors
    network: Recognised
    colour_order: ColourOrder

    @property
    def names(self) -> Mapping[str, str]:
        """Our name below the root -> name in the file."""
        return self.network.names

    def check_types(self) -> None:
        """Find what the types and shapes tell already; nothing is read.

        Raises:
            CheckpointError: no floating-point numbers; an int8 kernel without the scales of its output channels.
        """
        shapes = variable_shapes(self.network.size, self.network.num_classes)
        for ours, native in self.names.items():
            dtype = self.tensors.dtypes[native]
            if dtype == "int8":
                self._check_scales(native + SCALE_SUFFIX, shapes[ours][-1:])
            elif dtype not in _FLOATING:
                raise CheckpointError(f"{self.path}: variable {native} holds {dtype}, expected floating-point numbers")

    def _check_scales(self, name: str, expected: tuple[int, ...]) -> None:
        actual = self.tensors.shapes.get(name)
        if actual != expected:
            found = "is missing" if actual is None else f"has shape {actual}"
            raise CheckpointError(f"{self.path}: variable {name} {found}, expected shape {expected}")

    def read(self, ours: str) -> Floats:
        """One variable by our name: float32, kernels HWIO, the first one's inputs RGB.

        An int8 kernel is multiplied by the float32 factors of its output channels, stored beside it as `name`/scale.

        Raises:
            CheckpointError: damaged; infinite or undefined numbers.
        """
        native = self.names[ours]
        values = naming.to_ours(self.tensors.read(native), ours, self.network.source, self.colour_order)
        if self.tensors.dtypes[native] == "int8":
            values *= np.asarray(self.tensors.read(native + SCALE_SUFFIX), np.float32)
        if not np.isfinite(values).all():
            raise CheckpointError(
                f"{self.path}: variable {native} holds infinite or undefined numbers: damaged, or a training that "
                "diverged"
            )
        if ours.endswith("/weights") and not values.any():
            raise CheckpointError(
                f"{self.path}: variable {native} holds nothing but zeros: damaged, or a download that did not end"
            )
        return values


def scale_names(tensors: StoredTensors, names: Iterable[str]) -> set[str]:
    """Of the factors that belong to those of `names` that are int8."""
    return {name + SCALE_SUFFIX for name in names if tensors.dtypes[name] == "int8"}


class StoredVariables(Mapping[str, Floats]):
    """The variables of a checkpoint by our names: float32, kernels HWIO, the first one's inputs RGB.

    The names are there at once. The numbers of a variable are read and looked through at the first access to it, from
    any thread, and kept. The file stays open (a zip stays unpacked) until all are read, one fails, or this object goes.

    Args:
        network: what to read.
        stamps: each of the checkpoint's files -> its `files.file_stamp` before anything of it was read.
        stack: closes the file.

    Raises:
        CheckpointError: at an access, and at each one after that: as `StoredNetwork.read`, or the files are not those
            any more whose hash is known.
    """

    def __init__(self, network: StoredNetwork, stamps: Mapping[Path, str], stack: ExitStack) -> None:
        self._network = network
        self._stamps = stamps
        self._stack = stack
        self._lock = threading.Lock()
        self._values: dict[str, Floats] = {}
        self._fault: CheckpointError | None = None
        weakref.finalize(self, stack.close)

    def __iter__(self) -> Iterator[str]:
        return iter(self._network.names)

    def __len__(self) -> int:
        return len(self._network.names)

    def __contains__(self, name: object) -> bool:
        return name in self._network.names

    def __getitem__(self, name: str) -> Floats:
        if name not in self:
            raise KeyError(name)
        with self._lock:
            if name not in self._values:
                self._values[name] = self._read(name)
                if len(self._values) == len(self):
                    self._stack.close()
            return self._values[name]

    def _read(self, name: str) -> Floats:
        if self._fault is not None:
            raise self._fault
        try:
            return self._explained(name)
        except CheckpointError as fault:
            self._fault = fault
            raise

    def _explained(self, name: str) -> Floats:
        """The reader of zips, which is inside the stack, puts the zip's name into an error in place of its own."""
        try:
            values = self._read_whole(name)
            self._check_stamps()
        except CheckpointError:
            with self._stack:
                raise
        return values

    def _read_whole(self, name: str) -> Floats:
        try:
            return self._network.read(name)
        except CheckpointError:
            if all(path.is_file() for path in self._stamps):
                self._check_stamps()  # a file that was changed meanwhile only seems damaged
            raise

    def _check_stamps(self) -> None:
        for path, stamp in self._stamps.items():
            if file_stamp(path) != stamp:
                raise CheckpointError(f"{path}: was changed while it was being read; try again once it is whole")

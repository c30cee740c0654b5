"""`.safetensors` files, by their own library."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors

from ssd_detect.model.readers.faults import DamagedError, explained
from ssd_detect.model.readers.stored import StoredTensors
from ssd_detect.model.readers.tensor_protos import Described, array_of

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_LIBRARY_ERRORS = (safetensors.SafetensorError, UnicodeDecodeError)


@contextmanager
def open_safetensors(path: Path) -> Iterator[StoredTensors]:
    """The tensors of the file `path`.

    Raises:
        CheckpointError: no such file, or a damaged one.
    """
    with explained(path, *_LIBRARY_ERRORS):
        opened = safetensors.safe_open(path, framework="numpy")
    with opened as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        shapes = {name: tuple(found.get_shape()) for name, found in slices.items()}
        dtypes = {name: _DTYPES.get(found.get_dtype(), found.get_dtype()) for name, found in slices.items()}

        def read(name: str) -> npt.NDArray[np.generic]:
            with explained(path, *_LIBRARY_ERRORS):
                if dtypes[name] == "bfloat16":
                    return _bfloat16(path, name, shapes[name])
                if dtypes[name] not in _DTYPES.values():
                    raise DamagedError(f"values of {dtypes[name]}, expected numbers that NumPy knows")
                values: npt.NDArray[np.generic] = file.get_tensor(name)
                return values

        yield StoredTensors("safetensors", shapes, dtypes, read, file.metadata() or {})


def _bfloat16(path: Path, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.generic]:
    """Read without the library, for which NumPy has no such type; it checked the header when it opened the file."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(header_bytes))
        start, end = header[name]["data_offsets"]
        file.seek(8 + header_bytes + start)
        return array_of(np.frombuffer(file.read(end - start), np.uint8), Described(shape, "bfloat16"))

"""Keys under which TensorFlow's checkpoints keep the pieces of tensors.

Source: TensorFlow's `saved_tensor_slice_util.cc` for the parts and their order, `ordered_code.cc` for how each is
written: so that keys sort by bytes as the parts do.
"""

from collections.abc import Iterable


def slice_key(name: str, extents: Iterable[tuple[int, int]]) -> bytes:
    """The key of the piece of the tensor `name` that has these (start, length) in each dimension; (0, -1) is all."""
    extents = tuple(extents)
    parts = [_number(0), _text(name.encode()), _number(len(extents))]
    parts += [_signed(start) + _signed(length) for start, length in extents]
    return b"".join(parts)


def _number(value: int) -> bytes:
    """An unsigned number: how many bytes, then those, most significant first."""
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _text(value: bytes) -> bytes:
    """UTF-8, which has no byte 255, with an end that nothing inside looks like."""
    return value.replace(b"\x00", b"\x00\xff") + b"\x00\x01"


def _signed(value: int) -> bytes:
    """A signed number; as many leading ones as it has bytes, seven bits of it in each."""
    size = (~value if value < 0 else value).bit_length() // 7 + 1
    ones = ((1 << size) - 1) << (7 * size)  # the marks of the length lie above the bits of the number
    mask = (1 << 8 * size) - 1
    return ((value & mask) ^ ones & mask).to_bytes(size, "big")

"""CRC-32C of megabytes in NumPy: the checksum that TensorFlow keeps of its tensors and of the blocks of its tables.

A CRC is the remainder of a polynomial over GF(2), and a multiple of the generator may take its place until little of
the message is left. One multiple has four terms only, far apart; and since in GF(2) the square of a sum is the sum of
the squares, the multiple of x^m in place of x is one as well, for every power of two m. So a message is shortened by a
few exclusive-ors of long rows of bytes, and what is left goes through the usual table.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

# Castagnoli's polynomial (iSCSI, RFC 3720), with the bits mirrored as the bytes are.
_MIRRORED = 0x82F63B78
# x^5321 + x^3574 + x^2491 + 1 is a multiple of it, found by trying all below x^5400; the tests divide it.
_DEGREE, *_LOWER_TERMS = MULTIPLE = (5321, 3574, 2491, 0)
# Times how many bytes the exponents stand for.
_STRIDES = (32, 4, 1)
_CHUNK = 1 << 22
_MASK_DELTA = 0xA282EAD8


def crc32c(data: npt.NDArray[np.uint8] | bytes | memoryview) -> int:
    """The checksum of bytes, 0 to 2^32 - 1; of no byte at all, 0."""
    message = np.frombuffer(data, np.uint8)
    state = 0xFFFFFFFF
    for start in range(0, len(message), _CHUNK):
        state = _continued(state, message[start : start + _CHUNK])
    return state ^ 0xFFFFFFFF


def unmasked(stored: int) -> int:
    """The checksum that TensorFlow stored: turned by 15 bits and shifted by a constant, as in LevelDB's `crc32c.h`."""
    turned = (stored - _MASK_DELTA) & 0xFFFFFFFF
    return (turned >> 17 | turned << 15) & 0xFFFFFFFF


def _continued(state: int, message: npt.NDArray[np.uint8]) -> int:
    """The CRC register after `message`, when it was `state` before."""
    if len(message) <= _DEGREE:
        return _by_table(state, message.tobytes())
    remainder = message.copy()
    remainder[:4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    for stride in _STRIDES:
        remainder = _shortened(remainder, stride)
    return _by_table(0, remainder.tobytes())


def _shortened(message: npt.NDArray[np.uint8], stride: int) -> npt.NDArray[np.uint8]:
    """The last `_DEGREE` x `stride` bytes, all that came before them worked in; changes `message`."""
    end = len(message) - _DEGREE * stride
    row = (_DEGREE - _LOWER_TERMS[0]) * stride  # so many bytes do not reach each other
    for start in range(0, end, row):
        lead = message[start : min(start + row, end)]
        for term in _LOWER_TERMS:
            place = start + (_DEGREE - term) * stride
            target = message[place : place + len(lead)]
            np.bitwise_xor(target, lead, out=target)
    return message[max(end, 0) :]


@cache
def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_MIRRORED if value & 1 else 0)
        table.append(value)
    return tuple(table)


def _by_table(state: int, message: bytes) -> int:
    table = _table()
    for byte in message:
        state = state >> 8 ^ table[(state ^ byte) & 0xFF]
    return state

"""The checksum of TensorFlow's files: known values, and each length against a division bit by bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.model.readers.crc32c import MULTIPLE, crc32c, unmasked

POLYNOMIAL = 0x11EDC6F41


def bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"a", 0xC1D04330),
        (b"123456789", 0xE3069283),  # the check value of every catalogue of CRCs
        (bytes(32), 0x8A9136AA),  # RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_known_values(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


def test_sparse_multiple_is_a_multiple() -> None:
    remainder = sum(1 << power for power in MULTIPLE)
    for power in range(max(MULTIPLE), 31, -1):
        if remainder >> power & 1:
            remainder ^= POLYNOMIAL << (power - 32)
    assert remainder == 0


@pytest.mark.parametrize("length", [5320, 5321, 5322, 7068, 7069, 21_284, 21_285, 170_272, 170_273, 230_001])
def test_lengths_where_the_way_changes(length: int) -> None:
    data = np.random.default_rng(length).integers(0, 256, length, np.uint8).tobytes()
    assert crc32c(data) == bit_by_bit(data)


@given(st.integers(0, 40_000), st.integers(0, 2**32 - 1))
def test_any_bit_counts(length: int, seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 256, length + 1, np.uint8)
    before = crc32c(data)
    data[seed % len(data)] ^= np.uint8(1 << seed % 8)
    assert crc32c(data) != before


def test_chunks_follow_each_other() -> None:
    """Zeros in front of the last four bytes count as well, and so does what came before them."""
    data = np.zeros((1 << 22) + 3, np.uint8)
    data[0] = 1
    with_one = crc32c(data)
    data[0] = 0
    assert with_one != crc32c(data)
    assert crc32c(data[: 1 << 22]) != crc32c(data)


def test_masked_as_leveldb_does() -> None:
    """LevelDB's own test of its masks says that they differ; this one is worked out by hand."""
    value = 0xE3069283
    masked = (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert unmasked(masked) == value

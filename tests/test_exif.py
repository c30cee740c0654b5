"""EXIF blocks on their bytes: what is kept of them, and what damage does to them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.media.decoding.exif import clean_exif, read_orientation
from tests.made_pictures import exif


class TestCleaning:
    @pytest.mark.parametrize("order", ["<", ">"])
    def test_private_data_stay_at_their_place(self, order: str) -> None:
        """Their makers count bytes from the beginning of the block."""
        block = exif(3, order=order, more={0x927C: b"private data with places"})
        cleaned = clean_exif(block)
        assert cleaned is not None
        assert cleaned.index(b"private data") == block.index(b"private data")

    @given(st.binary(max_size=200))
    def test_any_bytes(self, content: bytes) -> None:
        for head in (b"", b"II*\0", b"MM\0*", b"Exif\0\0II*\0\x08\0\0\0"):
            cleaned = clean_exif(head + content)
            assert cleaned is None or len(cleaned) <= len(head + content) + 10

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=8), st.integers(0, 300))
    def test_damaged_blocks(self, changes: list[tuple[int, int]], length: int) -> None:
        block = bytearray(exif(6, more={0x9286: b"a comment"}))
        for place, value in changes:
            block[6 + place % (len(block) - 6)] = value
        cleaned = clean_exif(bytes(block[:length]))
        assert cleaned is None or clean_exif(cleaned) is not None


class TestOrientation:
    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_is_read(self, order: str, orientation: int) -> None:
        block = exif(orientation, order=order)
        assert read_orientation(block) == orientation
        assert read_orientation(block.removeprefix(b"Exif\0\0")) == orientation

    def test_a_clean_block_has_none(self) -> None:
        cleaned = clean_exif(exif(6))
        assert cleaned is not None
        assert read_orientation(cleaned) == 1

    @pytest.mark.parametrize(("block", "orientation"), [
        (b"", None), (b"Exif\0\0", None), (b"garbage and more", None), (b"II*\0\x08\0\0\0", None),
        (b"II*\0\0\0\0\0\0\0\0\0", None), (b"II*\0\x08\0\0\0\0\0", 1),
        (exif(None), 1), (exif(6)[:40], 6), (exif(6)[:20], None),
        (exif(0), 1), (exif(9), 1),
    ])  # fmt: skip
    def test_when_it_is_not_there(self, block: bytes, orientation: int | None) -> None:
        assert read_orientation(block) == orientation

"""What is kept of a run on disk: segments, there and back, whatever moment the run ended at."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ssd_detect.errors import OutputError
from ssd_detect.media.video.store import SegmentStore, StoredFrame, is_work_folder, work_folder

LENGTH = 4
HEAD = {"of": "these settings"}


def frame(number: int, size: int | None = None) -> StoredFrame:
    record = {"index": number, "detections": [{"class": "naïve \u2028 \U0001f600", "score": 0.25}]}
    return StoredFrame(number * 512 - 600, 512, number % LENGTH == 0, number % 3 if size is None else size, record)


def packet(number: int) -> bytes:
    return bytes([number % 256]) * (number % 3)


def store(folder: Path, head: dict[str, str] = HEAD) -> SegmentStore:
    return SegmentStore(folder, LENGTH, head)


def fill(target: SegmentStore, begin: int, end: int) -> None:
    """Write frames to the last one of the video."""
    with target:
        for number in range(begin, end):
            target.append(frame(number), packet(number))
        target.seal()


def check_whole(folder: Path, count: int) -> None:
    """A run that goes on in `folder` ends with the same as one that was never broken off."""
    target = store(folder)
    done = target.resume() if target.has_segments else 0
    assert done <= count
    assert [*target.packets()] == [(frame(n), packet(n)) for n in range(done)]
    fill(target, done, count)
    assert [*target.packets()] == [(frame(n), packet(n)) for n in range(count)]
    assert [*target.frames()] == [frame(n) for n in range(count)]


class TestThereAndBack:
    @pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 23])
    def test_frames_come_back_as_they_were(self, count: int, tmp_path: Path) -> None:
        target = store(tmp_path / "work")
        assert not target.has_segments
        fill(target, 0, count)
        assert [*target.packets()] == [(frame(n), packet(n)) for n in range(count)]
        assert (target.first(), target.last()) == (frame(0), frame(count - 1))
        assert target.num_frames == count

    def test_nothing(self, tmp_path: Path) -> None:
        target = store(tmp_path / "work")
        with target:
            target.seal()
        target.unseal()
        target.clear()
        assert ([*target.frames()], target.has_segments, target.ended, target.partial_stamp) == ([], False, None, None)
        assert not (tmp_path / "work").exists()

    def test_what_json_cannot_tell(self, tmp_path: Path) -> None:
        with store(tmp_path / "work") as target, pytest.raises(ValueError, match="JSON"):
            target.append(StoredFrame(0, 1, True, 0, {"score": float("nan")}), b"")

    def test_frames_without_packets(self, tmp_path: Path) -> None:
        """A run that writes no video keeps records alone; no key frame is needed for those."""
        with store(tmp_path / "work") as target:
            for number in range(6):
                target.append(StoredFrame(number, 1, False, 0, {"index": number}), b"")
        again = store(tmp_path / "work")
        assert again.resume() == LENGTH
        assert [f.record["index"] for f in again.frames()] == [0, 1, 2, 3]

    def test_a_segment_must_begin_with_a_key_frame(self, tmp_path: Path) -> None:
        with store(tmp_path / "work") as target, pytest.raises(OutputError, match=r"no key frames .* another --codec"):
            target.append(StoredFrame(0, 1, False, 2, {}), b"ab")


class TestResume:
    @pytest.mark.parametrize("count", [1, 3, 4, 5, 9])
    @pytest.mark.parametrize("total", [9, 12])
    def test_killed_between_any_two_frames(self, count: int, total: int, tmp_path: Path) -> None:
        """Files are copied while the run holds them open, with what is still in its buffers lost."""
        target = store(tmp_path / "work")
        for number in range(count):
            target.append(frame(number), packet(number))
        shutil.copytree(tmp_path / "work", tmp_path / "copy")
        target.close()
        shutil.copytree(tmp_path / "work", tmp_path / "closed")
        for folder in ("copy", "closed"):
            check_whole(tmp_path / folder, total)

    def test_killed_while_the_file_was_put_together(self, tmp_path: Path) -> None:
        target = store(tmp_path / "work")
        fill(target, 0, 6)
        target = store(tmp_path / "work")
        target.resume()
        fill(target, 4, 6)
        check_whole(tmp_path / "work", 11)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda folder: (folder / "000001.packets").unlink(),
            lambda folder: (folder / "000001.packets").write_bytes(b"1"),
            lambda folder: (folder / "000001.packets").write_bytes(b"1" * 100),
            lambda folder: (folder / "000001.jsonl").write_bytes(b""),
            lambda folder: (folder / "000001.jsonl").write_bytes(b"\x00" * 300),
            lambda folder: (folder / "000001.jsonl").write_text((folder / "000001.jsonl").read_text()[:-30]),
            lambda folder: (folder / "000001.jsonl").write_text("[1, 2]\n" * LENGTH),
            lambda folder: (folder / "000001.jsonl").unlink(),
        ],
    )
    def test_a_damaged_segment_and_those_behind_it_are_made_again(
        self, damage: Callable[[Path], object], tmp_path: Path
    ) -> None:
        fill(store(tmp_path / "work"), 0, 13)
        damage(tmp_path / "work")
        again = store(tmp_path / "work")
        assert again.resume() == LENGTH
        assert len([*again.frames()]) == LENGTH
        assert [path.name for path in (tmp_path / "work").glob("*.jsonl")] == ["000000.jsonl"]
        check_whole(tmp_path / "work", 15)

    def test_a_damaged_first_segment(self, tmp_path: Path) -> None:
        fill(store(tmp_path / "work"), 0, 9)
        (tmp_path / "work" / "000000.packets").unlink()
        assert store(tmp_path / "work").resume() == 0
        check_whole(tmp_path / "work", 9)

    @pytest.mark.parametrize("head", [{}, {"of": "others"}, {"of": "these settings", "and": "more"}])
    def test_other_settings_are_refused(self, head: dict[str, str], tmp_path: Path) -> None:
        fill(store(tmp_path / "work"), 0, 5)
        with pytest.raises(
            OutputError, match=r"precision \(or its engine or calibration\) or other options; give the same ones"
        ):
            store(tmp_path / "work", head).resume()
        with pytest.raises(OutputError, match="had another input"):
            SegmentStore(tmp_path / "work", LENGTH + 1, HEAD).resume()
        assert store(tmp_path / "work").resume() == LENGTH

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]"])
    def test_a_damaged_head_is_refused(self, content: bytes, tmp_path: Path) -> None:
        fill(store(tmp_path / "work"), 0, 5)
        (tmp_path / "work" / "run.json").write_bytes(content)
        with pytest.raises(OutputError, match="had another input"):
            store(tmp_path / "work").resume()

    def test_unseal_forgets_the_last_segment_only(self, tmp_path: Path) -> None:
        for count, left in ((4, 0), (6, 4), (8, 4)):
            target = store(tmp_path / str(count))
            fill(target, 0, count)
            target.unseal()
            assert store(tmp_path / str(count)).resume() == left


class TestEnd:
    def test_a_run_that_ended_keeps_all_its_records(self, tmp_path: Path) -> None:
        """The last segment is short, and stays: nothing is left to do that would make it anew."""
        target = store(tmp_path / "work")
        fill(target, 0, 6)
        target.end({"lost": None, "frames": 6})
        again = store(tmp_path / "work")
        assert again.resume() == 6
        assert again.ended == {"lost": None, "frames": 6}
        assert [*again.frames()] == [frame(n) for n in range(6)]
        assert not [*(tmp_path / "work").glob("*.packets")]

    def test_notes(self, tmp_path: Path) -> None:
        target = store(tmp_path / "work")
        fill(target, 0, 5)
        target.note_partial("a stamp")
        assert store(tmp_path / "work").partial_stamp == "a stamp"
        assert store(tmp_path / "work").ended is None

    def test_a_folder_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"precious")
        with pytest.raises(OutputError, match="file/work: cannot be written"):
            store(tmp_path / "file" / "work").prepare()
        with pytest.raises(OutputError, match="file/work"):
            store(tmp_path / "file" / "work").append(frame(0), packet(0))
        assert (tmp_path / "file").read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["out.mp4", "x" * 250 + ".mp4", "ü" * 120 + ".mp4", ".hidden", "no suffix"])
def test_work_folders_lie_hidden_beside_the_file(name: str, tmp_path: Path) -> None:
    folder = work_folder(tmp_path / name)
    assert folder.parent == tmp_path
    assert folder.name.startswith(".")
    assert is_work_folder(folder)
    assert not is_work_folder(tmp_path / name)
    folder.mkdir()
    assert work_folder(tmp_path / f"{name[:-1]}_") != folder

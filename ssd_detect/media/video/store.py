"""What is done of a video, kept on disk in segments, so that it survives anything and stays out of memory.

A segment is two files: the encoder's packets one behind the other, and a line of JSON a frame that says when it is
shown, how long its packet is, and what was found in it. A segment is whole when its lines have their final name; each
begins with a key frame, so that another encoder can go on behind it. One packet holds one frame: encoders run without
B-frames, which costs 7 % of size and saves them 23 % of time.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing, shortened

_HEAD = "run.json"
_WORK_SUFFIX = ".ssd-detect"
_END = "end.json"
_PARTIAL = "partial.json"
_SCHEMA = "ssd-detect.video-run/1"


class StoredFrame(NamedTuple):
    """A frame that is done.

    Args:
        pts, duration: in ticks of the run's time base.
        is_key: whether its packet can be decoded without those before.
        size: bytes of its packet; 0 where no video is made.
        record: what was found, ready for JSON.
    """

    pts: int
    duration: int
    is_key: bool
    size: int
    record: Mapping[str, Any]


class SegmentStore:
    """The frames of one video on disk. Use it in a `with` block, which closes its files and keeps them.

    Args:
        folder: of its own; made when the first frame comes.
        length: frames a segment.
        head: what must be equal for a later run to go on with these segments; plain values.

    Raises:
        OutputError: on writing: the system refuses.
    """

    def __init__(self, folder: Path, length: int, head: Mapping[str, Any]) -> None:
        self.folder = folder
        self.length = length
        self._head = {"schema": _SCHEMA, "length": length, **head}
        self.num_frames = 0
        self._lines: TextIO | None = None
        self._packets: BinaryIO | None = None

    def resume(self) -> int:
        """Go on behind the whole segments that are there; returns their frames.

        Raises:
            OutputError: they are of a run with other settings or of another input.
        """
        if _read_json(self.folder / _HEAD) != self._head:
            raise OutputError(
                f"{self.folder}: the run to resume had another input, checkpoint, precision (or its engine or "
                "calibration) or other options; give the same ones, or leave --resume out and use --overwrite"
            )
        if self.ended is None:
            self._drop_damaged_segments()
        self.num_frames = sum(1 for _ in self.frames()) if self.ended is not None else self.length * self._num_whole()
        return self.num_frames

    def _drop_damaged_segments(self) -> None:
        """Forget the first segment that is not whole, and those behind it; they are made again.

        A run that was killed while it put its file together has a short one at its end; a computer that lost its power
        may have others.
        """
        num_good = 0
        while self._is_good(num_good):
            num_good += 1
        for lines in self.folder.glob("*.jsonl"):
            if lines >= self._lines_path(num_good):
                lines.unlink()

    def _is_good(self, number: int) -> bool:
        try:
            lines = self._lines_path(number).read_text(encoding="ascii").splitlines()
            sizes = [StoredFrame(*json.loads(line)).size for line in lines]
            return len(sizes) == self.length and sum(sizes) == self._packets_path(number).stat().st_size
        except (OSError, ValueError, TypeError):
            return False

    def _num_whole(self) -> int:
        number = 0
        while self._lines_path(number).exists():
            number += 1
        return number

    def clear(self) -> None:
        """Forget everything."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.num_frames = 0

    @property
    def has_segments(self) -> bool:
        """Whether there is something to go on with."""
        return self._lines_path(0).exists()

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            OutputError: the system refuses.
        """
        with explained_writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def append(self, frame: StoredFrame, packet: bytes) -> None:
        """Take the next frame."""
        with explained_writing(self.folder):
            if self.num_frames % self.length == 0:
                self._begin_segment(frame)
            if self._lines is None or self._packets is None:
                raise OutputError(f"{self.folder}: is closed")
            self._packets.write(packet)
            self._lines.write(json.dumps(frame, allow_nan=False) + "\n")
        self.num_frames += 1
        if self.num_frames % self.length == 0:
            self.seal()

    def _begin_segment(self, first: StoredFrame) -> None:
        if first.size and not first.is_key:
            raise OutputError(
                f"{self.folder}: the encoder makes no key frames where it is told to; use another --codec"
            )
        if self.num_frames == 0:
            self.prepare()
            (self.folder / _HEAD).write_text(json.dumps(self._head), encoding="utf-8")
        number = self.num_frames // self.length
        self._packets = self._packets_path(number).open("wb")
        self._lines = self._open_lines_path(number).open("w", encoding="ascii")

    def seal(self) -> None:
        """Give the segment its final name, also when it is shorter than the others; then it is the last one."""
        if self._lines is None:
            return
        self.close()
        number = (self.num_frames - 1) // self.length
        with explained_writing(self.folder):
            self._open_lines_path(number).replace(self._lines_path(number))

    def unseal(self) -> None:
        """Forget the last segment, so that a later run makes it anew.

        It may be a short one; and objects in its last frames stand still, for want of a frame behind them.
        """
        self.close()
        with suppress(OSError):
            self._lines_path((self.num_frames - 1) // self.length).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        files, self._lines, self._packets = (self._lines, self._packets), None, None
        for file in files:
            if file is not None:
                with explained_writing(self.folder):
                    file.close()

    def end(self, facts: Mapping[str, Any]) -> None:
        """Note that nothing is left to do, and what came of it; only the records are kept."""
        with explained_writing(self.folder):
            (self.folder / _END).write_text(json.dumps(facts, allow_nan=False), encoding="utf-8")
            for path in self.folder.iterdir():
                if path.is_dir():  # a copy of what was piped in
                    shutil.rmtree(path)
                elif path.suffix not in (".json", ".jsonl"):
                    path.unlink()

    @property
    def ended(self) -> Any:
        """What `end` was told; None while there is something to do."""
        return _read_json(self.folder / _END)

    def note_partial(self, stamp: str) -> None:
        """Note what the file looks like that holds these frames; a run that goes on may replace it."""
        with explained_writing(self.folder):
            (self.folder / _PARTIAL).write_text(json.dumps(stamp), encoding="utf-8")

    @property
    def partial_stamp(self) -> Any:
        """What `note_partial` was told; None when there is no such file."""
        return _read_json(self.folder / _PARTIAL)

    def frames(self) -> Iterator[StoredFrame]:
        """All frames of whole segments, in their order."""
        for number in range(self._num_whole()):
            with self._lines_path(number).open(encoding="ascii") as lines:
                for line in lines:
                    yield StoredFrame(*json.loads(line))

    def first(self) -> StoredFrame:
        """The first frame of all; there must be one."""
        return next(self.frames())

    def last(self) -> StoredFrame:
        """The last one."""
        lines = self._lines_path(self._num_whole() - 1).read_text(encoding="ascii").splitlines()
        return StoredFrame(*json.loads(lines[-1]))

    def packets(self) -> Iterator[tuple[StoredFrame, bytes]]:
        """The same with their packets."""
        for number in range(self._num_whole()):
            with (
                self._lines_path(number).open(encoding="ascii") as lines,
                self._packets_path(number).open("rb") as packets,
            ):
                for line in lines:
                    frame = StoredFrame(*json.loads(line))
                    yield frame, packets.read(frame.size)

    def __enter__(self) -> "SegmentStore":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OutputError):  # what failed was said before
            self.close()

    def _lines_path(self, number: int) -> Path:
        return self.folder / f"{number:06}.jsonl"

    def _open_lines_path(self, number: int) -> Path:
        return self.folder / f"{number:06}.part"

    def _packets_path(self, number: int) -> Path:
        return self.folder / f"{number:06}.packets"


def work_folder(target: Path) -> Path:
    """Where the segments of a file wait: a hidden folder beside it."""
    name = shortened(target.name)
    if name != target.name:  # others may begin in the same way
        name += f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}"
    return target.with_name(f".{name}{_WORK_SUFFIX}")


def is_work_folder(path: Path) -> bool:
    """Whether `work_folder` made the name."""
    return path.suffix == _WORK_SUFFIX


def _read_json(path: Path) -> Any:
    """The value in a file; None when there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None

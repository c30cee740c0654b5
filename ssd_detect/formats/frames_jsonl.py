"""JSON lines of videos: a line of the kind `video` before the frames of each video, then a line of the kind `frame` for
every frame, also for one without detections. `schema/frames.schema.json` describes both.

What is the same for all frames and long (rate, tool, checkpoint, thresholds) stands in the first kind only. A line of
the second kind can still be understood, and read back, by itself: it names its video and the size of its picture.

Times have at most 6 decimals; the rest is as in the JSON lines of pictures, see `jsonl`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.frame_record import FrameRecord, frame_from_dict
from ssd_detect.formats.frame_writer import Frame, FrameFileWriter, values_of
from ssd_detect.formats.json_text import json_line
from ssd_detect.formats.json_values import check_schema, parse_json, text
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.video_head import VideoHead, video_from

SCHEMA = "ssd-detect.frames/1"


def _head_line(video: VideoHead, provenance: Provenance) -> str:
    return json_line({"schema": SCHEMA, "kind": "video", **video.to_dict(), **provenance.to_dict()})


def _frame_line(values: Mapping[str, Any]) -> str:
    return json_line({"schema": SCHEMA, "kind": "frame", **values})


class FrameJsonLinesWriter(FrameFileWriter):
    """Writes JSON lines into a file; `FrameFileWriter` says how it is used.

    Args:
        path: the file.
        provenance: checkpoint and settings of the run.
        overwrite: replace an existing file.
    """

    def __init__(self, path: Path, provenance: Provenance, *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self._provenance = provenance

    def head(self, video: VideoHead) -> bytes:
        """The line of the video."""
        return _head_line(video, self._provenance).encode("ascii")

    def frame(self, values: Mapping[str, Any]) -> bytes:
        """The line of the frame."""
        return _frame_line(values).encode("ascii")


class FrameJsonLinesStream:
    """Appends the same lines to an open text stream, such as standard output, each at once; leaves the stream open."""

    def __init__(self, stream: TextIO, provenance: Provenance) -> None:
        self._stream = stream
        self._provenance = provenance
        self._video: VideoHead | None = None

    def begin(self, video: VideoHead) -> None:
        """The frames that follow are of this video.

        Raises:
            OSError: the stream refuses, for instance since nobody reads it any more.
        """
        self._hand_on(_head_line(video, self._provenance))
        self._video = video

    def append(self, frame: Frame) -> None:
        """Write one frame's line.

        Raises:
            OutputError: the frame is not of the video that was begun.
            OSError: the stream refuses.
        """
        self._hand_on(_frame_line(values_of(frame, self._video)))

    def _hand_on(self, line: str) -> None:
        self._stream.write(line)
        self._stream.flush()


def read_frame_lines(path: Path, class_names: Sequence[str]) -> Iterator[FrameRecord]:
    """The frames of a file of JSON lines, in its order; lines of videos are checked and passed over.

    Raises:
        FormatError: the file is missing, or a line is damaged, of another schema or kind, or of other classes.
    """
    with explained_reading(path), path.open(encoding="utf-8-sig", newline="\n") as lines:
        for line_number, line in enumerate(lines, 1):
            record = _read(line, class_names, f"{path}, line {line_number}")
            if isinstance(record, FrameRecord):
                yield record


def _read(line: str, class_names: Sequence[str], place: str) -> VideoHead | FrameRecord:
    with explained_reading(place):
        value = parse_json(line)
        check_schema(value, SCHEMA)
        kind = text(value, "kind")
        if kind == "video":
            return video_from(value)
        if kind != "frame":
            raise ValueError(f"its kind is {kind!r}, expected 'video' or 'frame'")
        return frame_from_dict(value, class_names, place)

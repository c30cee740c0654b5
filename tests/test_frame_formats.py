"""Results of videos as data: exact files, there and back, schemas, refusals, damage, and sums against a recount."""

import csv
import json
import math
import os
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect import formats
from ssd_detect.classes import VOC20
from ssd_detect.detections import BestGuess, Detections
from ssd_detect.errors import FormatError, OutputError
from ssd_detect.formats.frame_record import FrameRecord, frame_from_dict, frame_to_dict
from ssd_detect.formats.frame_writer import Frame, FrameFileWriter
from ssd_detect.formats.frames_csv import FrameCsvWriter, read_frame_csv
from ssd_detect.formats.frames_jsonl import FrameJsonLinesStream, FrameJsonLinesWriter, read_frame_lines
from ssd_detect.formats.rounding import rounded_rows, rounded_seconds
from ssd_detect.formats.video_head import VideoHead, video_from
from ssd_detect.formats.video_summary import ClassSummary, VideoResult, VideoSummary, write_video_summaries
from ssd_detect.media.video.reader import VideoReader
from tests.clips import ffmpeg, pictures
from tests.test_formats import (
    INFO,
    PROVENANCE,
    as_xml,
    assert_same,
    awkward,
    awkward_files,
    contents,
    detections,
    files,
    files_up_to,
    quick,
    scratch,
    sides,
    strict_json,
    text,
)

Video: TypeAlias = tuple[VideoHead, list[FrameRecord]]

HEAD = VideoHead("in/a.mp4", (640, 424), Fraction(30000, 1001))
NOTHING = FrameRecord("in/a.mp4", 0, 0.0, detections((640, 424)))
TWO = FrameRecord(
    "in/a.mp4",
    12,
    0.4004004,
    detections((640, 424), [(15, 0.98, (10.5, 20.0, 110.0625, 220.25)), (12, 0.6, (0.0, 0.0, 640.0, 424.0))]),
    detected=False,
)
OTHER_HEAD = VideoHead("b.mov", (32, 24), Fraction(25))
OTHER = FrameRecord("b.mov", 0, 0.5, detections((32, 24), [(7, 0.5, (1, 2, 3, 4))]))

HEAD_JSON = {
    "schema": "ssd-detect.frames/1", "kind": "video", "file": "in/a.mp4", "width": 640, "height": 424,
    "rate": "30000/1001", **INFO,
}  # fmt: skip
NOTHING_VALUES = {
    "file": "in/a.mp4", "frame": 0, "time": 0.0, "detected": True, "width": 640, "height": 424, "detections": [],
}  # fmt: skip
TWO_VALUES = {
    "file": "in/a.mp4", "frame": 12, "time": 0.4004, "detected": False, "width": 640, "height": 424,
    "detections": [
        {"class": "person", "class_id": 15, "score": 0.98, "box": [10.5, 20.0, 110.062, 220.25]},
        {"class": "dog", "class_id": 12, "score": 0.6, "box": [0.0, 0.0, 640.0, 424.0]},
    ],
}  # fmt: skip
OTHER_VALUES = {
    "file": "b.mov", "frame": 0, "time": 0.5, "detected": True, "width": 32, "height": 24,
    "detections": [{"class": "car", "class_id": 7, "score": 0.5, "box": [1.0, 2.0, 3.0, 4.0]}],
}  # fmt: skip
OTHER_HEAD_JSON = {**HEAD_JSON, "file": "b.mov", "width": 32, "height": 24, "rate": "25/1"}
IS_FRAME = {"schema": "ssd-detect.frames/1", "kind": "frame"}
HEADER = "file,frame,time,detected,width,height,class,class_id,score,x0,y0,x1,y1\n"
NOTHING_ROW = "in/a.mp4,0,0.000000,true,640,424,,,,,,,\n"
TWO_ROWS = (
    "in/a.mp4,12,0.400400,false,640,424,person,15,0.980000,10.500,20.000,110.062,220.250\n"
    "in/a.mp4,12,0.400400,false,640,424,dog,12,0.600000,0.000,0.000,640.000,424.000\n"
)
OTHER_ROW = "b.mov,0,0.500000,true,32,24,car,7,0.500000,1.000,2.000,3.000,4.000\n"


def make_writer(name: str, path: Path, overwrite: bool = False) -> FrameFileWriter:
    if name == "csv":
        return FrameCsvWriter(path, overwrite=overwrite)
    return FrameJsonLinesWriter(path, PROVENANCE, overwrite=overwrite)


READERS: dict[str, Callable[[Path, Sequence[str]], Iterator[FrameRecord]]] = {
    "jsonl": read_frame_lines,
    "csv": read_frame_csv,
}


def stored(record: FrameRecord) -> Frame:
    """As a resumed run finds it in its journal."""
    values: dict[str, Any] = strict_json(json.dumps(frame_to_dict(record)))
    return values


def write(
    name: str, path: Path, videos: Sequence[Video], as_given: Callable[[FrameRecord], Frame] = lambda record: record
) -> bytes:
    """The file's content."""
    with make_writer(name, path) as writer:
        for head, records in videos:
            writer.begin(head)
            for record in records:
                writer.append(as_given(record))
    return path.read_bytes()


def schema(name: str) -> Any:
    return json.loads((Path(formats.__file__).parent / "schema" / f"{name}.schema.json").read_text())


FRAMES_SCHEMA, SUMMARY_SCHEMA = schema("frames"), schema("video-summary")
frames_validator = jsonschema.Draft202012Validator(FRAMES_SCHEMA)
summary_validator = jsonschema.Draft202012Validator(SUMMARY_SCHEMA)


class TestExactFiles:
    @pytest.mark.parametrize(
        ("videos", "expected"),
        [
            ([], []),
            ([(HEAD, [])], [HEAD_JSON]),
            ([(HEAD, [NOTHING])], [HEAD_JSON, {**IS_FRAME, **NOTHING_VALUES}]),
            (
                [(HEAD, [NOTHING, TWO]), (OTHER_HEAD, [OTHER])],
                [
                    HEAD_JSON,
                    {**IS_FRAME, **NOTHING_VALUES},
                    {**IS_FRAME, **TWO_VALUES},
                    OTHER_HEAD_JSON,
                    {**IS_FRAME, **OTHER_VALUES},
                ],
            ),
        ],
    )
    def test_json_lines(self, tmp_path: Path, videos: list[Video], expected: list[Any]) -> None:
        lines = "".join(json.dumps(value) + "\n" for value in expected)
        for number, as_given in enumerate([lambda record: record, stored]):
            assert write("jsonl", tmp_path / f"{number}.jsonl", videos, as_given) == lines.encode()

    @pytest.mark.parametrize(
        ("videos", "expected"),
        [
            ([], HEADER),
            ([(HEAD, [])], HEADER),
            ([(HEAD, [NOTHING])], HEADER + NOTHING_ROW),
            ([(HEAD, [NOTHING, TWO]), (OTHER_HEAD, [OTHER])], HEADER + NOTHING_ROW + TWO_ROWS + OTHER_ROW),
        ],
    )
    def test_csv(self, tmp_path: Path, videos: list[Video], expected: str) -> None:
        for number, as_given in enumerate([lambda record: record, stored]):
            assert write("csv", tmp_path / f"{number}.csv", videos, as_given) == expected.encode()

    def test_json_lines_to_a_stream_at_once(self) -> None:
        """Each line is there as soon as its frame is; dictionaries give the lines of records."""
        handed_on: list[str] = []

        class Pipe(StringIO):
            def flush(self) -> None:
                handed_on.append(self.getvalue())

        pipe, lines = Pipe(), [HEAD_JSON, {**IS_FRAME, **NOTHING_VALUES}, {**IS_FRAME, **TWO_VALUES}]
        stream = FrameJsonLinesStream(pipe, PROVENANCE)
        stream.begin(HEAD)
        stream.append(NOTHING)
        stream.append(stored(TWO))
        assert not pipe.closed
        written = [json.dumps(value) + "\n" for value in lines]
        assert handed_on == ["".join(written[:n]) for n in (1, 2, 3)]


@st.composite
def videos(draw: st.DrawFn) -> list[Video]:
    """Videos of one run: one class list, each video once, frames with growing numbers and times."""
    names = draw(st.lists(st.one_of(text, awkward), min_size=1, max_size=5, unique_by=as_xml))
    class_names = ("background", *(name for name in names if name != "background"), "last")
    made: list[Video] = []
    for file in draw(st.lists(st.one_of(files, awkward_files), max_size=3, unique=True)):
        size = draw(st.tuples(st.integers(1, 20_000), st.integers(1, 20_000)))
        head = VideoHead(file, size, draw(st.fractions(Fraction(1, 1000), 1000)))
        seconds, records = draw(st.floats(-10, 1e8)), []
        for index in range(draw(st.integers(0, 4))):
            found = draw(found_in(size, class_names))
            records.append(FrameRecord(file, index, seconds, found, draw(st.booleans())))
            seconds += draw(st.floats(1e-6, 100))
        made.append((head, records))
    return made


@st.composite
def found_in(draw: st.DrawFn, size: tuple[int, int], class_names: tuple[str, ...]) -> Detections:
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        (x0, x1), (y0, y1) = draw(sides(size[0])), draw(sides(size[1]))
        class_id = draw(st.integers(1, len(class_names) - 1))
        rows.append((class_id, draw(st.floats(0, 1, width=32)), (x0, y0, x1, y1)))
    return detections(size, rows, class_names)


def class_names_of(made: Sequence[Video]) -> tuple[str, ...]:
    return next((record.detections.class_names for _, records in made for record in records), VOC20)


class TestThereAndBack:
    @pytest.mark.parametrize("name", READERS)
    @quick
    @given(made=videos())
    def test_to_the_stated_precision(self, name: str, made: list[Video]) -> None:
        with scratch() as folder:
            write(name, folder / "a", made)
            back = list(READERS[name](folder / "a", class_names_of(made)))
        expected = [record for _, records in made for record in records]
        assert [(r.file, r.index, r.seconds, r.detected) for r in back] == [
            (r.file, r.index, r.seconds, r.detected) for r in expected
        ]
        for one, other in zip(back, expected, strict=True):
            assert_same(one.detections, other.detections, box_tolerance=0.0005)

    @pytest.mark.parametrize("name", READERS)
    @quick
    @given(made=videos())
    def test_read_back_or_from_dictionaries_the_same_bytes(self, name: str, made: list[Video]) -> None:
        with scratch() as folder:
            content = write(name, folder / "first", made)
            back = iter(list(READERS[name](folder / "first", class_names_of(made))))
            again = [(head, [next(back) for _ in records]) for head, records in made]
            assert write(name, folder / "second", again) == content
            assert write(name, folder / "third", made, stored) == content

    @quick
    @given(made=videos())
    def test_what_was_read_is_equal_for_good(self, made: list[Video]) -> None:
        """A record with rounded numbers equals the one from its dictionary, and so do heads."""
        for head, records in made:
            assert video_from(strict_json(json.dumps(head.to_dict()))) == head
            for record in records:
                once = frame_from_dict(stored(record), record.detections.class_names)
                assert frame_from_dict(stored(once), record.detections.class_names) == once
                assert frame_to_dict(once) == frame_to_dict(record)

    @quick
    @given(made=videos())
    def test_every_line_fits_the_schema(self, made: list[Video]) -> None:
        with scratch() as folder:
            lines = write("jsonl", folder / "a", made).decode("ascii").splitlines()
        assert len(lines) == sum(1 + len(records) for _, records in made)
        for value in map(strict_json, lines):
            frames_validator.validate(value)
            assert [*value] == FRAMES_SCHEMA["$defs"][value["kind"]]["required"]

    def test_a_line_of_a_frame_can_be_read_by_itself(self, tmp_path: Path) -> None:
        lines = write("jsonl", tmp_path / "a.jsonl", [(HEAD, [NOTHING, TWO])]).splitlines(keepends=True)
        (tmp_path / "b.jsonl").write_bytes(lines[2])
        (back,) = read_frame_lines(tmp_path / "b.jsonl", VOC20)
        assert (back.file, back.index, len(back.detections)) == ("in/a.mp4", 12, 2)

    @pytest.mark.parametrize(
        ("seconds", "kept", "in_csv"),
        [
            (-0.0, 0.0, "0.000000"),
            (-1e-9, 0.0, "0.000000"),
            (-0.0213333333, -0.021333, "-0.021333"),
            (1 / 3, 0.333333, "0.333333"),
            (1e-6, 1e-6, "0.000001"),
            (86400 + 1 / 30, 86400.033333, "86400.033333"),
        ],
    )
    def test_times(self, tmp_path: Path, seconds: float, kept: float, in_csv: str) -> None:
        record = replace(NOTHING, seconds=seconds)
        assert (record.seconds, math.copysign(1, record.seconds)) == (kept, math.copysign(1, kept))
        write("csv", tmp_path / "a.csv", [(HEAD, [record])])
        with (tmp_path / "a.csv").open(newline="") as lines:
            assert [row["time"] for row in csv.DictReader(lines)] == [in_csv]

    def test_unknown_members_are_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        later = [{**HEAD_JSON, "later": 1}, {**IS_FRAME, **TWO_VALUES, "track": [1]}]
        path.write_text("".join(json.dumps(value) + "\n" for value in later))
        assert [record.index for record in read_frame_lines(path, VOC20)] == [12]
        for value in later:
            frames_validator.validate(value)

    @pytest.mark.parametrize("name", READERS)
    def test_names_that_are_no_utf8(self, tmp_path: Path, name: str) -> None:
        file = os.fsdecode(b'caf\xe9 \x01,"\r.mp4')
        content = write(name, tmp_path / "a", [(replace(HEAD, file=file), [replace(TWO, file=file)])])
        content.decode("utf-8")
        assert [record.file for record in READERS[name](tmp_path / "a", VOC20)] == [file]

    @pytest.mark.parametrize("name", READERS)
    def test_reading_takes_a_frame_at_a_time(self, tmp_path: Path, name: str) -> None:
        write(name, tmp_path / "a", [(HEAD, [replace(TWO, index=n) for n in range(3)])])
        with (tmp_path / "a").open("ab") as file:
            file.write(b"damage\n")
        reading = READERS[name](tmp_path / "a", VOC20)
        assert [next(reading).index for _ in range(2)] == [0, 1]


class TestSchemas:
    @pytest.mark.parametrize("name", ["frames", "video-summary"])
    def test_is_a_schema_that_shares_its_parts_with_that_of_pictures(self, name: str) -> None:
        own, of_pictures = schema(name), schema("detections")
        jsonschema.Draft202012Validator.check_schema(own)
        parts, expected = ({**one.get("properties", {}), **one["$defs"]} for one in (own, of_pictures))
        shared = {"tool", "checkpoint", "thresholds", "sha256"} | ({"detection"} if name == "frames" else set())
        assert {part: parts[part] for part in shared} == {part: expected[part] for part in shared}

    @pytest.mark.parametrize(
        ("line", "place", "value"),
        [
            (HEAD_JSON, ["schema"], "ssd-detect.detections/1"),
            (HEAD_JSON, ["kind"], "frame"),
            (HEAD_JSON, ["kind"], "audio"),
            (HEAD_JSON, ["width"], 0),
            (HEAD_JSON, ["rate"], 29.97),
            (HEAD_JSON, ["rate"], "25"),
            (HEAD_JSON, ["rate"], "0/1"),
            (HEAD_JSON, ["rate"], "25/0"),
            (HEAD_JSON, ["checkpoint", "sha256"], "AB" * 32),
            (HEAD_JSON, ["thresholds", "score"], 2),
            ({**IS_FRAME, **TWO_VALUES}, ["kind"], "video"),
            ({**IS_FRAME, **TWO_VALUES}, ["frame"], -1),
            ({**IS_FRAME, **TWO_VALUES}, ["time"], "0.4"),
            ({**IS_FRAME, **TWO_VALUES}, ["detected"], 1),
            ({**IS_FRAME, **TWO_VALUES}, ["detections"], None),
            ({**IS_FRAME, **TWO_VALUES}, ["detections", 0, "class_id"], 0),
            ({**IS_FRAME, **TWO_VALUES}, ["detections", 0, "box"], [1, 2, 3]),
        ],
    )
    def test_lines_that_do_not_fit(self, line: Any, place: list[Any], value: Any) -> None:
        frames_validator.validate(line)
        assert not frames_validator.is_valid(changed(line, place, value))

    @pytest.mark.parametrize("line", [HEAD_JSON, {**IS_FRAME, **TWO_VALUES}])
    def test_every_member_is_needed(self, line: dict[str, Any]) -> None:
        for name in line:
            assert not frames_validator.is_valid({k: v for k, v in line.items() if k != name})


def changed(value: Any, place: Sequence[Any], new: Any) -> Any:
    copy = json.loads(json.dumps(value))
    inner = copy
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = new
    return copy


class TestRefusals:
    @pytest.mark.parametrize("name", READERS)
    def test_a_file_is_whole_or_absent(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "new" / f"a.{name}"
        with pytest.raises(KeyError), make_writer(name, path) as writer:
            writer.begin(HEAD)
            writer.append(TWO)
            raise KeyError
        assert contents(tmp_path) == {}
        with make_writer(name, path) as writer:
            writer.begin(HEAD)
            writer.append(TWO)
            assert not path.exists()
        assert path.exists()

    @pytest.mark.parametrize("name", READERS)
    def test_existing_files_are_kept_or_replaced(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "a"
        path.write_text("mine")
        with pytest.raises(OutputError, match="exists already"), make_writer(name, path):
            pytest.fail("was entered")
        assert path.read_text() == "mine"
        with make_writer(name, path, overwrite=True) as writer:
            writer.begin(HEAD)
        assert "mine" not in path.read_text()

    @pytest.mark.parametrize("name", READERS)
    def test_outside_the_block(self, tmp_path: Path, name: str) -> None:
        writer = make_writer(name, tmp_path / "a")
        with pytest.raises(OutputError, match="is not open"):
            writer.begin(HEAD)
        with writer:
            writer.begin(HEAD)
        with pytest.raises(OutputError, match="is not open"):
            writer.append(TWO)

    @pytest.mark.parametrize(
        ("begun", "frame", "message"),
        [
            ([], TWO, "in/a.mp4: got a frame of 640x424 pixels, but no video was begun"),
            ([OTHER_HEAD], TWO, "in/a.mp4: got a frame of 640x424 pixels, but b.mov with 32x24 was begun"),
            ([OTHER_HEAD], stored(TWO), "in/a.mp4: got a frame of 640x424 pixels, but b.mov with 32x24 was begun"),
            ([HEAD, OTHER_HEAD], TWO, "but b.mov with 32x24 was begun"),
            ([replace(HEAD, size=(424, 640))], TWO, "a frame of 640x424 pixels, but in/a.mp4 with 424x640 was begun"),
        ],
    )
    def test_frames_of_another_video(self, tmp_path: Path, begun: list[VideoHead], frame: Frame, message: str) -> None:
        pipe = StringIO()
        with make_writer("jsonl", tmp_path / "a") as lines, make_writer("csv", tmp_path / "b") as table:
            for writer in (lines, table, FrameJsonLinesStream(pipe, PROVENANCE)):
                for head in begun:
                    writer.begin(head)
                with pytest.raises(OutputError, match=message):
                    writer.append(frame)
        assert (tmp_path / "a").read_text().count("\n") == pipe.getvalue().count("\n") == len(begun)
        assert (tmp_path / "b").read_text() == HEADER

    @pytest.mark.parametrize("name", READERS)
    def test_a_full_disk_takes_a_frame_wholly_or_not_at_all(self, tmp_path: Path, name: str) -> None:
        many = replace(TWO, detections=detections((640, 424), [(7, 0.5, (1, 2, 3, 4))] * 300))
        with make_writer(name, tmp_path / "full") as writer:
            writer.begin(HEAD)
            writer.append(NOTHING)
            room = next(tmp_path.iterdir()).stat().st_size + 500
            with files_up_to(room), pytest.raises(OutputError, match="full: cannot be written: File too large"):
                writer.append(many)
            writer.append(TWO)
        assert (tmp_path / "full").read_bytes() == write(name, tmp_path / "plenty", [(HEAD, [NOTHING, TWO])])

    @pytest.mark.parametrize("name", READERS)
    def test_memory_stays_flat(self, tmp_path: Path, name: str) -> None:
        with make_writer(name, tmp_path / "a") as writer:
            writer.begin(HEAD)
            for number in range(3000):
                if number == 100:
                    tracemalloc.start()
                writer.append(replace(TWO, index=number))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert (tmp_path / "a").stat().st_size > 400_000
        assert peak < 200_000

    def test_a_reader_that_went_away(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            stream = FrameJsonLinesStream(pipe, PROVENANCE)
            with pytest.raises(BrokenPipeError):
                stream.begin(HEAD)
            with pytest.raises(BrokenPipeError):  # what is left in the buffer
                pipe.close()

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: replace(NOTHING, index=-1), "the frame's number is -1, expected 0 to 1e"),
            (lambda: replace(NOTHING, seconds=math.nan), "the frame's time is nan s"),
            (lambda: replace(NOTHING, seconds=-math.inf), "the frame's time is -inf s"),
            (lambda: replace(NOTHING, seconds=2e9), "expected one within 1e.09 s of 0"),
            (lambda: replace(HEAD, size=(0, 1)), "the video's size is 0x1, expected at least 1x1"),
            (lambda: replace(HEAD, rate=Fraction(0)), "the video's rate is 0, expected more than 0"),
        ],
    )
    def test_values_that_make_no_sense(self, make: Callable[[], object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            make()


def line(**change: Any) -> str:
    return json.dumps(IS_FRAME | TWO_VALUES | change) + "\n"


def head_line(**change: Any) -> str:
    return json.dumps(HEAD_JSON | change) + "\n"


DAMAGE = [
    ("jsonl", "\n", "line 1: not JSON"),
    ("jsonl", line() + line()[:-30], "line 2: not JSON"),
    ("jsonl", "[]\n", "line 1: found a list, expected an object with 'schema'"),
    ("jsonl", line(schema="ssd-detect.detections/1"), "line 1: its schema is 'ssd-detect.detections/1', expected"),
    ("jsonl", line(kind="audio"), "line 1: its kind is 'audio', expected 'video' or 'frame'"),
    ("jsonl", line(kind=None), "line 1: 'kind' is null, expected a string"),
    ("jsonl", line(kind="video"), "line 1: 'rate' is missing"),
    ("jsonl", head_line(rate="25"), "line 1: 'rate' is '25', expected a fraction such as '30000/1001'"),
    ("jsonl", head_line(rate="1/0"), "line 1: 'rate' is '1/0', expected a fraction"),
    ("jsonl", head_line(width=0), "line 1: the video's size is 0x424, expected at least 1x1"),
    ("jsonl", line(frame=-1), "line 1: 'frame' is -1, expected a whole number"),
    ("jsonl", line(frame=1.5), "line 1: 'frame' is 1.5, expected a whole number"),
    ("jsonl", line(time=None), "line 1: 'time' is null, expected a number"),
    ("jsonl", line().replace("0.4004", "NaN"), "line 1: holds NaN, which JSON does not know"),
    ("jsonl", line().replace("0.4004", "1e999"), "line 1: 'time' is Infinity, expected a number"),
    ("jsonl", line(detected=1), "line 1: 'detected' is 1, expected true or false"),
    ("jsonl", line(file="\ud800"), "line 1: 'file' is .* cannot be a file name"),
    ("jsonl", line(width=0), "line 1: the picture's size is 0x424"),
    ("jsonl", line().replace('"dog"', '"cat"'), "line 1: class 12 is 'cat', in the class list it is 'dog'"),
    ("jsonl", b"\xff\n", "is not UTF-8 text"),
    ("csv", "", "does not begin with the header file,frame,time"),
    ("csv", "file,width,height,class,class_id,score,x0,y0,x1,y1\n", "does not begin with the header file,frame"),
    ("csv", HEADER + "a.mp4,0,0.0\n", "line 2 has 3 fields, expected 13"),
    ("csv", HEADER + '"a.mp4,0', "line 2: unexpected end of data"),
    ("csv", HEADER + NOTHING_ROW.replace("true", "yes"), "in/a.mp4, frame 0: found 'yes', expected true or false"),
    ("csv", HEADER + NOTHING_ROW.replace(",0,", ",-1,"), "frame -1: found '-1', expected a whole number"),
    ("csv", HEADER + NOTHING_ROW.replace("0.000000", "inf"), "frame 0: found 'inf', expected a number"),
    ("csv", HEADER + NOTHING_ROW.replace("640", "0"), "frame 0: the picture's size is 0x424"),
    ("csv", HEADER + TWO_ROWS.replace("0.98", "1.98"), "frame 12: a score of 1.98, expected 0 to 1"),
    ("csv", HEADER + TWO_ROWS.replace("dog", "cat"), "class 12 is 'cat', in the class list it is 'dog'"),
    ("csv", HEADER.encode() + b"\xff,0,0,true,1,1,,,,,,,\n", "is not UTF-8 text"),
]


class TestDamage:
    @pytest.mark.parametrize(("name", "content", "message"), DAMAGE)
    def test_is_one_clear_error(self, tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
        path = tmp_path / "a"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(FormatError, match=f"^{path}.*{message}") as caught:
            list(READERS[name](path, VOC20))
        assert "\n" not in str(caught.value)
        assert str(caught.value).count(str(path)) == 1

    @pytest.mark.parametrize("name", READERS)
    def test_nothing_there(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(FormatError, match="gone: cannot be read: No such file"):
            list(READERS[name](tmp_path / "gone", VOC20))

    @pytest.mark.parametrize("name", ["file", "frame", "time", "detected", "width", "height", "detections"])
    def test_a_dictionary_without(self, name: str) -> None:
        with pytest.raises(FormatError, match=f"^the results of a frame: '{name}' is missing"):
            frame_from_dict({k: v for k, v in TWO_VALUES.items() if k != name}, VOC20)

    @pytest.mark.parametrize("value", [None, 7, "text", []])
    def test_no_dictionary(self, value: Any) -> None:
        with pytest.raises(FormatError, match=r"^journal, line 3: found .*, expected an object"):
            frame_from_dict(value, VOC20, "journal, line 3")


TimedFrames: TypeAlias = list[tuple[FrameRecord, float]]
NAMES = ("background", "car", "person", "été")


@st.composite
def timed_frames(draw: st.DrawFn) -> TimedFrames:
    """Frames of one video that follow each other, of varying duration, some with a gap before."""
    seconds, made = draw(st.floats(-1, 1e5)), []
    for index in range(draw(st.integers(0, 12))):
        found = draw(found_in((64, 48), NAMES))
        duration = draw(st.sampled_from([1 / 30, 1001 / 30000, 0.04, 0.1, 7.5]))
        made.append((FrameRecord("a.mp4", index, seconds, found, draw(st.booleans())), duration))
        seconds += duration + draw(st.sampled_from([0.0, 0.0, 2.25]))
    return made


def summary_of(frames: TimedFrames) -> VideoSummary:
    summary = VideoSummary()
    for record, duration in frames:
        summary.add(record.seconds, duration, record.detections, record.detected)
    return summary


def recount(frames: TimedFrames) -> dict[str, Any]:
    """The numbers of a summary from all frames at once, one question after the other."""
    ids = {int(i) for record, _ in frames for i in record.detections.class_ids}
    classes = {}
    for class_id in ids:
        counts = np.array([int((record.detections.class_ids == class_id).sum()) for record, _ in frames])
        shown = [frames[i] for i in np.flatnonzero(counts)]
        classes[NAMES[class_id]] = {
            "detections": int(counts.sum()),
            "frames": len(shown),
            "seconds": rounded_seconds(float(sum(Fraction(duration) for _, duration in shown))),
            "first": min(record.seconds for record, _ in shown),
            "last": max(record.seconds for record, _ in shown),
            "most_at_once": int(counts.max()),
        }
    begin = min((record.seconds for record, _ in frames), default=0)
    end = max((Fraction(record.seconds) + Fraction(duration) for record, duration in frames), default=Fraction(0))
    return {
        "frames": len(frames),
        "frames_detected": len([record for record, _ in frames if record.detected]),
        "seconds": pytest.approx(float(end - Fraction(begin)), abs=1.1e-6),
        "classes": {name: values | {"seconds": approx(values["seconds"])} for name, values in classes.items()},
    }


def approx(value: Any) -> Any:
    """Two sums of the same numbers may be rounded to neighbours in the last decimal."""
    return pytest.approx(value, abs=1.1e-6)


class TestVideoSummary:
    def test_of_no_frames(self) -> None:
        summary = VideoSummary()
        assert (summary.num_frames, summary.seconds, summary.best_guess) == (0, 0.0, None)
        assert summary.objects.most_common() == []
        assert summary.to_dict() == {"frames": 0, "frames_detected": 0, "seconds": 0.0, "classes": {}}

    def test_of_three_frames(self) -> None:
        summary = VideoSummary()
        summary.add(10.0, 0.5, detections((64, 48), [(1, 0.9, (1, 2, 3, 4))], NAMES))
        summary.add(10.5, 0.25, detections((64, 48), [(2, 0.9, (1, 2, 3, 4))] * 3, NAMES), detected=False)
        summary.add(12.0, 0.5, detections((64, 48), [(2, 0.9, (1, 2, 3, 4))], NAMES))
        assert (summary.num_frames, summary.num_detected, summary.seconds) == (3, 2, 2.5)
        assert summary.objects.most_common() == [("person", 4), ("car", 1)]
        assert [*summary.to_dict()["classes"].items()] == [
            (
                "person",
                {"detections": 4, "frames": 2, "seconds": 0.75, "first": 10.5, "last": 12.0, "most_at_once": 3},
            ),
            ("car", {"detections": 1, "frames": 1, "seconds": 0.5, "first": 10.0, "last": 10.0, "most_at_once": 1}),
        ]

    @quick
    @given(frames=timed_frames())
    def test_against_a_recount(self, frames: TimedFrames) -> None:
        summary = summary_of(frames)
        assert summary.to_dict() == recount(frames)
        assert summary.objects == {name: seen["detections"] for name, seen in recount(frames)["classes"].items()}

    @quick
    @given(frames=timed_frames(), data=st.data())
    def test_a_resumed_run_sums_up_alike(self, frames: TimedFrames, data: st.DataObject) -> None:
        """The first frames from a journal, the others as they are found: the same numbers to the last bit."""
        resumed, num_stored = VideoSummary(), data.draw(st.integers(0, len(frames)))
        for record, duration in frames[:num_stored]:
            values: Any = stored(record)
            resumed.add_dict(values, strict_json(json.dumps(duration)))
        for record, duration in frames[num_stored:]:
            resumed.add(record.seconds, duration, record.detections, record.detected)
        assert resumed == summary_of(frames)

    def test_times_that_are_not_rounded_yet(self) -> None:
        found = detections((64, 48), [(1, 0.9, (1, 2, 3, 4))], NAMES)
        one, other = VideoSummary(), VideoSummary()
        for index in range(5):
            one.add(index / 3, 1 / 3, found)
            other.add_dict(frame_to_dict(FrameRecord("a.mp4", index, index / 3, found)), 1 / 3)
        assert one == other
        assert one.to_dict()["classes"]["car"]["last"] == 1.333333

    @pytest.mark.parametrize(
        ("scores", "expected"),
        [([], None), ([None], None), ([0.25], 0.25), ([0.25, 0.4, 0.3], 0.4), ([None, 0.1, None], 0.1)],
    )
    def test_the_best_guess(self, scores: list[float | None], expected: float | None) -> None:
        summary = VideoSummary()
        for index, score in enumerate(scores):
            guess = None if score is None else BestGuess("person", score)
            summary.add(index, 1, replace(detections((64, 48), (), NAMES), best_guess=guess))
        assert summary.best_guess == (None if expected is None else BestGuess("person", expected))

    def test_sums_of_a_long_video_stay_exact_and_small(self) -> None:
        """100,000 frames of 29.97 frames a second, nearly an hour."""
        found = detections((64, 48), [(1, 0.9, (1, 2, 3, 4)), (3, 0.9, (1, 2, 3, 4))], NAMES)
        values, duration, summary = frame_to_dict(FrameRecord("a.mp4", 0, 0, found)), 1001 / 30000, VideoSummary()
        for number in range(100_000):
            if number == 100:
                tracemalloc.start()
            summary.add_dict({**values, "time": rounded_seconds(number * duration)}, duration)
            if number == 1000:  # tracing slows the loop
                assert tracemalloc.get_traced_memory()[1] < 20_000
                tracemalloc.stop()
        expected = rounded_seconds(100_000 * 1001 / 30000)
        told = summary.to_dict()
        assert told["seconds"] == approx(expected)
        assert told["classes"]["été"]["seconds"] == approx(expected)
        assert told["classes"]["été"]["detections"] == 100_000


class TestSummaryFile:
    @pytest.mark.parametrize(
        ("results", "expected"),
        [
            ([], []),
            (
                [VideoResult(HEAD, VideoSummary())],
                [
                    {
                        "file": "in/a.mp4", "width": 640, "height": 424, "rate": "30000/1001", "frames": 0,
                        "frames_detected": 0, "seconds": 0.0, "classes": {}, "lost": None, "interrupted": False,
                    }
                ],
            ),
            (
                [
                    VideoResult(OTHER_HEAD, summary_of([(OTHER, 0.04)]), lost="2 damaged packets", interrupted=True),
                    VideoResult(HEAD, summary_of([(TWO, 1 / 3)])),
                ],
                [
                    {
                        "file": "b.mov", "width": 32, "height": 24, "rate": "25/1", "frames": 1,
                        "frames_detected": 1, "seconds": 0.04,
                        "classes": {
                            "car": {
                                "detections": 1, "frames": 1, "seconds": 0.04, "first": 0.5, "last": 0.5,
                                "most_at_once": 1,
                            }
                        },
                        "lost": "2 damaged packets", "interrupted": True,
                    },
                    {
                        "file": "in/a.mp4", "width": 640, "height": 424, "rate": "30000/1001", "frames": 1,
                        "frames_detected": 0, "seconds": 0.333333,
                        "classes": {
                            name: {
                                "detections": 1, "frames": 1, "seconds": 0.333333, "first": 0.4004, "last": 0.4004,
                                "most_at_once": 1,
                            } for name in ("person", "dog")
                        },
                        "lost": None, "interrupted": False,
                    },
                ],
            ),
        ],
    )  # fmt: skip
    def test_exactly(self, tmp_path: Path, results: list[VideoResult], expected: list[Any]) -> None:
        path = tmp_path / "new" / "summary.json"
        write_video_summaries(path, results, PROVENANCE)
        value = {"schema": "ssd-detect.video-summary/1", "videos": expected, **INFO}
        assert contents(tmp_path) == {"new/summary.json": (json.dumps(value, indent=2) + "\n").encode()}
        summary_validator.validate(value)

    @quick
    @given(made=videos(), frames=timed_frames(), lost=st.none() | st.text(), interrupted=st.booleans())
    def test_every_file_fits_the_schema(
        self, made: list[Video], frames: TimedFrames, lost: str | None, interrupted: bool
    ) -> None:
        results = [VideoResult(head, summary_of(frames), lost, interrupted) for head, _ in made]
        with scratch() as folder:
            write_video_summaries(folder / "a.json", results, PROVENANCE)
            value = strict_json((folder / "a.json").read_bytes())
        summary_validator.validate(value)
        assert [*value] == SUMMARY_SCHEMA["required"]
        assert [video["file"] for video in value["videos"]] == [head.file for head, _ in made]
        for video in value["videos"]:
            assert [*video] == SUMMARY_SCHEMA["$defs"]["video"]["required"]
            for seen in video["classes"].values():
                assert [*seen] == SUMMARY_SCHEMA["$defs"]["class"]["required"]

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (["schema"], "ssd-detect.frames/1"),
            (["videos"], {}),
            (["tool"], None),
            (["thresholds", "nms"], -1),
            (["videos", 0, "rate"], "25"),
            (["videos", 0, "frames"], -1),
            (["videos", 0, "seconds"], None),
            (["videos", 0, "lost"], False),
            (["videos", 0, "interrupted"], None),
            (["videos", 0, "classes"], []),
            (["videos", 0, "classes", "car", "frames"], 0),
            (["videos", 0, "classes", "car", "last"], None),
        ],
    )
    def test_what_does_not_fit(self, tmp_path: Path, place: list[Any], value: Any) -> None:
        path = tmp_path / "a.json"
        write_video_summaries(path, [VideoResult(OTHER_HEAD, summary_of([(OTHER, 0.04)]))], PROVENANCE)
        told = strict_json(path.read_bytes())
        summary_validator.validate(told)
        assert not summary_validator.is_valid(changed(told, place, value))

    def test_existing_files_are_kept_or_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_text("mine")
        with pytest.raises(OutputError, match="exists already"):
            write_video_summaries(path, [], PROVENANCE)
        assert path.read_text() == "mine"
        write_video_summaries(path, [], PROVENANCE, overwrite=True)
        assert strict_json(path.read_bytes())["videos"] == []

    @pytest.mark.parametrize("odd", [math.nan, math.inf])
    def test_what_is_no_number_is_never_written(self, tmp_path: Path, odd: float) -> None:
        broken = VideoSummary(classes={"car": ClassSummary(first=odd, last=odd)})
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_video_summaries(tmp_path / "a.json", [VideoResult(HEAD, broken)], PROVENANCE)
        assert contents(tmp_path) == {}


def test_frames_of_a_real_video(tmp_path: Path) -> None:
    """Times and durations from the reader of videos, here of varying duration, end up as they should."""
    variable = "-vf setpts='if(lt(N,3),N/30,1+(N-3)/10)/TB' -fps_mode vfr -c:v ffv1"
    clip = ffmpeg(f"{pictures(seconds=0.2)} {variable}", tmp_path / "clip.mkv")
    summary = VideoSummary()
    with VideoReader(clip) as reader, FrameJsonLinesWriter(tmp_path / "a.jsonl", PROVENANCE) as writer:
        info = reader.info
        writer.begin(VideoHead(info.name, (info.width, info.height), info.rate))
        for index, frame in enumerate(reader):
            found = detections((info.width, info.height), [(15, 0.5, (1, 2, 3, 4))] * (index % 2))
            writer.append(FrameRecord(info.name, index, float(frame.time.start), found))
            duration = float(frame.time.end - frame.time.start)
            summary.add(float(frame.time.start), duration, found)
    back = list(read_frame_lines(tmp_path / "a.jsonl", VOC20))
    assert [record.seconds for record in back] == [0.0, 0.033, 0.067, 1.0, 1.1, 1.2]
    assert [len(rounded_rows(record.detections)) for record in back] == [0, 1, 0, 1, 0, 1]
    assert summary.objects == {"person": 3}
    assert (summary.classes["person"].first, summary.classes["person"].last) == (0.033, 1.2)
    assert summary.seconds == pytest.approx(1.2 + 1 / 30, abs=0.07)

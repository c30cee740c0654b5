"""What `ssd-detect video` leaves beside the copy: lines, tables, sums, pictures; and that they tell what is seen."""

import csv
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import jsonschema
import numpy as np
import pytest

import ssd_detect
from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.media.pictures import read_picture
from tests.clips import H264, SOUND, facts, ffmpeg, pictures
from tests.video_parts import read
from tests.video_runs import NAMES, Child, Looker, left, lines_of, video

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

SCHEMAS = Path(ssd_detect.__file__).parent / "formats/schema"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ffmpeg(f"{pictures(seconds=2)} {SOUND} {H264} -c:a aac", tmp_path_factory.mktemp("clips") / "in.mp4")


@pytest.fixture(scope="module")
def gray(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A surface on which boxes stand out; 24 frames a second for 2.5 seconds, beginning at second 3."""
    arguments = f"-f lavfi -i color=gray:s=160x120:r=24:d=2.5 {H264} -bf 0 -crf 10 -output_ts_offset 3"
    return ffmpeg(arguments, tmp_path_factory.mktemp("clips") / "gray.mkv")


def moving_box(looker: Looker, *, step: int = 2) -> None:
    """The network sees a car that moves to the right, a bit with every picture that it looks at."""

    def look(picture: Pixels) -> Detections:
        height, width = picture.shape[:2]
        left_edge = min(10 + step * looker.num_seen, 100)
        box = np.array([[left_edge, 40, left_edge + 40, 80]], np.float32)
        return Detections(box, np.array([0.9], np.float32), np.array([16]), (width, height), NAMES)

    looker.look = look


def drawn_at(pixels: Pixels) -> tuple[int, int, int, int]:
    """The box around everything that is no longer gray."""
    rows, columns = np.nonzero(np.abs(pixels.astype(int) - pixels[0, 0]).max(axis=2) > 40)
    return int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max())


class TestLines:
    @pytest.mark.parametrize(
        ("options", "count", "first"),
        [
            ("", 60, 0),
            ("--stride 5", 60, 0),
            ("--stride 5 --between hold", 60, 0),
            ("--start 0.5", 48, 0.5),
            ("--start 0.49 --end 1.01", 13, 0.5),
            ("--max-frames 7", 7, 0),
            ("--start 1 --max-seconds 0.5", 12, 1),
            ("--fps 10", 26, 0),  # the last frame is nearest to the tick behind it
            ("--fps 48 --stride 2", 120, 0),
            ("--fps 12 --start 1 --max-frames 10", 10, 1),
        ],
    )
    @pytest.mark.parametrize("target", ["out.mp4", "out.mkv", "out.avi"])
    def test_they_tell_what_the_copy_shows(
        self, target: str, options: str, count: int, first: float, gray: Path, looker: Looker
    ) -> None:
        moving_box(looker, step=5 if "stride" in options else 1)
        result = video(gray, target, "--jsonl", "frames.jsonl", "--no-labels", *options.split())
        assert result.exit_code == 0, result.output
        records, shown = lines_of("frames.jsonl"), read(Path(target))
        assert [record["frame"] for record in records] == list(range(count))
        assert len(shown) == count
        tolerance = 0.0011  # Matroska counts in milliseconds
        assert records[0]["time"] == pytest.approx(first, abs=tolerance)
        for record, frame in zip(records, shown, strict=True):
            since = float(frame.time.start - shown[0].time.start)
            assert record["time"] - records[0]["time"] == pytest.approx(since, abs=tolerance)
        for record, frame in list(zip(records, shown, strict=True))[:: max(1, count // 8)]:
            (found,) = record["detections"]
            assert drawn_at(frame.pixels) == pytest.approx(found["box"], abs=3)

    @pytest.mark.parametrize(
        ("options", "detected"),
        [
            ("", [0, 1, 2, 3, 4, 5, 6]),
            ("--stride 3", [0, 3, 6]),
            ("--stride 10", [0]),
            ("--start 1 --stride 2", [0, 2, 4, 6]),
        ],
    )
    def test_which_frames_the_network_has_seen(
        self, options: str, detected: list[int], source: Path, looker: Looker
    ) -> None:
        assert video(source, "out.mp4", "--jsonl", "a", "--max-frames", 7, *options.split()).exit_code == 0
        assert [line["frame"] for line in lines_of("a") if line["detected"]] == detected
        assert looker.num_seen == len(detected)

    def test_between_frames_boxes_move_or_stand(self, gray: Path, looker: Looker) -> None:
        lefts = {}
        for between in ("interpolate", "hold"):
            looker.num_seen = 0
            moving_box(looker, step=8)
            options = ("--stride", 4, "--between", between, "--max-frames", 10)
            assert video(gray, "--no-video", "--jsonl", between, *options).exit_code == 0
            lefts[between] = [line["detections"][0]["box"][0] for line in lines_of(between)]
        assert lefts["interpolate"] == [18, 20, 22, 24, 26, 28, 30, 32, 34, 34]
        assert lefts["hold"] == [18] * 4 + [26] * 4 + [34] * 2

    def test_an_object_that_goes_away_between_frames(self, gray: Path, looker: Looker) -> None:
        moving_box(looker)
        once = looker.look

        def look(picture: Pixels) -> Detections:
            return once(picture) if looker.num_seen == 1 else once(picture)[[]]

        looker.look = look
        assert video(gray, "--no-video", "--jsonl", "a", "--stride", 4, "--max-frames", 8).exit_code == 0
        assert [len(line["detections"]) for line in lines_of("a")] == [1, 1, 0, 0, 0, 0, 0, 0]

    def test_on_standard_output_there_is_nothing_else(self, source: Path, looker: Looker) -> None:
        odd = ffmpeg(f"{pictures('33x25', seconds=0.3)} -c:v ffv1", Path("odd.mkv"))
        Path("bad.mp4").write_text("hello")
        result = video(source, odd, "bad.mp4", "-o", "out", "--jsonl", "-", "-v", "--overwrite")
        assert result.exit_code == 3
        values = [json.loads(line) for line in result.stdout.splitlines()]
        assert [value["file"] for value in values if value["kind"] == "video"] == [str(source), "odd.mkv"]
        assert len(values) == 2 + 60 + 9
        schema = json.loads((SCHEMAS / "frames.schema.json").read_text())
        for value in values:
            jsonschema.validate(value, schema)
        assert "in.mp4: 60 frames" in result.stderr
        assert "saved out/odd.mkv" in result.stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
    def test_nor_with_a_bar_on_the_terminal(self, source: Path) -> None:
        import os
        import pty

        ours, theirs = pty.openpty()
        child = Child(source, "out.mp4", "--jsonl", "-", stderr=theirs)
        status, out, _ = child.end()
        os.close(theirs)
        shown = os.read(ours, 1_000_000).decode()
        os.close(ours)
        assert status == 0
        assert len([json.loads(line) for line in out.splitlines()]) == 61
        assert "60/60 frames" in shown

    def test_table_and_lines_agree(self, source: Path, looker: Looker) -> None:
        assert video(source, "--no-video", "--jsonl", "a", "--csv", "b", "--stride", 7).exit_code == 0
        with Path("b").open(newline="") as file:
            rows = list(csv.DictReader(file))
        expected = [(line, found) for line in lines_of("a") for found in line["detections"]]
        assert len(rows) == len(expected) > 100
        for row, (line, found) in zip(rows, expected, strict=True):
            assert (row["file"], int(row["frame"]), float(row["time"])) == (line["file"], line["frame"], line["time"])
            assert (row["class"], float(row["score"])) == (found["class"], found["score"])
            assert row["detected"] == str(line["detected"]).lower()


class TestSummary:
    def test_of_two_videos(self, source: Path, gray: Path, looker: Looker) -> None:
        assert video(source, gray, "-o", "out", "--summary", "s.json", "--jsonl", "a", "--stride", 2).exit_code == 0
        summary = json.loads(Path("s.json").read_text())
        jsonschema.validate(summary, json.loads((SCHEMAS / "video-summary.schema.json").read_text()))
        for found, name in zip(summary["videos"], (source, gray), strict=True):
            lines = [line for line in lines_of("a") if line["file"] == str(name)]
            copy = facts(Path("out", name.name))
            assert found["frames"] == len(lines) == len(copy.times)
            assert found["frames_detected"] == len(lines) // 2
            for what in ("person", "car"):
                times = [line["time"] for line in lines if what in {d["class"] for d in line["detections"]}]
                seen = found["classes"][what]
                assert (seen["first"], seen["last"], seen["frames"]) == (times[0], times[-1], len(times))
                assert seen["seconds"] == pytest.approx(found["seconds"], abs=0.001 * len(lines))
        assert [round(found["seconds"], 2) for found in summary["videos"]] == [2, 2.5]


def noise(picture: Pixels) -> float:
    """How much neighbours differ: what is left of details."""
    return float(np.abs(np.diff(picture.astype(int), axis=1)).mean())


class TestPictures:
    @pytest.fixture
    def noisy(self, tmp_path: Path) -> Path:
        """Chequered, so that anything that can be told is told by single pixels."""
        board = "geq=r='255*mod(X+Y,2)':g='255*mod(X+Y,2)':b='255*mod(X+Y,2)'"
        arguments = f"-f lavfi -i nullsrc=s=128x96:r=10:d=1,format=rgb24,{board} -c:v ffv1 -pix_fmt bgr0"
        return ffmpeg(arguments, tmp_path / "noisy.mkv")

    @pytest.mark.parametrize("classes", [[], ["--class", "car"], ["--exclude-class", "person"]])
    @pytest.mark.parametrize("stride", [1, 4])
    def test_blurred_objects_are_told_by_nothing(
        self, stride: int, classes: list[str], noisy: Path, looker: Looker
    ) -> None:
        """Two persons: one stands still, the other is seen in the first picture only; a car around one of them."""
        boxes = np.array([[8, 8, 56, 56], [70, 8, 118, 56], [4, 4, 60, 90]], np.float32)
        scores, class_ids = np.array([0.9, 0.8, 0.7], np.float32), np.array([15, 15, 16])

        def look(picture: Pixels) -> Detections:
            found = Detections(boxes, scores, class_ids, (128, 96), NAMES)
            return found if looker.num_seen == 1 else found[[0, 2]]

        looker.look = look
        options = ("--crops", "crops", "--snapshot-every", 1, "--snapshots", "shots", "--no-labels", "--crf", 1)
        result = video(noisy, "out.mp4", *options, "--blur", "person", *classes, "--stride", stride)
        assert result.exit_code == 0, result.output
        assert ("person" in result.stdout) is not bool(classes)
        copies = [frame.pixels for frame in read(Path("out.mp4"))]
        shots = [read_picture(Path("shots", name)) for name in left("shots")]
        assert len(copies) == len(shots) == 10
        for number, picture in enumerate([*copies, *shots]):
            assert noise(picture[12:52, 12:52]) < 20, number
            if number % 10 < stride:  # as long as the network has not looked again
                assert noise(picture[12:52, 74:114]) < 20, number
            else:
                assert noise(picture[12:52, 74:114]) > 100, number
            assert noise(picture[62:88, 70:120]) > 100
        crops = [Path("crops", name) for name in left("crops")]
        assert any("car" in crop.name for crop in crops)
        assert all(noise(read_picture(crop)[12:40, 12:40]) < 20 for crop in crops)

    @pytest.mark.parametrize("options", [(), ("--blur", "person")])
    def test_a_cover_does_not_show_what_is_blurred(
        self, options: tuple[str, ...], looker: Looker, tmp_path: Path
    ) -> None:
        picture = ffmpeg("-f lavfi -i testsrc=s=32x32 -frames:v 1", tmp_path / "cover.png")
        maps = "-map 0 -map 1 -c:v:0 mpeg4 -c:v:1 copy -disposition:v:1 attached_pic"
        ffmpeg(f"{pictures(seconds=0.2)} -i {picture} {maps}", tmp_path / "in.mp4")
        assert video("in.mp4", "out.mp4", *options).exit_code == 0
        with av.open("out.mp4", "r") as container:
            assert len(container.streams.video) == (1 if options else 2)

    def test_crops_and_snapshots(self, gray: Path, looker: Looker) -> None:
        moving_box(looker)
        assert video(gray, "out.mp4", "--crops", "crops", "--snapshot-every", 25, "--stride", 20).exit_code == 0
        assert left("crops") == [f"gray_{number:06}_car_1.png" for number in (0, 20, 40)]
        assert {read_picture(Path("crops", name)).shape for name in left("crops")} == {(40, 40, 3)}
        assert left("snapshots") == [f"gray_{number:06}.jpg" for number in (0, 25, 50)]
        left_edge, *_ = drawn_at(read_picture("snapshots/gray_000000.jpg"))
        assert left_edge == pytest.approx(12, abs=3)

    def test_pictures_that_are_there_are_kept(self, gray: Path, looker: Looker) -> None:
        Path("shots").mkdir()
        Path("shots/gray_000010.jpg").write_text("precious")
        options = ("--snapshot-every", 10, "--snapshots", "shots")
        result = video(gray, "out.mp4", *options)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("Error: shots/gray_000010.jpg: exists already")
        assert Path("shots/gray_000010.jpg").read_text() == "precious"
        assert "out.mp4" not in left()
        assert video(gray, "out.mp4", *options, "--overwrite").exit_code == 0
        assert read_picture("shots/gray_000010.jpg").shape == (120, 160, 3)


class TestSettings:
    @pytest.mark.parametrize(
        ("options", "classes"),
        [
            ([], {"person", "car"}),
            (["--class", "person"], {"person"}),
            (["--exclude-class", "person"], {"car"}),
            (["--score-threshold", 0.8], {"car"}),
            (["--score-threshold", 1], set()),
        ],
    )
    def test_which_objects_are_told(self, options: list[Any], classes: set[str], source: Path, looker: Looker) -> None:
        assert video(source, "--no-video", "--jsonl", "a", *options).exit_code == 0
        assert {found["class"] for line in lines_of("a") for found in line["detections"]} == classes

    def test_no_video_leaves_no_video(self, source: Path, looker: Looker) -> None:
        assert video(source, "--no-video", "--csv", "new/a", "--summary", "new/b", "--jsonl", "new/c").exit_code == 0
        assert left() == ["new", "new/a", "new/b", "new/c"]
        assert video(source, "--no-video", "--jsonl", "-").stdout == Path("new/c").read_text()
        assert left() == ["new", "new/a", "new/b", "new/c"]

    def test_a_constant_rate(self, source: Path, looker: Looker) -> None:
        assert video(source, "out.mp4", "--fps", "25", "--codec", "mpeg4").exit_code == 0
        copy = facts(Path("out.mp4"))
        assert (copy.rate, copy.codec) == (Fraction(25), "mpeg4")
        assert copy.times == [Fraction(n, 25) for n in range(50)]

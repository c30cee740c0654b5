"""Runs over many pictures: batches and their memory, the journal, the summary."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from ssd_detect.arrays import Pixels
from ssd_detect.batch import flow
from ssd_detect.batch.flow import PixelBudget, read_batches
from ssd_detect.batch.journal import (
    JOURNAL_NAME,
    Journal,
    fingerprint,
    has_journal,
    is_unfinished,
    read_journal,
)
from ssd_detect.batch.outputs import Outputs
from ssd_detect.batch.run import PictureRun, Started
from ssd_detect.batch.settings import JobSettings
from ssd_detect.batch.summary import RunSummary
from ssd_detect.classes import VOC20
from ssd_detect.detections import Detections
from ssd_detect.errors import ExitStatus, OutputError, PictureError
from ssd_detect.files import file_stamp
from ssd_detect.formats.record import PictureRecord
from ssd_detect.media.decoding.origin import PictureOrigin
from ssd_detect.media.detecting import Detect
from ssd_detect.media.pictures import Picture
from ssd_detect.media.sources.inputs import PictureInput
from ssd_detect.settings import CheckpointSettings, DetectionSettings
from ssd_detect.stages import StageTimes

from .test_detections import CAR, DOG, PERSON, detections
from .video_parts import no_pipeline_is_left


def picture(height: int, width: int) -> Picture:
    return Picture(np.zeros((height, width, 3), np.uint8), PictureOrigin("PNG", lossless=True))


def read(size: tuple[int, int] | Exception) -> tuple[Picture, str | None]:
    if isinstance(size, Exception):
        raise size
    return picture(*size), None


class TestBatches:
    @pytest.mark.parametrize(
        ("sizes", "batch_size", "lengths"),
        [
            ([], 4, []),
            ([(9, 9)] * 3, 4, [3]),
            ([(9, 9)] * 9, 4, [4, 4, 1]),
            ([(9, 9)] * 2, 1, [1, 1]),
            ([(6000, 6000), (9, 9), (6000, 6000)], 4, [1, 1, 1]),  # each of 36 million pixels is a batch of its own
            ([(4000, 4000), (4000, 4000), (9, 9)], 4, [2, 1]),
        ],
    )
    def test_by_number_and_by_pixels(self, sizes: Any, batch_size: int, lengths: list[int]) -> None:
        budget = PixelBudget(10**12)
        batches = list(read_batches(sizes, read, batch_size, budget))
        assert [len(batch.items) for batch in batches] == lengths
        assert [item.source for batch in batches for item in batch.items] == sizes

    def test_a_failure_keeps_its_place(self) -> None:
        error = PictureError("broken")
        sources: list[tuple[int, int] | Exception] = [(9, 9), error, (5, 5)]
        (batch,) = read_batches(sources, read, 4, PixelBudget())
        assert [item.error for item in batch.items] == [None, error, None]
        asked: list[int] = []

        def detect(pictures: Any) -> list[Detections]:
            asked.append(len(pictures))
            return nothing_in(pictures)

        batch.prepare(lambda pixels: pixels)
        batch.detect(detect)
        assert asked == [2]
        assert [item.prepared for item in batch.items] == [None] * 3  # no longer in memory
        assert [None if d is None else d.size for d in (item.detections for item in batch.items)] == [
            (9, 9), None, (5, 5),
        ]  # fmt: skip

    def test_the_reader_waits_for_the_writer(self) -> None:
        budget = PixelBudget(limit=250)
        seen: list[int] = []

        def take_all() -> None:
            for batch in read_batches([(10, 10)] * 4, read, 1, budget):
                seen.append(batch.num_pixels)

        reader = threading.Thread(target=take_all)
        reader.start()
        wait_until(lambda: len(seen) == 2)
        time.sleep(0.05)
        assert len(seen) == 2  # a third would be 300 pixels
        budget.give_back(100)
        wait_until(lambda: len(seen) == 3)
        budget.close()
        reader.join(5)
        assert len(seen) == 4

    def test_a_single_large_picture_always_passes(self) -> None:
        budget = PixelBudget(limit=10)
        budget.take(1000)
        budget.give_back(1000)
        budget.take(1000)

    def test_limits_are_sane(self) -> None:
        assert flow.PIXELS_IN_FLIGHT >= 2 * flow.BATCH_PIXELS


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


class TwoSteps:
    """A detector that prepares."""

    def __init__(self, detect: Callable[[list[Any]], list[Detections]]) -> None:
        self.detect_prepared = detect
        self.prepared: list[int] = []

    def __call__(self, pictures: list[Pixels]) -> list[Detections]:
        raise AssertionError("pictures that nobody prepared")

    def prepare(self, pixels: Pixels) -> tuple[str, Pixels]:
        self.prepared.append(pixels.shape[0])
        return "prepared", pixels


def nothing_in(pictures: list[Pixels]) -> list[Detections]:
    return [Detections.empty((p.shape[1], p.shape[0]), VOC20) for p in pictures]


class TestRun:
    """From reading to writing, without a network."""

    def do(self, detect: Detect, sizes: list[tuple[int, int]], **options: Any) -> list[PictureRecord]:
        done: list[PictureRecord] = []
        sources = [PictureInput(f"{i}.png", None, None, PurePosixPath(str(i))) for i in range(len(sizes))]

        def read(source: PictureInput) -> tuple[Picture, None]:
            height, width = sizes[int(source.key.name)]
            if height == 0:
                raise PictureError("broken")
            blank = np.broadcast_to(np.zeros(3, np.uint8), (height, width, 3))  # takes no memory
            return Picture(blank, PictureOrigin("PNG", lossless=True)), None

        given: dict[str, Any] = {
            "reported": lambda found: found,
            "journal": Journal(None, "", ()),
            "batch_size": 1,
            "times": StageTimes(),
            "summary": RunSummary(),
            "on_failure": lambda source, error: None,
            "on_note": lambda source, note: None,
        }
        run = PictureRun(sources, {}, read, **(given | options))
        outputs = Outputs((), (), lambda record, targets: done.append(record), overwrite=False)
        run.do(lambda: Started(detect, VOC20, outputs))
        assert no_pipeline_is_left()
        return done

    @pytest.mark.parametrize("count", [0, 1, 7])
    def test_pictures_are_prepared_and_written_in_order(self, count: int) -> None:
        asked: list[str] = []

        def detect(pictures: list[Any]) -> list[Detections]:
            asked.extend(word for word, _ in pictures)
            return nothing_in([pixels for _, pixels in pictures])

        detector = TwoSteps(detect)
        done = self.do(detector, [(i + 1, 2) for i in range(count)], batch_size=3)
        assert [record.detections.size for record in done] == [(2, i + 1) for i in range(count)]
        assert detector.prepared == [i + 1 for i in range(count)]
        assert asked == ["prepared"] * count

    def test_the_next_batch_is_prepared_while_the_network_is_busy(self) -> None:
        def detect(pictures: list[Any]) -> list[Detections]:
            at_hand = pictures[-1][1].shape[0]
            wait_until(lambda: detector.prepared[-1] > at_hand or at_hand == 4)
            return nothing_in([pixels for _, pixels in pictures])

        detector = TwoSteps(detect)
        assert len(self.do(detector, [(1, 2), (2, 2), (3, 2), (4, 2)], batch_size=2)) == 4

    @pytest.mark.parametrize("stage", ["prepare", "detect", "stop", "strict"])
    def test_it_ends_while_the_reader_waits_for_room(self, stage: str) -> None:
        """Each picture alone takes all the memory that there is for pictures; what waits is not written."""
        sizes = [(0, 0) if stage == "strict" else (12_000, 12_000), *[(12_000, 12_000)] * 9]

        def broken(pictures: Any) -> Any:
            time.sleep(0.1)
            if stage in ("prepare", "detect"):
                raise OSError(f"{stage} broke")
            return nothing_in(pictures)

        def detect() -> Detect:
            if stage == "prepare":
                detector = TwoSteps(nothing_in)
                detector.prepare = broken  # type: ignore[assignment, method-assign]
                return detector
            return broken

        options: dict[str, Any] = {"strict": stage == "strict", "should_stop": lambda: stage == "stop"}
        if stage in ("prepare", "detect"):
            with pytest.raises(OSError, match=f"{stage} broke"):
                self.do(detect(), sizes, **options)
        else:
            done = self.do(detect(), sizes, **options)
            assert len(done) == (stage == "stop")


class TestJournal:
    records = (
        PictureRecord("a.jpg", PurePosixPath("a"), detections(PERSON, DOG)),
        PictureRecord("x/b.jpg", PurePosixPath("x/b"), detections(), "ab" * 32),
    )

    def write(self, folder: Path) -> str:
        name = fingerprint({"thresholds": 0.5})
        with closing(Journal(folder, name, ())) as journal:
            assert not has_journal(folder)  # appears with the first picture
            for record in self.records:
                journal.append(record, "12-34")
        return name

    def test_there_and_back(self, tmp_path: Path) -> None:
        name = self.write(tmp_path)
        finished = read_journal(tmp_path, name)
        assert list(finished) == [PurePosixPath("a"), PurePosixPath("x/b")]
        for record, entry in zip(self.records, finished.values(), strict=True):
            again = entry.record(VOC20)
            assert (again.file, again.sha256, entry.stamp) == (record.file, record.sha256, "12-34")
            assert again.detections == record.detections

    def test_none(self, tmp_path: Path) -> None:
        assert not has_journal(tmp_path)
        assert read_journal(tmp_path, "x") == {}

    @pytest.mark.parametrize("num_bytes", [1, 5, 60])
    def test_a_line_that_was_cut_off_does_not_count(self, tmp_path: Path, num_bytes: int) -> None:
        name = self.write(tmp_path)
        path = tmp_path / JOURNAL_NAME
        path.write_bytes(path.read_bytes()[:-num_bytes])
        assert list(read_journal(tmp_path, name)) == [PurePosixPath("a")]

    def test_other_settings_are_refused(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        with pytest.raises(OutputError, match="another checkpoint, other thresholds, other formats, another precision"):
            read_journal(tmp_path, fingerprint({"thresholds": 0.4}))

    def test_going_on_keeps_what_was_there(self, tmp_path: Path) -> None:
        name = self.write(tmp_path)
        finished = read_journal(tmp_path, name)
        with closing(Journal(tmp_path, name, finished.values())) as journal:
            journal.append(PictureRecord("c.jpg", PurePosixPath("c"), detections(CAR)), "")
            assert is_unfinished(tmp_path)
            journal.end()
        assert list(read_journal(tmp_path, name)) == [PurePosixPath(k) for k in ("a", "x/b", "c")]
        assert not is_unfinished(tmp_path)
        assert [p.name for p in tmp_path.iterdir()] == [JOURNAL_NAME]

    def test_where_nothing_is_done_no_journal_is_left(self, tmp_path: Path) -> None:
        with closing(Journal(tmp_path, "x", ())) as journal:
            journal.end()
        with closing(Journal(None, "x", ())) as journal:
            journal.append(self.records[0], "")
            journal.end()
        assert list(tmp_path.iterdir()) == []
        assert not is_unfinished(tmp_path)

    def test_stamp_changes_with_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_text("1")
        first = file_stamp(path)
        path.write_text("12")
        assert file_stamp(path) != first != ""
        assert file_stamp(None) == file_stamp(tmp_path / "gone") == ""


class TestSummary:
    def test_line_and_status(self) -> None:
        summary = RunSummary()
        assert summary.line(0.0) == "0 pictures done, objects: none; 0.0 s, 0.00 pictures/s"
        assert summary.status() is ExitStatus.DONE
        summary.failures.append(("bad.jpg", PictureError("x")))
        assert summary.status() is ExitStatus.FAILED
        summary.add(PictureRecord("a", PurePosixPath("a"), detections(PERSON, CAR, DOG)))
        summary.add(PictureRecord("b", PurePosixPath("b"), detections(PERSON)), resumed=True)
        summary.num_skipped = 4
        assert summary.status() is ExitStatus.SOME_FAILED
        assert summary.line(2.0) == (
            "2 pictures done, objects: person 2, car 1, dog 1; 1 of them in an earlier run; 1 failed: bad.jpg; "
            "4 other files skipped; 2.0 s, 0.50 pictures/s"
        )

    def test_many_failures_are_not_all_named(self) -> None:
        summary = RunSummary(failures=[(f"{i}.jpg", PictureError("x")) for i in range(9)])
        assert "9 failed: 0.jpg, 1.jpg, 2.jpg, 3.jpg, 4.jpg, …;" in summary.line(1.0)


class TestSettings:
    def job(self, **extra: Any) -> JobSettings:
        return JobSettings(CheckpointSettings("x"), batch_size=1, **{"detection": DetectionSettings()} | extra)

    def test_what_is_blurred_is_looked_for_too(self) -> None:
        wanted = DetectionSettings(classes=("dog",), exclude_classes=("person",))
        job = self.job(detection=wanted, blur=("person",))
        assert job.detected.classes == ("dog", "person")
        assert job.detected.exclude_classes == ()
        assert self.job(detection=wanted).detected == wanted
        assert self.job(blur=("person",)).detected.classes == ()

    def test_only_what_shapes_results_keeps_two_runs_apart(self) -> None:
        plain = fingerprint(self.job().that_shape_results())
        assert fingerprint(self.job(strict=True, resume=True).that_shape_results()) == plain
        assert fingerprint(self.job(labels=False).that_shape_results()) != plain
        assert fingerprint(self.job(detection=DetectionSettings(0.4)).that_shape_results()) != plain
        json.dumps(list(self.job().that_shape_results()))

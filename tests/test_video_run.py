"""A video through the stages of a run; and the bar beside it."""

import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ssd_detect.arrays import Pixels
from ssd_detect.cli.progress import told
from ssd_detect.detections import Detections
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.frames import Frame
from ssd_detect.media.video.run import DetectedFrame, detect_frames
from ssd_detect.media.video.selection import Chosen
from ssd_detect.settings import Selection
from tests.video_parts import NAMES, every_frame, found, frames_of, no_pipeline_is_left, video_run

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


class TestVideoRun:
    @pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 30])
    @pytest.mark.parametrize("batch_size", [1, 4])
    def test_each_frame_once_in_order_in_batches(self, count: int, batch_size: int) -> None:
        batches: list[int] = []
        written: list[DetectedFrame] = []

        def detect(batch: list[Pixels]) -> list[Detections]:
            batches.append(len(batch))
            return [found(picture) for picture in batch]

        run = video_run(batch_size, detect=detect)
        run.do(frames_of(count), written.append)
        assert [(w.number, int(w.frame.pixels[0, 0, 0])) for w in written] == [(n, n) for n in range(count)]
        assert [w.frame.time for w in written] == [FrameTime(10 + n, 1, Fraction(1, 10)) for n in range(count)]
        assert all(w.is_detected and len(w.detections) == 1 for w in written)
        assert max(batches, default=0) <= batch_size
        assert len(batches) == -(-count // batch_size)
        assert no_pipeline_is_left()
        assert set(run.times.seconds()) == {"read"}

    @pytest.mark.parametrize("stage", ["read", "choose", "detect", "write"])
    @pytest.mark.parametrize("place", [0, 3, 20])
    def test_the_first_error_of_any_stage_ends_the_run(self, stage: str, place: int) -> None:
        calls = dict.fromkeys(("read", "choose", "detect", "write"), 0)

        def at(name: str, value: Any = None) -> Any:
            if name == stage and calls[name] == place:
                raise OSError(f"{name} broke")
            calls[name] += 1
            return value

        run = video_run(
            2,
            choose=lambda frames: (at("choose", frame) for frame in every_frame()(frames)),
            detect=lambda batch: at("detect", [found(picture) for picture in batch]),
        )
        frames = (at("read", frame) for frame in frames_of(10_000))
        with pytest.raises(OSError, match=f"{stage} broke"):
            run.do(frames, lambda _: at("write"))
        assert no_pipeline_is_left()
        assert calls["read"] < 100

    def test_ctrl_c_in_the_network(self) -> None:
        def interrupt(_: list[Pixels]) -> list[Detections]:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            video_run(detect=interrupt).do(frames_of(1000), lambda _: None)
        assert no_pipeline_is_left()

    @pytest.mark.parametrize("batch_size", [1, 4])
    @pytest.mark.parametrize("stride", [1, 5])
    def test_memory_is_flat(self, batch_size: int, stride: int) -> None:
        alive: set[int] = set()
        most = 0

        def pixels() -> Pixels:
            nonlocal most
            picture = np.zeros((4, 6, 3), np.uint8)
            alive.add(id(picture))
            weakref.finalize(picture, alive.discard, id(picture))
            most = max(most, len(alive))
            return picture

        run = video_run(batch_size, choose=every_frame(stride), stride=stride)
        run.do(frames_of(400, pixels), lambda _: None)
        assert most <= 3 * batch_size * stride + 6

    def test_leaving_the_detections_early_ends_the_reader(self) -> None:
        detected = video_run().detected(frames_of(1000))
        first = next(detected)
        assert (first.frame.time.pts, len(first.detections)) == (10, 1)
        detected.close()
        assert no_pipeline_is_left()


class Preparing:
    """A detector in two steps, which keeps account of them."""

    def __init__(self, detect: Callable[[list[Any]], None] = lambda pictures: None) -> None:
        self.prepared: list[int] = []
        self.detected: list[int] = []
        self._detect = detect

    def __call__(self, pictures: list[Pixels]) -> list[Detections]:
        raise AssertionError("pictures that nobody prepared")

    def prepare(self, picture: Pixels) -> tuple[Pixels]:
        self.prepared.append(int(picture[0, 0, 0]))
        return (picture,)

    def detect_prepared(self, pictures: list[tuple[Pixels]]) -> list[Detections]:
        self.detected += [int(picture[0, 0, 0]) for (picture,) in pictures]
        self._detect(pictures)
        return [found(picture) for (picture,) in pictures]


class TestPreparing:
    @pytest.mark.parametrize("stride", [1, 4])
    @pytest.mark.parametrize("count", [0, 1, 13])
    def test_only_what_the_network_sees_is_prepared(self, count: int, stride: int) -> None:
        detector, written = Preparing(), list[DetectedFrame]()
        video_run(2, detect=detector, choose=every_frame(stride)).do(frames_of(count), written.append)
        assert detector.prepared == detector.detected == [*range(0, count, stride)]
        assert [w.number for w in written] == [*range(count)]

    def test_the_next_batch_is_prepared_while_the_network_is_busy(self) -> None:
        def wait(_: list[Any]) -> None:
            end = time.monotonic() + 30
            while detector.prepared[-1] < min(11, detector.detected[-1] + 3):
                assert time.monotonic() < end
                time.sleep(0.002)

        detector = Preparing(wait)
        assert len(list(detect_frames(detector, frames_of(12), batch_size=3))) == 12

    @pytest.mark.parametrize(("batch_size", "stride"), [(1, 5), (1, 15), (2, 2)])
    def test_so_is_what_comes_with_a_stride(self, batch_size: int, stride: int) -> None:
        """All frames up to the next one that the network sees are read while it is busy."""
        written: list[DetectedFrame] = []

        def wait(_: list[Any]) -> None:
            end = time.monotonic() + 30
            while detector.prepared[-1] < min(90, detector.detected[-1] + stride):
                assert time.monotonic() < end
                time.sleep(0.002)

        detector = Preparing(wait)
        run = video_run(batch_size, detect=detector, choose=every_frame(stride), stride=stride)
        run.do(frames_of(91), written.append)
        assert len(written) == 91

    def test_live_frames_that_are_dropped_are_not(self) -> None:
        source = Source(50)

        def wait(_: list[Any]) -> None:
            if len(detector.detected) == 1:
                assert source.given.acquire(timeout=30)

        detector = Preparing(wait)
        video_run(1, detect=detector, newest_wins=True).do(source.frames(), lambda _: None)
        assert detector.prepared == detector.detected
        assert detector.prepared[-1] == 49
        assert len(detector.prepared) <= 4

    def test_an_error_comes_in_its_place(self) -> None:
        def prepare(picture: Pixels) -> Any:
            if picture[0, 0, 0] == 5:
                raise OSError("prepare broke")
            return (picture,)

        detector, written = Preparing(), list[DetectedFrame]()
        detector.prepare = prepare  # type: ignore[method-assign]
        with pytest.raises(OSError, match="prepare broke"):
            video_run(1, detect=detector).do(frames_of(10**6), written.append)
        assert len(written) <= 5
        assert no_pipeline_is_left()


class TestFillingIn:
    """Frames that the network does not see."""

    @staticmethod
    def moving(batch: list[Pixels]) -> list[Detections]:
        """A box that is as far to the right as the picture is bright."""
        boxes = [np.array([[int(picture[0, 0, 0]), 0, int(picture[0, 0, 0]) + 10, 4]], np.float32) for picture in batch]
        return [Detections(b, np.full(1, 0.5, np.float32), np.ones(1, np.int64), (200, 4), NAMES) for b in boxes]

    @pytest.mark.parametrize("batch_size", [1, 2, 5])
    @pytest.mark.parametrize(
        ("interpolates", "count", "left"),
        [
            (True, 0, []),
            (True, 1, [0]),
            (True, 4, [0, 1, 2, 3]),
            (True, 5, [0, 1, 2, 3, 3]),
            (True, 9, [0, 1, 2, 3, 4, 5, 6, 6, 6]),
            (False, 9, [0, 0, 0, 3, 3, 3, 6, 6, 6]),
        ],
    )
    def test_every_third_frame(self, interpolates: bool, count: int, left: list[int], batch_size: int) -> None:
        written: list[DetectedFrame] = []
        run = video_run(batch_size, detect=self.moving, choose=every_frame(3), interpolates=interpolates)
        run.do(frames_of(count), written.append)
        assert [w.number for w in written] == [*range(count)]
        assert [float(w.detections.boxes[0, 0]) for w in written] == pytest.approx(left)
        assert [w.is_detected for w in written] == [number % 3 == 0 for number in range(count)]
        assert [int(w.frame.pixels[0, 0, 0]) for w in written] == [*range(count)]

    def test_a_run_that_goes_on_fills_in_the_same(self) -> None:
        whole: list[DetectedFrame] = []
        rest: list[DetectedFrame] = []
        video_run(2, detect=self.moving, choose=every_frame(3), interpolates=True).do(frames_of(20), whole.append)

        def choose(frames: Iterable[Frame]) -> Chosen:
            return Chosen(frames, Selection(stride=3), num_done=6)

        video_run(2, detect=self.moving, choose=choose, interpolates=True).do(frames_of(20), rest.append)
        assert [(w.number, w.is_detected) for w in rest] == [(w.number, w.is_detected) for w in whole[6:]]
        assert [w.detections for w in rest] == [w.detections for w in whole[6:]]


class Source:
    """Frames that come when they are asked for by name: a live source without a clock."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.given = threading.Semaphore(0)
        self.num_given = 0

    def frames(self) -> Iterator[Frame]:
        for frame in frames_of(self.count):
            self.num_given += 1
            yield frame
        self.given.release()


class TestLive:
    def test_the_newest_wins_and_none_overtakes(self) -> None:
        """While the network is at the first frame all others come; only the last of them is left."""
        source = Source(50)
        written: list[DetectedFrame] = []

        def detect(batch: list[Pixels]) -> list[Detections]:
            if not written and not seen:
                assert source.given.acquire(timeout=30)
            seen.extend(int(picture[0, 0, 0]) for picture in batch)
            return [found(picture) for picture in batch]

        seen: list[int] = []
        video_run(1, detect=detect, newest_wins=True).do(source.frames(), written.append)
        places = [int(w.frame.pixels[0, 0, 0]) for w in written]
        assert places == seen == sorted(seen)
        assert places[-1] == 49
        assert len(places) <= 4  # those that had passed the queue before, and the newest
        assert [w.number for w in written] == [*range(len(written))]
        assert all(w.is_detected for w in written)
        assert no_pipeline_is_left()

    def test_keeping_up_writes_every_frame_while_the_network_is_busy(self) -> None:
        """The network looks at one frame until 20 others are written: it would wait for ever if they waited for it."""
        written: list[DetectedFrame] = []
        looks: list[int] = []
        enough = threading.Event()

        def detect(batch: list[Pixels]) -> list[Detections]:
            looks.extend(int(picture[0, 0, 0]) for picture in batch)
            if len(looks) == 2:
                assert enough.wait(30)
            return [found(picture, (1,) * min(3, len(looks))) for picture in batch]

        def write(frame: DetectedFrame) -> None:
            written.append(frame)
            if len(written) == 25:
                enough.set()

        video_run(4, detect=detect, keeps_up=True).do(frames_of(30), write)
        assert [int(w.frame.pixels[0, 0, 0]) for w in written] == [*range(30)]
        assert [w.is_detected for w in written] == [True] + [False] * 29
        assert looks == sorted(looks)
        assert looks[0] == 0
        counts = [len(w.detections) for w in written]
        assert counts == sorted(counts)  # each shows what was found last
        assert counts[:20] == [1] * 20
        assert no_pipeline_is_left()

    @pytest.mark.parametrize("count", [0, 1, 2])
    def test_keeping_up_with_few(self, count: int) -> None:
        written: list[DetectedFrame] = []
        video_run(keeps_up=True).do(frames_of(count), written.append)
        assert [w.is_detected for w in written] == [True, False][:count]

    @pytest.mark.parametrize("place", [0, 1])
    def test_an_error_of_the_network_ends_a_run_that_keeps_up(self, place: int) -> None:
        calls = 0

        def detect(batch: list[Pixels]) -> list[Detections]:
            nonlocal calls
            calls += 1
            if calls > place:
                raise OSError("gone")
            return [found(picture) for picture in batch]

        with pytest.raises(OSError, match="gone"):
            video_run(detect=detect, keeps_up=True).do(frames_of(10**9), lambda _: None)
        assert no_pipeline_is_left()


class TestFullQueues:
    """The first error ends the run although every queue is full and the other stages wait."""

    @pytest.mark.parametrize("kind", [{}, {"newest_wins": True}, {"keeps_up": True}])
    @pytest.mark.parametrize("stage", ["read", "detect", "write"])
    def test_errors_that_come_late(self, stage: str, kind: dict[str, bool]) -> None:
        read_enough = threading.Event()
        num_written = 0

        def frames() -> Iterator[Frame]:
            for number, frame in enumerate(frames_of(10**9)):
                if number == 40 and stage == "read":
                    raise OSError("read broke")
                if number > 7:
                    read_enough.set()
                yield frame

        def detect(batch: list[Pixels]) -> list[Detections]:
            if stage == "detect" and num_written > 3:
                raise OSError("detect broke")
            return [found(picture) for picture in batch]

        def write(_: DetectedFrame) -> None:
            nonlocal num_written
            num_written += 1
            if num_written == 2:
                assert read_enough.wait(30)  # then everything before is full or read
                if stage == "write":
                    raise OSError("write broke")

        with pytest.raises(OSError, match=f"{stage} broke"):
            video_run(2, detect=detect, **kind).do(frames(), write)
        assert no_pipeline_is_left()


class TestProgress:
    @pytest.mark.parametrize(
        ("done", "total", "rate", "text"),
        [
            (1, None, None, "1 frames"),
            (9, 60, None, "9/60 frames"),
            (9, None, 3.14, "9 frames, 3.1/s"),
            (9, 60, 3.1, "9/60 frames, 3.1/s, 0:00:16 left"),
            (60, 60, 3.1, "60/60 frames, 3.1/s, 0:00:00 left"),
            (1, 1_000_000, 3.0, "1/1000000 frames, 3.0/s, 3 days, 20:35:33 left"),
        ],
    )
    def test_beside_the_bar(self, done: int, total: int | None, rate: float | None, text: str) -> None:
        assert told(done, total, "frames", rate) == text

    @pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
    @pytest.mark.parametrize("total", [5, None, 3])
    def test_the_bar_on_a_terminal(self, total: int | None) -> None:
        import pty

        code = (
            "from ssd_detect.cli.progress import counted_progress\n"
            "from ssd_detect.cli.talk import Talk\n"
            f"with counted_progress({total}, 'frames', Talk()) as advance:\n"
            "    for _ in range(5): advance()\n"
        )
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=60
        )
        shown = os.read(ours, 100_000).decode()
        os.close(ours)
        os.close(theirs)
        assert done.stdout == b""
        assert ("5/5 frames" if total == 5 else "5 frames") in shown

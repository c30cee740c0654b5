"""A video through the stages of a run; and the bar beside it."""

import os
import subprocess
import sys
import weakref
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ssd_detect.arrays import Pixels
from ssd_detect.cli.progress import told
from ssd_detect.detections import Detections
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.run import DetectedFrame
from tests.video_parts import every_frame, found, frames_of, no_pipeline_is_left, video_run

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

        video_run(batch_size, choose=every_frame(stride)).do(frames_of(400, pixels), lambda _: None)
        assert most <= 3 * batch_size * stride + 6

    def test_leaving_the_detections_early_ends_the_reader(self) -> None:
        detected = video_run().detected(frames_of(1000))
        first = next(detected)
        assert (first.frame.time.pts, len(first.detections)) == (10, 1)
        detected.close()
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

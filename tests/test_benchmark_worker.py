"""Worker processes: real ones with the shipped checkpoint, and what becomes of those that die or hang."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from ssd_detect.benchmark.agreement import agreement, read_outputs
from ssd_detect.benchmark.comparing import Contender, take_turns
from ssd_detect.benchmark.made import made_clip
from ssd_detect.benchmark.measuring import chosen_pictures
from ssd_detect.benchmark.results import Opened
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.benchmark.work import REST
from ssd_detect.benchmark.workers import Patience, Worker, WorkerError
from ssd_detect.errors import CheckpointError, ClosedError, PictureError
from ssd_detect.media.pictures import picture_size
from ssd_detect.settings import CheckpointSettings, DetectionSettings, Device, SessionSettings
from ssd_detect.shipped import PORTRAIT

NOT_ON_WINDOWS = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")


def settings(checkpoint: str = "ssd_300_vgg_voc") -> BenchmarkSettings:
    session = SessionSettings(device=Device.parse("cpu"))
    return BenchmarkSettings(CheckpointSettings(checkpoint), DetectionSettings(), session, batch_size=2, runs=2)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "damaged.jpg"
    path.write_bytes(PORTRAIT.read_bytes()[:300])
    return path


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker("test") as one:
        yield one


@pytest.fixture(scope="module")
def opened(worker: Worker, media: Path, damaged: Path) -> Opened:
    return worker.open(settings(), [media / "astronaut.png", damaged, PORTRAIT])


class TestWork:
    def test_open(self, opened: Opened) -> None:
        assert (opened.checkpoint, opened.size, opened.num_classes) == ("ssd_300_vgg_voc", 300, 20)
        assert (opened.engine, opened.device, opened.precision) == ("tensorflow", "CPU", "float32")
        assert [(one.name, one.width) for one in opened.pictures] == [("astronaut.png", 512), ("astronaut.jpg", 320)]
        assert len(opened.failures) == 1
        assert "damaged.jpg" in opened.failures[0]
        assert opened.first_call_seconds > 0

    @pytest.mark.usefixtures("opened")
    def test_stages_add_up(self, worker: Worker, tmp_path: Path) -> None:
        start = time.perf_counter()
        stages = worker.ask("stages", folder=str(tmp_path))
        assert 0 < sum(stages.values()) <= time.perf_counter() - start
        assert next(iter(stages)) == "read"
        assert list(stages)[-1] == REST
        assert {"decode", "nms", "draw", "encode"} <= set(stages)
        assert any("network" in name for name in stages)
        assert picture_size(tmp_path / "annotated.png", name="") == (512, 512)

    @pytest.mark.usefixtures("opened")
    def test_a_batch_has_as_many_pictures_as_asked_for(self, worker: Worker) -> None:
        one, three = (worker.ask("batch", size=size) for size in (1, 3))  # three of two pictures
        assert three["seconds"] > one["seconds"] > 0
        assert three["peak_bytes"] is None or three["peak_bytes"] > 2**20
        assert worker.ask("peak") is None or worker.ask("peak") >= three["peak_bytes"]

    @pytest.mark.usefixtures("opened")
    def test_the_network_is_a_part_of_the_video(self, worker: Worker, tmp_path: Path) -> None:
        clip, target = tmp_path / "clip.mp4", tmp_path / "annotated.mp4"
        made_clip(PORTRAIT, clip, 2)
        start = time.perf_counter()
        assert 0 < worker.ask("video", clip=str(clip), target=str(target)) < time.perf_counter() - start
        assert target.stat().st_size > 1000
        assert worker.ask("network", clip=str(clip)) > 0
        worker.ask("video", clip=str(clip), target=str(target))  # again, in its place

    @pytest.mark.usefixtures("opened")
    def test_outputs_are_those_of_its_pictures(self, worker: Worker, tmp_path: Path) -> None:
        worker.ask("outputs", target=str(tmp_path / "outputs.npz"))
        found = read_outputs(tmp_path / "outputs.npz")
        assert len(found) == 2
        assert found[0].scores.shape == (8732, 21)
        assert "person" in {one.class_name for one in found[0].found}
        assert agreement(found, found, DetectionSettings(), exact=True).agrees is True
        assert agreement(found, found[::-1], DetectionSettings(), exact=True).agrees is False

    @pytest.mark.usefixtures("opened")
    def test_it_rests_while_others_are_measured(self, worker: Worker) -> None:
        worker.ask("each")
        before = worker.ask("idle")
        time.sleep(1.0)
        after = worker.ask("idle")
        assert after["seconds"] - before["seconds"] >= 0.9
        assert after["cpu_seconds"] - before["cpu_seconds"] < 0.2

    @pytest.mark.usefixtures("opened")
    def test_errors_are_told_and_survived(self, worker: Worker, tmp_path: Path) -> None:
        with pytest.raises(WorkerError, match="met ValueError: the command is 'dance', expected open first"):
            worker.ask("dance")
        with pytest.raises(WorkerError, match="met TypeError"):
            worker.ask("batch", number=1)
        assert worker.ask("each") > 0
        assert "Traceback" in worker.log()


class TestRefusals:
    @pytest.mark.parametrize(
        ("checkpoint", "picture", "error"),
        [("ssd_300_vgg_voc", "gone.jpg", PictureError), ("gone", str(PORTRAIT), CheckpointError)],
    )
    def test_errors_keep_their_kind(self, checkpoint: str, picture: str, error: type[Exception]) -> None:
        with Worker("test") as worker, pytest.raises(error, match="gone"):
            worker.open(settings(checkpoint), [Path(picture)])

    def test_nothing_is_open_yet(self) -> None:
        with Worker("test") as worker, pytest.raises(WorkerError, match="expected open first"):
            worker.ask("each")


@NOT_ON_WINDOWS
class TestCrash:
    def test_killed_between_commands(self) -> None:
        with Worker("openvino") as worker:
            worker.ask("idle")
            os.kill(worker.pid, signal.SIGKILL)
            with pytest.raises(WorkerError, match=r"^openvino: .*, asked for each, ended by signal SIGKILL "):
                worker.ask("each")
            with pytest.raises(WorkerError, match="SIGKILL"):  # and again
                worker.ask("each")

    def test_hung(self) -> None:
        with Worker("openvino", Patience(call=1.0)) as worker:
            os.kill(worker.pid, signal.SIGSTOP)
            with pytest.raises(WorkerError, match=r"^openvino: .* asked for idle, gave no answer within 1 s$"):
                worker.ask("idle")

    def test_a_contender_that_dies_is_out_and_says_why(self) -> None:
        with Worker("opencv") as worker:
            contender = Contender("opencv", settings(), worker)
            assert contender.ask("idle")["seconds"] >= 0
            os.kill(worker.pid, signal.SIGKILL)
            assert contender.ask("idle") is None
            assert "SIGKILL" in contender.problem
            assert not contender.is_running
            assert contender.ask("idle") is None

    @pytest.mark.slow
    def test_the_others_go_on(self) -> None:
        """One of two engines dies in the second round."""
        with ExitStack() as stack:
            one, two = everyone = [Contender(name, settings()) for name in ("one", "two")]
            for contender in everyone:
                contender.open((PORTRAIT,), stack)
            told: list[str] = []

            def tell(step: str) -> None:
                told.append(step)
                if len(told) == 4 and two.worker is not None:
                    os.kill(two.worker.pid, signal.SIGKILL)

            assert take_turns(everyone, 2, tell) == 4
        assert told == ["one: all pictures", "two: all pictures"] * 3
        assert (len(one.seconds), len(two.seconds)) == (2, 0)
        assert one.problem == ""
        assert "SIGKILL" in two.problem

    def test_ctrl_c_is_for_the_one_who_started_it(self) -> None:
        """A terminal sends it to the group of processes in front."""
        with Worker("test") as worker:
            assert os.getpgid(worker.pid) == worker.pid != os.getpgid(0)

    def test_no_process_stays(self) -> None:
        with pytest.raises(KeyboardInterrupt), Worker("test") as worker:
            raise KeyboardInterrupt
        with pytest.raises(ProcessLookupError):
            os.kill(worker.pid, 0)


def test_made_pictures_have_the_sizes_in_their_names(tmp_path: Path) -> None:
    first, *made = chosen_pictures(settings(), tmp_path)
    assert first == PORTRAIT
    assert len(made) == 3
    for path in made:
        width, height = picture_size(path, name="")
        assert path.stem == f"made-{width}x{height}"


def test_only_the_first_few_of_many_pictures(tmp_path: Path) -> None:
    many = tuple(Path(f"{i}.jpg") for i in range(20))
    assert chosen_pictures(replace(settings(), pictures=many), tmp_path) == many[:8]
    assert not list(tmp_path.iterdir())


def test_a_closed_detector_is_an_error_of_ours() -> None:
    assert isinstance(Worker("test")._error("ClosedError", "closed"), ClosedError)
    assert isinstance(Worker("test")._error("ModuleNotFoundError", "No module named 'x'"), ImportError)

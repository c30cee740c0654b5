"""`ssd-detect video` that is stopped, or that the system lets down: a playable file, one message, a way to go on."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clips import H264, facts, ffmpeg, pictures
from tests.video_runs import Child, are_alike, left, lines_of, results, undisturbed_run, video

pytestmark = [
    pytest.mark.usefixtures("in_an_empty_folder", "looker"),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signals and limits there"),
]

STOPPING = "Stopping; finishing what is in hand. Once more to stop at once.\n"
GOES_ON = "Stopped before the end; the same command with --resume goes on.\n"
RESULTS = ("--jsonl", "frames.jsonl", "--csv", "frames.csv", "--summary", "summary.json")
SOME_DATA = ["frames.csv", "frames.jsonl", "summary.json"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 frames, 10 seconds, with sound."""
    sound = "-f lavfi -i sine=d=10 -c:a aac"
    return ffmpeg(f"{pictures(rate='25', seconds=10)} {sound} {H264}", tmp_path_factory.mktemp("clips") / "in.mp4")


def visible() -> list[str]:
    return [name for name in left() if not name.startswith(".")]


def children_of(process: "subprocess.Popen[str]") -> str:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    @pytest.mark.parametrize("place", [7, 120])
    def test_in_the_middle(
        self, number: int, place: int, source: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        child = Child(source, "out.mp4", *RESULTS, wait_at=place)
        child.wait_until_it_waits()
        assert children_of(child.process) == ""
        child.interrupt(number)
        status, out, err = child.end()
        assert (status, err) == (130, GOES_ON)
        assert out.splitlines()[1:] == ["saved out.mp4", "saved frames.jsonl", "saved frames.csv", "saved summary.json"]
        part = facts(Path("out.mp4"))
        assert place <= len(part.times) < place + 30
        assert part.times == facts(source).times[: len(part.times)]
        end = float(part.times[-1]) + 0.04
        assert float(part.sound[0].times[-1]) == pytest.approx(end, abs=0.05)
        assert [line["frame"] for line in lines_of("frames.jsonl")] == list(range(len(part.times)))
        (summary,) = json.loads(Path("summary.json").read_text())["videos"]
        assert (summary["frames"], summary["interrupted"]) == (len(part.times), True)
        assert visible() == [*SOME_DATA[:2], "out.mp4", "summary.json"]
        assert video(source, "out.mp4", *RESULTS).exit_code == 1  # they are there already

        assert video(source, "out.mp4", *RESULTS, "--resume").exit_code == 0
        are_alike(undisturbed_run(tmp_path_factory.mktemp("whole"), source, "out.mp4", *RESULTS), results())

    @pytest.mark.parametrize("place", ["load", 0])
    def test_before_the_first_frame(self, place: int | str, source: Path) -> None:
        child = Child(source, "out.mp4", *RESULTS, wait_at=place)
        child.wait_until_it_waits()
        child.interrupt(signal.SIGINT)
        status, out, err = child.end()
        assert (status, err) == (130, GOES_ON)
        if place == "load":
            assert (out, left()) == ("", [])
        assert video(source, "out.mp4", *RESULTS, "--resume").exit_code == 0
        assert len(lines_of("frames.jsonl")) == 250
        assert left() == [*SOME_DATA[:2], "out.mp4", "summary.json"]

    def test_twice(self, source: Path) -> None:
        child = Child(source, "out.mp4", *RESULTS, wait_at=130)
        child.wait_until_it_waits()
        child.process.send_signal(signal.SIGINT)
        assert child.process.stderr is not None
        assert child.process.stderr.readline() == STOPPING
        child.process.send_signal(signal.SIGTERM)
        status, out, err = child.end()
        assert (status, out, err.strip()) == (130, "", "Interrupted.")  # click ends the line of ^C before
        assert visible() == []
        assert video(source, "out.mp4", *RESULTS, "--resume").exit_code == 0
        assert len(facts(Path("out.mp4")).times) == len(lines_of("frames.jsonl")) == 250
        assert left() == [*SOME_DATA[:2], "out.mp4", "summary.json"]

    @pytest.mark.parametrize("options", [("-o", "out"), ("--no-video",)], ids=["video", "no-video"])
    @pytest.mark.parametrize("place", [250, 300])
    def test_in_the_second_of_three(
        self, place: int, options: tuple[str, ...], source: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """What was found in the first one is in the files of all videos, and the third is not begun."""
        Path("in").mkdir()
        for name in "abc":
            Path("in", f"{name}.mp4").write_bytes(source.read_bytes())
        inputs = Path("in").absolute()
        child = Child(inputs, *options, *RESULTS, wait_at=place)
        child.wait_until_it_waits()
        child.interrupt(signal.SIGTERM)
        status, _, err = child.end()
        assert status == 130
        assert err.startswith(GOES_ON)
        assert {line["file"][-5:] for line in lines_of("frames.jsonl")} == {"a.mp4", "b.mp4"}
        assert len(json.loads(Path("summary.json").read_text())["videos"]) == 2
        assert video(inputs, *options, *RESULTS, "--resume").exit_code == 0
        expected = undisturbed_run(tmp_path_factory.mktemp("whole"), inputs, *options, *RESULTS)
        are_alike(expected, {name: value for name, value in results().items() if not name.startswith("in/")})
        assert not [name for name in left() if "ssd-detect" in name]

    def test_no_word_of_resume_where_it_is_refused(self, source: Path) -> None:
        child = Child(source, "--no-video", "--jsonl", "-", wait_at=110)
        child.wait_until_it_waits()
        child.process.send_signal(signal.SIGINT)
        child.go_on()
        status, out, err = child.end()
        assert status == 130
        assert err.startswith(STOPPING)
        assert err.endswith("Stopped before the end.\n")
        assert out.count("\n") > 100
        assert left() == []


class TestDiskFull:
    """A limit on the size of files fails as a full disk does: in the middle of writing."""

    @pytest.mark.parametrize(
        ("limit", "options", "what"),
        [
            (3_000, (), ".out.mp4.ssd-detect"),  # in the first segment
            (60_000, (), "out.mp4"),  # when it is put together, with the sound
        ],
    )
    def test_of_the_copy(self, limit: int, options: tuple[str, ...], what: str, source: Path) -> None:
        status, out, err = Child(source, "out.mp4", *options, file_limit=limit).end()
        assert (status, out) == (1, "")
        assert err.startswith(f"Error: {what}: cannot be written: ")
        assert err.count("\n") == 1
        assert visible() == []
        assert video(source, "out.mp4", "--resume").exit_code == 0
        assert len(facts(Path("out.mp4")).times) == 250
        assert left() == ["out.mp4"]

    def test_of_standard_output(self, source: Path) -> None:
        """The other video is not begun."""
        Path("other.mp4").write_bytes(source.read_bytes())
        with Path("lines").open("w") as lines:
            child = Child(source, "other.mp4", "--no-video", "--jsonl", "-", stdout=lines, file_limit=8000)
        status, _, err = child.end()
        assert (status, err) == (1, "Error: standard output: cannot be written: File too large\n")
        assert left() == ["lines", "other.mp4"]

    @pytest.mark.parametrize("option", ["--jsonl", "--csv"])
    def test_of_a_file_of_all_videos(self, option: str, source: Path) -> None:
        status, _, err = Child(source, "--no-video", option, "data", file_limit=40_000).end()
        assert status == 1
        assert err == "Error: data: cannot be written: File too large\n"
        assert visible() == []
        assert video(source, "--no-video", option, "data", "--resume").exit_code == 0
        assert left() == ["data"]


class TestReaderGone:
    def test_nobody_takes_the_results(self, source: Path) -> None:
        """The copy is whole, and nothing else is left."""
        child = Child(source, "out.mp4", "--max-frames", 3, wait_at=2)
        child.wait_until_it_waits()
        assert child.process.stdout is not None
        child.process.stdout.close()
        child.go_on()
        assert child.process.stderr is not None
        with child.process.stderr as stderr:
            err = stderr.read()
        assert child.process.wait(60) == 1
        assert err == "Error: standard output: cannot be written: Broken pipe\n"
        assert left() == ["go", "out.mp4", "waiting"]

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device there")
    def test_full_standard_output(self, source: Path) -> None:
        with Path("/dev/full").open("w") as full:
            status, _, err = Child(source, "out.mp4", "--max-frames", 3, stdout=full).end()
        assert (status, err) == (1, "Error: standard output: cannot be written: No space left on device\n")
        assert left() == ["out.mp4"]

    @pytest.mark.parametrize("options", [("out.mp4",), ("--no-video",)])
    def test_nobody_reads_the_lines(self, options: tuple[str, ...], source: Path) -> None:
        child = Child(source, *options, "--jsonl", "-", wait_at=20)
        child.wait_until_it_waits()
        assert child.process.stdout is not None
        child.process.stdout.readline()
        child.process.stdout.close()
        child.go_on()
        assert child.process.stderr is not None
        with child.process.stderr as stderr:
            err = stderr.read()
        assert child.process.wait(60) == 1
        assert err == "Error: standard output: cannot be written: Broken pipe\n"
        assert visible() == ["go", "waiting"]


def test_two_runs_into_one_file(source: Path) -> None:
    """The second one is refused at once, whatever it may replace; the first one goes on."""
    first = Child(source, "out.mp4", wait_at=20)
    first.wait_until_it_waits()
    for options in ((), ("--resume",), ("--overwrite",)):
        second = Child(source, "out.mp4", *options)
        _, err = second.process.communicate(timeout=60)
        assert (second.process.returncode, err) == (
            1,
            "Error: out.mp4: another run is writing it; wait for its end, or name another output\n",
        )
    first.go_on()
    assert first.end()[0] == 0
    assert len(facts(Path("out.mp4")).times) == 250
    assert left() == ["out.mp4"]

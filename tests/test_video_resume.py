"""`ssd-detect video --resume`: a run that was killed anywhere goes on to the same end as one that nobody killed."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.media.video.store import SegmentStore, StoredFrame
from tests.clips import H264, facts, ffmpeg, pictures
from tests.video_runs import Child, Looker, are_alike, left, lines_of, results, undisturbed_run, video

pytestmark = pytest.mark.usefixtures("in_an_empty_folder", "looker")

STORE, WRITER, JOB = (
    f"ssd_detect.{name}" for name in ("media.video.store:SegmentStore", "media.video.writer", "videos.job:VideoJob")
)
RESULTS = ("--jsonl", "frames.jsonl", "--csv", "frames.csv", "--summary", "summary.json")
DATA = ("frames.csv", "frames.jsonl", "summary.json")


@pytest.fixture(scope="module")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 frames, which are three segments, the last one a short one."""
    folder = tmp_path_factory.mktemp("long")
    return ffmpeg(f"{pictures(rate='25', seconds=10)} -f lavfi -i sine=d=10 {H264} -g 60 -c:a aac", folder / "long.mp4")


@pytest.fixture(scope="module")
def even_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 frames: two whole segments."""
    return ffmpeg(f"{pictures(rate='25', seconds=8)} {H264}", tmp_path_factory.mktemp("even") / "even.mp4")


def killed(*arguments: object, **plan: Any) -> None:
    status, out, err = Child(*arguments, **plan).end()
    assert status == -9, (status, out, err)


@pytest.fixture(scope="module")
def undisturbed(long_clip: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Arguments behind the clip's name -> what an undisturbed run of them leaves; each is run once."""
    known: dict[tuple[object, ...], dict[str, Any]] = {}

    def of(*arguments: object) -> dict[str, Any]:
        if arguments not in known:
            known[arguments] = undisturbed_run(tmp_path_factory.mktemp("undisturbed"), long_clip, *arguments)
        return known[arguments]

    return of


class TestKilled:
    @pytest.mark.parametrize(
        "plan",
        [
            {"kill": f"{STORE}._begin_segment"},
            {"kill": f"{STORE}.append", "nth": 60},
            {"kill": f"{STORE}.seal"},
            {"kill": f"{STORE}.seal", "after": True},
            {"kill": f"{STORE}.append", "nth": 230},
            {"kill": f"{STORE}.seal", "nth": 3, "after": True},
            {"kill": f"{WRITER}:VideoWriter._put_together"},
            {"kill": f"{WRITER}:VideoWriter._put_together", "after": True},
            {"kill": f"{WRITER}:give_name"},
            {"kill": f"{WRITER}:give_name", "after": True},
            {"kill": f"{STORE}.end"},
            {"kill": f"{STORE}.end", "after": True},
            {"kill": f"{JOB}._write_shared"},
            {"kill": "ssd_detect.files:give_name", "after": True},
            {"kill": f"{JOB}._write_shared", "after": True},
            {"kill": f"{JOB}._tidy", "after": True},
        ],
        ids=lambda plan: "-".join(str(value).split(":")[-1] for value in plan.values()),
    )
    def test_anywhere(self, plan: dict[str, Any], long_clip: Path, undisturbed: Callable[..., dict[str, Any]]) -> None:
        killed(long_clip, "out.mp4", *RESULTS, **plan)
        if Path("out.mp4").exists():
            assert len(facts(Path("out.mp4")).times) == 250
        result = video(long_clip, "out.mp4", *RESULTS, "--resume")
        assert result.exit_code == 0, result.output
        assert left() == ["frames.csv", "frames.jsonl", "out.mp4", "summary.json"]
        are_alike(undisturbed("out.mp4", *RESULTS), results())

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("target", "options"),
        [
            ("out.mp4", "--fps 60"),  # some frames are shown twice, also at the place where it goes on
            ("out.mp4", "--fps 12"),
            ("out.mp4", "--start 2.5"),
            ("out.mp4", "--start 5.7 --fps 60"),
            ("out.mp4", "--start 0:01.3 --end 8.5 --stride 2"),
            ("out.mp4", "--stride 3 --between interpolate"),
            ("out.mp4", "--stride 7 --between hold --batch-size 2"),
            ("out.mp4", "--max-frames 230"),
            ("out.mp4", "--max-seconds 9 --no-audio"),
            ("out.mp4", "--blur person --class car --no-labels"),
            ("out.mkv", ""),
            ("out.avi", ""),
            ("out.gif", ""),
            (None, "--no-video"),
            (None, "--no-video --fps 30 --stride 5"),
        ],
    )
    def test_with_options(
        self, target: str | None, options: str, long_clip: Path, undisturbed: Callable[..., dict[str, Any]]
    ) -> None:
        arguments = (*([target] if target else []), *RESULTS, *options.split())
        killed(long_clip, *arguments, kill=f"{STORE}.seal", after=True)
        result = video(long_clip, *arguments, "--resume")
        assert result.exit_code == 0, result.output
        expected = undisturbed(*arguments)
        assert left() == sorted(expected)
        are_alike(expected, results())

    @pytest.mark.parametrize("nth", [2, 3])
    def test_nothing_is_left_but_putting_together(
        self, nth: int, even_clip: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The last segment is whole, so that no frame is left for the encoder."""
        killed(even_clip, "out.mp4", *RESULTS, kill=f"{STORE}.seal", nth=nth, after=True)
        result = video(even_clip, "out.mp4", *RESULTS, "--resume")
        assert result.exit_code == 0, result.output
        are_alike(undisturbed_run(tmp_path_factory.mktemp("even"), even_clip, "out.mp4", *RESULTS), results())

    def test_only_what_is_missing_is_done(self, long_clip: Path, looker: Looker) -> None:
        killed(long_clip, "out.mp4", kill=f"{STORE}.seal", nth=2, after=True)
        assert video(long_clip, "out.mp4", "--resume").exit_code == 0
        assert (looker.num_loaded, looker.num_seen) == (1, 50)


@pytest.mark.slow
class TestSeveral:
    """Runs over several videos, of which the first is whole when the run is killed."""

    @pytest.fixture
    def clips(self, long_clip: Path) -> Path:
        Path("clips").mkdir()
        for name in ("a.mp4", "b.mp4"):
            Path("clips", name).write_bytes(long_clip.read_bytes())
        ffmpeg(f"{pictures(seconds=0.5)} {H264}", Path("clips/c.mkv"))
        return Path("clips").absolute()

    @pytest.mark.parametrize(
        "plan",
        [
            {"kill": "ssd_detect.videos.place:Place.prepare", "nth": 2},
            {"kill": f"{STORE}.append", "nth": 390},
            {"kill": f"{STORE}.end", "nth": 2},
            {"kill": f"{STORE}.end", "nth": 3, "after": True},
            {"kill": "ssd_detect.files:give_name", "after": True},
        ],
        ids=lambda plan: "-".join(str(value).split(":")[-1] for value in plan.values()),
    )
    @pytest.mark.parametrize("options", [("-o", "out"), ("--no-video",)], ids=["video", "no-video"])
    def test_killed(
        self, options: tuple[str, ...], plan: dict[str, Any], clips: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        arguments = (clips, *options, *RESULTS)
        killed(*arguments, **plan)
        assert video(*arguments, "--resume").exit_code == 0
        expected = undisturbed_run(tmp_path_factory.mktemp("whole"), *arguments)
        are_alike(expected, {name: value for name, value in results().items() if not name.startswith("clips/")})
        assert not [name for name in left() if "ssd-detect" in name]

    def test_standard_output_has_all_videos(self, clips: Path) -> None:
        arguments = (clips, "-o", "out", "--jsonl", "-")
        killed(*arguments, kill=f"{STORE}.append", nth=390)
        resumed = video(*arguments, "--resume")
        assert resumed.exit_code == 0
        assert resumed.stdout == video(*arguments, "--overwrite").stdout
        assert resumed.stdout.count("\n") == 250 + 250 + 15 + 3

    def test_a_run_that_was_to_overwrite(self, clips: Path, looker: Looker) -> None:
        """What an older run has left under the same names is made anew, also by the run that goes on."""
        Path("out").mkdir()
        for name in ("a.mp4", "b.mp4", "c.mkv"):
            Path("out", name).write_text("old")
        killed(clips, "-o", "out", "--overwrite", kill=f"{STORE}.seal", nth=5, after=True)
        assert video(clips, "-o", "out", "--resume", "--overwrite").exit_code == 0
        assert looker.num_seen == 50 + 15
        assert [len(facts(Path("out", name)).times) for name in ("a.mp4", "b.mp4", "c.mkv")] == [250, 250, 15]
        assert left("out") == ["a.mp4", "b.mp4", "c.mkv"]

    def test_records_that_nobody_knows_any_more_are_not_replaced_by_fewer(self, clips: Path) -> None:
        arguments = (clips, "-o", "out", "--jsonl", "frames.jsonl")
        Path("clips/c.mkv").rename("later.mkv")
        assert video(*arguments).exit_code == 0
        before = Path("frames.jsonl").read_bytes()
        assert video(*arguments, "--resume").exit_code == 0
        assert Path("frames.jsonl").read_bytes() == before
        Path("later.mkv").rename("clips/c.mkv")
        result = video(*arguments, "--resume")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: frames.jsonl: ")
        assert result.stderr.count("\n") == 1
        assert Path("frames.jsonl").read_bytes() == before

        Path("frames.jsonl").unlink()
        result = video(*arguments, "--resume")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: frames.jsonl: cannot be completed, since what was found in ")
        assert result.stderr.count("\n") == 1
        assert not Path("frames.jsonl").exists()

    @pytest.mark.parametrize("options", [("--overwrite",), ("--jsonl", "-")])
    def test_stopped_in_the_second(self, options: tuple[str, ...], clips: Path, looker: Looker) -> None:
        """What the first one needs is kept: it is neither made again, nor left out."""
        with Path("lines").open("w") as lines:
            child = Child(clips, "-o", "out", *options, stdout=lines, wait_at=380)
        child.wait_until_it_waits()
        child.interrupt(signal.SIGINT)
        assert child.end()[0] == 130
        resumed = video(clips, "-o", "out", *options, "--resume")
        assert resumed.exit_code == 0
        assert looker.num_seen == 150 + 15
        assert left("out") == ["a.mp4", "b.mp4", "c.mkv"]
        if "--jsonl" in options:
            assert resumed.stdout == video(clips, "-o", "new", *options).stdout

    def test_what_failed_is_tried_again(self, clips: Path, looker: Looker) -> None:
        Path("clips/b.mp4").write_text("broken")
        arguments = (clips, "-o", "out", "--jsonl", "frames.jsonl")
        assert video(*arguments).exit_code == 3
        ffmpeg(f"{pictures(seconds=0.5)} {H264}", Path("clips/b.mp4"))
        looker.num_seen = 0
        result = video(*arguments, "--resume")
        assert (result.exit_code, looker.num_seen) == (0, 15)
        assert len(lines_of("frames.jsonl")) == 250 + 15 + 15
        assert left("out") == ["a.mp4", "b.mp4", "c.mkv"]


def test_frames_that_stand_still_for_want_of_a_frame_behind_them_are_made_anew(tmp_path: Path) -> None:
    """A run with a stride that was stopped just where a segment ends: the objects of its last frames did not move."""
    store = SegmentStore(tmp_path / "store", 6, {})
    for number in range(12):
        store.append(StoredFrame(number, 1, number % 6 == 0, 1, {"frame": number}), b"x")
    store.unseal()
    again = SegmentStore(tmp_path / "store", 6, {})
    assert again.resume() == 6
    assert [frame.record["frame"] for frame in again.frames()] == list(range(6))


def test_other_options_after_a_stop_before_the_first_segment_is_whole(long_clip: Path) -> None:
    """Hours may have gone into a copy that another threshold would throw away."""
    child = Child(long_clip, "out.mp4", wait_at=5)
    child.wait_until_it_waits()
    child.interrupt(signal.SIGINT)
    assert child.end()[0] == 130
    before = Path("out.mp4").read_bytes()
    result = video(long_clip, "out.mp4", "--resume", "--score-threshold", 0.6)
    assert result.exit_code == 1
    assert "had another input, checkpoint, precision (or its engine or calibration) or other options" in result.stderr
    assert Path("out.mp4").read_bytes() == before


def test_stopped_before_the_first_segment_is_whole(long_clip: Path) -> None:
    """There is a copy that holds a part, and nothing to go on with: the next run knows that it is its own."""
    child = Child(long_clip, "out.mp4", wait_at=5)
    child.wait_until_it_waits()
    child.interrupt(signal.SIGINT)
    assert child.end()[0] == 130
    assert len(facts(Path("out.mp4")).times) < 100
    assert video(long_clip, "out.mp4", "--resume").exit_code == 0
    assert len(facts(Path("out.mp4")).times) == 250
    assert left() == ["out.mp4"]

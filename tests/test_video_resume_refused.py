"""`ssd-detect video --resume` where it must not go on, and what is never replaced."""

import shutil
from pathlib import Path

import pytest

from tests.clips import H264, facts, ffmpeg, pictures
from tests.video_runs import Child, Looker, left, results, video

pytestmark = pytest.mark.usefixtures("in_an_empty_folder", "looker")

SEAL = "ssd_detect.media.video.store:SegmentStore.seal"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 frames: a whole segment and a short one."""
    return ffmpeg(f"{pictures(seconds=4)} {H264}", tmp_path_factory.mktemp("clips") / "in.mp4")


def kill(*arguments: object) -> None:
    """A run that ends behind its first segment."""
    status, _, err = Child(*arguments, kill=SEAL, after=True).end()
    assert status == -9, err


@pytest.fixture(scope="module")
def killed_run(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the run over `source` into `out.mp4` leaves when it is killed."""
    folder = tmp_path_factory.mktemp("killed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        kill(source, "out.mp4")
    return folder


@pytest.fixture
def killed(killed_run: Path, tmp_path: Path) -> None:
    """The test begins where that one ended."""
    shutil.copytree(killed_run, tmp_path, dirs_exist_ok=True)


@pytest.mark.parametrize(
    "options",
    [
        "--score-threshold 0.6",
        "--nms-threshold 0.3",
        "--class person",
        "--exclude-class person",
        "--blur person",
        "--stride 2",
        "--between hold",
        "--start 1",
        "--end 3",
        "--max-frames 110",
        "--max-seconds 3",
        "--fps 30",
        "--codec mpeg4",
        "--crf 30",
        "--no-labels",
        "--no-audio",
        "--batch-size 2",
        "--crops crops",
    ],
)
@pytest.mark.usefixtures("killed")
def test_other_options(options: str, source: Path) -> None:
    before = results()
    refused = video(source, "out.mp4", "--resume", *options.split())
    assert refused.exit_code == 1
    assert refused.stderr.startswith("Error: .out.mp4.ssd-detect: the run to resume had another input, checkpoint, ")
    assert refused.stderr.count("\n") == 1
    assert results() == before
    assert video(source, "out.mp4", "--resume", "--timeout", 3, "--csv", "new.csv").exit_code == 0
    assert left() == ["new.csv", "out.mp4"]


def test_another_input(source: Path) -> None:
    Path("in.mp4").write_bytes(source.read_bytes())
    kill("in.mp4", "out.mp4")
    ffmpeg(f"{pictures(seconds=5)} {H264}", Path("in.mp4"))
    assert video("in.mp4", "out.mp4", "--resume").exit_code == 1
    assert video("in.mp4", "out.mp4", "--overwrite").exit_code == 0
    assert len(facts(Path("out.mp4")).times) == 150
    assert left() == ["in.mp4", "out.mp4"]


@pytest.mark.usefixtures("killed")
def test_an_unfinished_run_is_neither_forgotten_nor_gone_on_with_unasked(source: Path, looker: Looker) -> None:
    before = results()
    refused = video(source, "out.mp4")
    assert refused.exit_code == 1
    assert refused.stderr == (
        "Error: .out.mp4.ssd-detect: holds a run that was not finished; "
        "go on with --resume, or start anew with --overwrite\n"
    )
    assert results() == before
    assert video(source, "out.mp4", "--overwrite").exit_code == 0
    assert looker.num_seen == 120
    assert left() == ["out.mp4"]


@pytest.mark.parametrize("argument", ["-", "http://127.0.0.1:1/a.mp4", "7"])
def test_what_can_be_read_once_only(argument: str) -> None:
    refused = video(argument, "out.mp4", "--resume")
    assert refused.exit_code == 1
    assert "can be read only once, so --resume cannot go on with it; leave it out" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert left() == []


def test_a_run_that_leaves_no_file(source: Path) -> None:
    refused = video(source, "--no-video", "--jsonl", "-", "--resume")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("Error: --resume has nothing to go on with when no file is written")


def test_without_an_earlier_run_it_begins_and_a_copy_that_is_there_stays(source: Path, looker: Looker) -> None:
    assert video(source, "out.mp4", "--resume").exit_code == 0
    assert (looker.num_loaded, looker.num_seen) == (1, 120)
    Path("precious.mp4").write_text("precious")
    for name in ("out.mp4", "precious.mp4"):
        before = Path(name).read_bytes()
        result = video(source, name, "--resume", "--jsonl", "frames.jsonl")
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"{name}: is there already and is left as it is (--overwrite makes it anew)\n"
        assert Path(name).read_bytes() == before
    assert looker.num_loaded == 1
    assert left() == ["out.mp4", "precious.mp4"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.usefixtures("killed")
def test_a_file_that_came_meanwhile(overwrite: bool, source: Path) -> None:
    Path("out.mp4").write_text("precious")
    result = video(source, "out.mp4", "--resume", *["--overwrite"] * overwrite)
    if overwrite:
        assert result.exit_code == 0
        assert len(facts(Path("out.mp4")).times) == 120
        assert left() == ["out.mp4"]
    else:
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: out.mp4: exists already and is not what the run to resume has made; ")
        assert Path("out.mp4").read_text() == "precious"
        assert Path(".out.mp4.ssd-detect").is_dir()


def test_shared_files_that_are_not_of_an_earlier_run(source: Path) -> None:
    Path("frames.jsonl").write_text("precious")
    result = video(source, "out.mp4", "--jsonl", "frames.jsonl", "--resume")
    assert result.exit_code == 1
    assert result.stderr == "Error: frames.jsonl: exists already; name another output or use --overwrite\n"
    assert left() == ["frames.jsonl"]
    assert Path("frames.jsonl").read_text() == "precious"


@pytest.mark.parametrize("name", ["in.mp4", "link.mp4", "hard.mp4", "./x/../in.mp4"])
def test_the_input_is_never_the_output(name: str, source: Path) -> None:
    Path("x").mkdir()
    Path("in.mp4").write_bytes(source.read_bytes())
    Path("link.mp4").symlink_to("in.mp4")
    Path("hard.mp4").hardlink_to("in.mp4")
    for options in ([], ["--overwrite"], ["--resume"], ["--resume", "--overwrite"]):
        for outputs in ([name], ["out.mp4", "--jsonl", name]):
            result = video("in.mp4", *outputs, *options)
            assert result.exit_code == 1, (outputs, options)
            assert result.stderr.count("\n") == 1
            assert "input" in result.stderr
            assert Path("in.mp4").read_bytes() == source.read_bytes()
            assert not Path("out.mp4").exists()


def test_segments_of_long_names_that_begin_alike(source: Path) -> None:
    """Their names are cut, for the file system, and yet each has a folder of its own."""
    Path("in").mkdir()
    names = [f"{'long ' * 20}{number}.mp4" for number in (1, 2)]
    for name in names:
        Path("in", name).write_bytes(source.read_bytes())
    result = video("in", "-o", "out", "--jsonl", "frames.jsonl")
    assert result.exit_code == 0, result.output
    assert left("out") == names

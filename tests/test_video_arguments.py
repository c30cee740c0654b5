"""What `ssd-detect video` makes of its arguments: inputs of every kind, where their copies go, what is refused."""

import os
from pathlib import Path

import pytest

from tests.clips import H264, facts, ffmpeg, pictures
from tests.video_runs import Looker, left, lines_of, video

pytestmark = pytest.mark.usefixtures("in_an_empty_folder", "looker")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ffmpeg(f"{pictures('32x24', '10', 0.3)} {H264}", tmp_path_factory.mktemp("clips") / "tiny.mp4")


@pytest.fixture
def folder(tiny: Path, in_an_empty_folder: None) -> Path:
    """Videos in a folder and below it, and other things."""
    for name in ("clips/a.mp4", "clips/B.MP4", "clips/sub/a.mp4", "clips/.hidden.mp4"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(tiny.read_bytes())
    Path("clips/notes.txt").write_text("no video")
    return Path("clips")


class TestInputs:
    @pytest.mark.usefixtures("folder")
    @pytest.mark.parametrize(
        ("arguments", "copies"),
        [
            (["clips"], ["B.mp4", "a.mp4"]),
            (["clips", "--recursive"], ["B.mp4", "a.mp4", "sub", "sub/a.mp4"]),
            (["clips/*.mp4"], ["a.mp4"]),
            (["clips/**/*.mp4"], ["a.mp4", "sub", "sub/a.mp4"]),
            (["@list.txt"], ["B.mp4", "sub_", "sub_/a.mp4"]),
            (["clips/a.mp4", "clips/./a.mp4", "link.mp4"], ["a.mp4"]),
            (["clips/a.mp4", "clips/sub/a.mp4"], ["clips", "clips/a.mp4", "sub", "sub/a.mp4"]),
            (["same.mkv", "same.avi", "same.wmv"], ["same_avi.avi", "same_mkv.mkv", "same_wmv.mp4"]),
            (["frames/%02d.png"], ["frames.mp4"]),
            (["moving.gif"], ["moving.gif"]),
        ],
    )
    def test_each_gets_a_copy_under_its_own_name(self, arguments: list[str], copies: list[str], tiny: Path) -> None:
        Path("list.txt").write_text("# mine\nclips/B.MP4\n\nsub_/a.mp4\n")
        Path("sub_").mkdir()
        Path("sub_/a.mp4").write_bytes(tiny.read_bytes())
        Path("link.mp4").symlink_to("clips/a.mp4")
        for name in ("same.mkv", "same.avi", "same.wmv", "moving.gif"):
            ffmpeg(f"-i {tiny}", Path(name))
        Path("frames").mkdir()
        ffmpeg(f"-i {tiny}", Path("frames/%02d.png"))
        result = video(*arguments, "-o", "out")
        assert result.exit_code == 0, result.output
        if arguments == ["@list.txt"]:
            copies = ["B.mp4", "a.mp4"]
        assert left("out") == sorted(copies)
        assert not [name for name in left() if name.startswith(".")]

    @pytest.mark.parametrize("arguments", [["none"], ["empty"], ["*.mp4"], ["@gone.txt"], [""], ["texts"]])
    def test_none(self, arguments: list[str], looker: Looker) -> None:
        Path("empty").mkdir()
        Path("texts").mkdir()
        Path("texts/a.txt").touch()
        before = left()
        for rest in (["-o", "out"], ["out.mp4"], ["--no-video", "--csv", "out.csv"]):
            result = video(*arguments, *rest)
            assert (result.exit_code, result.stdout) == (1, "")
            assert result.stderr.startswith("Error: ")
            assert result.stderr.count("\n") == 1
        assert looker.num_loaded == 0
        assert left() == before

    @pytest.mark.usefixtures("folder")
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["clips/a.mp4"], "got 1 name, expected an input and an output (IN OUT), or inputs and a folder"),
            (["clips/a.mp4", "b.mp4", "c.mp4"], "got 3 names, expected an input and an output (IN OUT), or inputs"),
            (["clips/a.mp4", "clips"], "clips: is a folder; give it as -o clips"),
            (["clips/a.mp4", "new/"], "new/: is a folder; give it as -o new/"),
            (["clips", "all.mp4"], "2 videos cannot go into one file, all.mp4; give -o FOLDER instead"),
            (["clips/a.mp4", "-o", "clips/B.MP4"], "Invalid value for '-o' / '--output': Directory 'clips/B.MP4' is a"),
            (["clips/a.mp4", "--no-video"], "--no-video leaves nothing to write; add --jsonl, --csv, --summary, "),
        ],
    )
    def test_usage(self, arguments: list[str], said: str, looker: Looker) -> None:
        before = left()
        result = video(*arguments)
        assert (result.exit_code, result.stdout, looker.num_loaded) == (2, "", 0)
        assert result.stderr.startswith(f"Error: {said}")
        assert result.stderr.count("\n") == 1
        assert left() == before

    def test_results_of_an_earlier_run_are_no_inputs(self, folder: Path) -> None:
        """As when the folder for the copies lies in the folder of the videos."""
        assert video(folder, "-o", folder / "found", "--recursive", "--snapshot-every", 1).exit_code == 0
        before = left()
        result = video(folder, "-o", folder / "found", "--recursive", "--snapshot-every", 1, "--overwrite")
        assert result.exit_code == 0, result.output
        assert left() == before
        assert "3 videos done, 9 frames" in result.stderr
        assert "; 14 other files skipped; " in result.stderr  # a text, a hidden video, snapshots, and three copies

    def test_copies_into_the_folder_of_the_inputs(self, folder: Path, tiny: Path) -> None:
        result = video(folder, "-o", folder, "--overwrite")
        assert result.exit_code in (1, 3)  # where letter case counts, B.mp4 is another file than B.MP4
        assert "clips/a.mp4: is the input itself; name another output\n" in result.stderr
        assert Path("clips/a.mp4").read_bytes() == tiny.read_bytes()
        assert Path("clips/B.MP4").read_bytes() == tiny.read_bytes()


class TestOutputs:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["out.mp4", "--jsonl", "out.mp4"], "out.mp4: is an annotated copy; name another output"),
            (["out.mp4", "--jsonl", "./x/../out.mp4"], "x/../out.mp4: is an annotated copy; name another output"),
            (["out.mp4", "--jsonl", "a", "--csv", "a"], "a: is another output too; name another output"),
            (["out.mp4", "--csv", "a", "--summary", "./a"], "a: is another output too; name another output"),
            (["out.mp4", "--summary", "in.mp4"], "in.mp4: is an input; name another output"),
            (["out.mp4", "--csv", "link"], "link: is an input; name another output"),
            (["out.mp4", "--csv", "hard"], "hard: is an input; name another output"),
            (["out.mp4", "--crops", "out.mp4"], "out.mp4: is an annotated copy; name another output"),
            (["out.mp4", "--jsonl", "a", "--crops", "a"], "a: is another output too; name another output"),
            (
                ["out.mp4", "--csv", "a", "--snapshots", "a", "--snapshot-every", "1"],
                "a: is another output too; name another output",
            ),
            (["out.mp4", "--crops", "there/x"], "there/x: cannot be written: "),
            (["out.mp4", "--csv", "there/x"], "there/x: cannot be written: "),
            (["out.mp4", "--csv", "there"], "there: exists already; name another output or use --overwrite"),
            (["there/out.mp4"], "there/out.mp4: cannot be written: "),
            (["out.xyz"], "out.xyz: cannot write .xyz; use .mp4, "),
            (["out"], "out: cannot write a file without suffix; use .mp4, "),
            (["there"], "there: cannot write a file without suffix; use .mp4, "),
            (["in.mp4"], "in.mp4: is the input itself; name another output"),
            (["link.mp4"], "link.mp4: is the input itself; name another output"),
        ],
    )
    def test_what_cannot_be_is_said_before_any_work(
        self, options: list[str], said: str, tiny: Path, looker: Looker
    ) -> None:
        Path("x").mkdir()
        Path("in.mp4").write_bytes(tiny.read_bytes())
        Path("there").write_text("precious")
        for name in ("link", "link.mp4"):
            Path(name).symlink_to("in.mp4")
        Path("hard").hardlink_to("in.mp4")
        before = left()
        for more in [[], ["--overwrite"]] if "exists already" not in said else [[]]:
            result = video("in.mp4", *options, *more)
            assert (result.exit_code, result.stdout, looker.num_loaded) == (1, "", 0)
            assert result.stderr.startswith(f"Error: {said}")
            assert result.stderr.count("\n") == 1
            assert left() == before
        assert Path("in.mp4").read_bytes() == tiny.read_bytes()
        assert Path("there").read_text() == "precious"

    def test_missing_folders_are_made(self, tiny: Path) -> None:
        assert video(tiny, "new/a/out.mp4", "--jsonl", "new/b/frames.jsonl", "--crops", "new/c/crops").exit_code == 0
        assert len(facts(Path("new/a/out.mp4")).times) == 3
        assert len(lines_of("new/b/frames.jsonl")) == 3
        assert len(os.listdir("new/c/crops")) == 6  # noqa: PTH208


class TestSeveral:
    @pytest.fixture
    def mixed(self, folder: Path) -> Path:
        """Good, empty, a text, cut off, good."""
        Path("clips/C.mp4").touch()
        Path("clips/d.mp4").write_text("hello " * 99)
        whole = ffmpeg(f"{pictures('64x48', '10', 3)} {H264}", Path("whole.mkv"))
        Path("clips/e.mkv").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        return folder

    def test_bad_ones_do_not_stop_the_rest(self, mixed: Path) -> None:
        result = video(mixed, "gone.mp4", "-o", "out", "--jsonl", "frames.jsonl")
        assert result.exit_code == 3
        assert {line["file"] for line in lines_of("frames.jsonl")} == {"clips/B.MP4", "clips/a.mp4", "clips/e.mkv"}
        assert [name for name in left("out") if not name.startswith(".")] == ["B.mp4", "a.mp4", "e.mkv"]
        *errors, summary = result.stderr.splitlines()
        assert [line[: line.index(": ", 8)] for line in errors] == [
            "Error: gone.mp4",
            "Error: clips/C.mp4",
            "Error: clips/d.mp4",
            "Error: clips/e.mkv",
        ]
        assert summary.startswith("3 videos done, ")
        assert "; 3 failed: gone.mp4, clips/C.mp4, clips/d.mp4; 1 damaged; 2 other files skipped; " in summary
        assert summary.endswith(" frames/s")

    def test_all_bad(self, looker: Looker) -> None:
        for name in "ab":
            Path(f"{name}.mp4").write_text("hello")
        result = video("a.mp4", "b.mp4", "-o", "out", "--csv", "frames.csv")
        assert (result.exit_code, result.stdout, looker.num_loaded) == (1, "", 0)
        assert "0 videos done, 0 frames, objects: none; 2 failed: a.mp4, b.mp4; " in result.stderr
        assert left() == ["a.mp4", "b.mp4"]

    def test_a_file_is_not_said_to_be_saved_when_it_is_not(self, tiny: Path, looker: Looker) -> None:
        """The network is there, and then the only video fails."""

        def fail(number: int) -> None:
            raise OSError("gone")

        looker.before = fail
        result = video(tiny, "out.mp4", "--csv", "frames.csv")
        assert (result.exit_code, result.stdout, result.stderr) == (1, "", "Error: gone\n")
        assert left() == []

    def test_quiet(self, mixed: Path) -> None:
        result = video(mixed, "-o", "out", "-q")
        assert (result.exit_code, result.stdout) == (3, "")
        assert [line[:7] for line in result.stderr.splitlines()] == ["Error: "] * 3

    def test_done(self, folder: Path) -> None:
        result = video(folder, "-o", "out", "-v")
        assert result.exit_code == 0
        objects = "person 3, car 3"
        assert result.stdout == "".join(
            f"{name}: 3 frames, 0.3 s, objects: {objects}\nsaved out/{copy}\n"
            for name, copy in (("B.MP4", "B.mp4"), ("a.mp4", "a.mp4"))
        )
        assert result.stderr.splitlines()[-2].startswith("time: read ")
        assert result.stderr.splitlines()[-1].startswith("2 videos done, 6 frames, objects: person 6, car 6; 2 other ")

    def test_no_checkpoint(self, tiny: Path) -> None:
        result = video(tiny, "out.mp4", "--checkpoint", "gone.ckpt")
        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr.count("\n") == 1
        assert left() == []

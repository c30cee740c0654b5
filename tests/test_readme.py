"""The README's commands and its Python example, run as they stand."""

import re
import runpy
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from ssd_detect.cli.checkpoints import checkpoints
from ssd_detect.cli.dataset import dataset
from ssd_detect.cli.main import program
from ssd_detect.cli.video import video
from ssd_detect.cli.video_run import VideoOptions, _inputs_and_output
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.packages import PACKAGES, install_line
from ssd_detect.engines.superseded import KEPT_ENTRIES
from ssd_detect.model.manifest import manifest
from ssd_detect.settings import SessionSettings
from tests.clips import H264, ffmpeg, pictures
from tests.noted_choices import note_choice
from tests.test_benchmark_command import EXAMPLE_RUNS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
_HELP = [line.strip() for line in (video.help or "").splitlines() if line.strip().startswith("ssd-detect ")]
VIDEO_EXAMPLES = [example for example in EXAMPLES if " video " in example] + _HELP


@pytest.fixture(autouse=True)
def _like_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that the examples name, made of what we have."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "person.jpg").symlink_to(ROOT / "tests" / "media" / "astronaut.png")
    monkeypatch.chdir(tmp_path)


def expanded(example: str) -> list[str]:
    """The words of a command, globs expanded as a shell does."""
    words = shlex.split(example)
    return [w for word in words for w in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) >= 8
    assert len(_HELP) >= 4
    assert {shlex.split(e)[0] for e in EXAMPLES} == {"scripts/run", "scripts/test", "ssd-detect"}


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in EXAMPLES if " image " in e and "--thresholds" not in e])
def test_image_examples(example: str, seeded_checkpoint: object) -> None:
    """As on a machine where `auto` has measured; its own tests see it doing that."""
    if "ssd_300_vgg.ckpt" in example:
        prefix = seeded_checkpoint(300)  # type: ignore[operator]
        for suffix in (".index", ".data-00000-of-00001"):
            Path(f"ssd_300_vgg.ckpt{suffix}").symlink_to(f"{prefix}{suffix}")
    if "--engine auto" in example:
        note_choice(SessionSettings(engine=EngineName.AUTO), EngineName.ONNXRUNTIME)
    result = CliRunner().invoke(program, expanded(example)[1:])
    assert result.exit_code == 0, result.output


def test_benchmark_examples() -> None:
    """Each takes half a minute: the tests of the command run them, and look at what they say as well."""
    assert {e for e in EXAMPLES if " benchmark" in e} == {f"ssd-detect {' '.join(words)}" for words in EXAMPLE_RUNS}


@pytest.mark.slow
def test_checkpoint_examples(seeded_checkpoint: object) -> None:
    """In their order; pull fetches from a server of its own in the tests of the store."""
    prefix = seeded_checkpoint(300)  # type: ignore[operator]
    for suffix in (".index", ".data-00000-of-00001"):
        Path(f"ssd_300_vgg.ckpt{suffix}").symlink_to(f"{prefix}{suffix}")
    for example in [e for e in EXAMPLES if " checkpoints " in e]:
        words = shlex.split(example)[1:]
        if words[1] == "pull":
            assert words[2] in manifest()
            continue
        result = CliRunner().invoke(program, words)
        assert result.exit_code == 0, result.output
    assert Path("ssd_300_vgg.safetensors").stat().st_size < 27_000_000


@pytest.mark.slow
def test_measuring_examples() -> None:
    """In their order, on a data set of one picture; a status of 1 is what `dataset check` says of a fault."""
    made_voc(Path("VOC2007"))
    measuring = README.partition("## Measuring")[2].partition("## Checkpoints")[0]
    examples = [line for block in re.findall(r"```sh\n(.*?)```", measuring, re.DOTALL) for line in block.splitlines()]
    assert len(examples) == 10
    for example in examples:
        result = CliRunner().invoke(program, shlex.split(example)[1:])
        assert result.exit_code == 0, f"{example}: {result.output}"
    for made in ("report/index.html", "report/metrics.json", "yolo/data.yaml", "why.png", "why.json", "sure.png"):
        assert Path(made).is_file()


def made_voc(folder: Path) -> None:
    """A VOC folder with the astronaut, who is a person, in its test set."""
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (folder / name).mkdir(parents=True)
    (folder / "JPEGImages" / "astronaut.png").symlink_to(ROOT / "tests" / "media" / "astronaut.png")
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>430</xmax><ymax>512</ymax></bndbox>"
    (folder / "Annotations" / "astronaut.xml").write_text(
        "<annotation><filename>astronaut.png</filename><size><width>512</width><height>512</height><depth>3</depth>"
        f"</size><object><name>person</name><difficult>0</difficult>{box}</object></annotation>"
    )
    (folder / "ImageSets" / "Main" / "test.txt").write_text("astronaut\n")


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in EXAMPLES if " video " in e and "://" not in e])
def test_video_examples(example: str, tmp_path: Path) -> None:
    ffmpeg(f"{pictures(rate='2', seconds=5)} {H264}", tmp_path / "input.mp4")
    (tmp_path / "clips" / "more").mkdir(parents=True)
    (tmp_path / "clips" / "more" / "a.mp4").symlink_to(tmp_path / "input.mp4")
    ffmpeg(f"{pictures(rate='2', seconds=1)} {H264}", tmp_path / "clips" / "b.mp4")
    words = expanded(example)[1:]
    result = CliRunner().invoke(program, words)
    assert result.exit_code == 0, result.output
    results = [word for word in words[2:] if re.search(r"\.[a-z]\w+$", word)]
    assert [name for name in results if not Path(name).is_file()] == []


@pytest.mark.parametrize("example", VIDEO_EXAMPLES)
def test_video_examples_are_understood(example: str) -> None:
    """Those with a camera or a server too."""
    words = shlex.split(example)
    assert words[:2] == ["ssd-detect", "video"]
    context = video.make_context("video", words[2:])
    options = VideoOptions(**{field.name: context.params[field.name] for field in fields(VideoOptions)})
    names, file = _inputs_and_output(context.params["inputs"], options)
    assert len(names) == 1
    assert (file is None) == ("-o" in words or "--no-video" in words)


def test_shown_output_is_the_real_one() -> None:
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL)
    assert shown
    result = CliRunner().invoke(program, ["image", "tests/media/astronaut.png"])
    # Scores differ in their last digits from processor to processor.
    first_word = [line.split()[0] for line in result.stdout.splitlines()]
    assert first_word == [line.split()[0] for line in shown.group(1).splitlines()]
    assert result.stdout.splitlines()[-1] == shown.group(1).splitlines()[-1]


def test_python_example(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code
    (tmp_path / "example.py").write_text(code.group(1))
    names = runpy.run_path("example.py")
    assert capsys.readouterr().out.startswith("person 0.9")
    assert names["annotated"].shape == names["picture"].shape
    assert (names["annotated"] != names["picture"]).any()


def test_every_option_in_the_readme_exists() -> None:
    verbs = [[verb] for verb in ("image", "video", "doctor", "eval", "explain", "benchmark")]
    verbs += [[group.name or "", verb] for group in (checkpoints, dataset) for verb in group.commands]
    helps = "".join(CliRunner().invoke(program, [*verb, "--help"]).output for verb in verbs)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) <= set(re.findall(r"--[a-z-]+", helps))


def test_engines_and_precisions_are_the_programs() -> None:
    speed = README.partition("## Speed")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z]+)` \|", speed, re.MULTILINE) == [engine.value for engine in EngineName]
    assert {one.value for one in Arithmetic} <= set(re.findall(r"`([a-z0-9]+)`", speed))
    for engine, package in PACKAGES.items():
        row = next(line for line in speed.splitlines() if line.startswith(f"| `{engine.value}` |"))
        assert (install_line(engine) in row) == bool(package.extra)
    assert "eight used last" in speed
    assert KEPT_ENTRIES == 8


def test_exit_statuses_are_the_programs() -> None:
    from ssd_detect.errors import ExitStatus

    assert [int(n) for n in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)] == [s.value for s in ExitStatus]


def test_version_is_in_one_place() -> None:
    from ssd_detect import __version__

    assert f'"version": "{__version__}"' in README
    assert __version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_scripts_run(tmp_path: Path) -> None:
    """The very first command, where its environment is there already (the tests run in it)."""
    if not (ROOT / ".venv").exists() or not sys.prefix.startswith(str(ROOT)):
        pytest.fail("run the tests with scripts/test, which makes .venv")
    command = [str(ROOT / "scripts" / "run"), "image", "tests/media/astronaut.png"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "astronaut_detections.png").exists()

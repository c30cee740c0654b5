"""`ssd-detect benchmark`: what it prints and writes for fixed results, its refusals, and one run that is real."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner, Result

from ssd_detect.benchmark.document import document
from ssd_detect.benchmark.results import (
    Agreement,
    BatchTimes,
    Benchmark,
    BenchmarkPicture,
    ColdStart,
    EngineResult,
    Machine,
    Opened,
    StageTable,
    ThreadTimes,
    VideoTimes,
)
from ssd_detect.benchmark.samples import Samples
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.cli.benchmark import _typed_for_image, benchmark
from ssd_detect.cli.benchmark_lines import lines
from ssd_detect.cli.image import image
from ssd_detect.cli.main import program
from ssd_detect.conventions import EngineName

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "ssd_detect/benchmark/schema/benchmark.schema.json").read_text(encoding="utf-8"))
HEAVY = ("tensorflow", "numpy", "cv2", "av", "moviepy", "imageio", "rich", "PIL")

MACHINE = Machine(
    processor="Some Processor 9000",
    cores=2,
    all_cores=4,
    memory_bytes=24 * 2**30,
    system="Some Linux 12, kernel 6.1",
    gpus=(),
    python="3.12.3",
    packages={"numpy": "2.1.0", "tensorflow": "2.18.0"},
    load=0.4,
)
PICTURE = BenchmarkPicture("person.jpg", 640, 480)
OPENED = Opened("ssd_300_vgg_voc", "0" * 64, 300, 20, "tensorflow", "2.18.0", "CPU", "float32", 2, (PICTURE,), (), 0.75)
NETWORK, COLD = Samples((0.3, 0.29, 0.31)), ColdStart(Samples((4.0, 5.0, 4.5)), Samples((4.1, 5.1, 4.6)))
WHOLE = Benchmark(
    machine=MACHINE,
    pictures=(PICTURE,),
    opened=OPENED,
    num_warm_ups=9,
    cold_start=COLD,
    stages=StageTable(
        PICTURE,
        Samples((0.31, 0.30, 0.32)),
        {
            "read": Samples((0.002,)),
            "network": NETWORK,
            "draw": Samples((0.0015,)),
            "encode": Samples((0.0065,)),
            "rest": Samples((1e-4,)),
        },
    ),
    batches=(BatchTimes(1, NETWORK, 2**29), BatchTimes(4, Samples((1.0, 1.1)), None)),
    threads=(ThreadTimes(1, Samples((0.5,))), ThreadTimes(2, NETWORK)),
    video=VideoTimes(1280, 720, 16, 4, Samples((5.0, 5.2)), Samples((4.8, 5.0))),
    peak_bytes=2**30,
)
COMPARED = Benchmark(
    machine=MACHINE,
    pictures=(PICTURE, PICTURE),
    compared=(
        EngineResult("tensorflow", OPENED, Samples((0.6, 0.62, 0.58)), 2**30, 0.0, None, COLD),
        EngineResult(
            "onnxruntime", OPENED, Samples((0.3, 0.3)), None, 0.9, Agreement(1.5e-6, True, True), cold_start=COLD
        ),
        EngineResult("openvino", missing="openvino is not installed; type pip install openvino"),
        EngineResult("opencv", refusal="opencv cannot compute in bf16; expected float32"),
    ),
)

TEXT = """\
machine   Some Processor 9000, 2 cores of 4, 24.0 GiB, Some Linux 12, kernel 6.1
software  Python 3.12.3, numpy 2.1.0, tensorflow 2.18.0
network   ssd_300_vgg_voc, SSD300, 20 classes; tensorflow 2.18.0, float32, CPU,
          2 threads
pictures  person.jpg 640x480

cold start, s (3 processes)     median   middle half
first result                      4.50  4.25 to 4.75
picture written, process ended    4.60  4.35 to 4.85
the network's first call alone    0.75

ms for person.jpg  median     middle half   share
read                 2.00    2.00 to 2.00    0.6%
network             300.0  295.0 to 305.0   96.8%
draw                 1.50    1.50 to 1.50    0.5%
encode               6.50    6.50 to 6.50    2.1%
rest                 0.10    0.10 to 0.10    0.0%
whole               310.0  305.0 to 315.0  100.0%

batch size  pictures/s   middle half   memory
1                 3.33  3.28 to 3.39  512 MiB
4                 3.81  3.64 to 4.00        -

threads  pictures/s   middle half
1              2.00  2.00 to 2.00
2              3.33  3.28 to 3.39

video 1280x720, 16 frames, batch 4  frames/s   middle half  ratio
end to end                              3.14  3.08 to 3.20   0.96
bare network                            3.27  3.20 to 3.33   1.00
peak memory of the process: 1024 MiB

Medians; the middle half lies between the quartiles. Without 9 warm-up calls."""

COMPARED_TEXT = """\
engine          ms     middle half  ratio  cold s    memory      off  same
tensorflow   300.0  295.0 to 305.0   1.00    4.50  1024 MiB        -     -
onnxruntime  150.0  150.0 to 150.0   0.50    4.50         -  1.5e-06   yes
ms: a picture, one at a time; ratio: of it to the first engine's; cold s: from
  the start of a process to its first result; off: largest difference of a score
  from tensorflow's; same: whether the same objects are found
onnxruntime: its worker used 90% of a core while others were measured, which
  slows them
openvino: not measured: openvino is not installed; type pip install openvino
opencv: not measured: opencv cannot compute in bf16; expected float32"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["benchmark", *map(str, arguments)])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[BenchmarkSettings]:
    """The fixed results stand in for a minute of measuring; gives the settings with which they were asked for."""
    asked: list[BenchmarkSettings] = []

    def give(found: Benchmark, settings: BenchmarkSettings, tell: Callable[[str], None]) -> Benchmark:
        asked.append(settings)
        return found

    monkeypatch.setattr("ssd_detect.benchmark.measuring.measure", partial(give, WHOLE))
    monkeypatch.setattr("ssd_detect.benchmark.comparing.compare", partial(give, COMPARED))
    return asked


class TestText:
    def test_all_parts(self) -> None:
        assert "\n".join(lines(WHOLE)) == TEXT

    def test_compared(self) -> None:
        assert COMPARED_TEXT in "\n".join(lines(COMPARED))

    @pytest.mark.parametrize("found", [WHOLE, COMPARED])
    def test_fits_into_a_terminal(self, found: Benchmark) -> None:
        assert max(map(len, lines(found))) <= 80

    def test_nothing_but_the_machine(self) -> None:
        bare = Benchmark(machine=replace(MACHINE, memory_bytes=None, gpus=("GPU 1",)), pictures=())
        assert "2 cores of 4, GPU 1, Some Linux" in next(lines(bare))


class TestJson:
    @pytest.mark.parametrize("found", [WHOLE, COMPARED, Benchmark(machine=MACHINE, pictures=())])
    def test_schema(self, found: Benchmark) -> None:
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document(found), allow_nan=False)))

    def test_raw_samples_and_what_follows_from_them(self) -> None:
        value = document(WHOLE)
        assert value["cold_start"]["end"] == {
            "median": 4.6, "low_quartile": pytest.approx(4.35), "high_quartile": 4.85, "samples": [4.1, 5.1, 4.6],
        }  # fmt: skip
        assert value["batches"][0]["pictures_per_second"] == pytest.approx(1 / 0.3)
        assert value["video"]["ratio"] == pytest.approx(4.9 / 5.1)
        assert [one["ratio"] for one in document(COMPARED)["compared"]] == [1.0, 0.5, None, None]

    def test_infinity_is_null(self) -> None:
        odd = replace(COMPARED.compared[1], agreement=Agreement(float("inf"), False, False))
        value = document(replace(COMPARED, compared=(COMPARED.compared[0], odd)))
        assert value["compared"][1]["agreement"]["score_difference"] is None
        jsonschema.validate(value, SCHEMA)


class TestCommand:
    def test_text_and_json(self, measured: list[BenchmarkSettings], tmp_path: Path) -> None:
        target = tmp_path / "numbers.json"
        result = run("--json", target)
        assert (result.exit_code, result.stdout, result.stderr) == (0, TEXT + "\n", "")
        jsonschema.validate(json.loads(target.read_text(encoding="ascii")), SCHEMA)
        again = run("--json", target)
        assert again.exit_code == 1
        assert "exists already" in again.stderr
        assert len(measured) == 1  # that was said before anything was measured
        assert run("--json", target, "--overwrite", "-q").output == ""

    @pytest.mark.usefixtures("measured")
    def test_json_on_stdout_is_alone_there(self) -> None:
        result = run("--json", "-")
        jsonschema.validate(json.loads(result.stdout), SCHEMA)
        assert result.stderr == TEXT + "\n"

    def test_settings(self, measured: list[BenchmarkSettings], media: Path) -> None:
        arguments = ["--checkpoint", "x", "--threads", "2", "--class", "cat", "--class", "dog", "--class-agnostic"]
        assert run(media / "astronaut.png", *arguments, "--quick", "-v", "--json", "-").exit_code == 0
        (settings,) = measured
        assert settings.options == tuple(arguments)
        assert settings.pictures == (media / "astronaut.png",)
        assert (settings.session.intra_op_threads, settings.detection.classes) == (2, ("cat", "dog"))
        assert (settings.quick, settings.runs) == (True, 3)
        assert run("--runs", "20").exit_code == 0
        assert (measured[1].runs, measured[1].options, measured[1].pictures) == (20, (), ())

    def test_what_image_gets_is_what_image_takes(self) -> None:
        """Every option that may be handed on exists there."""
        image_options = {name for option in image.params for name in option.opts}
        own = {"--compare", "--runs", "--quick", "--json", "--overwrite"}
        for option in benchmark.params:
            assert isinstance(option, click.Argument) or set(option.opts) <= image_options | own, option

    def test_short_and_joined_options_are_handed_on(self) -> None:
        args = ["-q", "--runs=3", "--score-threshold=0.3", "a.jpg"]
        context = benchmark.make_context("benchmark", list(args))
        assert _typed_for_image(context) == ("--score-threshold", "0.3")

    def test_compared(self, measured: list[BenchmarkSettings]) -> None:
        result = run("--compare")
        assert result.exit_code == 0
        assert COMPARED_TEXT in result.stdout
        assert [one.session.engine for one in measured] == [EngineName.AUTO]
        assert run().exit_code == 0
        assert measured[1].session.engine is EngineName.TENSORFLOW

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"agreement": Agreement(0.2, True, False)}, "onnxruntime: disagrees with tensorflow"),
            ({"problem": "onnxruntime: the worker process, asked for each, ended by signal SIGKILL"}, "signal SIGKILL"),
        ],
    )
    def test_faults_of_engines(self, changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
        first, second, *others = COMPARED.compared
        found = replace(COMPARED, compared=(first, replace(second, **changes), *others))
        monkeypatch.setattr("ssd_detect.benchmark.comparing.compare", lambda settings, tell: found)
        result = run("--compare")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
        assert "tensorflow   300.0" in result.stdout  # the rest is told all the same

    def test_unjudged_arithmetic_is_no_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first, second = COMPARED.compared[:2]
        found = replace(COMPARED, compared=(first, replace(second, agreement=Agreement(0.2, False, None))))
        monkeypatch.setattr("ssd_detect.benchmark.comparing.compare", lambda settings, tell: found)
        result = run("--compare")
        assert result.exit_code == 0
        assert "2.0e-01    NO\n" in result.stdout
        assert "is not judged" in result.stdout

    @pytest.mark.parametrize(("load", "is_busy"), [(None, False), (3.0, False), (3.1, True)])
    def test_busy_machine(self, load: float | None, is_busy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        found = replace(WHOLE, machine=replace(MACHINE, load=load))
        monkeypatch.setattr("ssd_detect.benchmark.measuring.measure", lambda settings, tell: found)
        assert run().stderr.startswith("Warning: this machine is busy (load 3.1 on 2 cores") is is_busy

    def test_some_pictures_fail(self, monkeypatch: pytest.MonkeyPatch, media: Path) -> None:
        found = replace(WHOLE, failures=("x.jpg: the picture is damaged",))
        monkeypatch.setattr("ssd_detect.benchmark.measuring.measure", lambda settings, tell: found)
        result = run()
        assert (result.exit_code, result.stderr) == (3, "Error: x.jpg: the picture is damaged\n")
        monkeypatch.setattr("ssd_detect.benchmark.measuring.measure", lambda settings, tell: WHOLE)
        result = run(media / "astronaut.png", "gone.jpg")
        assert (result.exit_code, result.stderr) == (3, "Error: gone.jpg: no such file\n")

    def test_many_pictures(self, measured: list[BenchmarkSettings], tmp_path: Path) -> None:
        for i in range(9):
            (tmp_path / f"{i}.jpg").touch()
        assert run(tmp_path).stderr == "Taking the first 8 of 9 pictures.\n"
        assert len(measured) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            (["gone.jpg"], 1, "no picture is left to measure with"),
            (["-"], 2, "expected files, not URLs or standard input"),
            (["https://example.org/a.jpg"], 2, "expected files, not URLs or standard input"),
            (["--runs", "1"], 2, "1 is not in the range"),
            (["--json", str(ROOT)], 1, "is a folder"),
            (["--device", "tpu"], 2, "tpu"),
            (["--class", "prson"], 2, "prson"),
        ],
    )
    def test_said_at_once(self, arguments: list[str], status: int, message: str) -> None:
        result = run(*arguments)
        assert result.exit_code == status
        assert message in result.stderr.splitlines()[-1]
        assert result.stdout == ""

    @pytest.mark.parametrize("arguments", [["--help"], ["--runs", "1"], ["gone.jpg"]])
    def test_light(self, arguments: list[str]) -> None:
        code = f"""
import sys
from ssd_detect.cli.image import image
from ssd_detect.cli.main import program
from ssd_detect.conventions import EngineName
try:
    program(sys.argv[1:])
except SystemExit:
    print("imported:", [m for m in {HEAVY!r} if m in sys.modules])
"""
        done = subprocess.run(
            [sys.executable, "-c", code, "benchmark", *arguments], capture_output=True, text=True, check=True
        )
        assert done.stdout.endswith("imported: []\n")


def children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_running(pid: int) -> bool:
    """A zombie, for which only its place in the table is left, does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for child processes in Linux's /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_workers_end_with_an_interrupted_run(number: int, status: int, media: Path) -> None:
    command = [sys.executable, "-m", "ssd_detect", "benchmark", "--quick", str(media / "astronaut.png")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        workers: list[int] = []
        deadline = time.monotonic() + 60
        while not workers and time.monotonic() < deadline:
            time.sleep(0.1)
            workers = children_of(process.pid)
        assert len(workers) == 1
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert (b"Interrupted." in errors) == (status == 130)
    deadline = time.monotonic() + 30  # one that had hardly begun ends by itself, when its input does
    while is_running(workers[0]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(workers[0])


EXAMPLE_RUNS = (("benchmark", "--compare", "--json", "numbers.json"), ("benchmark",))
"""What the README shows; here with less of everything that is measured."""
LESS = ("--quick", "--runs", "2")


@pytest.mark.slow
@pytest.mark.usefixtures("in_an_empty_folder")
def test_a_quick_comparison(media: Path) -> None:
    result = CliRunner().invoke(program, [*EXAMPLE_RUNS[0], *LESS, str(media / "astronaut.png")])
    assert result.exit_code == 0, result.output
    value = json.loads(Path("numbers.json").read_text(encoding="ascii"))
    jsonschema.validate(value, SCHEMA)
    reference, *others = value["compared"]
    assert (reference["engine"], reference["ratio"], reference["agreement"]) == ("tensorflow", 1.0, None)
    assert [other["engine"] for other in others] == ["onnxruntime", "openvino", "opencv"]
    for other in others:
        assert other["engine"] == other["opened"]["engine"]
        assert other["engine"] in result.stdout.split()
        assert other["agreement"]["score_difference"] < 1e-4
        assert (other["agreement"]["same_detections"], other["agreement"]["agrees"]) == (True, True)
    for one in value["compared"]:
        assert len(one["seconds"]["samples"]) == 2
        assert len(one["cold_start"]["end"]["samples"]) == 1
        assert one["idle_share"] < 0.1
    assert others[0]["cold_start"]["end"]["median"] < reference["cold_start"]["end"]["median"]


@pytest.mark.slow
def test_a_quick_run(tmp_path: Path, media: Path) -> None:
    target = tmp_path / "numbers.json"
    options = [*LESS, "--batch-size", "2", "--json", str(target)]
    result = CliRunner().invoke(program, [*EXAMPLE_RUNS[1], *options, str(media / "astronaut.png")])
    assert result.exit_code == 0, result.output
    value = json.loads(target.read_text(encoding="ascii"))
    jsonschema.validate(value, SCHEMA)
    assert len(value["cold_start"]["end"]["samples"]) == 1
    assert value["cold_start"]["first_result"]["median"] <= value["cold_start"]["end"]["median"]
    assert [one["batch_size"] for one in value["batches"]] == [1, 4]
    assert value["video"]["frames"] % 2 == 0
    assert 0.2 < value["video"]["ratio"] < 1.5
    assert value["stages"]["stages"]["rest"]["median"] >= 0
    assert value["peak_bytes"] >= max(one["peak_bytes"] for one in value["batches"])
    for text in ("cold start", "pictures/s", "video 1280x720", "astronaut.png 512x512"):
        assert text in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
def test_json_for_a_reader_that_has_gone() -> None:
    """As `head -1`, which has had enough: no word, and no traceback."""
    code = (
        "from ssd_detect.cli.main import program; from ssd_detect.cli.eval_run import write_json\n"
        "@program.command()\n"
        "def numbers(): write_json({'a': 1}, '-', overwrite=False)\n"
        "program(['numbers'])"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no such folder there")
def test_a_place_where_nothing_can_be_is_refused_before_measuring() -> None:
    """Also to root, whom the system tells that it may write there."""
    done = CliRunner().invoke(program, ["benchmark", "--json", "/proc/nowhere/numbers.json"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: /proc/nowhere/numbers.json: cannot be written: ")

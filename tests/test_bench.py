"""The arithmetic of `scripts/bench`, on given samples; and, slowly, each part once with a few of everything."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from bench import __main__ as command  # noqa: E402
from bench import cold_start, end_to_end, engines, growth, memory, overhead, postprocess  # noqa: E402
from bench.__main__ import PARTS, failed, main  # noqa: E402
from bench.children import ChildRun, RunError, timed_run  # noqa: E402
from bench.number import Number, ratio  # noqa: E402
from bench.options import Options  # noqa: E402
from bench.trees import tree_of  # noqa: E402
from bench.workers import Worker, WorkerError, turns  # noqa: E402
from measuring import in_turns, ratio_interval, seconds_of  # noqa: E402


class TestNumber:
    @pytest.mark.parametrize(
        ("number", "reached", "line"),
        [
            (Number("n", None, 1.0, note="why"), False, "n: not measured (at most 1.000 x) no; why"),
            (Number("n", None), True, "n: not measured"),
            (Number("n", 2.0), True, "n: 2.000 x"),
            (Number("n", 1.0, 1.0), True, "n: 1.000 x (at most 1.000 x) yes"),
            (Number("n", 1.001, 1.0), False, "n: 1.001 x (at most 1.000 x) no"),
            (Number("n", 0.95, 0.95, "at least"), True, "n: 0.950 x (at least 0.950 x) yes"),
            (Number("n", 0.949, 0.95, "at least"), False, "n: 0.949 x (at least 0.950 x) no"),
            (Number("n", 2e-5, 1e-4, unit=""), True, "n: 2.0e-05 (at most 1.0e-04) yes"),
            (Number("n", 1234.5, 3.0, unit="ms"), False, "n: 1234 ms (at most 3.000 ms) no"),
            (Number("n", 0.0, 0.0, unit=""), True, "n: 0.000 (at most 0.000) yes"),
            (Number("n", float("inf"), 1.0, unit=""), False, "n: inf (at most 1.000) no"),
            (Number("n", float("nan"), 1.0, unit=""), False, "n: nan (at most 1.000) no"),
        ],
    )
    def test_line(self, number: Number, reached: bool, line: str) -> None:
        assert number.is_reached is reached
        assert number.line() == line
        assert number.as_json()["reached"] is reached

    @pytest.mark.parametrize(
        ("value", "interval", "noise", "reached"),
        [
            (1.01, None, 0.02, False),  # nothing tells that it is noise
            (1.01, (0.99, 1.03), 0.0, False),  # noise is allowed where it is asked for only
            (1.01, (0.99, 1.03), 0.02, True),
            (1.01, (1.005, 1.03), 0.02, False),  # surely above
            (1.03, (0.90, 1.20), 0.02, False),  # too far, however noisy
        ],
    )
    def test_noise(self, value: float, interval: tuple[float, float] | None, noise: float, reached: bool) -> None:
        assert Number("n", value, 1.0, interval=interval, noise=noise).is_reached is reached
        assert Number("n", 2 - value, 1.0, "at least", interval=mirrored(interval), noise=noise).is_reached is reached

    def test_ratio(self) -> None:
        number = ratio("n", [2.0, 4.0, 3.0], [1.0, 2.0, 1.5], 1.5)
        assert (number.value, number.interval, number.is_reached) == (2.0, (2.0, 2.0), False)


def mirrored(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return interval and (2 - interval[1], 2 - interval[0])


class TestMeasuring:
    def test_turns_are_taken(self) -> None:
        order: list[str] = []

        def called(name: str) -> float:
            order.append(name)
            return float(len(order))

        assert in_turns({"a": lambda: called("a"), "b": lambda: called("b")}, 2) == {"a": [1, 3], "b": [2, 4]}
        assert order == ["a", "b", "a", "b"]
        assert in_turns({}, 3) == {}

    def test_seconds(self) -> None:
        assert 0.02 <= seconds_of(lambda: time.sleep(0.02)) < 2

    def test_disturbed_rounds_count_for_both(self) -> None:
        slow_machine = [1.0, 5.0, 2.0, 9.0, 1.0]
        low, high = ratio_interval([1.1 * value for value in slow_machine], slow_machine)
        assert low == pytest.approx(1.1)
        assert high == pytest.approx(1.1)

    def test_interval_holds_the_ratio(self) -> None:
        low, high = ratio_interval([1.0, 1.2, 0.9, 1.1, 1.0, 1.3], [1.0, 0.9, 1.1, 1.0, 1.2, 0.8])
        assert low < 1.05 / 1.0 < high
        assert ratio_interval([1.0, 1.2], [1.0, 0.9]) == ratio_interval([1.0, 1.2], [1.0, 0.9])


class TestWorker:
    def test_calls(self, tmp_path: Path) -> None:
        with Worker("tests.bench_calls:two", {"start": 5}, environment(tmp_path)) as worker:
            assert worker.ask("add", 2) == 7
            assert worker.ask("add", 2) == 9
            assert worker.seconds("sleep", 0.05) >= 0.05
            assert 0.01 <= worker.seconds_each("four") < 0.03
            with pytest.raises(WorkerError, match=r"^ValueError: on purpose$"):
                worker.ask("fail")
            with pytest.raises(WorkerError, match="no call other"):
                worker.ask("other")
            assert worker.ask("add", 0) == 9  # prints, and goes on after failures
            with pytest.raises(WorkerError, match="the process has ended: is offended"):
                worker.ask("end")
            with pytest.raises(WorkerError, match="the process has ended"):
                worker.ask("add", 0)

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            ("tests.bench_calls:two", "^TypeError: .*start"),
            ("tests.no_such_module:two", "^ModuleNotFoundError: "),
        ],
    )
    def test_cannot_start(self, function: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(WorkerError, match=message):
            Worker(function, {}, environment(tmp_path))

    def test_turns(self, tmp_path: Path) -> None:
        with Worker("tests.bench_calls:two", {"start": 0}, environment(tmp_path)) as worker:
            taken = turns({"one": worker}, "count", rounds=2, repeats=3)
            assert len(taken["one"]) == 2
            assert worker.ask("count") == 2 * (1 + 3) + 1


def environment(folder: Path) -> dict[str, str]:
    own = Options(folder).environment()
    return own | {"PYTHONPATH": os.pathsep.join([own["PYTHONPATH"], str(ROOT)])}


class TestRuns:
    def test_time_and_memory(self, tmp_path: Path) -> None:
        code = "import time; kept = bytearray(200_000_000); time.sleep(0.2)"
        run = timed_run([sys.executable, "-c", code], environment(tmp_path), tmp_path)
        assert run.seconds >= 0.2
        assert 190 < run.peak_mebibytes < 300

    def test_failure(self, tmp_path: Path) -> None:
        code = "import sys; print('one', file=sys.stderr); sys.exit('two')"
        with pytest.raises(RunError, match=r"^two$"):
            timed_run([sys.executable, "-c", code], environment(tmp_path), tmp_path)
        with pytest.raises(RunError, match=r"^no message$"):
            timed_run([sys.executable, "-c", "raise SystemExit(3)"], environment(tmp_path), tmp_path)

    def test_unknown_revision(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match=r"no-such-revision.*--baseline"):
            tree_of("no-such-revision", tmp_path)


def told(numbers: Sequence[Number]) -> list[tuple[float | None, bool]]:
    return [(None if n.value is None else round(n.value, 6), n.is_reached) for n in numbers]


class TestParts:
    """What each makes of its samples."""

    def test_engines(self) -> None:
        samples = {
            "plain opencv": [3.0, 3.0],
            "plain onnxruntime": [2.0, 2.0],
            "plain openvino as it comes": [1.0, 1.0],
        }
        samples |= {"ours, auto": [1.9, 1.9], "ours, tensorflow": [2.4, 2.4]}
        numbers = engines.judged(samples, "openvino")
        assert told(numbers) == [(0.95, True), (1.2, False), (None, True)]
        assert numbers[0].name == "engines: auto (openvino) / fastest plain (onnxruntime), float32"

    def test_engines_without_any(self) -> None:
        assert told(engines.judged({}, "none")) == [(None, False), (None, False), (None, True)]

    def test_agreement(self) -> None:
        import numpy as np

        outputs = {"scores": np.zeros((1, 3, 2)), "offsets": np.zeros((1, 3, 4))}
        far = {"scores": np.zeros((1, 3, 2)), "offsets": np.full((1, 3, 4), -0.002)}
        assert told([engines.agreement({"ours, tensorflow": outputs, "plain opencv": outputs})]) == [(0.0, True)]
        number = engines.agreement({"ours, tensorflow": outputs, "plain opencv": far, "ours, openvino bf16": far})
        assert (told([number]), number.note) == ([(0.002, False)], "plain opencv")
        nothing = {"scores": np.full((1, 3, 2), np.nan), "offsets": np.zeros((1, 3, 4))}
        assert not engines.agreement({"ours, tensorflow": outputs, "plain opencv": nothing}).is_reached
        assert told([engines.agreement({"plain opencv": outputs})]) == [(None, False)]

    def test_cold_start(self) -> None:
        samples = {"baseline": [5.0, 5.0], "tensorflow": [4.5, 4.5]}
        numbers = [cold_start.judged(samples, {"onnxruntime": "why"}, one) for one in ("tensorflow", "onnxruntime")]
        assert told(numbers) == [(0.9, False), (None, False)]
        assert numbers[1].note == "onnxruntime: why"

    def test_overhead(self) -> None:
        stages = {"network": [0.2, 9.0, 0.2], "resize": [0.001, 0.001, 8.0], "encode": [7.0] * 3}
        stages |= {"decode": [0.0015] * 3, "nms": [0.0005] * 3, "draw": [0.001] * 3}
        assert told(overhead.judged("tensorflow", stages)) == [(4.0, False), (0.02, True), (2.0, False)]
        assert told(overhead.judged("auto", {}, "why")) == [(None, False)] * 3

    def test_end_to_end(self) -> None:
        samples = {"auto, bare": [9.6, 9.6], "auto, job": [10.0, 10.0], "loop": [14.0, 14.0]}
        assert told(end_to_end.judged("video", "auto", "openvino", samples)) == [(0.96, True), (1.4, False)]
        samples = {"tensorflow, bare": [9.0, 9.0], "tensorflow, job": [10.0, 10.0]}
        assert told(end_to_end.judged("pictures", "tensorflow", "tensorflow", samples)) == [(0.9, False)]

    def test_growth(self) -> None:
        """Starting up takes 5 s, each of a hundred 0.1 s and each of a thousand 0.12 s."""
        runs = {1: ChildRun(5.1, 800), 10: ChildRun(6.0, 800), 100: ChildRun(15.0, 1000), 1000: ChildRun(124.98, 1090)}
        each = growth.seconds_each(runs)
        assert {count: round(value, 9) for count, value in each.items()} == {10: 0.1, 100: 0.1, 1000: 0.12}
        assert told(growth.judged("frames", runs, each)) == [(1.2, False), (1.09, True)]

    def test_postprocess(self) -> None:
        taken = {"present": [0.02, 0.02], "baseline": [0.03, 0.03], "loop": [0.09, 0.09]}
        assert told(postprocess.judged(0.5, taken)) == [(0.666667, True), (2.0, True), (4.5, False)]

    def test_memory(self) -> None:
        assert told(memory.judged([1.0] * 99, 1.0)) == [(None, False)]
        assert told(memory.judged([*[500.0] * 100, 540.0], 520.0)) == [(40.0, False), (20.0, True), (500.0, True)]


class TestCommand:
    def test_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match=r"^0$"):
            main(["--help"])
        shown = capsys.readouterr().out
        assert all(f"  {part} " in shown for part in PARTS)
        assert "pip install torch" in shown

    @pytest.mark.parametrize("arguments", [["no-such-part"], ["--rounds", "0"], ["--rounds", "many"]])
    def test_usage_errors(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match=r"^2$"):
            main(arguments)
        assert arguments[-1] in capsys.readouterr().err

    def test_status_and_json(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        parts = {name: (f"tests.bench_calls:{name}", name) for name in ("reached", "missed", "broken")}
        monkeypatch.setattr(command, "PARTS", parts)
        file = tmp_path / "numbers.json"
        assert main(["reached"]) == 0
        assert main(["--json", str(file)]) == 1
        assert main(["missed", "--no-fail"]) == 0
        shown = capsys.readouterr().out
        assert "good: 1.000 x (at most 2.000 x) yes" in shown
        assert "2 of the numbers are not what they should be" in shown
        written = json.loads(file.read_text())
        assert list(written["parts"]) == ["reached", "missed", "broken"]
        assert written["parts"]["missed"]["numbers"][0]["value"] == 3.0
        assert written["parts"]["missed"]["numbers"][0]["reached"] is False
        assert written["parts"]["reached"]["samples"] == {"all": [1.0, 2.0]}
        assert written["parts"]["broken"]["numbers"][0]["note"] == "RuntimeError: on purpose"
        assert written["machine"]["cores"] == os.cpu_count()

    def test_failed_part(self) -> None:
        assert failed("video", RuntimeError("no codec")).line().endswith("no; RuntimeError: no codec")


@pytest.mark.slow
def test_each_quick_part_runs() -> None:
    """Those that need no second revision and take seconds: every number is there, whatever it is."""
    parts = ["overhead", "memory", "usage", "evaluation"]
    asked = [sys.executable, "-m", "bench", *parts, "--tiny", "--no-fail", "--engine", "tensorflow"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "scripts")])
    quiet = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr
    for part in parts:
        assert f"\n{part}: " in done.stdout
    assert "not measured" not in done.stdout

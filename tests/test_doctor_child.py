"""The doctor's child process: facts from stub packages that misbehave."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.doctor.child import Child
from ssd_detect.doctor.facts import PACKAGES, DeviceFacts, Failure, TensorFlowFacts, TrialFacts
from ssd_detect.doctor.judge import judge
from ssd_detect.doctor.probes.gather import Patience, gather
from tests.doctor_stubs import GOOD_STUB, NOISE, ROOT, write_stub

CPU = DeviceFacts("CPU:0")
GPU = DeviceFacts("GPU:0", "NVIDIA H200", "9.0")
ON_CPU = TrialFacts("CPU", "person", 0.9296, (0.0, 0.0, 268.9, 320.0), 0.61, 0.29)
CUDA_BUILD = TensorFlowFacts("2.21.0", True, "12.5.1", "9", (CPU,))
CPU_BUILD = TensorFlowFacts("2.21.0", False, None, None, (CPU,))
WITH_GPU = replace(CUDA_BUILD, devices=(CPU, GPU))
GOOD_ANSWER = TensorFlowFacts("2.21.0", True, "12.5.1", None, (CPU, GPU))


def ask_stub(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float = 60.0) -> tuple[Any, Child]:
    write_stub(tmp_path, source)
    monkeypatch.syspath_prepend(tmp_path)
    with Child("cpu") as child:
        answer = child.ask("tensorflow", seconds)
    return answer, child


BAD_IMPORTS = {
    "raises": ("raise ImportError('DLL load failed')", Failure("error", "ImportError: DLL load failed")),
    "needs another": ("import no_such_module", Failure("missing", "no_such_module")),
    "illegal instruction": ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", Failure("killed", "SIGILL")),
    "real-time signal": ("import os; os.kill(os.getpid(), 40)", Failure("killed", "signal 40")),
    "leaves": ("import os; os._exit(3)", Failure("exited", "3")),
    "leaves politely": ("raise SystemExit(4)", Failure("exited", "4")),
    "leaves in peace": ("import sys; sys.exit()", Failure("exited", "0")),
    "leaves with a word": ("raise SystemExit('no')", Failure("exited", "1")),
    "is hollow": ("", Failure("error", "AttributeError: module 'tensorflow' has no attribute 'sysconfig'")),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("source", "expected"), BAD_IMPORTS.values(), ids=BAD_IMPORTS.keys())
def test_a_bad_import_is_an_answer(
    source: str, expected: Failure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask_stub(source, tmp_path, monkeypatch)[0] == expected


def test_an_import_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = ask_stub("import time; time.sleep(600)", tmp_path, monkeypatch, seconds=0.5)
    assert answer == Failure("hung", "0.5")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_import_that_hangs_tells_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, child = ask_stub("import time\ntime.sleep(600)", tmp_path, monkeypatch, seconds=3.0)
    assert f'File "{tmp_path / "tensorflow" / "__init__.py"}", line 2 in <module>' in child.log


@pytest.mark.parametrize(
    "source",
    ["import helper; helper.gone", "from helper import gone", "from helper import raises; raises()"],
)
def test_an_error_of_another_module_names_its_file(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("def raises(): raise ValueError('x')", encoding="utf-8")
    answer, _ = ask_stub(source, tmp_path, monkeypatch)
    assert (answer.kind, answer.file, answer.is_users) == ("error", str(helper), True)


def test_an_error_in_an_installed_module_is_not_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = ask_stub("import json; json.loads('{')", tmp_path, monkeypatch)
    assert (Path(answer.file).name, answer.is_users) == ("decoder.py", False)


def test_an_error_of_its_own_names_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = ask_stub("raise ValueError('x')", tmp_path, monkeypatch)
    assert (answer.file, answer.is_users) == (None, False)


def test_noise_does_not_drown_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, child = ask_stub(NOISE + GOOD_STUB, tmp_path, monkeypatch)
    assert TensorFlowFacts.from_json(answer) == GOOD_ANSWER
    for words in ("noise on the output 199", "native noise", "compiled using NumPy 1.x"):
        assert words in child.log


def test_questions_go_on_after_a_death(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(tmp_path, "import os; os.abort()", "av")
    write_stub(tmp_path, "__version__ = '5.0'", "cv2")
    monkeypatch.syspath_prepend(tmp_path)
    with Child("cpu") as child:
        assert [child.ask(module, 60) for module in ("cv2", "av", "cv2")] == [
            "5.0",
            Failure("killed", "SIGABRT"),
            "5.0",
        ]


def test_a_child_that_dies_between_two_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import os, threading; threading.Timer(0.2, os._exit, [7]).start(); __version__ = '1'"
    write_stub(tmp_path, source, "cv2")
    write_stub(tmp_path, "import time; time.sleep(600)", "av")
    monkeypatch.syspath_prepend(tmp_path)
    with Child("cpu") as child:
        assert child.ask("cv2", 60) == "1"
        assert child.ask("av", 60) == Failure("exited", "7")


def test_the_child_leaves_no_files_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Child("cpu") as child:
        child.ask("json", 60)
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_what_a_child_leaves_when_it_is_killed_is_cleared_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    ask_stub("import os, tempfile; tempfile.mkdtemp(); os.abort()", tmp_path, monkeypatch)
    assert not list(room.iterdir())


def test_cpu_hides_the_gpus_from_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(tmp_path, "import os; __version__ = os.environ.get('CUDA_VISIBLE_DEVICES')", "cv2")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    for device, visible in (("cpu", "-1"), ("auto", "5")):
        with Child(device) as child:
            assert child.ask("cv2", 60) == visible


def test_packages_are_found_where_this_process_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(tmp_path, "raise ImportError('a folder of that name, where the user happens to be')", "cv2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry] + [str(ROOT)])
    with Child("cpu") as child:
        assert isinstance(child.ask("cv2", 60), str)


def test_gathering_without_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(tmp_path, "import time; time.sleep(600)")
    for package in PACKAGES:
        write_stub(tmp_path, "import no_such_module" if package.module == "av" else "__version__ = '9'", package.module)
    monkeypatch.syspath_prepend(tmp_path)
    steps: list[str] = []
    facts = gather("auto", steps.append, Patience(an_import=2.0))
    assert facts.tensorflow == Failure("hung", "2")
    assert facts.packages["av"] == Failure("missing", "no_such_module")
    assert facts.packages["cv2"] == "9"
    assert facts.trial is None
    assert facts.cpu_trial is None
    driver = ["system", "NVIDIA driver", "CUDA and cuDNN libraries"]
    assert steps == [*driver, *(package.name for package in PACKAGES), "TensorFlow", "encoders and fonts"]


def test_a_failing_gpu_is_followed_by_a_trial_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(tmp_path, GOOD_STUB)  # has no compat.v1, so that detection fails on any device
    monkeypatch.syspath_prepend(tmp_path)
    facts = gather("auto")
    assert facts.tensorflow == GOOD_ANSWER
    assert isinstance(facts.trial, Failure)
    assert isinstance(facts.cpu_trial, Failure)
    assert not judge(facts).works


def test_facts_survive_the_way_through_json() -> None:
    def there_and_back(record: Any) -> Any:
        return type(record).from_json(json.loads(json.dumps(asdict(record))))

    nothing = replace(ON_CPU, class_name=None, score=0.0, box=None)
    for record in (CUDA_BUILD, CPU_BUILD, WITH_GPU, ON_CPU, nothing):
        assert there_and_back(record) == record

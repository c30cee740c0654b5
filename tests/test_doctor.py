"""The doctor: facts from stub packages that misbehave, verdicts on made-up machines, and the real command."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.doctor.advice import one_line
from ssd_detect.doctor.child import Child
from ssd_detect.doctor.facts import (
    PACKAGES,
    TENSORFLOW,
    DeviceFacts,
    Facts,
    Failure,
    PythonFacts,
    SystemFacts,
    TensorFlowFacts,
    TrialFacts,
)
from ssd_detect.doctor.judge import Verdict, judge
from ssd_detect.doctor.probes import Patience, gather

ROOT = Path(__file__).parent.parent
HEAVY = {"tensorflow", "numpy", "cv2", "av", "PIL"}

# ---------------------------------------------------------------- verdicts on made-up machines

CPU = DeviceFacts("CPU:0")
GPU = DeviceFacts("GPU:0", "NVIDIA H200", "9.0")
ON_CPU = TrialFacts("CPU", "person", 0.9296, (0.0, 0.0, 268.9, 320.0), 0.61, 0.29)
ON_GPU = replace(ON_CPU, device_name="GPU:0")
CUDA_BUILD = TensorFlowFacts("2.21.0", True, "12.5.1", "9", (CPU,))
CPU_BUILD = TensorFlowFacts("2.21.0", False, None, None, (CPU,))
WITH_GPU = replace(CUDA_BUILD, devices=(CPU, GPU))
DEBIAN = SystemFacts(kind="Linux", name="Debian GNU/Linux 12 (bookworm), kernel 6.1", machine="x86_64", has_avx=True)
WINDOWS = SystemFacts(kind="Windows", name="Windows 11", machine="AMD64")
MAC = SystemFacts(kind="Darwin", name="macOS 15.1", machine="arm64")
MACHINE = Facts(
    system=DEBIAN,
    python=PythonFacts(version="3.12.4", path="/env/bin/python"),
    own_version="0.1.0",
    device_asked="auto",
    packages={package.module: "9.9" for package in PACKAGES},
    tensorflow=CUDA_BUILD,
    trial=ON_CPU,
)
PIP = "/env/bin/python -m pip install"


def without_tensorflow(kind: Any, detail: str, **changes: Any) -> Facts:
    return replace(MACHINE, tensorflow=Failure(kind, detail), trial=None, **changes)


def without(module: str, failure: Failure, **changes: Any) -> Facts:
    return replace(MACHINE, packages={**MACHINE.packages, module: failure}, **changes)


def row(verdict: Verdict, name: str) -> Any:
    return next(check for check in verdict.checks if check.name == name)


WORKING = {
    "CPU-only machine, CUDA build": (MACHINE, "Works on the CPU; for an NVIDIA GPU", f"{PIP} 'tensorflow[and-cuda]=="),
    "CPU-only build": (replace(MACHINE, tensorflow=CPU_BUILD), "Works on the CPU;", "pip uninstall -y tensorflow-cpu"),
    "GPU": (replace(MACHINE, tensorflow=WITH_GPU, trial=ON_GPU), "Works on GPU 0 (NVIDIA H200).", ""),
    "GPU without a name": (
        replace(MACHINE, tensorflow=replace(WITH_GPU, devices=(CPU, DeviceFacts("GPU:0"))), trial=ON_GPU),
        "Works on GPU 0.",
        "",
    ),
    "CPU asked for": (replace(MACHINE, device_asked="cpu"), "Works on the CPU; GPUs were left alone", "--device cpu"),
    "Windows": (replace(MACHINE, system=WINDOWS, tensorflow=CPU_BUILD), "Works on", "WSL2"),
    "macOS": (replace(MACHINE, system=MAC, tensorflow=CPU_BUILD), "Works on the CPU.", ""),
    "no PyAV": (without("av", Failure("missing", "av")), "Works on the CPU, but PyAV is not installed.", ""),
}


@pytest.mark.parametrize(("facts", "start", "part"), WORKING.values(), ids=WORKING.keys())
def test_a_machine_that_works(facts: Facts, start: str, part: str) -> None:
    verdict = judge(facts)
    assert verdict.works
    assert verdict.sentence.startswith(start)
    assert part in verdict.sentence
    if not part:
        assert "\n" not in verdict.sentence


def test_every_check_of_a_sound_machine_is_ok() -> None:
    assert {check.mark for check in judge(MACHINE).checks} == {"ok"}


FAILING = {
    "TensorFlow missing": (
        without_tensorflow("missing", "tensorflow"),
        "TensorFlow",
        "TensorFlow is not installed.",
        f"{PIP} 'tensorflow>=2.16'",
    ),
    "part of TensorFlow missing": (
        without_tensorflow("missing", "google.protobuf"),
        "TensorFlow",
        "it needs the module google.protobuf, which is missing",
        "--force-reinstall",
    ),
    "TensorFlow's import raises": (
        without_tensorflow("error", "ImportError: DLL load failed"),
        "TensorFlow",
        "ImportError: DLL load failed",
        "--force-reinstall",
    ),
    "SIGILL without AVX": (
        without_tensorflow("killed", "SIGILL", system=replace(DEBIAN, has_avx=False)),
        "TensorFlow",
        "SIGILL (illegal instruction) ended the attempt: this CPU lacks AVX, which TensorFlow needs",
        "virtual machine",
    ),
    "SIGILL, flags unknown": (
        without_tensorflow("killed", "SIGILL", system=replace(DEBIAN, has_avx=None)),
        "TensorFlow",
        "this CPU seems to lack AVX",
        "virtual machine",
    ),
    "SIGILL with AVX": (
        without_tensorflow("killed", "SIGILL", system=replace(DEBIAN, has_avx=True)),
        "TensorFlow",
        "for a newer CPU than this one",
        "--force-reinstall",
    ),
    "killed for memory": (without_tensorflow("killed", "SIGKILL"), "TensorFlow", "memory runs out", "pip"),
    "import hangs": (without_tensorflow("hung", "120"), "TensorFlow", "no answer within 120 seconds", "pip"),
    "import exits": (without_tensorflow("exited", "3"), "TensorFlow", "ended Python with status 3", "pip"),
    "NumPy broken, hence TensorFlow": (
        without("numpy", Failure("error", "ImportError: x"), tensorflow=Failure("missing", "numpy"), trial=None),
        "NumPy",
        "NumPy cannot be imported: ImportError: x",
        f"{PIP} --force-reinstall 'numpy>=1.26'",
    ),
    "detection dies": (replace(MACHINE, trial=Failure("killed", "SIGABRT")), "detection", "SIGABRT", "doctor -v"),
    "detection raises": (replace(MACHINE, trial=Failure("error", "no weights")), "detection", "no weights", "-v"),
    "detection lacks a module": (replace(MACHINE, trial=Failure("missing", "h5")), "detection", "module h5", "-v"),
    "GPU finds something else": (
        replace(MACHINE, tensorflow=WITH_GPU, trial=replace(ON_GPU, class_name="cat")),
        "detection",
        "found cat 0.93 at 0 0 269 320",
        "ssd-detect doctor --device cpu",
    ),
    "nothing detected": (
        replace(MACHINE, trial=replace(ON_CPU, class_name=None, score=0.0, box=None)),
        "detection",
        "found nothing in the picture that ships",
        "--force-reinstall",
    ),
    "something else detected": (
        replace(MACHINE, trial=replace(ON_CPU, class_name="cat")),
        "detection",
        "found cat 0.93",
        "ssd-detect",
    ),
    "another score": (replace(MACHINE, trial=replace(ON_CPU, score=0.7)), "detection", "found person 0.70", "pip"),
    "another box": (
        replace(MACHINE, trial=replace(ON_CPU, box=(90.0, 0.0, 268.9, 320.0))),
        "detection",
        "at 90 0 269 320",
        "pip",
    ),
    "no such GPU": (
        replace(MACHINE, device_asked="gpu:1", tensorflow=WITH_GPU, trial=Failure("error", "x")),
        "devices",
        "there is no gpu:1, TensorFlow sees CPU:0, GPU:0 NVIDIA H200 (compute capability 9.0)",
        "--device",
    ),
}


@pytest.mark.parametrize(("facts", "first", "words", "step"), FAILING.values(), ids=FAILING.keys())
def test_a_machine_that_fails(facts: Facts, first: str, words: str, step: str) -> None:
    verdict = judge(facts)
    assert not verdict.works
    check = next(check for check in verdict.checks if check.mark == "fail")
    assert check.name == first
    assert words in f"{check.name} {check.found}."
    assert step in check.step
    assert verdict.sentence == f"Cannot detect: {check.as_clause()}."
    assert row(verdict, "detection").mark == "fail"


def test_a_gpu_that_fails_where_the_cpu_works() -> None:
    facts = replace(MACHINE, tensorflow=WITH_GPU, trial=Failure("killed", "SIGABRT"), cpu_trial=ON_CPU)
    sentence = "Cannot detect on the GPU: the process was ended by SIGABRT; it works with --device cpu."
    assert judge(facts).sentence == sentence


def test_no_gpu_although_asked_for() -> None:
    facts = replace(MACHINE, device_asked="gpu:0", trial=Failure("error", "no GPU"), cpu_trial=ON_CPU)
    verdict = judge(facts)
    assert verdict.sentence.startswith("Cannot detect on the GPU: there is no gpu:0, TensorFlow sees CPU:0; it works")
    assert row(verdict, "devices").step == f"{PIP} 'tensorflow[and-cuda]==2.21.0'"
    on_a_mac = replace(facts, system=MAC)
    assert row(judge(on_a_mac), "devices").step == "ssd-detect doctor --device cpu"


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (CUDA_BUILD, "CUDA 12.5.1 and cuDNN 9"),
        (CPU_BUILD, "the CPU only"),
        (replace(CUDA_BUILD, cuda_version=None, cudnn_version=None), "CUDA (this build does not say which)"),
        (replace(CUDA_BUILD, cudnn_version=None), "CUDA 12.5.1 and cuDNN (unknown)"),
    ],
)
def test_what_tensorflow_was_built_for(build: TensorFlowFacts, found: str) -> None:
    assert row(judge(replace(MACHINE, tensorflow=build)), "built for").found == found


@pytest.mark.parametrize(
    ("version", "mark"),
    [("3.9.18", "warn"), ("3.10.0", "ok"), ("3.13.9", "ok"), ("3.14.0rc1", "warn")],
)
def test_python_versions(version: str, mark: str) -> None:
    assert row(judge(replace(MACHINE, python=replace(MACHINE.python, version=version))), "Python").mark == mark


@pytest.mark.parametrize(
    ("version", "mark"), [("2.15.1", "warn"), ("2.16.0", "ok"), ("2.23.0-dev20261026", "ok"), ("odd", "warn")]
)
def test_tensorflow_versions(version: str, mark: str) -> None:
    check = row(judge(replace(MACHINE, tensorflow=replace(CUDA_BUILD, version=version))), "TensorFlow")
    assert (check.mark, check.found) == (mark, version)


TRACEBACK = """ImportError: Traceback (most recent call last):
  File "pywrap_tensorflow.py", line 73, in <module>
    from tensorflow.python._pywrap_tensorflow_internal import *
ImportError: libstdc++.so.6: version `GLIBCXX_3.4.29' not found

Failed to load the native TensorFlow runtime.
See https://www.tensorflow.org/install/errors for some common causes."""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "no reason given"),
        ("\n  ValueError: a  \n", "ValueError: a"),
        ("ImportError: first\nmore", "ImportError: first"),
        (TRACEBACK, "ImportError: libstdc++.so.6: version `GLIBCXX_3.4.29' not found"),
        ("x" * 1000, "x" * 299 + "…"),
    ],
)
def test_the_telling_line_of_an_error(text: str, line: str) -> None:
    assert one_line(text) == line


def test_pip_lines_survive_a_folder_with_spaces() -> None:
    facts = without_tensorflow("missing", "tensorflow", python=PythonFacts(path="/my env/bin/python"))
    assert row(judge(facts), "TensorFlow").step == "'/my env/bin/python' -m pip install 'tensorflow>=2.16'"

    on_windows = replace(facts, system=WINDOWS, python=PythonFacts(path=r"C:\my env\python.exe"))
    step = r'"C:\my env\python.exe" -m pip install "tensorflow>=2.16"'
    assert row(judge(on_windows), "TensorFlow").step == step


def test_what_fails_along_with_numpy_is_not_reinstalled() -> None:
    broken_numpy = Failure("error", "ImportError: libcblas.so.3")
    facts = without("numpy", broken_numpy, tensorflow=broken_numpy, trial=None)
    check = row(judge(facts), "TensorFlow")
    assert (check.found, check.step) == ("cannot be imported either", "repair NumPy first")


def test_requirements_are_those_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for package in (TENSORFLOW, *PACKAGES):
        assert f'"{package.requirement}",' in project


# ---------------------------------------------------------------- probes, against packages that misbehave

GOOD_STUB = """
class _Device:
    def __init__(self, name, kind): self.name, self.device_type = name, kind
class sysconfig:
    def get_build_info(): return {"is_cuda_build": True, "cuda_version": "12.5.1"}
class _Experimental:
    def get_device_details(device): return {"device_name": "NVIDIA H200", "compute_capability": (9, 0)}
class config:
    experimental = _Experimental
    def list_physical_devices():
        return [_Device("/physical_device:CPU:0", "CPU"), _Device("/physical_device:GPU:0", "GPU")]
__version__ = "2.21.0"
"""
NOISE = """
import os, sys
for i in range(200):
    print("noise on the output", i)
    os.write(1, b"native noise\\n")
    print("A module that was compiled using NumPy 1.x cannot be run in NumPy 2", file=sys.stderr)
"""
GOOD_ANSWER = TensorFlowFacts("2.21.0", True, "12.5.1", None, (CPU, GPU))


def write_stub(folder: Path, source: str, name: str = "tensorflow") -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(source, encoding="utf-8")


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


# ---------------------------------------------------------------- the command itself


def run_doctor(*arguments: str, stubs: Path | None = None, **options: Any) -> "subprocess.CompletedProcess[str]":
    paths = [str(path) for path in (stubs, ROOT) if path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "ssd_detect", "doctor", *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(command, text=True, encoding="utf-8", env=environment, check=False, **options)


def broken(folder: Path, *names: str) -> Path:
    for name in names:
        write_stub(folder, f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')", name)
    return folder


@pytest.mark.slow
def test_the_real_command_on_the_cpu() -> None:
    import tensorflow as tf

    done = run_doctor("--device", "cpu")
    assert done.returncode == 0
    assert f"ok    TensorFlow   {tf.__version__}" in done.stdout
    assert "ok    devices      CPU:0\n" in done.stdout
    assert "person found with score 0.93 on CPU" in done.stdout
    assert "fail" not in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Works on the CPU; ")
    assert done.stderr == ""


@pytest.mark.slow
def test_video_packages_missing_leave_detection_working(tmp_path: Path) -> None:
    done = run_doctor("--device", "cpu", stubs=broken(tmp_path, "av"))
    assert done.returncode == 0
    assert "fail  PyAV         is not installed" in done.stdout
    assert "-m pip install 'av>=16.1'" in done.stdout
    assert done.stdout.endswith("Works on the CPU, but PyAV is not installed.\n")


@pytest.mark.parametrize("names", [("tensorflow",), ("tensorflow", "numpy", "cv2", "av", "safetensors")])
def test_without_packages_the_command_still_speaks(names: tuple[str, ...], tmp_path: Path) -> None:
    done = run_doctor(stubs=broken(tmp_path, *names))
    assert done.returncode == 1
    assert done.stdout.count("is not installed\n") == len(names)
    assert "-m pip install 'tensorflow>=2.16'" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Cannot detect: ")
    assert done.stderr == ""
    assert run_doctor("--help", stubs=tmp_path).returncode == 0


def test_verbose_shows_what_the_import_said(tmp_path: Path) -> None:
    write_stub(tmp_path, NOISE + "raise ImportError('broken')")
    quiet, verbose = (run_doctor(*arguments, stubs=tmp_path) for arguments in ((), ("-v",)))
    assert quiet.stderr == ""
    assert "noise on the output 199" in verbose.stderr
    assert "Traceback" in verbose.stderr
    assert quiet.stdout == verbose.stdout
    assert "fail  TensorFlow   cannot be imported: ImportError: broken" in quiet.stdout


def test_an_unknown_device_is_a_usage_error() -> None:
    done = run_doctor("--device", "tpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected auto, cpu or gpu:N" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_hears_what_is_being_checked(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    done = run_doctor(stubs=broken(tmp_path, "tensorflow"), stderr=theirs)
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "Checking NumPy …" in said
    assert "Checking TensorFlow …" in said
    assert said.rsplit("\r", 2)[-2].strip() == ""  # wiped before the report begins
    assert "Checking" not in done.stdout


def test_the_own_process_imports_nothing_heavy(tmp_path: Path) -> None:
    broken(tmp_path, "tensorflow")
    program = (
        "import sys; from ssd_detect.cli.doctor import doctor; doctor.main([], standalone_mode=False); "
        f"sys.exit(', '.join({HEAVY} & set(sys.modules)) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "TensorFlow   is not installed" in done.stdout


def test_the_picture_is_small_and_lies_in_the_package() -> None:
    import ssd_detect.doctor

    picture = Path(ssd_detect.doctor.__file__).with_name("astronaut.jpg")
    assert 10_000 < picture.stat().st_size < 60_000

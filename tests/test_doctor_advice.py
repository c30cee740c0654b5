"""What is said of a failure and what to type: for each shell, package manager and system."""

from dataclasses import replace
from pathlib import Path

import pytest

from ssd_detect.doctor.advice import (
    give_gpu_to_container,
    install_driver,
    install_with_cuda,
    new_environment,
    pin_of,
    pip_line,
    rebuild_module,
    replace_line,
    set_variable,
    steps,
    uninstall_line,
    unset,
)
from ssd_detect.doctor.checks.imports import explain_import, how_it_ended, one_line, requirement
from ssd_detect.doctor.facts import PACKAGES, TENSORFLOW, Facts, Failure, PythonFacts, SystemFacts
from ssd_detect.doctor.requirements import satisfies

ROOT = Path(__file__).parent.parent
LINUX = Facts(
    system=SystemFacts(kind="Linux", release="6.8.0-45", distribution=("ubuntu", "debian"), has_avx=True, shell="bash"),
    python=PythonFacts(version="3.12.4", path="/env/bin/python", environment="venv", pip_version="24.0"),
)
WINDOWS = Facts(
    system=SystemFacts(kind="Windows", shell="powershell"),
    python=PythonFacts(version="3.12.4", path=r"C:\my env\python.exe", environment="venv", pip_version="24.0"),
)
CMD = replace(WINDOWS, system=SystemFacts(kind="Windows", shell="cmd"))
UV = replace(LINUX, python=replace(LINUX.python, by_uv=True, pip_version=None))
UV_WITH_PIP = replace(LINUX, python=replace(LINUX.python, by_uv=True))
CONDA = replace(LINUX, python=replace(LINUX.python, environment="conda"))
ARCH = replace(LINUX, system=SystemFacts(kind="Linux", distribution=("endeavouros", "arch")))
UNKNOWN = Facts()

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


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Failure("hung", "0.5"), "no answer within 0.5 seconds"),
        (Failure("exited", "3"), "it ended Python with status 3"),
        (Failure("killed", "SIGKILL"), "the process was ended by SIGKILL, as happens when memory runs out"),
        (Failure("killed", "SIGABRT"), "the process was ended by SIGABRT"),
        (Failure("missing", "h5"), "the module h5 is missing"),
        (Failure("error", "ValueError: x"), "ValueError: x"),
    ],
)
def test_how_a_process_ended(failure: Failure, words: str) -> None:
    assert how_it_ended(failure) == words


@pytest.mark.parametrize(
    ("failure", "has_avx", "found", "step"),
    [
        (Failure("missing", "tensorflow"), True, "is not installed", "install 'tensorflow>=2.16'"),
        (Failure("missing", "google.protobuf"), True, "it needs the module google.protobuf", "--force-reinstall"),
        (Failure("error", "ImportError: DLL load failed"), True, "ImportError: DLL load failed", "--force-reinstall"),
        (Failure("killed", "SIGILL"), True, "for a newer CPU than this one", "--force-reinstall"),
        (Failure("killed", "SIGILL"), None, "this CPU seems to lack AVX", "virtual machine"),
        (Failure("killed", "SIGILL"), False, "this CPU lacks AVX", "virtual machine"),
    ],
)
def test_why_tensorflow_cannot_be_imported(failure: Failure, has_avx: bool | None, found: str, step: str) -> None:
    facts = replace(LINUX, system=replace(LINUX.system, has_avx=has_avx))
    explained = explain_import(TENSORFLOW, failure, facts)
    assert found in explained.found
    assert step in explained.step


@pytest.mark.parametrize(
    ("glibc", "expected"),
    [(None, ">=2.16"), ("2.39", ">=2.16"), ("2.27", ">=2.16"), ("2.26", ">=2.16,<2.21"), ("2.17", ">=2.16,<2.21")],
)
def test_tensorflow_is_not_asked_newer_than_glibc_allows(glibc: str | None, expected: str) -> None:
    facts = replace(LINUX, system=replace(LINUX.system, libc="glibc", libc_version=glibc))
    assert requirement(TENSORFLOW, facts) == f"tensorflow{expected}"


HERE = "   (in the folder of ssd-detect)"
INSTALL = "-m pip install 'a>=1'"
LINES = [
    (pip_line(UNKNOWN, "a>=1"), f"python {INSTALL}"),
    (pip_line(LINUX, "a>=1"), f"/env/bin/python {INSTALL}"),
    (pip_line(UV, "a>=1"), "uv pip install --python /env/bin/python 'a>=1'"),
    (pip_line(UV, "--force-reinstall", "a"), "uv pip install --python /env/bin/python --reinstall a"),
    (pip_line(UV_WITH_PIP, "a>=1"), f"/env/bin/python {INSTALL}"),
    (pip_line(replace(LINUX, python=PythonFacts(path="/my env/python")), "a"), "'/my env/python' -m pip install a"),
    (pip_line(WINDOWS, "a>=1"), r'& "C:\my env\python.exe" -m pip install "a>=1"'),
    (pip_line(CMD, "a>=1"), r'"C:\my env\python.exe" -m pip install "a>=1"'),
    (uninstall_line(LINUX, "a", "b"), "/env/bin/python -m pip uninstall -y a b"),
    (uninstall_line(UV, "a"), "uv pip uninstall --python /env/bin/python a"),
    (
        replace_line(UV, ("a",), "b"),
        "uv pip uninstall --python /env/bin/python a && uv pip install --python /env/bin/python b",
    ),
    (
        new_environment(LINUX, "3.13"),
        "python3.13 -m venv ssd && ssd/bin/python -m pip install .   (in the folder of ssd-detect)",
    ),
    (
        new_environment(WINDOWS, "3.13"),
        r"py -3.13 -m venv ssd; ssd\Scripts\python -m pip install .   (in the folder of ssd-detect)",
    ),
    (
        new_environment(CMD, "3.13"),
        r"py -3.13 -m venv ssd && ssd\Scripts\python -m pip install .   (in the folder of ssd-detect)",
    ),
    (
        new_environment(CONDA, "3.13"),
        "conda create -n ssd python=3.13 && conda run -n ssd pip install .   (in the folder of ssd-detect)",
    ),
    (
        new_environment(UV, "3.13"),
        "uv venv --python 3.13 ssd && uv pip install --python ssd .   (in the folder of ssd-detect)",
    ),
    (unset(UNKNOWN, "A"), "unset A"),
    (unset(WINDOWS, "A"), "Remove-Item Env:A"),
    (unset(CMD, "A"), "set A="),
    (unset(replace(LINUX, system=SystemFacts(shell="fish")), "A"), "set -e A"),
    (set_variable(LINUX, "A", "1"), "export A=1"),
    (set_variable(WINDOWS, "A", "1"), '$Env:A = "1"'),
    (set_variable(CMD, "A", "1"), "set A=1"),
    (install_driver(UNKNOWN), steps()["driver"]["other"]),
    (install_driver(LINUX), "sudo ubuntu-drivers install   (needs root; then reboot)"),
    (install_driver(ARCH), "sudo pacman -S nvidia   (needs root; then reboot)"),
    (install_driver(WINDOWS), "install the newest driver from https://www.nvidia.com/drivers, then restart Windows"),
    (rebuild_module(UNKNOWN).split(",")[0], "install the headers of kernel "),
    (give_gpu_to_container(UNKNOWN), steps()["container"]["other"]),
    (install_with_cuda(LINUX, "2.15.0"), "/env/bin/python -m pip install 'tensorflow[and-cuda]==2.15.1'"),
    (install_with_cuda(LINUX, "2.16.1"), "/env/bin/python -m pip install 'tensorflow[and-cuda]==2.16.2'"),
    (install_with_cuda(LINUX, "2.4.1"), "conda install -c conda-forge cudatoolkit=11.0 cudnn=8.0"),
    (pin_of("cuda-nvcc", "2.21.0"), "nvidia-cuda-nvcc-cu12>=12.5.82,<13"),
    (pin_of("cuda-nvcc", "2.16.2"), "nvidia-cuda-nvcc-cu12==12.3.107"),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_what_to_type(line: str, expected: str) -> None:
    assert line == expected


def test_steps_that_need_root_say_so() -> None:
    for table in ("driver", "rebuild"):
        for system, step in steps()[table].items():
            assert "sudo" not in step or "needs root" in step, system


@pytest.mark.parametrize(
    ("version", "spec", "expected"),
    [
        ("1.26.4", "", True),
        ("unknown", "<2", True),
        ("2.0.0rc1", "<2", False),
        ("1.26", ">=1.26,<2", True),
        ("2", ">=1.26,<2", False),
        ("4.21.3", ">=3.20.3,<5,!=4.21.3", False),
        ("4.21.6", ">=3.20.3,<5,!=4.21.3", True),
        ("1.24.3", "<=1.24.3", True),
        ("1.24.4", "<=1.24.3", False),
        ("1.19.5", "~=1.19.2", True),
        ("1.20", "~=1.19.2", False),
        ("1.19.1", "~=1.19.2", False),
        ("1.2", "==1.2.0", True),
        ("1.3", ">1.2", True),
    ],
)
def test_requirements(version: str, spec: str, expected: bool) -> None:
    assert satisfies(version, spec) is expected


def test_a_requirement_that_is_none() -> None:
    with pytest.raises(ValueError, match="not a part of a requirement: 'two'"):
        satisfies("1", "two")


def test_requirements_are_those_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for package in (TENSORFLOW, *PACKAGES):
        assert f'"{package.requirement}",' in project
    assert 'requires-python = ">=3.10,' in project  # as in checks/machine.py

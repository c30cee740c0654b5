"""What to say about a `Failure`, and what to do next: pure functions that return text."""

import re
import shlex
from typing import NamedTuple

from ssd_detect.doctor.facts import Facts, Failure, Package, TensorFlowFacts

_MAX_LINE = 300


class Explained(NamedTuple):
    """What was found, as the rest of a sentence that begins with the name of the check; the next step."""

    found: str
    step: str


def explain_import(package: Package, failure: Failure, facts: Facts) -> Explained:
    """Why a package cannot be imported, and the line that repairs it."""
    detail = failure.detail
    reinstall = _reinstall(package, facts)
    if package.module != "numpy" and failure == facts.packages["numpy"]:
        return Explained("cannot be imported either", "repair NumPy first")
    if failure.kind == "missing" and detail.split(".")[0] == package.module:
        return Explained("is not installed", pip_line(facts, package.requirement))
    if failure.kind == "missing":
        return Explained(f"cannot be imported: it needs the module {detail}, which is missing", reinstall)
    if failure.kind == "error":
        return Explained(f"cannot be imported: {one_line(detail)}", reinstall)
    if failure.kind == "killed" and detail == "SIGILL":
        return _explain_illegal_instruction(package, facts)
    return Explained(f"cannot be imported: {how_it_ended(failure)}", reinstall)


def _explain_illegal_instruction(package: Package, facts: Facts) -> Explained:
    ended = "cannot be imported: SIGILL (illegal instruction) ended the attempt"
    if facts.system.has_avx:
        return Explained(f"{ended}: this build is for a newer CPU than this one", _reinstall(package, facts))
    lacks = "lacks AVX" if facts.system.has_avx is False else "seems to lack AVX"
    return Explained(
        f"{ended}: this CPU {lacks}, which {package.name} needs",
        "use a CPU with AVX (made since about 2011); in a virtual machine, give it the host's CPU, such as -cpu host",
    )


def _reinstall(package: Package, facts: Facts) -> str:
    return pip_line(facts, "--force-reinstall", package.requirement)


def how_it_ended(failure: Failure) -> str:
    """A `killed`, `exited` or `hung` process in words."""
    if failure.kind == "hung":
        return f"no answer within {failure.detail} seconds"
    if failure.kind == "exited":
        return f"it ended Python with status {failure.detail}"
    if failure.kind == "killed":
        reason = ", as happens when memory runs out" if failure.detail == "SIGKILL" else ""
        return f"the process was ended by {failure.detail}{reason}"
    return f"the module {failure.detail} is missing" if failure.kind == "missing" else one_line(failure.detail)


def pip_line(facts: Facts, *arguments: str) -> str:
    """The line that installs into the very Python that runs this."""
    return _pip(facts, "install", *arguments)


def _pip(facts: Facts, *arguments: str) -> str:
    words = (facts.python.path, "-m", "pip", *arguments)
    if facts.system.kind != "Windows":
        return shlex.join(words)
    return " ".join(word if re.fullmatch(r"[\w.:\\/=-]+", word) else f'"{word}"' for word in words)


def gpu_line(facts: Facts, tensorflow: TensorFlowFacts) -> str | None:
    """How TensorFlow could get to see an NVIDIA GPU on this machine; None where it never will."""
    if facts.system.kind == "Windows":
        return "use WSL2: TensorFlow for Windows has had no GPU support since 2.11"
    if facts.system.machine not in ("x86_64", "AMD64") or facts.system.kind == "Darwin":
        return None
    install = pip_line(facts, f"tensorflow[and-cuda]=={tensorflow.version}")
    if tensorflow.is_cuda_build:
        return install
    return f"{_pip(facts, 'uninstall', '-y', 'tensorflow-cpu')} && {install}"


def one_line(text: str) -> str:
    """The telling line of an exception's text, which may be a whole traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines[1:] if re.match(r"(\w+\.)*\w*(Error|Exception): .", line)]
    line = errors[-1] if errors else next(iter(lines), "no reason given")
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"

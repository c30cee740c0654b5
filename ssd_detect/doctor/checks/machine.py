"""Checks of the system and of Python."""

from collections.abc import Iterator
from dataclasses import replace

from ssd_detect.doctor.advice import fits_python, new_environment, newest_python, own_line
from ssd_detect.doctor.check import Check
from ssd_detect.doctor.facts import Facts, Failure
from ssd_detect.doctor.situation import tensorflow_version
from ssd_detect.doctor.tables import is_older, is_within

_OLDEST_PYTHON = "3.10"  # pyproject.toml's; a test compares


def machine_checks(facts: Facts) -> Iterator[Check]:
    """The lines of the groups system and Python."""
    yield _system(facts)
    yield _python(facts)


def _system(facts: Facts) -> Check:
    system = facts.system
    check = Check("system", "system", "ok", _system_name(facts), details=_around(facts))
    if system.libc != "musl":
        return check
    step = "use a system with glibc: in a container, an image such as python:3.13-slim in place of Alpine"
    return _stops(check, facts, "uses musl, and TensorFlow needs glibc", "glibc", step)


def _around(facts: Facts) -> tuple[str, ...]:
    """The variables that CUDA, TensorFlow and the loader listen to."""
    return tuple(f"{name}={value}" for name, value in sorted(facts.environment.items()))


def _system_name(facts: Facts) -> str:
    system = facts.system
    where = [f"WSL{system.wsl}"] if system.wsl else []
    where += [f"in a container ({system.container})"] if system.container else []
    libc = [" ".join(filter(None, (system.libc, system.libc_version)))] if system.libc else []
    return ", ".join([system.name or system.kind, system.machine or "unknown processor", *libc, *where])


def _python(facts: Facts) -> Check:
    python = facts.python
    newest = newest_python()
    check = Check("Python", "Python", "ok", f"{python.version or 'unknown'} ({python.environment}, {python.path})")
    if facts.system.is_rosetta:
        found = f"{python.version} is for Intel, and macOS translates it: TensorFlow needs AVX, which that lacks"
        arm = own_line("arch -arm64 python3 -m venv ssd && ssd/bin/python -m pip install .")
        return _stops(check, facts, found, "arm64", f"install an arm64 Python, and ssd-detect into it: {arm}")
    if python.bits == 32:
        found = f"{python.version} is a 32-bit build, and TensorFlow exists for 64 bits only"
        return _stops(check, facts, found, "64 bits", f"install the 64-bit Python {newest}, and ssd-detect into it")
    if python.free_threaded:
        found = f"{python.version} is a free-threaded build, for which no TensorFlow exists"
        return _stops(check, facts, found, f"Python {newest}", new_environment(facts, newest))
    return _python_version(check, facts, newest)


def _python_version(check: Check, facts: Facts, newest: str) -> Check:
    version, tensorflow = facts.python.version, tensorflow_version(facts)
    if not version or is_within(version, _OLDEST_PYTHON, newest):
        return check
    wanted, step = f"{_OLDEST_PYTHON} to {newest}", new_environment(facts, newest)
    if tensorflow is None and not is_older(version, newest):
        return _stops(check, facts, f"{version} is one that no TensorFlow exists for", wanted, step)
    known = tensorflow is None or fits_python(facts, tensorflow)
    found = f"{version} is not one that {'ssd-detect' if known else f'TensorFlow {tensorflow}'} is made for"
    return replace(check, mark="warn", found=found, wanted=wanted, step=step, id="F18")


def _stops(check: Check, facts: Facts, found: str, wanted: str, step: str) -> Check:
    """A fault that no TensorFlow gets over; but where one was started all the same, that proves more than a table."""
    if facts.tensorflow is not None and not isinstance(facts.tensorflow, Failure):
        return replace(check, details=(*check.details, found))
    return replace(check, mark="fail", found=found, wanted=wanted, step=step, id="F18", stops="detection")

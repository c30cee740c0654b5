"""Python processes of our own, for what must not happen in this one: importing TensorFlow, or a crash of an engine."""

import signal
import sys

from ssd_detect.environment import variables, without_keras

_PROGRAM = "import sys; sys.path[:] = {path!r}; from ssd_detect.engines.{module} import main; main()"


def command(module: str, *arguments: str) -> list[str]:
    """What runs `main` of a module of this room; it finds modules exactly where this process does, as the doctor's."""
    return [sys.executable, "-c", _PROGRAM.format(path=[str(entry) for entry in sys.path], module=module), *arguments]


def quiet_environment(*, hide_gpus: bool) -> dict[str, str]:
    """Variables for a child that imports TensorFlow."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"} if hide_gpus else {}
    return {**without_keras(), **variables(), "TF_CPP_MIN_LOG_LEVEL": "3", **hidden}


def death(status: int) -> str:
    """How a process ended, in words."""
    try:
        return f"by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"with exit status {status}"


def last_line(text: str) -> str:
    """The last line that says something, which is a traceback's point."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing was said")

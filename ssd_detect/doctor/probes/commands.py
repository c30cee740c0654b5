"""Running another program for an answer, with an end to the waiting."""

import subprocess
from collections.abc import Sequence
from typing import NamedTuple


class Answer(NamedTuple):
    """What a command wrote, error stream last, and its status; None when it was given up or could not be started."""

    text: str
    status: int | None


def run_command(command: Sequence[str], seconds: float) -> Answer:
    """Run `command` for at most `seconds`; whatever goes wrong is an answer too."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(f"{command[0]} gave no answer within {seconds:g} seconds", None)
    except OSError as error:
        return Answer(f"{command[0]} cannot be started: {error.strerror or error}", None)
    return Answer(f"{done.stdout}\n{done.stderr}".strip(), done.returncode)

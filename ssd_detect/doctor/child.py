"""`Child`: a Python process that is asked questions and may die of them. See `answers` for what runs inside."""

import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from ssd_detect.children import command, signal_of
from ssd_detect.doctor.facts import Failure

_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 10.0
_TELLING_SECONDS = 0.2


class Child:
    """Asks a child process; when it has died of a question, the next question starts another.

    Not a `children.AnsweringChild`: what it imports may start processes that outlive it and hold a pipe open, so that
    its answers come through a file, and one that hangs is asked where before it is ended.

    Args:
        device: `auto`, `cpu` or `gpu:N`; what the child may use.
    """

    def __init__(self, device: str) -> None:
        self.log = ""
        self._device = device
        self._running: _Running | None = None

    def ask(self, question: str, seconds: float) -> Any:
        """The answer, as JSON has it; a `Failure` when there is none after `seconds`, or never will be."""
        try:
            self._running = self._running or _Running(self._device)
        except OSError as error:  # no room for its files, or no process to be had
            return Failure("unasked", str(error))
        answer = self._running.ask(question, seconds)
        if isinstance(answer, Failure):
            self._stop(patience=0)
            return answer
        return Failure(**answer["failure"]) if "failure" in answer else answer["value"]

    def _stop(self, patience: float) -> None:
        running, self._running = self._running, None
        if running is not None:
            self.log += running.stop(patience)

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(patience=_PATIENCE_SECONDS if kind is None else 0)


class _Running:
    """One process. Its output goes into files, so that nothing it leaves behind can block us."""

    def __init__(self, device: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ssd-detect-", ignore_cleanup_errors=True)
        answers, self._log = (Path(self._folder.name) / name for name in ("answers", "log"))
        with answers.open("wb") as out, self._log.open("wb") as err:
            self._process = subprocess.Popen(
                command("ssd_detect.doctor.answers", device, self._folder.name, options=("-X", "faulthandler")),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
            )
        self._answers: BinaryIO = answers.open("rb")

    def ask(self, question: str, seconds: float) -> dict[str, Any] | Failure:
        """The line of JSON that answers, or how the process ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(question.encode() + b"\n")
        except OSError:  # it died between two questions
            return _death(self._process.wait())
        return self._wait(time.monotonic() + seconds) or self._hung(seconds)

    def _hung(self, seconds: float) -> Failure:
        """Let it write into the log where it hangs."""
        number = getattr(signal, "SIGUSR1", None)  # which Windows lacks
        if number is not None:
            self._process.send_signal(number)
            time.sleep(_TELLING_SECONDS)
        return Failure("hung", f"{seconds:g}")

    def _wait(self, deadline: float) -> dict[str, Any] | Failure | None:
        line = b""
        while time.monotonic() < deadline:
            status = self._process.poll()  # before the reading, which then misses nothing
            line += self._answers.readline()
            if line.endswith(b"\n"):
                answer: dict[str, Any] = json.loads(line)
                return answer
            if status is not None:
                return _death(status)
            time.sleep(_POLL_SECONDS)
        return None

    def stop(self, patience: float) -> str:
        """End the process, after `patience` seconds by force; returns what it said on its error stream."""
        assert self._process.stdin is not None
        self._process.stdin.close()  # which tells it to end
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        log = self._log.read_text(encoding="utf-8", errors="replace")
        self._folder.cleanup()
        return log


def _death(status: int) -> Failure:
    killer = signal_of(status)
    return Failure("exited", str(status)) if killer is None else Failure("killed", killer)

"""Python processes of our own, for what must not happen in this one: how they begin, answer, and end, in words."""

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

# A child finds modules exactly where this process does: `python -m` would put the current folder first.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from {module} import main; main()"


_ENDING_SECONDS = 10.0  # from the last answer to the end of a process that ends by itself
# What Windows says where other systems tell of a signal (NTSTATUS, ntstatus.h).
_WINDOWS_DEATHS = {0xC000001D: "SIGILL", 0xC0000005: "SIGSEGV", 0xC0000409: "SIGABRT"}


def command(module: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """What runs `main` of a module.

    Args:
        module: its full name.
        arguments: found there in `sys.argv`.
        options: of Python itself.
    """
    program = _PROGRAM.format(path=[str(entry) for entry in sys.path], module=module)
    return [sys.executable, *options, "-c", program, *arguments]


def private_answers() -> TextIO:
    """In a child: the standard output, out of reach of what is imported, whose prints go to the error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    return answers


def signal_of(status: int) -> str | None:
    """The name of the signal that ended a process; None where it ended by itself.

    Args:
        status: as `Popen.returncode`, below 0 for a signal.
    """
    if status >= 0:
        return _WINDOWS_DEATHS.get(status)
    try:
        return signal.Signals(-status).name
    except ValueError:  # of real time
        return f"signal {-status}"


def death(status: int) -> str:
    """How a process ended, in words that follow "ended"."""
    killer = signal_of(status)
    return f"with exit status {status}" if killer is None else f"by signal {killer.removeprefix('signal ')}"


def last_line(text: str) -> str:
    """The last line that says something, which is a traceback's point; empty where none does."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


class NoAnswerError(Exception):
    """A child process died, or hung and was ended; the text says which, in words that follow its name."""


class AnsweringChild:
    """`main` of a module in a process of its own, which writes a line for each line that it reads.

    Use it as a context manager: at the block's end the process is gone, with all that it has started. Ctrl-C is not for
    it, but for the process that asks.

    Args:
        module, arguments: as for `command`.
        environment: its variables; None: those of this process.
    """

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self._command, self._environment = command(module, *arguments), environment
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()

    def __enter__(self) -> "AnsweringChild":
        self._folder = tempfile.TemporaryDirectory(prefix="ssd-detect-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "log"
        with self._log.open("wb") as log:  # a file, so that nothing that is said can block it
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # so that what it starts itself can be ended with it
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def _listen(self) -> None:
        """Hand on every line as it comes; the empty one at the end says that there will be no more."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            self._answers.put(line)
        self._answers.put("")

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def ask(self, line: str, seconds: float) -> str:
        """Write a line, and wait for its answer.

        Raises:
            NoAnswerError: as `answer`.
        """
        assert self._process.stdin is not None
        with suppress(OSError):  # it died meanwhile, and its answer will be missing
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        return self.answer(seconds)

    def answer(self, seconds: float) -> str:
        """The next line that it writes.

        Raises:
            NoAnswerError: it died, or wrote nothing for so long, and was ended.
        """
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self._kill()
            raise NoAnswerError(f"gave no answer within {seconds:g} s") from None
        if not line.endswith("\n"):
            self._answers.put("")  # for whoever asks again
            raise NoAnswerError(f"ended {death(self._status())} ({last_line(self.log()) or 'nothing was said'})")
        return line

    def _status(self) -> int:
        """Of a process that has closed its output."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_ENDING_SECONDS)
        self._kill()
        return self._process.wait()

    def log(self) -> str:
        """What it wrote to its error stream so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _kill(self) -> None:
        """With all that it has started."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):  # gone; on macOS, gone and not yet waited for
                os.killpg(self._process.pid, signal.SIGKILL)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()  # it holds nothing that must be put in order
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # a line that it did not take
                stream.close()
        self._folder.cleanup()

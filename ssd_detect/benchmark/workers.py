"""`Worker`: the process that started and asks; see `worker` for what runs inside."""

import base64
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ssd_detect import errors
from ssd_detect.benchmark.results import Opened
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.children import command, last_line, signal_of
from ssd_detect.errors import SsdDetectError


class WorkerError(SsdDetectError):
    """A worker process died, hung, or met an error that is none of ours."""


class Patience(NamedTuple):
    """Seconds after which a worker counts as hung.

    Args:
        opening: a conversion for the engine may be part of it, and on a new kind of GPU compiling of kernels.
        call: for anything else.
    """

    opening: float = 1200.0
    call: float = 300.0


_PATIENCE = Patience()


class Worker:
    """One worker process. Use it as a context manager: at the block's end the process is gone.

    Args:
        name: of what it measures, for messages.
        patience: see there.
    """

    def __init__(self, name: str, patience: Patience = _PATIENCE) -> None:
        self.name, self._patience = name, patience
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def __enter__(self) -> "Worker":
        self._folder = tempfile.TemporaryDirectory(prefix="ssd-detect-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "log"
        with self._log.open("wb") as log:  # a file, so that nothing that is said can block it
            self._process = subprocess.Popen(
                command("ssd_detect.benchmark.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us, and what it starts itself can be ended with it
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def _listen(self) -> None:
        """Hand on every line as it comes; the empty one at the end says that there will be no more."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            self._answers.put(line)
        self._answers.put(b"")

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def open(self, settings: BenchmarkSettings, pictures: Sequence[Path]) -> Opened:
        """Load the network, and detect once.

        Raises:
            SsdDetectError: whatever `Detector` and the pictures raise; WorkerError as `ask`.
        """
        packed = base64.b64encode(pickle.dumps(settings)).decode("ascii")
        paths = [str(picture) for picture in pictures]
        return Opened.from_json(self._ask("open", {"settings": packed, "pictures": paths}, self._patience.opening))

    def ask(self, command: str, **arguments: Any) -> Any:
        """Have one of `worker.COMMANDS` done; what it gives, as JSON has it.

        Raises:
            WorkerError: the process died or hung.
            SsdDetectError: as raised there.
        """
        return self._ask(command, arguments, self._patience.call)

    def _ask(self, command: str, arguments: dict[str, Any], seconds: float) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": command, "with": arguments}).encode() + b"\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except OSError:  # it died between two commands
            line = b""
        except queue.Empty:
            self._kill()
            raise WorkerError(
                f"{self.name}: the worker process gave no answer to {command} within {seconds:g} seconds"
            ) from None
        if not line.endswith(b"\n"):
            raise WorkerError(f"{self.name}: the worker process {self._ending()} during {command}{self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise self._error(**answer["error"])
        return answer["value"]

    def _error(self, kind: str, message: str) -> Exception:
        known = getattr(errors, kind, None)
        if isinstance(known, type) and issubclass(known, SsdDetectError):
            return known(message)
        if kind in ("ImportError", "ModuleNotFoundError"):
            return ImportError(message)
        return WorkerError(f"{self.name}: the worker process met {kind}: {message}")

    def _ending(self) -> str:
        status = self._process.wait()
        killer = signal_of(status)
        return f"ended with status {status}" if killer is None else f"was killed ({killer})"

    def _last_words(self) -> str:
        said = last_line(self.log())
        return f"; it said: {said}" if said else ""

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
            with suppress(OSError):  # a command that it did not take
                stream.close()
        self._folder.cleanup()

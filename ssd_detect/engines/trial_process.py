"""A process of its own for one engine that is measured; see `trial` for what runs inside."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ssd_detect.children import command, death, last_line
from ssd_detect.conventions import EngineName
from ssd_detect.environment import for_quiet_child
from ssd_detect.errors import ExitStatus
from ssd_detect.settings import SessionSettings

_START_SECONDS, _CALL_SECONDS = 300.0, 120.0


class TrialProcess:
    """A child process with one engine; once it has failed, `failure` says why, and its numbers mean nothing.

    `is_refused`: it failed since the settings do not go together on this computer.
    """

    def __init__(self, engine: EngineName, settings: SessionSettings, asked: Mapping[str, str]) -> None:
        self.failure: str | None = None
        self.is_refused = False
        choices = {
            **asked,
            "engine": engine.value,
            "device": str(settings.device),
            "precision": settings.precision.value,
            "threads": settings.intra_op_threads,
            "inter_op_threads": settings.inter_op_threads,
        }
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed at exit
        self._process: subprocess.Popen[str] = subprocess.Popen(
            command("ssd_detect.engines.trial", json.dumps(choices)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=for_quiet_child(without_gpus=settings.device.kind == "cpu"),
        )

    def start(self) -> float:
        """Wait for its first picture; returns the seconds to that."""
        return self._answer("start", _START_SECONDS)

    def call(self) -> float:
        """Let it compute a picture; returns the seconds that it took."""
        if self.failure is None:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write("\n")
                self._process.stdin.flush()
            except OSError:
                pass  # it died; its answer will be missing
        return self._answer("call", _CALL_SECONDS)

    def _answer(self, what: str, seconds: float) -> float:
        """The number it answers with; 0 when it has failed."""
        if self.failure is not None:
            return 0.0
        line = self._line(seconds)
        if line:
            told: dict[str, Any] = json.loads(line)
            if what in told:
                return float(told[what])
            self.is_refused = told["status"] == ExitStatus.USAGE
        self.failure = told["error"] if line else self._why(seconds)
        return 0.0

    def _line(self, seconds: float) -> str:
        assert self._process.stdout is not None
        lines: list[str] = []
        read = self._process.stdout.readline
        reader = threading.Thread(target=lambda: lines.append(read()), daemon=True)
        reader.start()
        reader.join(seconds)
        return lines[0] if lines else ""

    def _why(self, seconds: float) -> str:
        try:
            status = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return f"no answer after {seconds:g} s"
        self._log.seek(0)
        return f"it ended {death(status)} ({last_line(self._log.read()) or 'nothing was said'})"

    def __enter__(self) -> "TrialProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()

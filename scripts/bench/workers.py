"""Child processes that are asked in turn, so that what is compared shares a moment but no memory and no thread."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from measuring import in_turns

_PAUSE_SECONDS = 0.05
"""Between turns: onnxruntime's threads go on spinning for a while after a call."""


class WorkerError(Exception):
    """A worker cannot do what it is for; the text is its last words."""


class Worker:
    """One child process; see `bench.worker` for its side.

    Args:
        function: `module:function` that it calls first.
        arguments: by name; numbers, texts and None.
        environment: of the process.
        python: other than this interpreter.

    Raises:
        WorkerError: the function fails.
    """

    def __init__(
        self,
        function: str,
        arguments: Mapping[str, Any],
        environment: Mapping[str, str],
        python: Path | None = None,
    ) -> None:
        command = [str(python or sys.executable), "-m", "bench.worker", *function.split(":"), json.dumps(arguments)]
        self._errors, path = tempfile.mkstemp()
        Path(path).unlink()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,  # nothing is left to be written when a worker has ended
            env=dict(environment),
        )
        try:
            self._answer()
        except WorkerError:
            self.close()
            raise

    def ask(self, name: str, *arguments: Any) -> Any:
        """What the call `name` returns; raises `WorkerError` when it fails."""
        return self._ask(name, arguments)["value"]

    def seconds(self, name: str, *arguments: Any) -> float:
        """How long the call took, by the clock; raises `WorkerError` when it fails."""
        time.sleep(_PAUSE_SECONDS)
        return float(self._ask(name, arguments)["seconds"])

    def seconds_each(self, name: str, *arguments: Any) -> float:
        """The same for one of as many things as the call returns that it did."""
        time.sleep(_PAUSE_SECONDS)
        answer = self._ask(name, arguments)
        return float(answer["seconds"]) / int(answer["value"])

    def _ask(self, name: str, arguments: Sequence[Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{json.dumps([name, *arguments])}\n".encode())
        except OSError as error:
            raise WorkerError(self._last_words()) from error
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": self._last_words()}
        if "error" in answer:
            raise WorkerError((answer["error"].splitlines() or ["no message"])[0])
        return answer

    def _last_words(self) -> str:
        text = os.pread(self._errors, os.fstat(self._errors).st_size, 0).decode(errors="replace")
        lines = text.strip().splitlines()
        return f"the process has ended: {lines[-1] if lines else 'no message'}"

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.terminate()
        self._process.wait()
        os.close(self._errors)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def turns(workers: Mapping[str, Worker], call: str, rounds: int, repeats: int = 2) -> dict[str, list[float]]:
    """Seconds of `call` in each round: the median of `repeats`, after one that brings the worker back into memory."""

    def turn(worker: Worker) -> float:
        worker.ask(call)
        return statistics.median([worker.seconds(call) for _ in range(repeats)])

    return in_turns({name: partial(turn, worker) for name, worker in workers.items()}, rounds)

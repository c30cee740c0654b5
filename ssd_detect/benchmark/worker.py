"""A process of its own for one network: does what it is told, one line of JSON a command, and answers with one line.

A command is {"do": NAME, "with": {ARGUMENTS}}; its answer {"value": …}, or {"error": {"kind": …, "message": …}} with
the name of one of our errors, or of Python's. `open` comes first, then what `COMMANDS` lists; `idle` tells what the
process computed between its answers. It ends when its input does.
"""

import base64
import json
import pickle
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.children import private_answers
from ssd_detect.environment import hide_gpus, keep_freed_memory, leave_keras_out, silence_encoders, silence_tensorflow

COMMANDS = ("batch", "each", "stages", "network", "video", "outputs", "peak")
"""Methods of `Work`."""


def main() -> None:
    """Answer until the input ends."""
    answers = private_answers()
    worker = _Answering()
    for line in sys.stdin:
        command = json.loads(line)
        worker.idle.stop()
        answers.write(json.dumps(worker.answer(command["do"], command["with"])) + "\n")
        answers.flush()
        worker.idle.start()


class _Idle:
    """How long nothing was asked, and how long cores worked meanwhile: threads that wait in a loop disturb others."""

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0
        self.start()

    def start(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.seconds += time.perf_counter() - self._began[0]
        self.cpu_seconds += time.process_time() - self._began[1]


class _Answering:
    def __init__(self) -> None:
        self.idle = _Idle()
        self._work: Any = None

    def answer(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The value or the error."""
        try:
            return {"value": self._do(name, arguments)}
        except Exception as error:  # whatever it is, the parent tells it, and goes on with the other workers
            traceback.print_exc(file=sys.stderr)
            return {"error": {"kind": type(error).__name__, "message": str(error) or type(error).__name__}}

    def _do(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "idle":
            return {"seconds": self.idle.seconds, "cpu_seconds": self.idle.cpu_seconds}
        if name == "open":
            return self._open(**arguments)
        if self._work is None or name not in COMMANDS:
            raise ValueError(f"the command is {name!r}, expected open first, then one of {', '.join(COMMANDS)}")
        return getattr(self._work, name)(**arguments)

    def _open(self, settings: str, pictures: list[str]) -> dict[str, Any]:
        chosen: BenchmarkSettings = pickle.loads(base64.b64decode(settings))  # from the process that started this one
        if chosen.session.device.kind == "cpu":
            hide_gpus()
        keep_freed_memory()  # this and what follows: as the command line does
        leave_keras_out()
        silence_tensorflow()
        silence_encoders()
        from ssd_detect.benchmark.work import Work

        self._work = Work(chosen, [Path(picture) for picture in pictures])
        return asdict(self._work.opened)

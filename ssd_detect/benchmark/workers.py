"""`Worker`: the process that started and asks; see `worker` for what runs inside."""

import base64
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ssd_detect import errors
from ssd_detect.benchmark.results import Opened
from ssd_detect.benchmark.settings import BenchmarkSettings
from ssd_detect.children import AnsweringChild, NoAnswerError
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
        self._child = AnsweringChild("ssd_detect.benchmark.worker")

    def __enter__(self) -> "Worker":
        self._child.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.__exit__(kind, error, trace)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._child.pid

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
        try:
            answer = json.loads(self._child.ask(json.dumps({"do": command, "with": arguments}), seconds))
        except NoAnswerError as error:
            raise WorkerError(f"{self.name}: the worker process, asked for {command}, {error}") from None
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

    def log(self) -> str:
        """What it wrote to its error stream so far."""
        return self._child.log()

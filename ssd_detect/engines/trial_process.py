"""A process of its own for one engine that is measured; see `trial` for what runs inside."""

import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from ssd_detect.children import AnsweringChild, NoAnswerError
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
        environment = for_quiet_child(without_gpus=settings.device.kind == "cpu")
        self._child = AnsweringChild("ssd_detect.engines.trial", json.dumps(choices), environment=environment)

    def start(self) -> float:
        """Wait for its first picture; returns the seconds to that."""
        return self._number("start", lambda: self._child.answer(_START_SECONDS))

    def call(self) -> float:
        """Let it compute a picture; returns the seconds that it took."""
        return self._number("call", lambda: self._child.ask("", _CALL_SECONDS))

    def _number(self, what: str, answer: Callable[[], str]) -> float:
        """What it answers with; 0 when it has failed."""
        if self.failure is not None:
            return 0.0
        try:
            told: dict[str, Any] = json.loads(answer())
        except NoAnswerError as error:
            self.failure = f"it {error}"
            return 0.0
        if "error" in told:
            self.failure, self.is_refused = told["error"], told["status"] == ExitStatus.USAGE
            return 0.0
        return float(told[what])

    def __enter__(self) -> "TrialProcess":
        self._child.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.__exit__(kind, error, trace)

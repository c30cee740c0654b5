"""Runs in a process of its own: one engine, opened and then called as often as the parent asks; see `choice`."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ssd_detect.children import private_answers
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines.converted import REFERENCE
from ssd_detect.engines.entry import Entry
from ssd_detect.engines.network import Network
from ssd_detect.engines.open import open_converted
from ssd_detect.engines.packages import imported
from ssd_detect.engines.reference import read_reference
from ssd_detect.errors import SsdDetectError
from ssd_detect.settings import CheckpointSettings, Device, SessionSettings


def main() -> None:
    """For one argument, JSON: open the network, say how long that took, then a line for each line that is read.

    Lines are JSON: `{"start": seconds}` once, then `{"call": seconds}`; for one of our errors, `{"error": its words,
    "status": exit status that it stands for}`, and no more.
    """
    answers = private_answers()
    try:
        _answer(json.loads(sys.argv[1]), answers)
    except SsdDetectError as error:
        answers.write(json.dumps({"error": str(error), "status": error.exit_status}) + "\n")
        answers.flush()


def _answer(asked: dict[str, Any], answers: TextIO) -> None:
    entry = Entry(Path(asked["entry"]))
    picture = np.ascontiguousarray(read_reference(entry.path(REFERENCE)).inputs[-1:])
    network, seconds = _opened(asked, entry)
    started = time.perf_counter()
    network.run(picture)
    _tell(answers, "start", seconds + time.perf_counter() - started)
    for _ in sys.stdin:
        started = time.perf_counter()
        network.run(picture)
        _tell(answers, "call", time.perf_counter() - started)


def _tell(answers: TextIO, what: str, seconds: float) -> None:
    answers.write(json.dumps({what: seconds}) + "\n")
    answers.flush()


def _opened(asked: dict[str, Any], entry: Entry) -> tuple[Network, float]:
    """The network, and the seconds that it takes to import the engine and to load it when all is ready."""
    settings = SessionSettings(
        device=Device.parse(asked["device"]),
        intra_op_threads=asked["threads"],
        inter_op_threads=asked["inter_op_threads"],
        engine=EngineName(asked["engine"]),
        precision=Arithmetic(asked["precision"]),
    )
    _, importing = _timed(lambda: imported(settings.engine))
    if settings.engine is EngineName.TENSORFLOW:
        network, loading = _timed(lambda: _tensorflow(asked["weights"], settings))
        return network, importing + loading
    open_converted(entry, asked["model"], settings).close()  # what is done once, such as the proof
    network, loading = _timed(lambda: open_converted(entry, asked["model"], settings))
    return network, importing + loading


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def _tensorflow(weights: str, settings: SessionSettings) -> Network:
    from ssd_detect.model.checkpoint import load_checkpoint
    from ssd_detect.model.session import NetworkSession

    return NetworkSession(load_checkpoint(CheckpointSettings(weights)), settings)

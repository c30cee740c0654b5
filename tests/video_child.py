"""`ssd-detect video` with a stand-in network, run as `python -m tests.video_child PLAN ARGUMENT...`.

PLAN is JSON: `wait_at`, the number of a picture before which the network waits for a file `go` (after making a file
`waiting`), or "load"; `kill`, a function `module:Class.method` at which the process kills itself, `nth` call from 1,
`after` it or before; `file_limit`, bytes that a file may have; `memory_at`, the number of a picture before which the
most memory so far is noted, and once more at the end: MiB in a file `memory`.
"""

import atexit
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ssd_detect.benchmark.memory import peak_bytes
from ssd_detect.cli import startup
from ssd_detect.cli.main import main
from ssd_detect.stages import StageTimes
from tests.video_runs import Looker


def _wait() -> None:
    Path("waiting").touch()
    while not Path("go").exists():
        time.sleep(0.005)


def _kill_at(place: str, nth: int, *, after: bool) -> None:
    module, _, names = place.partition(":")
    *outer, name = names.split(".")
    owner: Any = importlib.import_module(module)
    for part in outer:
        owner = getattr(owner, part)
    real: Callable[..., Any] = getattr(owner, name)
    num_calls = 0

    def deadly(*arguments: Any, **options: Any) -> Any:
        nonlocal num_calls
        num_calls += 1
        if num_calls == nth and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        value = real(*arguments, **options)
        if num_calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    setattr(owner, name, deadly)


def _limit_files(num_bytes: int) -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    atexit.register(resource.setrlimit, resource.RLIMIT_FSIZE, before)  # coverage wants to write at the end
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))


def _note_memory() -> None:
    most = peak_bytes()
    assert most is not None  # Windows does not tell
    with Path("memory").open("a") as file:
        file.write(f"{most / 2**20}\n")


def _run(plan: dict[str, Any]) -> None:
    looker, place = Looker(), plan.get("wait_at")

    def before(number: int) -> None:
        if number == place:
            _wait()

    def opened(run: Any, times: StageTimes) -> Looker:
        if place == "load":
            _wait()
        return looker.open(run, times)

    def noting(number: int) -> None:
        if number == plan["memory_at"]:
            _note_memory()

    looker.before = noting if "memory_at" in plan else before
    startup.open_detector = opened  # type: ignore[assignment]
    if "kill" in plan:
        _kill_at(plan["kill"], plan.get("nth", 1), after=plan.get("after", False))
    if "file_limit" in plan:
        _limit_files(plan["file_limit"])
    try:
        main()
    finally:
        if "memory_at" in plan:
            _note_memory()


if __name__ == "__main__":
    plan, sys.argv[1:] = json.loads(sys.argv[1]), ["video", *sys.argv[2:]]
    _run(plan)

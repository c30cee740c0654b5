"""What the workers and the command of `scripts/bench` do in its tests."""

import os
import sys
import time
from collections.abc import Callable

from bench.number import Number, PartResult
from bench.options import Options


def two(start: int) -> dict[str, Callable[..., object]]:
    numbers = {"sum": start, "count": 0}

    def add(value: int) -> int:
        sys.stdout.write("chatter, which is no answer\n")
        numbers["sum"] += value
        return numbers["sum"]

    def count() -> int:
        numbers["count"] += 1
        return numbers["count"]

    def four() -> int:
        time.sleep(0.04)
        return 4

    def fail() -> None:
        raise ValueError("on purpose")

    def end() -> None:
        sys.stderr.write("a library\nis offended\n")
        sys.stderr.flush()
        os._exit(1)

    return {"add": add, "count": count, "fail": fail, "four": four, "sleep": time.sleep, "end": end}


def reached(options: Options) -> PartResult:
    return PartResult([Number("good", 1.0, 2.0)], ["  a table"], {"all": [1.0, 2.0]})


def missed(options: Options) -> PartResult:
    return PartResult([Number("bad", 3.0, 2.0)])


def broken(options: Options) -> PartResult:
    raise RuntimeError("on purpose")

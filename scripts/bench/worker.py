"""The child's side of `bench.workers`: python -m bench.worker MODULE FUNCTION ARGUMENTS

FUNCTION of MODULE gets ARGUMENTS (a JSON object) by name and returns what can be called, by name. Each line of standard
input is then a JSON list, a name and its arguments; each answer is a line with the seconds that the call took.
Nothing but the standard library here: other interpreters than the program's run it too.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TextIO


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    calls = _ready(answers)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        _tell(answers, _answer(partial(calls[name], *arguments)) if name in calls else {"error": f"no call {name}"})


def _ready(answers: TextIO) -> dict[str, Callable[..., object]]:
    module, function, arguments = sys.argv[1:]
    made: dict[str, Callable[..., object]] = {}
    answer = _answer(lambda: made.update(getattr(import_module(module), function)(**json.loads(arguments))))
    _tell(answers, answer)
    if "error" in answer:
        sys.exit(1)
    return made


def _answer(call: Callable[[], object]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        value = call()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"seconds": time.perf_counter() - start, "value": value}


def _tell(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()

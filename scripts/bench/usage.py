"""How soon the program answers what needs no network: help, and a wrong option."""

import subprocess
from functools import partial
from statistics import median

from measuring import in_turns, seconds_of

from bench.number import Number, PartResult
from bench.options import Options, program

_COMMANDS = (("--help",), ("image", "--help"), ("image", "a.jpg", "--score-threshold", "2"))
_LIMIT_SECONDS = 0.3


def measure(options: Options) -> PartResult:
    """The best of several: whatever disturbs only adds."""

    def run(arguments: tuple[str, ...]) -> float:
        command = program(*arguments)
        return seconds_of(lambda: subprocess.run(command, capture_output=True, check=False, env=options.environment()))

    samples = in_turns(
        {" ".join(arguments): partial(run, arguments) for arguments in _COMMANDS},
        options.rounds_or(5),
    )
    numbers = [
        Number(f"usage: ssd-detect {name}", min(v), _LIMIT_SECONDS, unit="s", note=f"median {median(v):.3f}")
        for name, v in samples.items()
    ]
    return PartResult(numbers, samples=samples)

"""What the fuzzers share: ways to damage bytes, and children that may crash without ending the run."""

import faulthandler
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from io import BufferedRandom
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Mutation = Callable[[bytearray, random.Random], None]


def flip_bits(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 2, 4, 16, 64])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def flip_bits_of_head(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 2, 4])):
        content[rng.randrange(min(len(content), 200))] ^= 1 << rng.randrange(8)


def cut_off(content: bytearray, rng: random.Random) -> None:
    del content[rng.choice([rng.randrange(len(content)), max(0, len(content) - rng.randrange(1, 20))]) :]


def cut_out(content: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(content))
    del content[start : start + rng.choice([1, 2, 4, 100])]


def insert_junk(content: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(content) + 1)
    content[start:start] = rng.randbytes(rng.choice([1, 2, 4, 100]))


def overwrite(content: bytearray, rng: random.Random) -> None:
    start, size = rng.randrange(len(content)), rng.choice([1, 2, 4, 8, 64])
    content[start : start + size] = rng.choice([b"\0" * size, b"\xff" * size, rng.randbytes(size)])


def swap_pieces(content: bytearray, rng: random.Random) -> None:
    size = rng.choice([4, 16, 64, 256])
    first, second = rng.randrange(len(content)), rng.randrange(len(content))
    content[first : first + size], content[second : second + size] = (
        content[second : second + size],
        content[first : first + size],
    )


def read_in_child(
    numbers: range,
    hang_seconds: float,
    make: Callable[[int], tuple[str, T]],
    outcome: Callable[[T, BufferedRandom], str],
) -> None:
    """In the child: a line for each file, with what became of it.

    Args:
        numbers: of the files.
        hang_seconds: a file that takes longer, on the clock, ends the child.
        make: the kind and the content of a file, by its number.
        outcome: reads a content; gets what native code writes to the error stream. One word, and more behind it;
            `FAULT` and what is wrong.
    """
    with tempfile.TemporaryFile() as chatter:
        saved_stderr = os.dup(2)
        os.dup2(chatter.fileno(), 2)
        for number in numbers:
            kind, content = make(number)
            print(f"{number}\t{kind}\t", end="", flush=True)
            faulthandler.dump_traceback_later(hang_seconds, exit=True, file=saved_stderr)
            print(" ".join(outcome(content, chatter).split()), flush=True)
            faulthandler.cancel_dump_traceback_later()


def take_chatter(chatter: BufferedRandom) -> str:
    """What was written to the error stream since the last time."""
    chatter.seek(0)
    said = chatter.read().decode(errors="replace")
    chatter.seek(0)
    chatter.truncate()
    return said


class Result(NamedTuple):
    """What became of a file."""

    number: int
    kind: str
    text: str


def run_children(script: str, count: int, *options: str) -> list[Result]:
    """All files; a child that dies is replaced by one that begins behind the file that killed it.

    Args:
        script: knows `--child FIRST --count N`, with which it calls `read_in_child`.
        options: of its own.
    """
    results: list[Result] = []
    while len(results) < count:
        span = ["--child", str(len(results)), "--count", str(count - len(results))]
        done = subprocess.run([sys.executable, script, *span, *options], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            number, kind, text = line.split("\t", 2)
            crash = f"FAULT crash or hang, status {done.returncode}: {done.stderr.strip()[-2000:]}"
            results.append(Result(int(number), kind, text or crash))
        if not done.stdout:
            sys.exit(f"the child did not start: {done.stderr}")
    return results


def tell_faults(results: list[Result]) -> int:
    """Print the faults; how many there are."""
    faults = [result for result in results if result.text.startswith("FAULT")]
    for number, kind, text in faults:
        print(f"{number} ({kind}): {text}")
    return len(faults)

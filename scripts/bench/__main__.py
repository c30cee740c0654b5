"""`scripts/bench/run`: measures what is asked for and prints a line for each number: what it is, and what it should be.

Whatever is compared is measured in turns, in one run, each in a process of its own. Nothing else should run meanwhile:
the load before and after each part is printed, and is part of the JSON. The exit status is 1 when a number is not what
it should be, unless `--no-fail` is given.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.number import Number, PartResult
from bench.options import BEFORE_ENGINES, Options

PARTS = {
    "engines": ("bench.engines:measure", "our engines and plain ones, the same network and picture"),
    "cold-start": ("bench.cold_start:measure", "from typing to the written picture, against --baseline"),
    "overhead": ("bench.overhead:measure", "everything but the network for one 720p frame"),
    "video": ("bench.end_to_end:measure_video", "a whole video against the network alone and a plain loop"),
    "growth": ("bench.growth:measure", "seconds and memory of 10, 100 and 1,000 pictures and frames"),
    "postprocess": ("bench.postprocess:measure", "select, decode and suppress, against --baseline"),
    "pictures": ("bench.end_to_end:measure_pictures", "a whole folder against the network alone"),
    "parity": ("bench.parity:measure", "our numbers against the reference implementation's"),
    "usage": ("bench.usage:measure", "how soon help and usage errors are there"),
    "memory": ("bench.memory:measure", "what memory does over 20,000 frames"),
    "evaluation": ("bench.evaluation:measure", "eval of 5,000 pictures, without the network"),
}
_TORCH = """PyTorch takes part in `engines` when --torch-python names an interpreter that has it:
  python3 -m venv build/torch && build/torch/bin/python -m pip install torch numpy
  scripts/bench/run engines --torch-python build/torch/bin/python"""


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ssd-detect-bench-") as folder:
        options = Options(
            Path(folder),
            chosen.baseline,
            chosen.rounds,
            chosen.tiny,
            chosen.torch_python,
            chosen.pictures,
            chosen.video,
            tuple(chosen.engine or Options.engines),
        )
        told = {part: _measured(part, options) for part in chosen.parts or PARTS}
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({"machine": _machine(), "tiny": chosen.tiny, "parts": told}, indent=1) + "\n")
    missed = [number["name"] for part in told.values() for number in part["numbers"] if not number["reached"]]
    print(f"\n{len(missed)} of the numbers are not what they should be" if missed else "\nall numbers are reached")
    return 1 if missed and not chosen.no_fail else 0


def _parser() -> argparse.ArgumentParser:
    parts = "\n".join(f"  {name:<12} {what}" for name, (_, what) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench/run",
        description=f"{__doc__}\nparts (default: all):\n{parts}",
        epilog=_TORCH,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", type=_part, metavar="PART")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers and every sample")
    parser.add_argument("--no-fail", action="store_true", help="exit status 0 whatever the numbers are")
    parser.add_argument("--baseline", default=BEFORE_ENGINES, metavar="REV", help="revision to compare with")
    parser.add_argument("--rounds", type=_count, metavar="N", help="how often each is measured")
    parser.add_argument("--tiny", action="store_true", help="a few of everything: shows that it works, no more")
    parser.add_argument("--torch-python", type=Path, metavar="PATH", help="an interpreter that has PyTorch; see below")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="for the part pictures, instead of made ones")
    parser.add_argument("--video", type=Path, metavar="FILE", help="for video and memory, instead of a made one")
    parser.add_argument(
        "--engine",
        action="append",
        metavar="NAME",
        help="for overhead, video and pictures, with a precision where wanted: 'openvino bf16'; repeatable",
    )
    return parser


def _part(text: str) -> str:
    if text not in PARTS:
        raise argparse.ArgumentTypeError(f"there is no part {text!r}, expected one of {', '.join(PARTS)}")
    return text


def _count(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{value}, expected a whole number of at least 1")
    return value


def _measured(part: str, options: Options) -> dict[str, Any]:
    """Measure a part and print it; what becomes of it in the JSON."""
    before = os.getloadavg()[0]
    print(f"\n{part}: {PARTS[part][1]} (load {before:.1f})", flush=True)
    module, function = PARTS[part][0].split(":")
    try:
        result: PartResult = getattr(import_module(module), function)(options)
    except Exception as error:  # of whatever kind: the other parts are measured all the same
        traceback.print_exc()
        result = PartResult([failed(part, error)])
    for line in [*result.table, *(number.line() for number in result.numbers)]:
        print(line)
    sys.stdout.flush()
    return {
        "load": [before, os.getloadavg()[0]],
        "numbers": [number.as_json() for number in result.numbers],
        "samples": result.samples,
    }


def failed(part: str, error: Exception) -> Number:
    """In the place of a part's numbers."""
    return Number(part, None, 0.0, note=f"{type(error).__name__}: {error}")


def _machine() -> dict[str, Any]:
    return {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}


if __name__ == "__main__":
    sys.exit(main())

"""Damaged checkpoints of every format through the readers: each must be read or give one clear error, soon and small.

    .venv/bin/python scripts/fuzz_checkpoints.py                     1,000 files, some minutes
    .venv/bin/python scripts/fuzz_checkpoints.py --only 123          one of them again, with what it raises
    .venv/bin/python scripts/fuzz_checkpoints.py --keep FOLDER       keep the files with which something was wrong
    .venv/bin/python scripts/fuzz_checkpoints.py --file PATH --count 20   a checkpoint of full size, damaged in 20 ways

The same seed damages the same files in the same way. Each is read twice, by its reader alone, every tensor of it, and
as a checkpoint. That happens in a process of its own, so that a crash is seen and counted; it ends with status 1 if
there was a fault: another exception than CheckpointError, an error of several lines, a Python warning, a line on the
error stream, a program in the file that ran, too much time, or too much memory: the peak of what is resident may grow
by twice the file's size and an allowance for what the first use of a library brings. The address space is limited too,
so that what would be taken and not touched is seen as well.
"""

import argparse
import math
import os
import pickle
import random
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BufferedRandom
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checkpoint_damage import damaged_sample  # noqa: E402
from checkpoint_files import MARKER, Sample, whole_samples  # noqa: E402
from fuzzing import read_in_child, run_children, take_chatter, tell_faults  # noqa: E402

from ssd_detect.errors import CheckpointError  # noqa: E402
from ssd_detect.model.checkpoint import load_checkpoint  # noqa: E402
from ssd_detect.model.locate import locate  # noqa: E402
from ssd_detect.model.readers.open import open_tensors  # noqa: E402
from ssd_detect.settings import CheckpointSettings  # noqa: E402

MOST_SECONDS = 5.0  # of computing, so that a busy machine does not count
SECONDS_A_BYTE = 1e-7  # for checksums, copies, and a look at every number
HANG_SECONDS = 120.0  # on the clock
ALLOWANCE = 16 * 2**20  # bytes, resident
ADDRESS_SPACE = 512 * 2**20  # bytes, above what the process has at its start
MEBIBYTE = 2**20


def given_samples(paths: list[Path]) -> dict[str, Sample]:
    """Checkpoints of one file each; of what is stored in fewer bytes, the float32 numbers are its honest size."""
    samples = {}
    for path in paths:
        with open_tensors(locate(str(path))) as tensors:
            decoded = 4 * sum(math.prod(shape) for shape in tensors.shapes.values())
        samples[path.name] = replace(Sample.of_file(path.name, path.read_bytes()), decoded_bytes=decoded)
    return samples


def make(samples: dict[str, Sample], number: int, seed: int) -> tuple[str, Sample]:
    """Checkpoint `number`; the first of each kind is whole."""
    kind = list(samples)[number % len(samples)]
    if number < len(samples):
        return f"{kind}, whole", samples[kind]
    sample, how = damaged_sample(samples[kind], random.Random(f"{seed} {number}"))
    return f"{kind}, {how}", sample


# --------------------------------------------------------------------------------------------------------- reading


def outcome(sample: Sample, chatter: BufferedRandom, keep: Path | None) -> str:
    """`ok`, `error`, or what is wrong."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, working_in(Path(folder)):
        path = sample.written_to(Path(folder) / "m")
        start, before = time.process_time(), forget_peak()
        words = [tried(path, read_all), tried(path, load)]
        seconds, grown = time.process_time() - start, peak() - before
        ran = Path(MARKER).exists()
    faults = [word for word in words if word.startswith("FAULT")]
    if ran:
        faults.append("FAULT the program in it ran")
    if seconds > MOST_SECONDS + SECONDS_A_BYTE * sample.bytes:
        faults.append(f"FAULT {seconds:.1f} s")
    if grown > 2 * sample.bytes + ALLOWANCE:
        faults.append(f"FAULT {grown / MEBIBYTE:.0f} MiB for {sample.bytes:,} bytes")
    if said := take_chatter(chatter):
        faults.append(f"FAULT said {said!r}")
    if faults and keep:
        sample.written_to(Path(tempfile.mkdtemp(prefix="fault-", dir=keep)))
    return " and ".join(faults) or words[0]


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def read_all(path: Path) -> None:
    with open_tensors(locate(str(path))) as tensors:
        for name in tensors.shapes:
            if tensors.read(name).shape != tensors.shapes[name]:
                raise AssertionError(f"{name} has another shape than announced")


def load(path: Path) -> None:
    load_checkpoint(CheckpointSettings(str(path))).read()


def tried(path: Path, read: Callable[[Path], None]) -> str:
    try:
        read(path)
    except CheckpointError as error:
        text = str(error)
        return "error" if str(path) in text and "\n" not in text else f"FAULT unclear: {text!r}"
    except BaseException as error:
        return f"FAULT {type(error).__name__}: {error}"
    return "ok"


def forget_peak() -> int:
    """Let the count of the peak begin anew; bytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5")  # see proc(5)
    return _status("VmRSS")


def peak() -> int:
    """Of the resident bytes, since `forget_peak`."""
    return _status("VmHWM")


def _status(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def limit_memory(largest: int) -> None:
    limit = _status("VmSize") + ADDRESS_SPACE + 4 * largest  # the damaged copy, the file itself mapped, and the weights
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


# -------------------------------------------------------------------------------------------------------- running


def main() -> None:
    options = parsed()
    if options.child is not None:
        samples: dict[str, Sample] = pickle.loads(options.samples.read_bytes())
        warnings.simplefilter("error")
        limit_memory(max(sample.bytes for sample in samples.values()))
        numbers = range(options.child, options.child + options.count)
        read_in_child(
            numbers,
            HANG_SECONDS,
            lambda number: make(samples, number, options.seed),
            lambda sample, chatter: outcome(sample, chatter, options.keep),
        )
        return
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        samples = given_samples(options.file) if options.file else whole_samples(Path(folder))
        if options.only is not None:
            show(*make(samples, options.only, options.seed))
            return
        kept = Path(folder) / "samples"
        kept.write_bytes(pickle.dumps(samples))
        sys.exit(run(options, kept, len(samples)))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many files (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which files (default: %(default)s)")
    parser.add_argument("--only", type=int, metavar="N", help="read file N alone, here, and show what it raises")
    parser.add_argument("--keep", type=Path, help="folder for the files with which something is wrong")
    parser.add_argument("--file", type=Path, action="append", help="damage this checkpoint instead of small ones")
    parser.add_argument("--child", type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(options: argparse.Namespace, samples: Path, kinds: int) -> int:
    start = time.monotonic()
    more = ["--keep", str(options.keep)] if options.keep else []
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    results = run_children(__file__, options.count, "--seed", str(options.seed), "--samples", str(samples), *more)
    faults = tell_faults(results)
    words = Counter(result.text.split()[0] for result in results)
    print(
        f"{options.count} files of {kinds} kinds (seed {options.seed}): {words['ok']} read, {words['error']} errors, "
        f"{faults} faults, {time.monotonic() - start:.0f} s"
    )
    return 1 if faults else 0


def show(kind: str, sample: Sample) -> None:
    print(kind)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    path = sample.written_to(folder)
    print(path)
    for read in (load, read_all):
        try:
            read(path)
        except CheckpointError as error:
            print(f"CheckpointError: {error}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()

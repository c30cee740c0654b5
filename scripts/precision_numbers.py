"""What fewer bits cost: size and mAP of one network with float32, float16 and int8 kernels.

    nice .venv/bin/python scripts/precision_numbers.py DATASET [--limit N] [--threads N]

The shipped kernels are int8 already, so converting them would cost nothing at all: the source is made of them by adding
seeded, evenly spread noise of up to half a step of each channel, as much as rounding took away. `ssd-detect eval`
measures: VOC07 11-point mAP, score 0.01, NMS 0.45, 200 objects a picture.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import report
from safetensors.numpy import save_file

from ssd_detect.arrays import Floats
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.conversion.convert import convert
from ssd_detect.model.conversion.quantise import quantise_int8
from ssd_detect.model.conversion.settings import ConvertSettings, FileFormat, Precision
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.model.metadata import spec_metadata
from ssd_detect.settings import CheckpointSettings

_TARGETS = {Precision.FLOAT32: "", Precision.FLOAT16: "within 0.1 points", Precision.INT8: "within 0.5 points"}


def main() -> None:
    arguments = parsed(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        source = _write_source(Path(folder) / "float32.safetensors")
        for precision in Precision:
            file = source if precision is Precision.FLOAT32 else _converted(source, precision)
            value = mean_ap(arguments, "--checkpoint", str(file))
            size = f"{file.stat().st_size / 1e6:.1f} MB"
            report(f"{precision.value}, {size}", f"{100 * value:.2f} mAP", _TARGETS[precision])


def parsed(description: str | None) -> argparse.Namespace:
    """A data set, how many of its pictures, and how many threads."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def _write_source(target: Path) -> Path:
    checkpoint = load_checkpoint(CheckpointSettings(DEFAULT_CHECKPOINT))
    random = np.random.default_rng(0)
    tensors = {
        f"ssd_{checkpoint.spec.size}_vgg/{name}": _off_the_grid(values, random)
        for name, values in checkpoint.variables.items()
    }
    save_file(tensors, target, spec_metadata(checkpoint.spec))
    return target


def _off_the_grid(values: Floats, random: np.random.Generator) -> Floats:
    if values.ndim < 4:
        return values
    _, scales = quantise_int8(values)
    return values + scales * random.uniform(-0.5, 0.5, values.shape).astype(np.float32)


def _converted(source: Path, precision: Precision) -> Path:
    target = source.with_name(f"{precision.value}.safetensors")
    convert(ConvertSettings(CheckpointSettings(str(source)), target, FileFormat.SAFETENSORS, precision))
    return target


def mean_ap(arguments: argparse.Namespace, *more: str) -> float:
    """By the program itself, with more options of `eval`; 0 to 1."""
    command = [sys.executable, "-m", "ssd_detect", "eval", str(arguments.folder), *more]
    options = ["--metric", "voc07", "--max-detections", "200", "--threads", str(arguments.threads), "--json", "-"]
    limit = [] if arguments.limit is None else ["--limit", str(arguments.limit)]
    done = subprocess.run([*command, *options, *limit], check=True, stdout=subprocess.PIPE)
    (result,) = json.loads(done.stdout)["voc"]
    return float(result["mean_ap"])


if __name__ == "__main__":
    main()

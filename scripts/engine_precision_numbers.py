"""What each engine's precisions cost and gain: mAP of the shipped checkpoint, and milliseconds a picture.

    nice .venv/bin/python scripts/engine_precision_numbers.py DATASET [--limit N] [--threads N]

mAP is measured as in precision_numbers.py, by `ssd-detect eval`; the time is that of `Detector` from array to
detections, one picture at a time, all ways in turns. A way that this machine does not have is told and left out.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from measuring import in_turns, report, seconds_of
from precision_numbers import mean_ap, parsed

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.detector import Detector
from ssd_detect.errors import SsdDetectError
from ssd_detect.media.pictures import read_picture
from ssd_detect.settings import Device, SessionSettings

_REFERENCE = (EngineName.TENSORFLOW, Arithmetic.FLOAT32)
_WAYS = (
    _REFERENCE,
    (EngineName.TENSORFLOW, Arithmetic.BF16),
    (EngineName.ONNXRUNTIME, Arithmetic.FLOAT32),
    (EngineName.ONNXRUNTIME, Arithmetic.INT8),
    (EngineName.OPENVINO, Arithmetic.FLOAT32),
    (EngineName.OPENVINO, Arithmetic.BF16),
    (EngineName.OPENVINO, Arithmetic.INT8),
    (EngineName.OPENCV, Arithmetic.FLOAT32),
)
_TARGETS = {Arithmetic.INT8: "within 0.5 points"}
_ROUNDS = 15
_PICTURE = Path(__file__).parent.parent / "tests" / "media" / "astronaut.png"


def main() -> None:
    arguments = parsed(__doc__)
    times = _milliseconds(arguments.threads)
    reference = 0.0
    for way in times:
        engine, precision = way
        value = _mean_ap(arguments, engine, precision)
        reference = value if way == _REFERENCE else reference
        loss = f"{100 * (reference - value):+.2f} points lost, {times[_REFERENCE] / times[way]:.2f} x as fast"
        numbers = f"{100 * value:.2f} mAP, {times[way]:.0f} ms"
        report(f"{engine.value}, {precision.value}: {loss}", numbers, _TARGETS.get(precision, ""))


def _mean_ap(arguments: argparse.Namespace, engine: EngineName, precision: Arithmetic) -> float:
    return mean_ap(arguments, "--device", "cpu", "--engine", engine.value, "--precision", precision.value)


def _milliseconds(threads: int) -> dict[tuple[EngineName, Arithmetic], float]:
    """Median milliseconds a picture of each way that there is."""
    picture = read_picture(_PICTURE)
    with ExitStack() as stack:
        detectors = {_name(way): (way, stack.enter_context(made)) for way, made in _opened(threads)}
        for _, detector in detectors.values():
            detector(picture)
        calls: dict[str, Callable[[], float]] = {
            name: partial(seconds_of, partial(detector, picture)) for name, (_, detector) in detectors.items()
        }
        samples = in_turns(calls, _ROUNDS)
        return {detectors[name][0]: 1000 * statistics.median(seconds) for name, seconds in samples.items()}


def _opened(threads: int) -> Iterator[tuple[tuple[EngineName, Arithmetic], Detector]]:
    for engine, precision in _WAYS:
        session = SessionSettings(Device("cpu"), intra_op_threads=threads, engine=engine, precision=precision)
        try:
            yield (engine, precision), Detector(session=session)
        except SsdDetectError as error:
            report(f"{engine.value}, {precision.value}", "left out", str(error))


def _name(way: tuple[EngineName, Arithmetic]) -> str:
    return " ".join(part.value for part in way)


if __name__ == "__main__":
    main()

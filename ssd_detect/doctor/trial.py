"""The proof: the shipped checkpoint detects in a shipped picture, through the same `Detector` as every command.

`astronaut.jpg` is a smaller copy of NASA's portrait of Eileen Collins, which is in the public domain. Runs in the child
process only, since it needs TensorFlow.
"""

import statistics
import time
from pathlib import Path

from ssd_detect.detector import Detector
from ssd_detect.doctor.facts import TrialFacts
from ssd_detect.media.pictures import read_picture
from ssd_detect.settings import Device, SessionSettings

PICTURE = Path(__file__).with_name("astronaut.jpg")
NUM_CALLS = 4


def run_trial(device: Device) -> TrialFacts:
    """Detect `NUM_CALLS` times in `PICTURE`.

    Raises:
        SsdDetectError: as `Detector` and `read_picture` do.
    """
    picture = read_picture(PICTURE)
    seconds = []
    with Detector(session=SessionSettings(device=device)) as detector:
        for _ in range(NUM_CALLS):
            start = time.perf_counter()
            detections = detector(picture)
            seconds.append(time.perf_counter() - start)
        best = next(iter(detections), None)
        return TrialFacts(
            device_name=detector.device_name,
            class_name=best.class_name if best else None,
            score=best.score if best else 0.0,
            box=best.box if best else None,
            first_seconds=seconds[0],
            median_seconds=statistics.median(seconds[1:]),
        )

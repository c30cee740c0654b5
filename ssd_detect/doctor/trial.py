"""The proof: the shipped checkpoint detects in a shipped picture, through the same `Detector` as every command.

Runs in the child process only, since it needs TensorFlow.
"""

import statistics
import time

from ssd_detect.detector import Detector
from ssd_detect.doctor.facts import TrialFacts
from ssd_detect.media.pictures import read_picture
from ssd_detect.settings import Device, SessionSettings
from ssd_detect.shipped import PORTRAIT

NUM_CALLS = 4


def run_trial(device: Device) -> TrialFacts:
    """Detect `NUM_CALLS` times in `PORTRAIT`.

    Raises:
        SsdDetectError: as `Detector` and `read_picture` do.
    """
    picture = read_picture(PORTRAIT)
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

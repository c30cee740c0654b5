"""Made evaluations for the tests of the report: any number of classes, of objects and of detections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from ssd_detect.boxes.profiles import resolved
from ssd_detect.conventions import Profile
from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.evaluation.bootstrap import BootstrapSettings
from ssd_detect.evaluation.evaluate import EvaluationSettings, evaluate
from ssd_detect.evaluation.results import EvaluationResult
from ssd_detect.formats.provenance import Provenance
from ssd_detect.reporting.details import ReportDetails, RunFacts
from ssd_detect.settings import DetectionSettings
from tests.evaluation_tables import Found, Object, prediction_table, truth_table

SIZE = (200, 150)
SETTINGS = EvaluationSettings(bootstrap=BootstrapSettings(num_resamples=100))
ODD_NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "& $\\frac{a}{b}$ %s {0}",
    "猫",
    "كلب",
    "a\x00b\nc\x1b[31m",
    "\ud800 lone \udc80",
    "x" * 300,
    "\u202eesrever",
    "=1+1",
)
FACTS = RunFacts(
    dataset="sets/<b>VOC</b> & more",
    dataset_kind="voc",
    split="test",
    provenance=Provenance(
        "ssd_300_vgg", "ab" * 32, resolved(DetectionSettings(score_threshold=0.01), Profile.TUTORIAL)
    ),
    predictions=None,
    command="ssd-detect eval 'sets/<b>VOC</b> & more' --split test -o out",
    date=datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc),
)


@dataclass(frozen=True)
class Case:
    """What `write_report` takes."""

    result: EvaluationResult
    details: ReportDetails


def class_names(n: int) -> tuple[str, ...]:
    """Background and n names."""
    return ("background", *(f"class {number}" for number in range(1, n + 1)))


def make(
    folder: Path,
    objects: Sequence[Object],
    found: Sequence[Found],
    names: Sequence[str] = class_names(3),
    num_pictures: int = 4,
    facts: RunFacts = FACTS,
    settings: EvaluationSettings = SETTINGS,
) -> Case:
    """A case of grey pictures in `folder`."""
    truth, predictions = truth_table(objects, num_pictures), prediction_table(found, num_pictures)
    pictures = tuple(_picture(folder, number) for number in range(num_pictures))
    details = ReportDetails(facts, tuple(names), truth, predictions, pictures)
    return Case(evaluate(truth, predictions, names, settings), details)


def _picture(folder: Path, number: int) -> AnnotatedPicture:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number} <i>&.png"
    Image.linear_gradient("L").resize(SIZE).convert("RGB").save(path)
    nothing = np.zeros(0, np.bool_)
    return AnnotatedPicture(
        path=path,
        name=path.name,
        size=SIZE,
        boxes=np.zeros((0, 4)),
        class_ids=np.zeros(0, np.int64),
        difficult=nothing,
        crowd=nothing,
        truncated=nothing,
        area=np.zeros(0),
    )


@cache
def made_rows(num_classes: int, num_pictures: int, seed: int) -> tuple[tuple[Object, ...], tuple[Found, ...]]:
    """Objects, and detections of every kind: hits, wrong classes, poor boxes, duplicates, nothing there."""
    random = np.random.default_rng(seed)
    objects: list[Object] = []
    found: list[Found] = []
    for number in range(num_pictures):
        for _ in range(4):
            x, y = random.uniform(0, 100, 2)
            width, height = random.uniform(8, 95), random.uniform(8, 48)
            class_id = int(random.integers(1, num_classes + 1))
            box = (float(x), float(y), float(x + width), float(y + height))
            objects.append((number, class_id, box))
            for _ in range(int(random.integers(0, 4))):
                moved = np.clip(np.array(box) + random.normal(0, 6, 4), 0, 150)
                moved[2:] = np.maximum(moved[2:], moved[:2] + 2)
                other = int(random.integers(1, num_classes + 1)) if random.random() < 0.2 else class_id
                x0, y0, x1, y1 = moved.tolist()
                found.append((number, other, (x0, y0, x1, y1), float(random.beta(3, 2))))
        found += [
            (number, int(random.integers(1, num_classes + 1)), (10.0, 10.0, 60.0, 40.0), float(score))
            for score in random.beta(1, 3, 5)
        ]
    return tuple(objects), tuple(found)


def random_case(folder: Path, num_classes: int = 20, num_pictures: int = 30, seed: int = 1) -> Case:
    """A detector that is right now and then."""
    objects, found = made_rows(num_classes, num_pictures, seed)
    return make(folder, objects, found, class_names(num_classes), num_pictures)


def odd_case(folder: Path) -> Case:
    """Class names that no one should have."""
    return make(folder, *made_rows(len(ODD_NAMES), 8, 2), ("background", *ODD_NAMES), 8)


CASES: dict[str, Callable[[Path], Case]] = {
    "nothing": lambda folder: make(folder, [], []),
    "no objects": lambda folder: make(folder, [], made_rows(3, 4, 1)[1]),
    "no detections": lambda folder: make(folder, made_rows(3, 4, 1)[0], []),
    "one class, one picture": lambda folder: random_case(folder, 1, 1),
    "20 classes": random_case,
    "odd names": odd_case,
}

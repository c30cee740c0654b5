"""COCO's numbers against pycocotools, which reads the same data from JSON files."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from pycocotools.coco import COCO  # type: ignore[import-untyped]
from pycocotools.cocoeval import COCOeval  # type: ignore[import-untyped]

from ssd_detect.evaluation.coco_ap import coco_result
from ssd_detect.evaluation.results import COCO_NUMBERS, CocoResult
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from tests.evaluation_tables import NAMES, Box, Found, Object, data_sets, prediction_table, truth_table


def xywh(box: Any) -> list[float]:
    x0, y0, x1, y1 = (float(value) for value in box)
    return [x0, y0, x1 - x0, y1 - y0]


def write_json(folder: Path, truth: TruthTable, found: PredictionTable) -> tuple[Path, Path]:
    """The same data as COCO's two files."""
    images = [{"id": i + 1, "width": 640, "height": 480} for i in range(truth.num_pictures)]
    annotations = [
        {
            "id": i + 1,
            "image_id": int(truth.picture[i]) + 1,
            "category_id": int(truth.class_id[i]),
            "bbox": xywh(truth.boxes[i]),
            "area": float(truth.area[i]),
            "iscrowd": int(truth.crowd[i]),
        }
        for i in range(len(truth))
    ]
    results = [
        {
            "image_id": int(found.picture[i]) + 1,
            "category_id": int(found.class_id[i]),
            "bbox": xywh(found.boxes[i]),
            "score": float(found.score[i]),
        }
        for i in range(len(found))
    ]
    categories = [{"id": k, "name": name} for k, name in enumerate(NAMES) if k]
    paths = folder / "truth.json", folder / "results.json"
    paths[0].write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    if not results:  # pycocotools cannot load an empty list of results, but an empty data set
        nothing = {"images": images, "annotations": [], "categories": categories}
        paths[1].write_text(json.dumps(nothing))
    else:
        paths[1].write_text(json.dumps(results))
    return paths


def reference(folder: Path, truth: TruthTable, found: PredictionTable) -> Any:
    """A finished COCOeval."""
    truth_file, results_file = write_json(folder, truth, found)
    with contextlib.redirect_stdout(io.StringIO()):
        objects = COCO(str(truth_file))
        results = objects.loadRes(str(results_file)) if len(found) else COCO(str(results_file))
        evaluation = COCOeval(objects, results, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation


def mean_or_none(values: Any) -> Any:
    known = values[values > -1]
    return pytest.approx(known.mean(), abs=1e-6) if known.size else None


def assert_equal(ours: CocoResult, theirs: Any) -> None:
    expected = [None if value == -1 else pytest.approx(value, abs=1e-6) for value in theirs.stats]
    assert list(ours.numbers) == list(COCO_NUMBERS)
    assert list(ours.numbers.values()) == expected
    precision, recall = theirs.eval["precision"], theirs.eval["recall"]
    for k, one in enumerate(ours.classes):
        assert (one.class_id, one.name) == (k + 1, NAMES[k + 1])
        assert one.ap == mean_or_none(precision[:, :, k, 0, 2])
        assert one.ap50 == mean_or_none(precision[0, :, k, 0, 2])
        assert one.ap75 == mean_or_none(precision[5, :, k, 0, 2])
        assert one.ar100 == mean_or_none(recall[:, k, 0, 2])


WHOLE: Box = (0, 0, 10, 10)


@pytest.mark.parametrize(
    ("objects", "crowd", "found"),
    [
        pytest.param([], [], [(0, 1, WHOLE, 0.9)], id="no objects"),
        pytest.param([(0, 1, WHOLE)], [False], [], id="no detections"),
        pytest.param([(0, 1, WHOLE)], [True], [(0, 1, WHOLE, 0.9)], id="only a crowd"),
        pytest.param([(0, 1, WHOLE)], [False], [(0, 1, WHOLE, 0.9)], id="perfect"),
        pytest.param([(0, 1, WHOLE)], [False], [(0, 1, (0, 0, 10, 5), 0.9)], id="exactly at the lowest threshold"),
        pytest.param(
            [(0, 1, (0, 0, 100, 100)), (0, 1, WHOLE)],
            [True, False],
            [
                (0, 1, WHOLE, 0.5),
                (0, 1, (20, 20, 30, 30), 0.9),
                (0, 1, (1, 1, 11, 11), 0.8),
                (0, 1, (90, 0, 120, 9), 0.7),
            ],
            id="a crowd takes any number, an object first",
        ),
        pytest.param(
            [(0, 1, (0, 0, 10, 8)), (0, 1, (0, 2, 10, 10))],
            [False, False],
            [(0, 1, (0, 1, 10, 9), 0.9), (0, 1, (0, 2, 10, 10), 0.8)],
            id="of equal overlaps the last",
        ),
    ],
)
def test_by_hand(tmp_path: Path, objects: list[Object], crowd: list[bool], found: list[Found]) -> None:
    truth, table = truth_table(objects, 1, crowd=crowd), prediction_table(found, 1)
    assert_equal(coco_result(truth, table, NAMES), reference(tmp_path, truth, table))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=data_sets(unit=8, crowds=True))
def test_random_sets(tmp_path: Path, data: tuple[TruthTable, PredictionTable]) -> None:
    truth, found = data
    assert_equal(coco_result(truth, found, NAMES), reference(tmp_path, truth, found))


def crowded(seed: int) -> tuple[TruthTable, PredictionTable]:
    """More than 100 detections of a class in a picture; boxes anywhere, of every size."""
    generator = np.random.default_rng(seed)

    def row() -> Object:
        x, y = generator.uniform(0, 300, 2)
        w, h = np.exp(generator.uniform(2, 5.3, 2))
        return int(generator.integers(3)), int(generator.integers(1, 4)), (x, y, x + w, y + h)

    objects = [row() for _ in range(150)]
    found: list[Found] = [(*row(), float(generator.random())) for _ in range(300)]
    for picture, class_id, box in objects * 7:
        near = np.array(box) + generator.normal(0, 5, 4)
        x0, y0, x1, y1 = near.tolist()
        found.append(
            (picture, class_id, (x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)), float(generator.integers(1, 90) / 90))
        )
    return truth_table(objects, 3, crowd=(generator.random(150) < 0.1).tolist()), prediction_table(found, 3)


@pytest.mark.parametrize("seed", range(3))
def test_more_than_a_hundred_detections(tmp_path: Path, seed: int) -> None:
    truth, found = crowded(seed)
    _, counts = np.unique(10 * found.picture + found.class_id, return_counts=True)
    assert (counts > 100).any()
    ours = coco_result(truth, found, NAMES)
    assert all(value is not None and 0 < value < 1 for value in ours.numbers.values())
    assert_equal(ours, reference(tmp_path, truth, found))


def test_difficult_means_nothing_to_coco() -> None:
    rows: list[Object] = [(0, 1, WHOLE), (0, 1, (20, 20, 30, 30))]
    found = prediction_table([(0, 1, WHOLE, 0.9)], 1)
    plain, flagged = (coco_result(truth_table(rows, 1, flags), found, NAMES) for flags in ([], [False, True]))
    assert plain == flagged
    assert plain.numbers["AR100"] == 0.5

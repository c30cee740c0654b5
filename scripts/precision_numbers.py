"""What fewer bits cost: size and mAP of one network with float32, float16 and int8 kernels.

    nice .venv/bin/python scripts/precision_numbers.py VOC_FOLDER [--limit N] [--threads N]

VOC_FOLDER holds JPEGImages/ and Annotations/. The shipped kernels are int8 already, so converting them would cost
nothing at all: the source is made of them by adding seeded, evenly spread noise of up to half a step of each channel,
as much as rounding took away. VOC07 11-point mAP, difficult objects ignored, score 0.01, NMS 0.45, 200 a picture,
IoU of at least 0.5.
"""

import argparse
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measuring import report
from safetensors.numpy import save_file

from ssd_detect.arrays import Floats
from ssd_detect.boxes.geometry import pairwise_iou
from ssd_detect.conversion.convert import convert
from ssd_detect.conversion.quantise import quantise_int8
from ssd_detect.conversion.settings import ConvertSettings, FileFormat, Precision
from ssd_detect.detector import Detector
from ssd_detect.media.pictures import read_picture
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.model.metadata import spec_metadata
from ssd_detect.settings import CheckpointSettings, DetectionSettings, SessionSettings

_TARGETS = {Precision.FLOAT32: "", Precision.FLOAT16: "within 0.1 points", Precision.INT8: "within 0.5 points"}


class Object(NamedTuple):
    """One annotated object."""

    class_name: str
    box: tuple[float, float, float, float]  # xyxy pixels
    difficult: bool


class Hit(NamedTuple):
    """A detection of one class, and whether it is right."""

    score: float
    is_true: bool


def main() -> None:
    arguments = _arguments()
    pictures = sorted((arguments.folder / "JPEGImages").glob("*.jpg"))[: arguments.limit]
    with tempfile.TemporaryDirectory() as folder:
        source = _write_source(Path(folder) / "float32.safetensors")
        for precision in Precision:
            file = source if precision is Precision.FLOAT32 else _converted(source, precision)
            value = _mean_ap(file, arguments.folder / "Annotations", pictures, arguments.threads)
            size = f"{file.stat().st_size / 1e6:.1f} MB"
            report(
                f"{precision.value}, {size}, {len(pictures)} pictures", f"{100 * value:.2f} mAP", _TARGETS[precision]
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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


def _mean_ap(file: Path, annotations: Path, pictures: list[Path], threads: int) -> float:
    settings = DetectionSettings(score_threshold=0.01, nms_threshold=0.45, max_detections=200)
    hits: dict[str, list[Hit]] = {}
    totals: dict[str, int] = {}
    checkpoint = CheckpointSettings(str(file))
    with Detector(checkpoint, settings=settings, session=SessionSettings(intra_op_threads=threads)) as detector:
        for picture in pictures:
            found = detector(read_picture(picture))
            objects = _objects(annotations / f"{picture.stem}.xml")
            for class_id, name in enumerate(detector.class_names[1:], start=1):
                true = [o for o in objects if o.class_name == name]
                mine = found.class_ids == class_id
                totals[name] = totals.get(name, 0) + sum(not o.difficult for o in true)
                hits.setdefault(name, []).extend(_hits(found.boxes[mine], found.scores[mine], true))
    return _mean(hits, totals)


def _objects(annotation: Path) -> list[Object]:
    objects = []
    for element in ET.parse(annotation).getroot().iter("object"):
        left, top, right, bottom = (
            float(element.findtext(f"bndbox/{s}", "")) for s in ("xmin", "ymin", "xmax", "ymax")
        )
        difficult = element.findtext("difficult", "0") == "1"
        objects.append(Object(element.findtext("name", ""), (left, top, right, bottom), difficult))
    return objects


def _hits(boxes: Floats, scores: Floats, objects: list[Object]) -> Iterator[Hit]:
    """Each box, best score first, against the object that it overlaps most; those on difficult objects do not count."""
    truth = np.array([o.box for o in objects], np.float32).reshape(-1, 4)
    taken: set[int] = set()
    iou = pairwise_iou(boxes, truth)  # (boxes, objects)
    for i in np.argsort(-scores, kind="stable"):
        best = int(np.argmax(iou[i])) if objects else -1
        matched = best >= 0 and iou[i, best] >= 0.5
        if matched and objects[best].difficult:
            continue
        yield Hit(float(scores[i]), matched and best not in taken)
        if matched:
            taken.add(best)


def _mean(hits: Mapping[str, list[Hit]], totals: Mapping[str, int]) -> float:
    return float(np.mean([_average_precision(hits[name], total) for name, total in totals.items() if total]))


def _average_precision(hits: list[Hit], total: int) -> float:
    """Mean of the best precision at a recall of at least 0, 0.1, ... 1 (Everingham et al. 2010, section 4.2)."""
    true = np.array([hit.is_true for hit in sorted(hits, key=lambda hit: -hit.score)], bool)
    right = np.cumsum(true)
    recall, precision = right / total, right / np.arange(1, len(true) + 1)
    return float(np.mean([precision[recall >= j / 10].max(initial=0) for j in range(11)]))


if __name__ == "__main__":
    main()

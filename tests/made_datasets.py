"""Small data sets, written for tests: one object a line, each part replaceable."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pillow_heif
from PIL import Image

SIZE = (100, 50)


def picture(path: Path, size: tuple[int, int] = SIZE, **options: Any) -> Path:
    """A grey picture in the format of its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    grey = Image.new("RGB", size, (90, 90, 90))
    if path.suffix == ".heic":  # not registered with Pillow: every later test of the process would see it
        pillow_heif.from_pillow(grey).save(path, **options)
    else:
        grey.save(path, **options)
    return path


def written(path: Path, content: str | bytes) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def voc_object(
    name: str = "dog", corners: Sequence[object] = (11, 21, 30, 40), *, more: str = "<difficult>0</difficult>"
) -> str:
    """One object; a corner that is None is left out."""
    box = "".join(
        f"<{tag}>{v}</{tag}>" for tag, v in zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True) if v is not None
    )
    return f"<object><name>{name}</name>{more}<bndbox>{box}</bndbox></object>"


def voc_xml(*objects: str, file: str = "a.jpg", size: tuple[int, int] | None = SIZE) -> str:
    """An annotation."""
    stated = "" if size is None else f"<size><width>{size[0]}</width><height>{size[1]}</height><depth/></size>"
    return f"<annotation><filename>{file}</filename>{stated}{''.join(objects)}</annotation>"


def voc(root: Path, *objects: str, **options: Any) -> Path:
    """A VOC data set with one picture, `a.jpg`."""
    picture(root / "JPEGImages" / "a.jpg")
    written(root / "Annotations" / "a.xml", voc_xml(*objects, **options))
    return root


def coco_value(*annotations: Any, **more: Any) -> dict[str, Any]:
    """COCO's object for `a.jpg`, with the categories 1 dog and 90 cat."""
    return {
        "images": [{"id": 7, "file_name": "a.jpg", "width": SIZE[0], "height": SIZE[1]}],
        "annotations": list(annotations),
        "categories": [{"id": 90, "name": "cat"}, {"id": 1, "name": "dog"}],
        **more,
    }


def coco_object(**change: Any) -> dict[str, Any]:
    """One annotation."""
    return {"id": 1, "image_id": 7, "category_id": 1, "bbox": [10, 20, 20, 20], "area": 300, "iscrowd": 0} | change


def coco(root: Path, *annotations: Any, **more: Any) -> Path:
    """A COCO data set with one picture, `a.jpg`."""
    picture(root / "images" / "a.jpg")
    return written(root / "annotations" / "instances_val.json", json.dumps(coco_value(*annotations, **more)))


def yolo(root: Path, *lines: str, names: str = "dog\ncat\n") -> Path:
    """A YOLO data set with one picture, `a.jpg`, and `classes.txt`."""
    picture(root / "images" / "a.jpg")
    written(root / "labels" / "a.txt", "".join(f"{line}\n" for line in lines))
    if names:
        written(root / "classes.txt", names)
    return root

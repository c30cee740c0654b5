"""A small VOC data set of our own pictures, for tests that evaluate."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.conftest import MEDIA

Objects = Sequence[tuple[str, tuple[int, int, int, int]]]

SIZES = {"astronaut": (512, 512), "chelsea": (451, 300), "coffee": (600, 400)}
OBJECTS: Mapping[str, Objects] = {
    "astronaut": (("person", (1, 8, 462, 512)), ("person", (470, 480, 500, 510))),
    "chelsea": (("cat", (60, 30, 400, 290)),),
    "coffee": (("diningtable", (1, 1, 600, 400)), ("Cup", (130, 60, 450, 360))),
}


def made_voc(folder: Path, objects: Mapping[str, Objects] = OBJECTS) -> Path:
    """Write the annotations of `objects`, boxes in pixels from 1, and copy their pictures."""
    for name in ("Annotations", "JPEGImages"):
        (folder / name).mkdir(parents=True)
    for stem, of_picture in objects.items():
        shutil.copy(MEDIA / f"{stem}.png", folder / "JPEGImages" / f"{stem}.png")
        (folder / "Annotations" / f"{stem}.xml").write_text(_xml(stem, of_picture), encoding="utf-8")
    return folder


def _xml(stem: str, objects: Objects) -> str:
    width, height = SIZES[stem]
    return (
        f"<annotation><filename>{stem}.png</filename>"
        f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
        f"{''.join(_object(name, box) for name, box in objects)}</annotation>"
    )


def _object(name: str, box: tuple[int, int, int, int]) -> str:
    x0, y0, x1, y1 = box
    corners = f"<xmin>{x0}</xmin><ymin>{y0}</ymin><xmax>{x1}</xmax><ymax>{y1}</ymax>"
    return f"<object><name>{name}</name><difficult>0</difficult><bndbox>{corners}</bndbox></object>"

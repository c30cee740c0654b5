"""The COCO file of a data set.

Category ids are those of `formats.coco`: COCO's own for its 80 classes. Areas are the data set's. `difficult` and
`truncated` are members of each annotation, 0 or 1, which other tools pass over.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ssd_detect.datasets.dataset import AnnotatedPicture, Dataset
from ssd_detect.formats.coco import coco_category_ids
from ssd_detect.formats.coco_images import PictureId
from ssd_detect.formats.json_text import json_line

_DECIMALS = 6


def coco_content(dataset: Dataset, names: Sequence[str]) -> bytes:
    """The JSON; `names` are those of the pictures. Numbers have at most 6 decimals.

    Pictures keep their ids where all have one, else they count from 1.
    """
    category_ids = coco_category_ids(dataset.class_names)
    picture_ids = _picture_ids(dataset.pictures)
    images = [
        {"id": i, "file_name": name, "width": p.size[0], "height": p.size[1]}
        for i, name, p in zip(picture_ids, names, dataset.pictures, strict=True)
    ]
    annotations = [
        one for i, p in zip(picture_ids, dataset.pictures, strict=True) for one in _annotations(p, i, category_ids)
    ]
    return json_line(
        {
            "info": {"description": "converted by ssd-detect"},
            "categories": [{"id": i, "name": dataset.class_names[k]} for k, i in category_ids.items()],
            "images": images,
            "annotations": [{"id": number, **one} for number, one in enumerate(annotations, 1)],
        }
    ).encode("ascii")


def _picture_ids(pictures: Sequence[AnnotatedPicture]) -> list[PictureId]:
    own = [p.picture_id for p in pictures if p.picture_id is not None]
    return own if len(set(own)) == len(pictures) else [*range(1, len(pictures) + 1)]


def _annotations(
    picture: AnnotatedPicture, picture_id: PictureId, category_ids: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    for i, (x0, y0, x1, y1) in enumerate(picture.boxes.tolist()):
        yield {
            "image_id": picture_id,
            "category_id": category_ids[int(picture.class_ids[i])],
            "bbox": [round(v, _DECIMALS) for v in (x0, y0, x1 - x0, y1 - y0)],
            "area": round(float(picture.area[i]), _DECIMALS),
            "iscrowd": int(picture.crowd[i]),
            "difficult": int(picture.difficult[i]),
            "truncated": int(picture.truncated[i]),
        }

"""The part that the JSON of a picture and the JSON of a video's frame share: size and detections."""

from collections.abc import Sequence
from typing import Any

from ssd_detect.detections import Detections
from ssd_detect.formats.json_values import four_numbers, items, number, text, whole
from ssd_detect.formats.reading import detections_of
from ssd_detect.formats.rounding import Row, rounded_rows


def detections_to_dict(detections: Detections) -> dict[str, Any]:
    """Plain values: width, height, and a list of class, class_id, score, box, with rounded numbers."""
    width, height = detections.size
    return {
        "width": width,
        "height": height,
        "detections": [
            {"class": row.class_name, "class_id": row.class_id, "score": row.score, "box": list(row.box)}
            for row in rounded_rows(detections)
        ],
    }


def row_of(entry: Any) -> Row:
    """One entry of that list.

    Raises:
        ValueError: a member is missing or of the wrong kind.
    """
    return Row(text(entry, "class"), whole(entry, "class_id"), number(entry, "score"), four_numbers(entry, "box"))


def detections_from(value: Any, class_names: Sequence[str]) -> Detections:
    """The detections that `detections_to_dict` was given, with rounded numbers; other members are passed over.

    Raises:
        ValueError: a member is missing or of the wrong kind, or the results contradict themselves or the class list.
    """
    size = whole(value, "width"), whole(value, "height")
    return detections_of([row_of(entry) for entry in items(value, "detections")], size, class_names)

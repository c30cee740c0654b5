"""Labels and `data.yaml` of a YOLO data set.

Shares have 10 decimals, so that a box in pixels comes back to within 0.00001. Regions of crowds are left out.
"""

import json
from collections.abc import Sequence

from ssd_detect.datasets.dataset import AnnotatedPicture
from ssd_detect.datasets.yolo_layout import SPLITS

_DECIMALS = 10


def yolo_labels(picture: AnnotatedPicture) -> bytes:
    """A line an object: class number from 0, centre and size."""
    rows = zip(picture.class_ids, picture.boxes.tolist(), picture.crowd, strict=True)
    return "".join(_line(int(k), box, picture.size) for k, box, crowd in rows if not crowd).encode("ascii")


def _line(class_id: int, box: Sequence[float], size: tuple[int, int]) -> str:
    (x0, y0, x1, y1), (width, height) = box, size
    shares = (x0 + x1) / 2 / width, (y0 + y1) / 2 / height, (x1 - x0) / width, (y1 - y0) / height
    return f"{class_id - 1} {' '.join(f'{share:.{_DECIMALS}f}' for share in shares)}\n"


def data_yaml(class_names: Sequence[str], split: str | None) -> bytes:
    """Names the folder of the split, or, of a whole data set, the same for training and validation."""
    keys = [split] if split in SPLITS else ["train", "val"]
    folder = f"images/{split}" if split else "images"
    places = "".join(f"{key}: {json.dumps(folder)}\n" for key in keys)
    names = "".join(f"  {i}: {_quoted(name)}\n" for i, name in enumerate(class_names[1:]))
    return f"path: .\n{places}names:\n{names}".encode()


def _quoted(text: str) -> str:
    """In double quotes. YAML's escapes are JSON's but for characters beyond 0xFFFF, which stand as they are."""
    return f'"{"".join(c if ord(c) > 0xFFFF else json.dumps(c)[1:-1] for c in text)}"'

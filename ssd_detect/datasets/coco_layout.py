"""Where things lie in a COCO data set: the JSON, and the pictures that its `file_name`s mean."""

import re
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from ssd_detect.datasets.listing import child_folder, folders_in
from ssd_detect.datasets.texts import head_of
from ssd_detect.errors import FormatError
from ssd_detect.media.sources.folders import exists

_HEAD_BYTES = 1 << 16
_MEMBER = re.compile(rb'"(?:images|annotations|categories|licenses)"\s*:\s*\[')


def is_coco_file(path: Path) -> bool:
    """Whether a file begins like COCO's annotations; not that it is whole."""
    head = head_of(path, _HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"{") and _MEMBER.search(head) is not None


def coco_files_in(folder: Path) -> list[Path]:
    """COCO files in a folder and in its `annotations`; if there are none, in any folder right below."""
    places = [folder, *filter(None, [child_folder(folder, "annotations")])]
    return _files_in(places) or _files_in(folders_in(folder))


def _files_in(folders: list[Path]) -> list[Path]:
    return [p for folder in folders for p in sorted(folder.glob("*.json")) if is_coco_file(p)]


def one_coco_file(folder: Path, found: list[Path], split: str | None) -> Path:
    """The one of these files that is meant: that of the split; of several, the one called `instances...`.

    Raises:
        FormatError: none or several.
    """
    of_split = [p for p in found if split is None or is_of_split(p, split)]
    instances = [p for p in of_split if p.stem.startswith("instances")]
    chosen = instances or of_split
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(p.relative_to(folder).as_posix() for p in found)
    what = f"{len(chosen) or 'no'} COCO files" + (f" of the split {split!r}" if split else "")
    raise FormatError(f"{folder}: holds {what}, expected one of {names}; name the file, or a split")


def is_of_split(path: Path, split: str) -> bool:
    """Whether a COCO file is of a split by its name, `instances_val2017` of `val` and of `val2017`, or its folder's."""
    words = re.split(r"[^A-Za-z0-9]+", path.stem)
    return split in (path.parent.name, *words, *(word.rstrip("0123456789") for word in words))


class CocoPictures:
    """Finds pictures by their `file_name`: below `folder` where one is named, else in all places that people use.

    Those are, beside the JSON and one folder higher: that folder itself, `images`, and in both the folder of the
    split: `val2017` for `instances_val2017.json`.
    """

    def __init__(self, path: Path, folder: Path | None) -> None:
        split = path.stem.removeprefix("instances_")
        above = [path.parent, path.parent.parent]
        tails = ("", "images", split, f"images/{split}", "JPEGImages")
        bases = [folder] if folder else [base / tail for base in above for tail in tails]
        self.bases = list(dict.fromkeys(base for base in bases if base.is_dir()))

    def find(self, file_name: str) -> Path | None:
        """The picture's file: the whole name in one of the places, else its last part; None if it is nowhere."""
        if file_name.startswith(("http://", "https://")):
            file_name = urlsplit(file_name).path.lstrip("/")
        whole = file_name.replace("\\", "/")
        for name in dict.fromkeys((whole, PurePosixPath(whole).name)):
            for base in self.bases if name else ():
                if exists(base / name) and (base / name).is_file():
                    self.bases.remove(base)
                    self.bases.insert(0, base)  # the next picture is most likely there too
                    return base / name
        return None

"""The checkpoints that we know: `checkpoints/manifest.toml`. Imports neither TensorFlow nor NumPy."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ssd_detect.classes import CLASS_LISTS
from ssd_detect.conventions import ResizeRule
from ssd_detect.errors import CheckpointError
from ssd_detect.model.spec import ModelSpec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_CHECKPOINT = "ssd_300_vgg_voc"


@dataclass(frozen=True)
class ManifestEntry:
    """One known checkpoint: the file that holds it, and what the file does not tell."""

    name: str
    file: Path
    sha256: str
    spec: ModelSpec


def checkpoints_folder() -> Path:
    """Where the shipped checkpoints lie: in the installed package, or at the root of a source checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "checkpoints"
    return installed if installed.is_dir() else package.parent / "checkpoints"


@cache
def manifest() -> Mapping[str, ManifestEntry]:
    """Name -> entry, in the order of the file.

    Raises:
        CheckpointError: the manifest is missing or damaged: the installation is.
    """
    path = checkpoints_folder() / "manifest.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _entry(name, fields) for name, fields in content["checkpoints"].items()}
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path}: the list of checkpoints is missing or damaged ({error}); install ssd-detect again"
        ) from error


def _entry(name: str, fields: dict[str, Any]) -> ManifestEntry:
    red, green, blue = (float(v) for v in fields["mean_rgb"])
    spec = ModelSpec(
        size=fields["size"],
        class_names=CLASS_LISTS[fields["classes"]],
        anchors=fields["anchors"],
        resize=ResizeRule(fields["resize"]),
        mean_rgb=(red, green, blue),
    )
    return ManifestEntry(name, checkpoints_folder() / fields["file"], fields["sha256"], spec)

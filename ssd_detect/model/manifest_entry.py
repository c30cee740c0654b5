"""What is known about one checkpoint: where it is, where it can be had, and what its file does not tell."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ssd_detect.conventions import ColourOrder, Source
from ssd_detect.model.spec import ModelSpec

Whereabouts: TypeAlias = Literal["shipped", "cached", "yours", "not here"]

FACTS = frozenset(
    {
        "size", "class_names", "anchors", "anchor_rounding", "anchor_clip", "resize", "mean_rgb", "profile",
        "colour_order", "source",
    }
)  # fmt: skip
"""Names of the facts: the fields of `ModelSpec`, and two that concern the file alone."""


@dataclass(frozen=True)
class Score:
    """How well a checkpoint did.

    Args:
        mean_ap: mean average precision, 0 to 1.
        metric: `voc07` (mean of 11 points), `voc12` (area under the curve), `coco` (mean of IoU 0.5 to 0.95), or
            `unstated` where the publisher does not say which.
        on: which pictures.
        where: who published it; empty for what we have measured.
    """

    mean_ap: float
    metric: str
    on: str
    where: str = ""


@dataclass(frozen=True)
class ManifestEntry:
    """One known checkpoint.

    Args:
        name: what users call it.
        file: where it lies, or would lie, unless it is in the cache; the file, or the prefix of its files.
        sha256: of the file; of several, of all of them one after the other; None: nobody knows.
        spec: what the network is.
        source: whose names and layout the tensors have.
        colour_order: that the first convolution of the file expects.
        git_blob: id of the file in git; None: nobody knows.
        urls: where it can be fetched, best first.
        by_hand: where a person gets it, when there is no such address.
        cached: where it lies once it has been fetched; None: it cannot be.
        described_in: the user's file that tells of it; None: the manifest that ships.
        replaces_shipped: the manifest that ships has another entry of this name.
        told: of `FACTS`, those that are told; the others are placeholders in a TOML beside a checkpoint. Entries of
            a manifest tell all.
        origin, training_data, licence, note: for people.
        published, measured: by whoever made it, and by us.
    """

    name: str
    file: Path
    sha256: str | None
    spec: ModelSpec
    source: Source = Source.TENSORFLOW
    colour_order: ColourOrder = ColourOrder.RGB
    git_blob: str | None = None
    urls: tuple[str, ...] = ()
    by_hand: str | None = None
    cached: Path | None = None
    described_in: Path | None = None
    replaces_shipped: bool = False
    told: frozenset[str] = FACTS
    origin: str = ""
    training_data: str = ""
    licence: str = ""
    note: str = ""
    published: Score | None = None
    measured: Score | None = None

    def path(self) -> Path | None:
        """Where it lies now, a file or the prefix of files; None: not here."""
        if _is_there(self.file):
            return self.file
        return self.cached if self.cached is not None and _is_there(self.cached) else None

    def whereabouts(self) -> Whereabouts:
        """In one word, for people."""
        path = self.path()
        if path is None:
            return "not here"
        if path == self.cached:
            return "cached"
        return "shipped" if self.described_in is None else "yours"

    @property
    def how_to_get(self) -> str:
        """What to do when it is not here, as the end of a sentence."""
        if self.urls:
            return f"type ssd-detect checkpoints pull {self.name}"
        if self.by_hand is not None:
            return (
                f"get {self.file.name} by hand from {self.by_hand}, then type ssd-detect checkpoints pull "
                f"{self.name} --from FILE"
            )
        if self.described_in is not None:
            return f"put it to {self.file}, or correct {self.described_in}"
        return "install ssd-detect again"

    @property
    def is_verifiable(self) -> bool:
        """Whether it is known what the file must be."""
        return self.sha256 is not None or self.git_blob is not None


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or path.with_name(path.name + ".index").is_file()
    except OSError:  # a folder into which we may not look
        return False

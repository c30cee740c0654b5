"""`Detections`: what was found in one picture."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ssd_detect.arrays import Flags, Floats, Integers
from ssd_detect.classes import find_class_ids
from ssd_detect.errors import MissingPackageError

SCORE_DECIMALS = 6
BOX_DECIMALS = 3


class Detection(NamedTuple):
    """One object. `box` is x0, y0, x1, y1 in pixels of the original picture."""

    class_name: str
    score: float
    box: tuple[float, float, float, float]


class BestGuess(NamedTuple):
    """The best-scoring class of a picture in which nothing reached the threshold."""

    class_name: str
    score: float


class DroppedBoxes(NamedTuple):
    """How many candidates were left out since their boxes are none, counted before the suppression."""

    degenerate: int = 0  # no width or no height inside the picture
    outside: int = 0  # wholly outside the picture
    non_finite: int = 0  # a coordinate is infinite or not a number


@dataclass(frozen=True, eq=False)
class Detections:
    """The objects found in one picture, best score first.

    Args:
        boxes: (n, 4) float32, x0, y0, x1, y1 in pixels of the picture as a person sees it;
            0 <= x0 < x1 <= width, 0 <= y0 < y1 <= height.
        scores: (n,) float32, 0 to 1.
        class_ids: (n,) int64, the network's class numbers; 0 is the background and never occurs.
        size: (width, height) of the picture in pixels.
        class_names: name of each class id.
        best_guess: set when nothing was detected.
        dropped: candidates whose boxes could not be used.
        render: how a notebook shows these detections: takes them, returns a PNG; set by `Detector`.

    Raises:
        ValueError: shapes, ranges or class ids that contradict each other.
    """

    boxes: Floats
    scores: Floats
    class_ids: Integers
    size: tuple[int, int]
    class_names: tuple[str, ...]
    best_guess: BestGuess | None = None
    dropped: DroppedBoxes = DroppedBoxes()
    render: Callable[["Detections"], bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, dtype in (("boxes", np.float32), ("scores", np.float32), ("class_ids", np.int64)):
            values = np.array(getattr(self, name), dtype=dtype)  # a copy: the caller's array stays the caller's
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        self._check()

    def _check(self) -> None:
        n = len(self.scores)
        if self.boxes.shape != (n, 4) or self.scores.shape != (n,) or self.class_ids.shape != (n,):
            raise ValueError(
                f"boxes {self.boxes.shape}, scores {self.scores.shape}, class_ids {self.class_ids.shape}: "
                "expected shapes (n, 4), (n,) and (n,)"
            )
        if n == 0:
            return
        if not (np.isfinite(self.boxes).all() and np.isfinite(self.scores).all()):
            raise ValueError("boxes and scores must be finite")
        top_left, bottom_right = self.boxes[:, :2], self.boxes[:, 2:]
        if (top_left < 0).any() or (bottom_right > self.size).any() or (top_left >= bottom_right).any():
            raise ValueError(
                f"boxes must have an area and lie inside the picture of {self.size[0]}x{self.size[1]} pixels"
            )
        if self.class_ids.min() < 1 or self.class_ids.max() >= len(self.class_names):
            raise ValueError(f"class_ids must be from 1 to {len(self.class_names) - 1}")

    @classmethod
    def empty(cls, size: tuple[int, int], class_names: Sequence[str]) -> "Detections":
        """No detections in a picture of `size` (width, height)."""
        return cls(np.zeros((0, 4)), np.zeros(0), np.zeros(0, np.int64), size, tuple(class_names))  # type: ignore[arg-type]

    @classmethod
    def merge(cls, parts: Sequence["Detections"]) -> "Detections":
        """Detections of one picture from several, best score first; ties keep their order.

        Raises:
            ValueError: no parts, or parts of different pictures or class lists.
        """
        if not parts:
            raise ValueError("nothing to merge")
        first = parts[0]
        if any(p.size != first.size or p.class_names != first.class_names for p in parts):
            raise ValueError("only detections of the same picture size and class list can be merged")
        scores = np.concatenate([p.scores for p in parts])
        order = np.argsort(-scores, kind="stable")
        return replace(
            first,
            boxes=np.concatenate([p.boxes for p in parts])[order],
            scores=scores[order],
            class_ids=np.concatenate([p.class_ids for p in parts])[order],
            best_guess=first.best_guess if len(scores) == 0 else None,
        )

    def shown_by(self, render: Callable[["Detections"], bytes]) -> "Detections":
        """The same with another `render`; the numbers, which cannot have changed, are not checked again."""
        same = copy(self)
        object.__setattr__(same, "render", render)
        return same

    def __len__(self) -> int:
        return len(self.scores)

    def __iter__(self) -> Iterator[Detection]:
        for class_id, score, box in zip(self.class_ids, self.scores, self.boxes, strict=True):
            x0, y0, x1, y1 = (float(v) for v in box)
            yield Detection(self.class_names[class_id], float(score), (x0, y0, x1, y1))

    def __getitem__(self, index: int | slice | ArrayLike) -> "Detections":
        """The detections at an index, a slice, a list of indices or a mask; always a `Detections`."""
        picked = np.atleast_1d(np.arange(len(self))[index if isinstance(index, slice) else _as_index(index)])
        return replace(self, boxes=self.boxes[picked], scores=self.scores[picked], class_ids=self.class_ids[picked])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Detections):
            return NotImplemented
        return (
            self.size == other.size
            and self.class_names == other.class_names
            and np.array_equal(self.boxes, other.boxes)
            and np.array_equal(self.scores, other.scores)
            and np.array_equal(self.class_ids, other.class_ids)
        )

    __hash__ = None  # type: ignore[assignment]

    def filter(
        self,
        *,
        min_score: float = 0.0,
        classes: Iterable[str] = (),
        exclude_classes: Iterable[str] = (),
    ) -> "Detections":
        """Only those with a score of at least `min_score`, of `classes` (all if empty), not of `exclude_classes`.

        Raises:
            UnknownClassError: a name or alias of no class.
        """
        keep: Flags = self.scores >= min_score
        wanted = find_class_ids(classes, self.class_names)
        if wanted:
            keep &= np.isin(self.class_ids, wanted)
        keep &= ~np.isin(self.class_ids, find_class_ids(exclude_classes, self.class_names))
        return self[keep]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON: width, height and a list of class, class_id, score, box."""
        return {
            "width": self.size[0],
            "height": self.size[1],
            "detections": [
                {
                    "class": found.class_name,
                    "class_id": int(class_id),
                    "score": round(found.score, SCORE_DECIMALS),
                    "box": [round(v, BOX_DECIMALS) for v in found.box],
                }
                for class_id, found in zip(self.class_ids, self, strict=True)
            ],
        }

    def to_supervision(self) -> Any:
        """The same as a `supervision.Detections` (class names under `data["class_name"]`).

        Raises:
            MissingPackageError: supervision is not installed.
        """
        try:
            import supervision
        except ImportError as error:
            raise MissingPackageError(
                "supervision is not installed; type: pip install 'ssd-detect[supervision]'"
            ) from error
        return supervision.Detections(
            xyxy=self.boxes.copy(),
            confidence=self.scores.copy(),
            class_id=self.class_ids.copy(),
            data={"class_name": np.array([d.class_name for d in self], dtype=str)},
        )

    def _repr_png_(self) -> bytes | None:
        """Notebooks show the annotated picture."""
        return None if self.render is None else self.render(self)


def _as_index(index: ArrayLike) -> Any:
    """An index array; an empty list picks nothing (NumPy would take it for floats)."""
    values = np.asarray(index)
    return values.astype(np.int64) if values.size == 0 and values.dtype != np.bool_ else values

"""Which errors are worth looking at: the surest false alarms and the largest missed objects."""

from dataclasses import dataclass

import numpy as np

from ssd_detect.arrays import Doubles, Integers
from ssd_detect.evaluation.findings import ErrorKind, ErrorKinds
from ssd_detect.evaluation.tables import PredictionTable, TruthTable

MOST_EXAMPLES = 12
"""Of each sort."""

_FALSE_ALARMS = tuple(kind for kind in ErrorKind if kind not in (ErrorKind.HIT, ErrorKind.IGNORED))


@dataclass(frozen=True)
class Example:
    """One error.

    Args:
        picture: its number.
        row: of the prediction table for a false alarm, of the truth table for a missed object.
        kind: None for a missed object.
    """

    picture: int
    row: int
    kind: ErrorKind | None


def worst_false_alarms(predictions: PredictionTable, errors: ErrorKinds) -> list[Example]:
    """Best scores first; a picture comes twice only after all others with false alarms."""
    rows = np.flatnonzero(np.isin(errors.kind, _FALSE_ALARMS))
    chosen = _spread(rows, predictions.picture[rows], predictions.score[rows])
    return [Example(int(predictions.picture[row]), row, ErrorKind(errors.kind[row])) for row in chosen]


def worst_missed(truth: TruthTable, errors: ErrorKinds) -> list[Example]:
    """Largest areas first; a picture comes twice only after all others with missed objects."""
    rows = np.flatnonzero(errors.missed)
    chosen = _spread(rows, truth.picture[rows], truth.area[rows])
    return [Example(int(truth.picture[row]), row, None) for row in chosen]


def _spread(rows: Integers, picture: Integers, weight: Doubles) -> list[int]:
    """At most `MOST_EXAMPLES` of the rows: of each picture its heaviest, then of each its second, and so on."""
    heaviest = np.argsort(-weight, kind="stable")
    by_picture = heaviest[np.argsort(picture[heaviest], kind="stable")]
    first = np.searchsorted(picture[by_picture], picture[by_picture])
    turn = np.arange(len(rows)) - first  # 0 for the heaviest of a picture, 1 for the next
    chosen = by_picture[np.lexsort((-weight[by_picture], turn))][:MOST_EXAMPLES]
    chosen_rows: list[int] = rows[chosen[np.argsort(-weight[chosen], kind="stable")]].tolist()
    return chosen_rows

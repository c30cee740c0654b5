"""`compared.npz`: the tables of an evaluation, so that two of them can be compared without data set and network."""

import zipfile
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ssd_detect.errors import SettingError
from ssd_detect.evaluating.tables import ids_by_name
from ssd_detect.evaluation.bootstrap import BootstrapSettings
from ssd_detect.evaluation.comparison import compare
from ssd_detect.evaluation.results import Comparison, VocMetric
from ssd_detect.evaluation.tables import PredictionTable, TruthTable
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.reporting.details import ReportDetails

COMPARED_FILE = "compared.npz"
MOST_BYTES = 4 * 2**30
"""What the file may unpack to: a detection takes 56 bytes, so this is some 70 million."""

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, AttributeError),
    RuntimeError,  # encrypted
    MemoryError,  # a header that promises more than there can be
)
_TABLES = {"truth": TruthTable, "predictions": PredictionTable}


@dataclass(frozen=True, eq=False)
class Compared:
    """What the file holds.

    Args:
        path: of the file.
        class_names: background first.
        pictures: names, in the order of the tables.
        truth, predictions: see `evaluation.tables`.
    """

    path: Path
    class_names: tuple[str, ...]
    pictures: tuple[str, ...]
    truth: TruthTable
    predictions: PredictionTable


def write_compared(details: ReportDetails, folder: Path, *, overwrite: bool) -> None:
    """Write the file into `folder`.

    Raises:
        OutputError: it exists and must not be replaced, or the system refuses.
    """
    columns: dict[str, Any] = {
        "class_names": np.array(details.class_names, np.str_),
        "pictures": np.array([one.name for one in details.pictures], np.str_),
    }
    for name in _TABLES:
        table = getattr(details, name)
        columns |= {f"{name}.{one.name}": getattr(table, one.name) for one in fields(table)}
    path = folder / COMPARED_FILE
    with whole_file(path, overwrite=overwrite) as temporary, explained_writing(path), temporary.open("wb") as file:
        np.savez_compressed(file, **columns)


def read_compared(given: Path) -> Compared:
    """Read it from the folder of an evaluation, or by its own name.

    Raises:
        FormatError: missing, damaged, or of another kind.
    """
    path = given / COMPARED_FILE if given.is_dir() else given
    with explained_reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
                _check_size(archive)
            with np.load(path, allow_pickle=False) as file:
                columns = dict(file)
            tables = {name: _table(name, columns) for name in _TABLES}
            class_names, pictures = (tuple(columns[name].tolist()) for name in ("class_names", "pictures"))
        except _DAMAGE as error:
            raise ValueError("is no file of an evaluation; name a folder that eval -o has written") from error
        compared = Compared(path, class_names, pictures, **tables)
        _check(compared)
    return compared


def _check_size(archive: zipfile.ZipFile) -> None:
    size = sum(one.file_size for one in archive.infolist())
    if size > MOST_BYTES:
        raise ValueError(f"unpacks to {size:,} bytes, expected at most {MOST_BYTES:,}")


def _table(name: str, columns: dict[str, Any]) -> Any:
    kind = _TABLES[name]
    values = {one.name: columns[f"{name}.{one.name}"] for one in fields(kind)}
    return kind(**values | {"num_pictures": int(values["num_pictures"])})


def _check(compared: Compared) -> None:
    highest = max(compared.truth.class_id.max(initial=0), compared.predictions.class_id.max(initial=0))
    numbers = {len(compared.pictures), compared.truth.num_pictures, compared.predictions.num_pictures}
    if highest >= len(compared.class_names) or len(numbers) > 1:
        raise ValueError("its columns contradict each other; evaluate again")
    for name, table in (("truth", compared.truth), ("predictions", compared.predictions)):
        if not np.isfinite(table.boxes).all():
            raise ValueError(f"a box of its {name} is not finite; evaluate again")
    scores = compared.predictions.score
    outside = scores[~((scores >= 0) & (scores <= 1))]  # NaN too
    if outside.size:
        raise ValueError(f"holds the score {outside[0]:g}, expected a number from 0 to 1; evaluate again")


def compare_runs(
    a: Compared, b: Compared, *, metric: VocMetric, iou_threshold: float, bootstrap: BootstrapSettings
) -> Comparison:
    """Compare two evaluations, by the classes that both checkpoints know.

    Raises:
        SettingError: they are of other pictures or other objects, or have no class in common.
    """
    if a.pictures != b.pictures:
        raise SettingError(f"{a.path} and {b.path} are of different pictures ({_difference(a, b)}); evaluate the same")
    ids = ids_by_name(b.class_names, a.class_names)
    common = np.zeros(len(a.class_names), np.bool_)
    common[ids[ids > 0]] = True
    if not common.any():
        raise SettingError(f"{a.path} and {b.path} have no class in common")
    identity = np.arange(len(a.class_names))
    truth_a, truth_b = (_of_classes(one.truth, to, common) for one, to in ((a, identity), (b, ids)))
    if not _are_same(truth_a, truth_b):
        raise SettingError(f"{a.path} and {b.path} are of different objects; evaluate both with the same annotations")
    return compare(
        truth_a,
        _of_classes(a.predictions, identity, common),
        _of_classes(b.predictions, ids, common),
        a.class_names,
        metric=metric,
        iou_threshold=iou_threshold,
        settings=bootstrap,
    )


def _difference(a: Compared, b: Compared) -> str:
    only = set(a.pictures) ^ set(b.pictures)
    example = f", for example {min(only)} is in one alone" if only else " in another order"
    return f"{len(a.pictures)} and {len(b.pictures)}{example}"


def _of_classes(table: Any, ids: Any, common: Any) -> Any:
    """The rows of the common classes, with class ids as `ids` says."""
    class_id = ids[table.class_id]
    kept = (class_id > 0) & common[class_id]
    columns = {one.name: getattr(table, one.name) for one in fields(table) if one.name != "num_pictures"}
    columns["class_id"] = class_id
    return type(table)(**{name: values[kept] for name, values in columns.items()}, num_pictures=table.num_pictures)


def _are_same(a: TruthTable, b: TruthTable) -> bool:
    if len(a) != len(b):
        return False
    return all(np.array_equal(getattr(a, one.name), getattr(b, one.name)) for one in fields(a))

"""That no file of an evaluation is written over one that it is made of, and no two have one name."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ssd_detect.batch.journal import JOURNAL_NAME
from ssd_detect.datasets.dataset import Dataset
from ssd_detect.errors import OutputError, SettingError, SsdDetectError
from ssd_detect.evaluating.compared_file import COMPARED_FILE
from ssd_detect.evaluating.network import PREDICTIONS
from ssd_detect.evaluating.raw_file import is_raw_file
from ssd_detect.evaluating.settings import EvalSettings
from ssd_detect.files import check_target
from ssd_detect.formats.file_reading import explained_reading
from ssd_detect.formats.json_values import parse_json
from ssd_detect.model.locate import locate
from ssd_detect.reporting.numbers import METRICS_FILE, PER_CLASS_FILE
from ssd_detect.reporting.report import PAGE_FILE, PICTURE_FILES

_OUR_SCHEMA = "ssd-detect."


def files_of_folder(folder: Path) -> list[Path]:
    """What an evaluation writes into the folder of its results, by the names it has there."""
    names = (COMPARED_FILE, METRICS_FILE, PER_CLASS_FILE, PAGE_FILE, PREDICTIONS, JOURNAL_NAME, *PICTURE_FILES)
    return [folder / name for name in names]


def files_of_evaluation(given: Path) -> list[Path]:
    """The same of a folder, or of one that `compared.npz` in it stands for; and the file that was named."""
    folder = given if given.is_dir() else given.parent
    return [given, *(files_of_folder(folder) if given.is_dir() or given.name == COMPARED_FILE else ())]


def check_names(settings: EvalSettings) -> None:
    """Refuse two outputs of one name, by whatever way it leads there.

    Raises:
        SettingError: the two, where there are.
    """
    in_folder = [] if settings.folder is None else files_of_folder(settings.folder)
    taken = {path.resolve() for path in in_folder}
    for path in settings.targets:
        if path.resolve() in taken:
            raise SettingError(f"{path}: two files that are to be written have the same name; name another one")
        taken.add(path.resolve())


def check_inputs(settings: EvalSettings, dataset: Dataset) -> None:
    """Refuse outputs that are read by the evaluation: other sources of detections, thresholds, weights, the data set.

    Raises:
        OutputError: one is, or lies in the data set's folder and no evaluation has written it.
    """
    targets = [path for path in _written(settings) if path.exists()]
    if not targets:
        return
    check_apart(targets, [*_read(settings), *(one.path for one in dataset.pictures), dataset.root])
    root = dataset.root.resolve()
    for path in settings.targets:
        if root in path.resolve().parents and path.is_file() and not _is_ours(path):
            raise OutputError(f"{path}: is a file of the data set {dataset.root}; name another output")


def check_apart(targets: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse targets that are one of the inputs, whatever the name.

    Raises:
        OutputError: the first that is.
    """
    kept = {_identity(path) for path in inputs if path.is_file()}
    for target in targets:
        if target.is_file() and _identity(target) in kept:
            check_target(target, target, overwrite=True)


def _identity(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_dev, state.st_ino


def _written(settings: EvalSettings) -> list[Path]:
    in_folder = [] if settings.folder is None else files_of_folder(settings.folder)
    if settings.predictions is not None:  # nothing is detected, so nothing is written of that
        in_folder = [path for path in in_folder if path.name != PREDICTIONS]
    return [*settings.targets, *in_folder]


def _read(settings: EvalSettings) -> list[Path]:
    named = (settings.from_raw, settings.predictions, settings.thresholds)
    files = [path for path in named if path is not None]
    if settings.from_raw is None and settings.predictions is None:
        with suppress(SsdDetectError):  # told when it is loaded
            files += locate(settings.checkpoint.given).files
    return files


def _is_ours(path: Path) -> bool:
    """Whether one of the files that are named one by one was written by an evaluation."""
    if is_raw_file(path):
        return True
    try:
        with explained_reading(path):
            value = parse_json(path.read_text(encoding="utf-8-sig"))
    except SsdDetectError:
        return False
    return isinstance(value, dict) and str(value.get("schema", "")).startswith(_OUR_SCHEMA)

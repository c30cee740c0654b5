"""Which class of a list the names in annotations mean."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssd_detect.classes import BACKGROUND, VOC20, find_class_ids
from ssd_detect.datasets.rules import ProblemLog
from ssd_detect.errors import UnknownClassError

_MOST_NAMES_SHOWN = 10
_MISTYPED_FACTOR = 10
_MISTYPED_LIKENESS = 0.8  # difflib's ratio: 0.91 for person and prson, 0.67 for car and cat


def class_ids_of(names: Mapping[str, int], class_names: Sequence[str]) -> dict[str, int | None]:
    """Each name's class id: of the very name, else of one that `find_class_ids` takes for the same; None for none.

    Args:
        names: name -> how many objects have it.
        class_names: background first.
    """
    exact = {name: i for i, name in reversed([*enumerate(class_names)][1:])}
    return {name: exact[name] if name in exact else _class_id(name, class_names) for name in names}


def _class_id(name: str, class_names: Sequence[str]) -> int | None:
    try:
        return find_class_ids([name], class_names)[0]
    except UnknownClassError:
        return None


def near_match(name: str, class_names: Sequence[str]) -> str:
    """`did you mean person?`, or empty where no class is called nearly like that."""
    try:
        find_class_ids([name], class_names)
    except UnknownClassError as error:
        _, mark, near = str(error).partition("did you mean ")
        return mark + near
    return ""


def own_class_names(names: Mapping[str, int]) -> tuple[str, ...]:
    """The class list of a data set that has none: VOC's 20 classes if all names are of them, else the names.

    The names are sorted; of spellings that mean one class, the one that most objects have stands for all.
    """
    if None not in class_ids_of(names, VOC20).values():
        return VOC20
    by_count = (BACKGROUND, *sorted(names, key=lambda name: (names[name], name)))
    chosen = find_class_ids(by_count[1:], by_count)  # of spellings that mean one class, the last
    return (BACKGROUND, *sorted({by_count[class_id] for class_id in chosen}))


def tell_near_names(names: Mapping[str, int], class_names: Sequence[str], file: Path, log: ProblemLog) -> None:
    """Take down classes that may be another, mistyped: nearly called like one that ten times as many objects have."""
    counts = dict.fromkeys(class_names[1:], 0)
    for name, class_id in class_ids_of(names, class_names).items():
        if class_id is not None:
            counts[class_names[class_id]] += names[name]
    for name, count in counts.items():
        others = [other for other, more in counts.items() if more >= _MISTYPED_FACTOR * count > 0]
        for near in difflib.get_close_matches(name, others, n=1, cutoff=_MISTYPED_LIKENESS):
            told = f"class {name!r} ({_objects(count)}) is nearly called like {near!r} ({_objects(counts[near])})"
            log.add("class-near", file, told)


def check_known(names: Mapping[str, int], class_names: Sequence[str], file: Path) -> None:
    """Refuse names that are none of the classes.

    Raises:
        UnknownClassError: lists them with how many objects have them and what they may mean.
    """
    unknown = [name for name, class_id in class_ids_of(names, class_names).items() if class_id is None]
    if not unknown:
        return
    unknown.sort(key=lambda name: -names[name])
    told = [
        f"{name!r} ({_objects(names[name])}{'; ' + near if (near := near_match(name, class_names)) else ''})"
        for name in unknown[:_MOST_NAMES_SHOWN]
    ]
    more = [f"and {len(unknown) - len(told)} more"] if len(unknown) > len(told) else []
    raise UnknownClassError(
        f"{file}: has classes that are not in the list of {len(class_names) - 1}: {', '.join([*told, *more])}; "
        "name all classes with --classes-file, or leave these out with --ignore-unknown"
    )


def _objects(count: int) -> str:
    return f"{count:,} object{'' if count == 1 else 's'}"

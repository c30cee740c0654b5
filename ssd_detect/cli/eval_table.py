"""What `ssd-detect eval` prints: a table of the classes, the means, and what they mean."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ssd_detect.counting import counted

if TYPE_CHECKING:
    from ssd_detect.evaluation.results import EvaluationResult, VocResult


_MOST_DECIMALS = 10


def lines(result: "EvaluationResult") -> Iterator[str]:
    """All lines; percentages, `n/a` where a class has no objects."""
    yield from _table(result)
    yield ""
    yield (
        f"{counted(result.num_pictures, 'picture')}, {counted(result.num_objects, 'object')}, "
        f"{counted(result.num_detections, 'detection')}; AP in percent"
    )
    yield from (_mean_line(one) for one in result.voc)
    if result.coco is not None:
        numbers = ", ".join(f"{name} {percent(value)}" for name, value in result.coco.numbers.items())
        yield f"mean coco: {numbers}"
    yield from (f"- {note}" for note in result.notes)


def percent(value: float | None) -> str:
    """Two decimals; `n/a` for None."""
    return "n/a" if value is None else f"{100 * value:.2f}"


def is_below(value: float, floor: float) -> bool:
    """Whether a fraction is below a floor in percent; what binary numbers cannot hold does not count."""
    return round(100 * value, _MOST_DECIMALS) < floor


def percent_below(value: float, floor: float) -> str:
    """A fraction that is below a floor in percent, with so many decimals, at least two, that it reads so."""
    texts = [f"{100 * value:.{decimals}f}" for decimals in range(2, _MOST_DECIMALS + 1)]
    return next((text for text in texts if float(text) < floor), texts[-1])


def _mean_line(one: "VocResult") -> str:
    classes = counted(sum(result.ap is not None for result in one.classes), "class", "classes")
    interval = one.interval
    span = ""
    if interval is not None:
        span = f" ({100 * interval.level:g} % interval {percent(interval.low)} to {percent(interval.high)})"
    return f"mean {one.metric} at IoU {one.iou_threshold:g}: {percent(one.mean_ap)}{span}, of {classes}"


def _table(result: "EvaluationResult") -> Iterator[str]:
    rows = list(_rows(result))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _rows(result: "EvaluationResult") -> Iterator[Sequence[str]]:
    voc, coco = result.voc, result.coco
    columns = [*(f"{one.metric}@{one.iou_threshold:g}" for one in voc), *(("coco", "coco50") if coco else ())]
    counts = ("objects", "difficult", "detections") if voc else ()
    yield ("class", *counts, *columns)
    names = [one.name for one in (voc[0].classes if voc else coco.classes if coco else ())]
    for i, name in enumerate(names):
        of_class = voc[0].classes[i] if voc else None
        numbers = (of_class.num_objects, of_class.num_difficult, of_class.num_detections) if of_class else ()
        yield (
            name,
            *map(str, numbers),
            *(percent(one.classes[i].ap) for one in voc),
            *((percent(coco.classes[i].ap), percent(coco.classes[i].ap50)) if coco else ()),
        )

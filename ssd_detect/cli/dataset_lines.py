"""Check and statistics of data sets as lines for a person."""

import itertools
from collections.abc import Iterator, Sequence

from ssd_detect.boxes.anchors import MATCHED_IOU
from ssd_detect.counting import counted
from ssd_detect.datasets.coverage import AnchorCoverage, Coverage
from ssd_detect.datasets.dataset import Dataset, Problem
from ssd_detect.datasets.report import kind_counts, treatment_counts
from ssd_detect.datasets.rules import RULES
from ssd_detect.datasets.statistics import RATIO_LIMITS, SIDE_LIMITS, DatasetStatistics


def check_lines(dataset: Dataset) -> Iterator[str]:
    """Each problem, then each kind with its count and rule, then what is used."""
    for problem in dataset.problems:
        yield _problem_line(problem)
    if dataset.problems:
        yield ""
    rows = [(kind, str(count), RULES[kind].treatment.value, RULES[kind].text) for kind, count in kind_counts(dataset)]
    yield from _columns(rows)
    counts = treatment_counts(dataset)
    told = ", ".join(f"{count:,} {treatment}" for treatment, count in counts.items() if count) or "none"
    yield f"{_about(dataset)}; problems: {told}"


def _problem_line(problem: Problem) -> str:
    place = "" if problem.object_number is None else f", object {problem.object_number}"
    return f"{problem.file}{place}: {problem.kind}, {problem.treatment.value}: {problem.text}"


def left_out_line(dataset: Dataset) -> Iterator[str]:
    """What of the source is not in the data set, if something is not."""
    counts = treatment_counts(dataset)
    dropped, skipped = counts["dropped"], counts["skipped"]
    told = [
        *([counted(dropped, "object")] if dropped else []),
        *([counted(skipped, "picture or annotation", "pictures or annotations")] if skipped else []),
    ]
    if told:
        verb = "is" if dropped + skipped == 1 else "are"
        yield f"{' and '.join(told)} of the source {verb} left out; see ssd-detect dataset check"


def _about(dataset: Dataset) -> str:
    split = f", split {dataset.split}" if dataset.split else ""
    objects = sum(len(p) for p in dataset.pictures)
    return (
        f"{dataset.kind.value.upper()}{split}: {counted(len(dataset.pictures), 'picture')} with "
        f"{counted(objects, 'object')} of {counted(len(dataset.class_names) - 1, 'class', 'classes')}"
    )


def statistics_lines(dataset: Dataset, found: DatasetStatistics, coverage: AnchorCoverage | None) -> Iterator[str]:
    """Everything, in sections of a few lines."""
    yield _about(dataset)
    yield f"without objects: {counted(found.empty_pictures, 'picture')}"
    yield f"difficult {found.difficult:,}, crowd {found.crowd:,}, truncated {found.truncated:,}"
    if found.picture_sizes:
        least, median, greatest = (f"{width}x{height}" for width, height in found.picture_sizes)
        yield f"size of pictures: {least} to {greatest}, median {median}"
    yield "COCO's sizes: " + ", ".join(f"{name} {count:,}" for name, count in found.coco_sizes.items())
    yield from _columns(
        [
            ("", "least", "quarter", "median", "three quarters", "greatest"),
            ("side, pixels", *(f"{v:.0f}" for v in found.side_pixels)),
            ("side, share", *(f"{v:.1%}" for v in found.side_shares)),
            ("width / height", *(f"{v:.2f}" for v in found.ratios)),
        ]
        if found.objects
        else []
    )
    yield "objects in a picture: " + ", ".join(f"{n}: {count:,}" for n, count in found.objects_per_picture.items())
    yield ""
    yield from _class_lines(found, coverage)
    if coverage is not None:
        yield from _coverage_lines(coverage)


def _class_lines(found: DatasetStatistics, coverage: AnchorCoverage | None) -> Iterator[str]:
    head: tuple[str, ...] = ("class", "objects", "pictures", "difficult", "crowd")
    rows: list[tuple[str, ...]] = [
        (c.name, *(f"{n:,}" for n in (c.objects, c.pictures, c.difficult, c.crowd))) for c in found.classes
    ]
    if coverage is not None:
        head = (*head, *_COVERAGE_HEAD[1:])
        rows = [(*row, *_covered(coverage.by_class[row[0]])[1:]) for row in rows]
    yield from _columns([head, *rows])


_COVERAGE_HEAD = ("objects", "mean best IoU", f"reach {MATCHED_IOU}")


def _coverage_lines(coverage: AnchorCoverage) -> Iterator[str]:
    yield ""
    yield f"anchors {coverage.anchors}: best overlap that any anchor reaches"
    rows = [("all", *_covered(coverage.overall))]
    rows += [
        (f"side {name}", *_covered(one))
        for name, one in zip(_spans(SIDE_LIMITS, "{:.0%}"), coverage.by_size, strict=True)
    ]
    rows += [
        (f"width / height {name}", *_covered(one))
        for name, one in zip(_spans(RATIO_LIMITS, "{:.2f}"), coverage.by_ratio, strict=True)
    ]
    yield from _columns([("", *_COVERAGE_HEAD), *rows])
    yield ""
    yield f"share that reaches {MATCHED_IOU}, and objects: rows of sides, columns of width / height"
    yield from _columns(
        [
            ("", *_spans(RATIO_LIMITS, "{:.2f}")),
            *(
                (name, *(f"{one.matched:.0%} ({one.objects:,})" if one.matched is not None else "-" for one in row))
                for name, row in zip(_spans(SIDE_LIMITS, "{:.0%}"), coverage.by_size_and_ratio, strict=True)
            ),
        ]
    )


def _covered(one: Coverage) -> tuple[str, str, str]:
    if one.mean_iou is None or one.matched is None:
        return "0", "-", "-"
    return f"{one.objects:,}", f"{one.mean_iou:.3f}", f"{one.matched:.1%}"


def _spans(limits: Sequence[float], form: str) -> list[str]:
    texts = [form.format(limit) for limit in limits]
    between = [f"{low}-{high}" for low, high in itertools.pairwise(texts)]
    return [f"< {texts[0]}", *between, f">= {texts[-1]}"]


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows with their cells below each other; the last one of a row is as long as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    for row in rows:
        *cells, last = row
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)), last]).rstrip()

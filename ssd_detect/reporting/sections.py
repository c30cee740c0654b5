"""The parts of the page that are text and tables."""

from collections.abc import Iterator, Sequence

import numpy as np

from ssd_detect import __version__
from ssd_detect.conventions import Arithmetic
from ssd_detect.evaluation.findings import Calibration, ClassThreshold, ConfusionMatrix, ErrorKind, ErrorKinds
from ssd_detect.evaluation.results import ClassResult, CocoResult, EvaluationResult, Interval
from ssd_detect.formats.file_names import name_to_text
from ssd_detect.formats.provenance import Provenance
from ssd_detect.reporting.details import RunFacts
from ssd_detect.reporting.findings import Findings
from ssd_detect.reporting.markup import Html, count, element, foreign, join, number, table, to_html
from ssd_detect.reporting.numbers import voc_title

_MOST_CONFUSIONS = 20
_MOST_NOT_READ = 20

KIND_MEANINGS = {
    ErrorKind.HIT: "the right class in the right place",
    ErrorKind.CLASS: "the right place, the wrong class",
    ErrorKind.LOCATION: "the right class, but the box fits poorly",
    ErrorKind.BOTH: "the wrong class, and the box fits poorly",
    ErrorKind.DUPLICATE: "of an object that a better detection has",
    ErrorKind.BACKGROUND: "no object is there",
    ErrorKind.IGNORED: "of a difficult object or a crowd; neither hit nor error",
}


def facts_list(facts: RunFacts, result: EvaluationResult) -> Html:
    """Where the numbers come from."""
    pairs = join(element("div", element("dt", name), element("dd", value)) for name, value in _facts(facts, result))
    return element("dl", pairs, class_="facts")


def _facts(facts: RunFacts, result: EvaluationResult) -> Iterator[tuple[str, str]]:
    split = "" if facts.split is None else join([", split ", foreign(facts.split)])
    yield "Data set", join([foreign(name_to_text(facts.dataset)), f" ({facts.dataset_kind}", split, ")"])
    compared = ((result.num_pictures, "picture"), (result.num_objects, "object"), (result.num_detections, "detection"))
    yield "Compared", ", ".join(_many(n, what) for n, what in compared)
    if facts.provenance is None:
        yield "Checkpoint", "not told by the predictions"
    else:
        yield "Checkpoint", foreign(name_to_text(facts.provenance.checkpoint_name))
        yield "SHA-256", element("code", facts.provenance.checkpoint_sha256)
        if facts.provenance.precision is not Arithmetic.FLOAT32:
            yield "Arithmetic", facts.provenance.precision.value
        yield "Detection", _thresholds(facts.provenance)
    if facts.predictions is not None:
        yield "Predictions", foreign(name_to_text(facts.predictions))
    if facts.not_read:
        yield "Not read", _not_read(facts.not_read)
    yield "Date", facts.date.strftime("%Y-%m-%d %H:%M %Z").strip()
    yield "Program", f"ssd-detect {__version__}"
    yield "Command", element("code", facts.command)


def _thresholds(provenance: Provenance) -> str:
    chosen = provenance.settings
    limits = (("candidates", chosen.top_k), ("detections", chosen.max_detections))
    own = provenance.to_dict()["thresholds"].get("classes", {})
    return ", ".join(
        [
            f"score above {chosen.score_threshold:g}{f', of {len(own)} classes above their own' if own else ''}",
            f"suppression at IoU {chosen.nms_threshold:g}{' across classes' if chosen.class_agnostic else ''}",
            *(f"at most {limit:,} {what}" for what, limit in limits if limit is not None),
            *(() if chosen.profile is None else [f"profile {chosen.profile.value}"]),
        ]
    )


def _not_read(names: Sequence[str]) -> Html:
    shown = join((foreign(name_to_text(name)) for name in names[:_MOST_NOT_READ]), ", ")
    more = f" and {len(names) - _MOST_NOT_READ:,} more" if len(names) > _MOST_NOT_READ else ""
    return join([f"{_many(len(names), 'picture')}: ", shown, more])


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def tiles(result: EvaluationResult) -> Html:
    """The numbers that everybody asks for first."""
    means = [(voc_title(one), one.mean_ap) for one in result.voc]
    if result.coco is not None:
        means.append(("COCO AP, IoU 0.5 to 0.95", result.coco.numbers["AP"]))
    pairs = (element("div", element("dt", f"mean {name}"), element("dd", number(value))) for name, value in means)
    return element("dl", *pairs, class_="tiles")


def means_table(result: EvaluationResult) -> Html:
    """Mean AP of every metric, with its interval."""
    nothing = to_html("")
    rows = [
        (voc_title(one), number(one.mean_ap), _interval(one.interval), count(_num_applicable(one.classes)))
        for one in result.voc
    ]
    if result.coco is not None:
        rows += [(f"COCO {name}", number(value), nothing, nothing) for name, value in result.coco.numbers.items()]
    return table("Means over the classes", ("Metric", "Mean", "Interval", "Classes with objects"), rows, name="means")


def _num_applicable(classes: Sequence[ClassResult]) -> int:
    return sum(one.ap is not None for one in classes)


def _interval(interval: Interval | None) -> Html:
    if interval is None:
        return to_html("")
    return join([number(interval.low), " to ", number(interval.high), f" ({100 * interval.level:g} %)"])


def notes_list(notes: Sequence[str]) -> Html:
    """The conventions behind the numbers."""
    return element("ul", *(element("li", note) for note in notes), class_="notes")


def classes_table(result: EvaluationResult, findings: Findings) -> Html:
    """AP of every class by every metric."""
    coco_header = () if result.coco is None else ("COCO AP", "COCO AP50", "COCO AP75", "COCO AR100")
    header = ("Class", "Objects", "Difficult", "Detections", *map(voc_title, result.voc), *coco_header)
    rows = (
        (
            foreign(one.name),
            *map(count, (one.num_objects, one.num_difficult, one.num_detections)),
            *(_bar(voc.classes[i].ap) for voc in result.voc),
            *_coco_cells(result.coco, i),
        )
        for i, one in enumerate(findings.curves.classes)
    )
    return table("Average precision of each class; n/a: no objects", header, rows, name="classes")


def _bar(ap: float | None) -> Html:
    """A number with a bar behind it."""
    return element("span", number(ap), class_="bar", style=f"--share:{100 * (ap or 0.0):.1f}%")


def _coco_cells(coco: CocoResult | None, i: int) -> tuple[Html, ...]:
    if coco is None:
        return ()
    one = coco.classes[i]
    return tuple(map(number, (one.ap, one.ap50, one.ap75, one.ar100)))


def errors_table(errors: ErrorKinds) -> Html:
    """How many detections are of each kind, and what the kind means."""
    sums = errors.counts.sum(axis=0)
    rows = [(kind.name.lower(), count(sums[kind]), meaning) for kind, meaning in KIND_MEANINGS.items()]
    rows.append(
        (
            "missed",
            count(errors.missed_counts.sum()),
            "objects that no detection hits, nor explains by class or location",
        )
    )
    return table("Detections of each kind, and missed objects", ("Kind", "Number", "Meaning"), rows, name="errors")


def confusions_table(matrix: ConfusionMatrix) -> Html:
    """The largest numbers beside the diagonal."""
    wrong = matrix.counts.copy()
    np.fill_diagonal(wrong, 0)
    largest = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    pairs = [(int(i) // len(wrong), int(i) % len(wrong)) for i in largest]
    names = ("background", *matrix.class_names[1:])
    rows = [
        (foreign(names[row]), foreign(names[column]), count(wrong[row, column]))
        for row, column in pairs
        if wrong[row, column]
    ]
    caption = f"Most frequent confusions, at most {_MOST_CONFUSIONS}; the whole matrix is in metrics.json"
    return table(caption, ("Annotated as", "Detected as", "Number"), rows, name="confusions")


def sizes_table(findings: Findings) -> Html:
    """AP of every class by size."""
    sizes = findings.sizes
    header = ("Class", *(f"{one.name}: {_area(one.low, one.high)}" for one in sizes))
    mean = ("Mean", *(number(one.mean_ap) for one in sizes))
    objects = ("Objects", *(count(one.num_objects) for one in sizes))
    rows = (
        (foreign(result.name), *(number(one.classes[i]) for one in sizes))
        for i, result in enumerate(findings.curves.classes)
    )
    return table("AP by area of the objects, in pixels", header, (objects, mean, *rows), name="sizes")


def _area(low: float, high: float) -> str:
    sides = [f"{side:g}²" for side in np.sqrt((low, high))]
    if np.isinf(high):
        return f"from {sides[0]}"
    return f"up to {sides[1]}" if low == 0 else f"{sides[0]} to {sides[1]}"


def calibration_table(found: Calibration) -> Html:
    """Every bin."""
    values = found.to_dict()
    rows = (
        (f"{low:.1f} to {high:.1f}", count(n), number(mean_score), number(precision))
        for low, high, n, mean_score, precision in zip(
            found.edges[:-1], found.edges[1:], found.count, values["mean_score"], values["precision"], strict=True
        )
    )
    return table("Scores and hits", ("Score", "Detections", "Mean score", "Share of hits"), rows, name="calibration")


def thresholds_table(findings: Findings) -> Html:
    """Both thresholds of each class."""
    wanted = f"precision {findings.precision:g}"
    header = ("Class", f"Threshold for {wanted}", "Precision", "Recall", "Threshold of best F1", "F1")
    rows = (
        (foreign(one.name), *map(number, (one.threshold, one.precision, one.recall)), *_f1_cells(best))
        for one, best in zip(findings.for_precision, findings.for_f1, strict=True)
    )
    caption = f"Score threshold of each class for a {wanted}, and with the best F1; n/a: none brings it"
    return table(caption, header, rows, name="thresholds")


def _f1_cells(best: ClassThreshold) -> tuple[Html, Html]:
    return number(best.threshold), number(best.f1)

"""What is known about a checkpoint as lines for a person, under 100 columns wide."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ssd_detect.counting import counted

if TYPE_CHECKING:
    from ssd_detect.inspection.info import Fact, FileInfo, NetworkInfo
    from ssd_detect.inspection.tensors import TensorNumbers
    from ssd_detect.inspection.trial import Guess, Judgement
    from ssd_detect.model.manifest import ManifestEntry

_HEADING = 17
_VALUE = 24
_NAME = 46
_WIDTH = 100
_TOLD_BY: Mapping[str, str] = {
    "option": "told by you",
    "your TOML": "told by your TOML",
    "manifest": "told by the manifest",
    "file": "told by the file itself",
    "source": "as all files of this source",
    "assumed": "not sure: nobody told",
}


def info_lines(info: "FileInfo") -> Iterator[str]:
    """The file, and the network in it if there is one."""
    yield _line("file", f"{info.path}")
    yield _line("format", f"{info.container}, {info.bytes:,} bytes")
    yield _line("SHA-256", info.sha256)
    yield _line("tensors", f"{info.tensors:,} with {info.numbers:,} numbers")
    if info.network:
        yield from _network_lines(info.network)
    extra = ", ".join(f"{count:,} {kind}" for kind, count in info.extra.items())
    yield _line("not needed" if info.network else "of these", extra or "none")


def _network_lines(network: "NetworkInfo") -> Iterator[str]:
    yield _line("checkpoint", network.name)
    yield _line("network", f"SSD{network.size}-VGG, {network.parameters:,} parameters, names as of {network.source}")
    if network.step is not None:
        yield _line("training step", f"{network.step:,}")
    names = network.class_names[1:]
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    yield _line("classes", f"{len(names)} and the background: {shown}")
    for name, fact in network.facts.items():
        yield _line(name.replace("_", " "), f"{_value(fact):<{_VALUE}}{_TOLD_BY[fact.told_by.value]}")
    for assumed in network.assumed:
        yield _line("to be settled", assumed)
    for name, words in network.about.items():
        yield from _paragraph(name.replace("_", " "), words)


def _value(fact: "Fact") -> str:
    if fact.value is None:
        return "no list of ours"
    return fact.value if isinstance(fact.value, str) else ", ".join(f"{v:g}" for v in fact.value)


def entry_lines(entry: "ManifestEntry") -> Iterator[str]:
    """What the manifest, or the user's list, tells of a checkpoint that need not be here."""
    spec = entry.spec
    yield _line("checkpoint", entry.name)
    yield _line("file", f"{entry.file.name}, {entry.whereabouts()}")
    if entry.described_in is not None:
        yield _line("described in", f"{entry.described_in}{', instead of the manifest' * entry.replaces_shipped}")
    yield _line("SHA-256", entry.sha256 or (f"unknown; git blob {entry.git_blob}" if entry.git_blob else "unknown"))
    yield _line("network", f"SSD{spec.size}-VGG, names as of {entry.source.value}")
    yield _line("classes", f"{len(spec.class_names) - 1} and the background: {', '.join(spec.class_names[1:7])}, …")
    for name in ("anchors", "anchor_rounding", "anchor_clip", "resize", "mean_rgb", "profile"):
        value = getattr(spec, name)
        words = ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(getattr(value, "value", value))
        yield _line(name.replace("_", " "), words)
    yield _line("colour order", entry.colour_order.value)
    for heading, score in (("published", entry.published), ("measured", entry.measured)):
        if score is not None:
            yield from _paragraph(heading, f"mAP {100 * score.mean_ap:.1f} ({score.metric}) on {score.on}")
    for heading, words in (
        ("origin", entry.origin),
        ("training data", entry.training_data),
        ("licence", entry.licence),
        ("note", entry.note),
    ):
        yield from _paragraph(heading, words) if words else ()


def _paragraph(heading: str, words: str) -> Iterator[str]:
    """In lines of at most `_WIDTH` columns."""
    for number, line in enumerate(textwrap.wrap(words, _WIDTH - _HEADING)):
        yield _line(heading if number == 0 else "", line)


def _line(heading: str, text: str) -> str:
    return f"{heading:<{_HEADING}}{text}"


def variable_lines(variables: "tuple[TensorNumbers, ...]") -> Iterator[str]:
    """A line a tensor; names that are too long have one of their own."""
    yield f"{'tensor':<{_NAME}}{'shape':>15} {'type':>8} {'min':>8} {'max':>8} {'mean||':>8}"
    for variable in variables:
        shape = "x".join(map(str, variable.shape)) or "scalar"
        numbers = (variable.minimum, variable.maximum, variable.mean_magnitude)
        told = " ".join(f"{'-' if v is None else format(v, '.3g'):>8}" for v in numbers)
        if len(variable.name) >= _NAME:
            yield variable.name
        name = variable.name if len(variable.name) < _NAME else ""
        yield f"{name:<{_NAME}}{shape:>15} {variable.dtype:>8} {told}"


def guess_lines(guess: "Guess", path: Path) -> Iterator[str]:
    """Every combination, what fits best, and how to settle it.

    Args:
        path: of the checkpoint, beside which a TOML can be.
    """
    yield ""
    yield f"{'anchors':<10}{'colours':<9}{'sizes disagree by':>18}{'sureness':>10}   (less, and more, is better)"
    for trial in guess.trials:
        disagreement = "-" if trial.disagreement is None else f"{100 * trial.disagreement:.2f} %"
        yield f"{trial.anchors:<10}{trial.colour_order:<9}{disagreement:>18}{trial.sureness:>10.2f}"
    yield ""
    yield _judged("anchors", "--anchors", guess.anchors)
    yield _judged("colour order", "--colour-order", guess.colour_order)
    sure = [
        f'{key} = "{judgement.choice}"'
        for key, judgement in (("anchors", guess.anchors), ("colour_order", guess.colour_order))
        if judgement.is_sure
    ]
    if sure:
        yield f"or for every run, in {path.name}.toml beside the checkpoint:"
        yield from (f"    {line}" for line in sure)
    if not (guess.anchors.is_sure and guess.colour_order.is_sure):
        yield (
            f"seen: {counted(guess.things, 'object')} in {counted(guess.pictures, 'picture')}; for a sure answer give "
            "ten pictures or more, with several large objects"
        )


def _judged(what: str, option: str, judgement: "Judgement") -> str:
    how_far = f"(z {judgement.z:.1f}, sure from 2 on ten pictures)"
    if judgement.is_sure:
        return _line(what, f"{judgement.choice} fits best {how_far}: {option} {judgement.choice}")
    return _line(what, f"not sure; {judgement.choice} fits a little better {how_far}")

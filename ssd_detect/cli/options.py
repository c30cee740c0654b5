"""The options that several verbs share, and the frozen settings made of them."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import click

from ssd_detect.classes import CLASS_LISTS, find_class_ids
from ssd_detect.cli.checkpoint_facts import FACT_NAMES, FACT_OPTIONS, checkpoint_settings, one_of
from ssd_detect.cli.talk import Talk
from ssd_detect.conventions import Arithmetic, EngineName, Profile
from ssd_detect.engines.calibration import MOST_PICTURES
from ssd_detect.engines.support import check_supported
from ssd_detect.errors import SettingError
from ssd_detect.formats.thresholds import ScoreThresholds, read_thresholds
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT, manifest
from ssd_detect.settings import (
    DEFAULT_BATCH_SIZE,
    CheckpointSettings,
    DetectionSettings,
    Device,
    SessionSettings,
)

_DEFAULTS = DetectionSettings()
EVALUATION_SCORE_THRESHOLD = 0.01
"""As the papers' evaluations have it (the Caffe release's `confidence_threshold` of its test networks)."""


@dataclass(frozen=True)
class RunSettings:
    """Everything that is chosen before a run begins; `thresholds`, which `detection` holds, as their file tells."""

    checkpoint: CheckpointSettings
    detection: DetectionSettings
    session: SessionSettings
    batch_size: int
    talk: Talk
    thresholds: ScoreThresholds | None = None

    @property
    def score_limit(self) -> str:
        """What a detection's score must be above, in words."""
        return f"{self.detection.score_threshold:g}" if self.thresholds is None else "the threshold of its class"


def _parse_device(ctx: click.Context, param: click.Parameter, value: str) -> Device:
    try:
        return Device.parse(value)
    except SettingError as error:
        raise click.BadParameter(str(error)) from error


def _as(kind: type[Enum]) -> Callable[[click.Context, click.Parameter, str], Enum]:
    return lambda ctx, param, value: kind(value)


_UNIT = click.FloatRange(0.0, 1.0)
_COUNT = click.IntRange(min=1)

_OPTIONS = (
    click.option("--thresholds", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
                 help="A score threshold for each class, as eval --write-thresholds writes them; classes that it does "
                      "not name have --score-threshold."),
    click.option("--nms-threshold", type=_UNIT, default=_DEFAULTS.nms_threshold, show_default=True,
                 help="Of two boxes of one class that overlap this much (IoU), keep the better one."),
    click.option("--class-agnostic", is_flag=True, help="Let boxes of different classes remove each other too."),
    click.option("--top-k", type=_COUNT, default=None, show_default="400; ssd.pytorch: 200; keras: all",
                 help="Candidates that are compared with each other, of a picture (profile tutorial) or of a class."),
    click.option("--max-detections", type=_COUNT, default=None,
                 show_default="all; caffe, torchvision, keras: 200",
                 help="Objects a picture at the most."),
    click.option("--profile", **one_of(Profile),
                 help="Whose way of making objects of scores: limits, order of steps, what equal values do."),
    click.option("--class", "classes", multiple=True, metavar="NAME",
                 help="Only this class; may be given several times. Aliases such as airplane work."),
    click.option("--exclude-class", "exclude_classes", multiple=True, metavar="NAME",
                 help="Not this class; may be given several times."),
    click.option("--checkpoint", default=DEFAULT_CHECKPOINT, show_default=True, metavar="NAME|PATH",
                 help="Weights: a name (ssd-detect checkpoints list tells them), or a file or folder of TensorFlow, "
                      "Caffe, PyTorch, torchvision or Keras, or .safetensors."),
    *FACT_OPTIONS,
    click.option("--device", default="auto", show_default=True, callback=_parse_device, metavar="auto|cpu|gpu:N",
                 help="Where to run; auto takes a GPU when the engine sees one, cpu leaves every GPU untouched."),
    click.option("--engine", type=click.Choice([one.value for one in EngineName]), callback=_as(EngineName),
                 default=EngineName.TENSORFLOW.value, show_default=True,
                 help="Who computes the network; auto takes the fastest that is installed, as measured here once. All "
                      "but tensorflow are proved to find the same before their first use, and start sooner."),
    click.option("--precision", type=click.Choice([one.value for one in Arithmetic]), callback=_as(Arithmetic),
                 default=Arithmetic.FLOAT32.value, show_default=True,
                 help="What the network computes with; all but float32 find a little less, which eval shows."),
    click.option("--calibrate", type=click.Path(path_type=Path, file_okay=False, exists=True), default=None,
                 metavar="FOLDER", help=f"For int8: pictures like yours; up to {MOST_PICTURES} tell the range of each "
                                        "value.  [default: some that ship]"),
    click.option("--threads", type=click.IntRange(1, 1024), default=None,
                 help="CPU threads for the network, at most one a core.  [default: one a core]"),
    click.option("--batch-size", type=_COUNT, default=DEFAULT_BATCH_SIZE, show_default=True,
                 help="Pictures that go through the network at once."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors."),
    click.option("-v", "--verbose", is_flag=True, help="Tell more: times of each stage, TensorFlow's own log."),
)  # fmt: skip


def _score_threshold(default: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--score-threshold", type=_UNIT, default=default, show_default=True,
                        help="Report objects that score above this.")  # fmt: skip


def detection_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the shared options; it receives them as one `run: RunSettings`."""
    return _with_options(verb, _DEFAULTS.score_threshold)


def evaluation_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The same with a score threshold so low that precision-recall curves are whole."""
    return _with_options(verb, EVALUATION_SCORE_THRESHOLD)


def _with_options(verb: Callable[..., Any], score_threshold: float) -> Callable[..., Any]:
    @functools.wraps(verb)
    def with_settings(**options: Any) -> Any:
        own = {name: value for name, value in options.items() if name not in _SHARED}
        return verb(run=_run_settings(**{name: options[name] for name in _SHARED}), **own)

    for option in reversed((_score_threshold(score_threshold), *_OPTIONS)):
        with_settings = option(with_settings)
    return with_settings


_SHARED = frozenset(
    {
        "score_threshold",
        "thresholds",
        "nms_threshold",
        "class_agnostic",
        "top_k",
        "max_detections",
        "classes",
        "exclude_classes",
        "profile",
    }
    | {"checkpoint", "device", "engine", "precision", "calibrate", "threads", "batch_size", "quiet", "verbose"}
    | FACT_NAMES
)


def _run_settings(
    *,
    checkpoint: str,
    device: Device,
    engine: EngineName,
    precision: Arithmetic,
    calibrate: Path | None,
    threads: int | None,
    batch_size: int,
    quiet: bool,
    verbose: bool,
    thresholds: Path | None,
    **options: Any,
) -> RunSettings:
    facts = {name: options.pop(name) for name in FACT_NAMES}
    session = SessionSettings(
        device=device, intra_op_threads=threads, engine=engine, precision=precision, calibration=calibrate
    )
    check_supported(session)
    for_classes = read_thresholds(thresholds) if thresholds else None
    settings = RunSettings(
        checkpoint=checkpoint_settings(checkpoint, **facts),
        detection=DetectionSettings(
            **options, class_thresholds=tuple(for_classes.classes.items()) if for_classes else ()
        ),
        session=session,
        batch_size=batch_size,
        talk=Talk(quiet=quiet, verbose=verbose),
        thresholds=for_classes,
    )
    named = (*settings.detection.classes, *settings.detection.exclude_classes)
    check_class_names(settings.checkpoint, (*named, *(for_classes.classes if for_classes else ())))
    return settings


def check_class_names(checkpoint: CheckpointSettings, names: Iterable[str]) -> None:
    """Find a misspelt class at once where the names are known, instead of after TensorFlow's start.

    Raises:
        UnknownClassError: a name of no class.
    """
    entry = manifest().get(checkpoint.given)
    whole = checkpoint.class_names or (entry.spec.class_names if entry else None)
    known = CLASS_LISTS[checkpoint.class_list] if checkpoint.class_list else whole
    if known:
        find_class_ids(names, known)

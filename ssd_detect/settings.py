"""What a user can choose about detection: frozen, checked when built, passed down unchanged."""

import math
import re
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from ssd_detect.conventions import (
    AnchorClip,
    AnchorRounding,
    Arithmetic,
    ColourOrder,
    EngineName,
    Profile,
    ResizeRule,
)
from ssd_detect.errors import SettingError

DEFAULT_BATCH_SIZE = 4
"""Pictures a network call: enough for a GPU to be busy, few enough for a first result soon and little memory."""

DEFAULT_MAX_PIXELS = 500_000_000
"""Larger pictures are refused before anything is decoded; they would take more than 3.5 GB."""


def take_words(settings: object, **kinds: type[Enum]) -> None:
    """Let those who build settings in Python write the words of the command line, such as `engine="openvino"`.

    Args:
        settings: frozen, and being built.
        kinds: name of a field -> what it holds; None stays None.

    Raises:
        SettingError: another word.
    """
    for name, kind in kinds.items():
        value = getattr(settings, name)
        try:
            object.__setattr__(settings, name, None if value is None else kind(value))
        except ValueError as error:
            words = ", ".join(str(member.value) for member in kind)
            raise SettingError(f"{name} is {value!r}, expected one of {words}") from error


@dataclass(frozen=True)
class DetectionSettings:
    """Which of the network's scores become detections.

    Args:
        score_threshold: a detection's score is above this; 0 to 1.
        nms_threshold: of two boxes of one class whose IoU reaches this, the one with the lower score goes; 0 to 1.
        top_k: at most so many candidates, best scores first, enter the suppression, of a picture or of each class
            (`boxes.profiles` says which); at least 1; None is the profile's number, and no limit where that has none.
        max_detections: at most so many detections a picture; at least 1; None as for `top_k`.
        class_agnostic: boxes suppress each other across classes too.
        classes: only these classes (names or aliases); empty means all.
        exclude_classes: never these classes.
        profile: whose way of post-processing; it decides what else there is to decide, such as whether a score or an
            IoU equal to its threshold counts. None is the checkpoint's.
        class_thresholds: class name (or alias) and score threshold of those that have one of their own.

    Raises:
        SettingError: a value is outside its range.
    """

    score_threshold: float = 0.5
    nms_threshold: float = 0.45
    top_k: int | None = None
    max_detections: int | None = None
    class_agnostic: bool = False
    classes: tuple[str, ...] = ()
    exclude_classes: tuple[str, ...] = ()
    profile: Profile | None = None
    class_thresholds: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        take_words(self, profile=Profile)
        units = [(name, getattr(self, name)) for name in ("score_threshold", "nms_threshold")]
        for name, value in (
            *units,
            *((f"score threshold of {name!r}", value) for name, value in self.class_thresholds),
        ):
            if not (math.isfinite(value) and 0.0 <= value <= 1.0):
                raise SettingError(f"{name} is {value}, expected a number from 0 to 1")
        for name in ("top_k", "max_detections"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"{name} is {value}, expected a whole number of at least 1")

    def also_for(self, classes: tuple[str, ...]) -> "DetectionSettings":
        """The same, and these classes are looked for too, whether they are reported or not."""
        if not classes:
            return self
        return replace(self, classes=(*self.classes, *classes) if self.classes else (), exclude_classes=())

    def with_classes_of(self, others: "DetectionSettings") -> "DetectionSettings":
        """The same for the classes that `others` ask for."""
        return replace(self, classes=others.classes, exclude_classes=others.exclude_classes)


@dataclass(frozen=True)
class CheckpointSettings:
    """Which weights, and what is to be taken for granted about them.

    Args:
        given: a name of the manifest, or a path; see `model.locate`.
        anchors: anchor preset; None, here and below, takes what manifest, file or the file's source tell.
        class_names: names of the network's outputs, background first.
        class_list: a key of `classes.CLASS_LISTS`: only these classes are kept of a network that knows more.
        anchor_rounding, anchor_clip, resize, colour_order: see `conventions`.

    Raises:
        SettingError: an empty name; a word that is no convention.
    """

    given: str
    anchors: str | None = None
    class_names: tuple[str, ...] | None = None
    class_list: str | None = None
    anchor_rounding: AnchorRounding | None = None
    anchor_clip: AnchorClip | None = None
    resize: ResizeRule | None = None
    colour_order: ColourOrder | None = None

    def __post_init__(self) -> None:
        if not self.given:
            raise SettingError(
                "checkpoint is an empty name, expected a name (ssd-detect checkpoints list tells them) or a path"
            )
        take_words(
            self,
            anchor_rounding=AnchorRounding,
            anchor_clip=AnchorClip,
            resize=ResizeRule,
            colour_order=ColourOrder,
        )


@dataclass(frozen=True)
class Device:
    """Where the network runs: `kind` as asked for, `index` of the GPU."""

    kind: Literal["auto", "cpu", "gpu"]
    index: int = 0

    @classmethod
    def parse(cls, text: str) -> "Device":
        """Read `auto`, `cpu`, `gpu` or `gpu:N`.

        Raises:
            SettingError: any other text.
        """
        if text in ("auto", "cpu"):
            return cls("auto" if text == "auto" else "cpu")
        match = re.fullmatch(r"gpu(?::(\d+))?", text)
        if match is None:
            raise SettingError(f"device is {text!r}, expected auto, cpu or gpu:N (N counts from 0)")
        return cls("gpu", int(match.group(1) or 0))

    def __str__(self) -> str:
        return f"gpu:{self.index}" if self.kind == "gpu" else self.kind


@dataclass(frozen=True)
class SessionSettings:
    """Who runs the network, where, and how.

    Args:
        device: `auto` takes a GPU when the engine sees one.
        intra_op_threads: threads inside one operation; None leaves it to the engine (one a core).
        inter_op_threads: operations side by side, in TensorFlow; None leaves it to TensorFlow.
        engine: who computes.
        precision: what the convolutions are computed with.
        calibration: folder of pictures that tell int8 the range of each activation; None takes what ships.

    Raises:
        SettingError: a thread count below 1; a word that is no engine, precision or device.
    """

    device: Device = Device("auto")
    intra_op_threads: int | None = None
    inter_op_threads: int | None = None
    engine: EngineName = EngineName.TENSORFLOW
    precision: Arithmetic = Arithmetic.FLOAT32
    calibration: Path | None = None

    def __post_init__(self) -> None:
        take_words(self, engine=EngineName, precision=Arithmetic)
        device: Any = self.device
        if isinstance(device, str):
            object.__setattr__(self, "device", Device.parse(device))
        if self.calibration is not None:  # a text perhaps
            object.__setattr__(self, "calibration", Path(self.calibration))
        for name in ("intra_op_threads", "inter_op_threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"{name} is {value}, expected a whole number of at least 1")

    def that_shape_results(self) -> dict[str, str]:
        """The choices that two runs must share if one is to go on with the other: none where all engines find the same.

        With fewer bits each engine rounds in its own way.
        """
        if self.precision is Arithmetic.FLOAT32:
            return {}
        calibration = {} if self.calibration is None else {"calibration": str(self.calibration.resolve())}
        return {"precision": self.precision.value, "engine": self.engine.value, **calibration}


@dataclass(frozen=True)
class FetchSettings:
    """What a picture on the web may cost, and where it may lie.

    Args:
        timeout_seconds: for connecting, and for each wait between bytes; above 0, at most a day.
        max_bytes: a larger answer is refused; at least 1.
        allow_private: addresses of this machine and of private networks may be asked too.

    Raises:
        SettingError: a value is outside its range.
    """

    timeout_seconds: float = 20.0
    max_bytes: int = 100 * 2**20
    allow_private: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.timeout_seconds <= 86400.0:  # also false for NaN
            raise SettingError(f"timeout_seconds is {self.timeout_seconds}, expected a number above 0, at most 86400")
        if self.max_bytes < 1:
            raise SettingError(f"max_bytes is {self.max_bytes}, expected a whole number of at least 1")

    @property
    def total_seconds(self) -> float:
        """Limit for one picture with all its redirects: ten times `timeout_seconds`."""
        return 10 * self.timeout_seconds


@dataclass(frozen=True)
class EncodingSettings:
    """How a video is written.

    Args:
        codec: a codec (`h264`, `vp9`, ...) or an encoder of FFmpeg (`h264_nvenc`); None takes what suits the file.
        crf: the quality as the encoder counts it, lower is better; None takes the usual one.

    Raises:
        SettingError: a quality outside 0 to 63.
    """

    codec: str | None = None
    crf: int | None = None

    def __post_init__(self) -> None:
        if self.crf is not None and not 0 <= self.crf <= 63:
            raise SettingError(f"crf is {self.crf}, expected a whole number from 0 to 63")


@dataclass(frozen=True)
class Selection:
    """Which frames of a video to take.

    Args:
        start, end: seconds as a player counts: frames shown at or after `start` and before `end`; None is no limit.
        max_seconds: of the video, from the first frame that is taken; with `end`, what comes first counts.
        max_frames: at most so many.
        rate: frames a second, evenly, instead of the video's own times; None keeps those.
        stride: the network sees every so many-th frame.

    Raises:
        SettingError: a value that makes no sense.
    """

    start: Fraction | None = None
    end: Fraction | None = None
    max_seconds: Fraction | None = None
    max_frames: int | None = None
    rate: Fraction | None = None
    stride: int = 1

    def __post_init__(self) -> None:
        start = self.start or Fraction(0)
        if self.end is not None and start >= self.end:
            raise SettingError(f"start is {float(start):g} s, expected a time before the end, {float(self.end):g} s")
        for name in ("max_seconds", "max_frames", "rate", "stride"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise SettingError(f"{name} is {value}, expected a number above 0")

"""`Detector`: pictures in, `Detections` out. The whole way of the data, in one file.

RGB uint8 (H, W, 3)  ->  network input (S, S, 3)  ->  scores above a limit, offsets  ->  boxes  ->  Detections
                   NumPy                     one network                            NumPy
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from os import PathLike, fspath
from types import TracebackType
from typing import NamedTuple, overload

import numpy as np

from ssd_detect.arrays import Flags, Floats, Pixels
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.boxes.selection import Selected, select_scores
from ssd_detect.detections import Detections
from ssd_detect.engines.open import open_network
from ssd_detect.errors import PictureError
from ssd_detect.media.drawing.draw import annotated_png
from ssd_detect.media.pipeline import batches
from ssd_detect.model.checkpoint import Checkpoint, load_checkpoint
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.model.resize import resized
from ssd_detect.model.runs_on import RunsOn
from ssd_detect.settings import DEFAULT_BATCH_SIZE, CheckpointSettings, DetectionSettings, SessionSettings
from ssd_detect.stages import StageTimes, told_when_slow

SLOW_START_SECONDS = 5.0
"""A first call on a GPU that takes longer looks like a hang and is worth a word."""


class Prepared(NamedTuple):
    """A picture, and what the network gets of it.

    Args:
        picture: (H, W, 3) uint8 RGB.
        resized: (S, S, 3) float32 RGB, 0 to 255.
    """

    picture: Pixels
    resized: Floats


class Detector:
    """Finds objects in pictures. Make one, use it for all pictures, from any thread; close it, or use `with`.

    Args:
        checkpoint: a name of the manifest, a path, `CheckpointSettings`, or what was loaded already; None takes the
            one that ships.
        settings: thresholds, wanted classes, profile. The attribute of this name tells what became of them: the
            profile is the checkpoint's where none was chosen, the limits are that profile's, and None is no limit.
            The attribute `anchors`, (N, 4) float32 cxcywh unit, is the checkpoint's.
        session: engine, device, threads, precision.
        batch_size: pictures that go through the network at once; more need more memory.
        times: gets the seconds of each stage; None makes a new one.
        on_slow_start: called, from another thread, when the first network call on a GPU takes long: the driver may
            have to compile the kernels first, once for each kind of GPU.
        on_outputs: gets the network's scores (N, C) and offsets (N, 4) of each picture, in order, before they become
            detections; to be copied, if they are to be kept.
        on_note: is told, in words for a person, what opening the network did that took long.

    Raises:
        CheckpointError: no usable checkpoint.
        SettingError: settings that do not fit the checkpoint, or each other; an unknown class.
        DeviceError: the device is not there; the engine fails, or computes other numbers than TensorFlow.
        MissingPackageError: the engine is not installed.
        OutputError: what was made ready for an engine cannot be kept.
    """

    def __init__(
        self,
        checkpoint: str | PathLike[str] | CheckpointSettings | Checkpoint | None = None,
        *,
        settings: DetectionSettings | None = None,
        session: SessionSettings | None = None,
        batch_size: int = DEFAULT_BATCH_SIZE,
        times: StageTimes | None = None,
        on_slow_start: Callable[[], None] | None = None,
        on_outputs: Callable[[Floats, Floats], None] | None = None,
        on_note: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.batch_size = max(1, batch_size)
        self.times = times or StageTimes()
        loaded = checkpoint if isinstance(checkpoint, Checkpoint) else load_checkpoint(_chosen(checkpoint))
        self.checkpoint_name, self.checkpoint_sha256 = loaded.name, loaded.sha256
        self.spec, self.assumed = loaded.spec, loaded.assumed
        self.settings = resolved(settings or DetectionSettings(), loaded.spec.profile)
        self._decoder = OutputDecoder(loaded.spec.class_names, self.settings, self.times)
        self.anchors = make_anchors(loaded.spec.anchors, loaded.spec.anchor_rounding, loaded.spec.anchor_clip)
        self._network = open_network(loaded, session or SessionSettings(), on_note)
        self._on_outputs = on_outputs
        self._on_slow_start = None if self.device_name == "CPU" else on_slow_start

    @overload
    def __call__(self, pictures: Pixels) -> Detections: ...
    @overload
    def __call__(self, pictures: Sequence[Pixels]) -> list[Detections]: ...
    def __call__(self, pictures: Pixels | Sequence[Pixels]) -> Detections | list[Detections]:
        """Detect in one RGB uint8 picture (H, W, 3), or in a list of them, of any sizes.

        Raises:
            PictureError: an array that is no such picture.
            ClosedError: after `close()`.
        """
        if isinstance(pictures, np.ndarray) and pictures.ndim != 4:
            return self.detect_prepared([self.prepare(pictures)])[0]
        return self.detect_prepared(map(self.prepare, pictures))

    def prepare(self, picture: Pixels) -> Prepared:
        """Resize a picture for `detect_prepared`; a thread that reads pictures can do it while the network runs.

        Raises:
            PictureError: as a call.
        """
        _check_picture(picture)
        with self.times.measure("resize"):
            return Prepared(picture, resized(picture, self.spec.size, self.spec.resize))

    def detect_prepared(self, pictures: Iterable[Prepared]) -> list[Detections]:
        """Detect in pictures, of which `batch_size` go through the network at once.

        Raises:
            ClosedError: after `close()`.
            DeviceError: not enough memory for so many; the device fails.
        """
        return [found for batch in batches(iter(pictures), self.batch_size) for found in self._detected(batch)]

    def _detected(self, pictures: Sequence[Prepared]) -> list[Detections]:
        selected = self._selected(_stacked(pictures))
        sizes = [(picture.shape[1], picture.shape[0]) for picture, _ in pictures]
        found = self._decoder.decode(selected, self.anchors, sizes)
        return [_drawable(detections, picture) for detections, (picture, _) in zip(found, pictures, strict=True)]

    def _selected(self, inputs: Floats) -> Selected:
        limits = self._decoder.limits
        if self._on_outputs is None:
            with self._measured_network():
                return self._network.run_selected(inputs, limits)
        with self._measured_network():
            scores, offsets = self._network.run(inputs)  # (B, N, C), (B, N, 4)
        for outputs in zip(scores, offsets, strict=True):
            self._on_outputs(*outputs)
        with self.times.measure("decode"):
            return select_scores(scores, offsets, limits)

    def raw_outputs(self, picture: Pixels) -> tuple[Floats, Floats]:
        """The network's scores (N, C) and offsets (N, 4) for one RGB uint8 picture, before anything is made of them.

        Raises:
            PictureError, ClosedError: as a call.
        """
        inputs = _stacked([self.prepare(picture)])
        with self._measured_network():
            scores, offsets = self._network.run(inputs)
        return scores[0], offsets[0]

    @contextmanager
    def _measured_network(self) -> Iterator[None]:
        tell, self._on_slow_start = self._on_slow_start, None
        with self.times.measure("network"), told_when_slow(tell, SLOW_START_SECONDS) if tell else nullcontext():
            yield

    @property
    def wanted(self) -> Flags:
        """(C,) bool: the classes that are looked for."""
        return self._decoder.wanted

    @property
    def thresholds(self) -> Floats | None:
        """(C,) float32: the score threshold of each class; None where all have the same."""
        return self._decoder.thresholds

    @property
    def class_names(self) -> tuple[str, ...]:
        """Name of each class id; 0 is the background."""
        return self.spec.class_names

    @property
    def runs_on(self) -> RunsOn:
        """Which engine runs the network, where, with what numbers."""
        return self._network.runs_on

    @property
    def device_name(self) -> str:
        """Where the network runs, in the engine's words."""
        return self.runs_on.device

    def close(self) -> None:
        """Free the network and its memory; a second call does nothing."""
        self._network.close()

    def __enter__(self) -> "Detector":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _chosen(checkpoint: str | PathLike[str] | CheckpointSettings | None) -> CheckpointSettings:
    if isinstance(checkpoint, CheckpointSettings):
        return checkpoint
    return CheckpointSettings(DEFAULT_CHECKPOINT if checkpoint is None else fspath(checkpoint))


def _stacked(pictures: Sequence[Prepared]) -> Floats:
    """(B, S, S, 3); one alone is not copied."""
    if len(pictures) == 1:
        return pictures[0].resized[np.newaxis]
    return np.stack([one.resized for one in pictures])


def _drawable(detections: Detections, picture: Pixels) -> Detections:
    return detections.shown_by(lambda shown: annotated_png(picture, shown))


def _check_picture(picture: Pixels) -> None:
    if not isinstance(picture, np.ndarray):
        raise PictureError(f"expected a NumPy array, got {type(picture).__name__}; read_picture(path) makes one")
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
        raise PictureError(
            f"expected an RGB picture as a uint8 array (height, width, 3), got {picture.dtype} {picture.shape}"
        )

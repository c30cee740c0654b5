"""`Detector`: pictures in, `Detections` out. The whole way of the data, in one file.

RGB uint8 (H, W, 3)  ->  network input  ->  scores (N, C), offsets (N, 4)  ->  boxes  ->  Detections
                     one TensorFlow session                       NumPy
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from os import PathLike, fspath
from types import TracebackType
from typing import overload

import numpy as np

from ssd_detect.arrays import Flags, Floats, Pixels
from ssd_detect.boxes.anchors import make_anchors
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.detections import Detections
from ssd_detect.errors import PictureError
from ssd_detect.media.drawing.draw import annotated_png
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT
from ssd_detect.model.session import NetworkSession
from ssd_detect.settings import DEFAULT_BATCH_SIZE, CheckpointSettings, DetectionSettings, SessionSettings
from ssd_detect.stages import StageTimes, told_when_slow

SLOW_START_SECONDS = 5.0
"""A first call on a GPU that takes longer looks like a hang and is worth a word."""


class Detector:
    """Finds objects in pictures. Make one, use it for all pictures, from any thread; close it, or use `with`.

    Args:
        checkpoint: a name of the manifest, a path, or `CheckpointSettings`; None takes the one that ships.
        settings: thresholds, wanted classes, profile. The attribute of this name tells what became of them: the
            profile is the checkpoint's where none was chosen, the limits are that profile's, and None is no limit.
            The attribute `anchors`, (N, 4) float32 cxcywh unit, is the checkpoint's.
        session: device and threads.
        batch_size: pictures that go through the network at once; more need more memory.
        times: gets the seconds of each stage; None makes a new one.
        on_slow_start: called, from another thread, when the first network call on a GPU takes long: the driver may
            have to compile the kernels first, once for each kind of GPU.
        on_outputs: gets the network's scores (N, C) and offsets (N, 4) of each picture, in order, before they become
            detections; to be copied, if they are to be kept.

    Raises:
        CheckpointError: no usable checkpoint.
        SettingError: settings that do not fit the checkpoint; an unknown class.
        DeviceError: the device is not there.
    """

    def __init__(
        self,
        checkpoint: str | PathLike[str] | CheckpointSettings | None = None,
        *,
        settings: DetectionSettings | None = None,
        session: SessionSettings | None = None,
        batch_size: int = DEFAULT_BATCH_SIZE,
        times: StageTimes | None = None,
        on_slow_start: Callable[[], None] | None = None,
        on_outputs: Callable[[Floats, Floats], None] | None = None,
    ) -> None:
        if not isinstance(checkpoint, CheckpointSettings):
            checkpoint = CheckpointSettings(DEFAULT_CHECKPOINT if checkpoint is None else fspath(checkpoint))
        self.batch_size = max(1, batch_size)
        self.times = times or StageTimes()
        loaded = load_checkpoint(checkpoint)
        self.checkpoint_name, self.checkpoint_sha256 = loaded.name, loaded.sha256
        self.spec, self.assumed = loaded.spec, loaded.assumed
        self.settings = resolved(settings or DetectionSettings(), loaded.spec.profile)
        self._decode = OutputDecoder(loaded.spec.class_names, self.settings, self.times)
        self.anchors = make_anchors(loaded.spec.anchors, loaded.spec.anchor_rounding, loaded.spec.anchor_clip)
        self._network = NetworkSession(loaded, session or SessionSettings())
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
            return self._detect_batch([pictures])[0]
        starts = range(0, len(pictures), self.batch_size)
        return [d for i in starts for d in self._detect_batch(list(pictures[i : i + self.batch_size]))]

    def _detect_batch(self, pictures: list[Pixels]) -> list[Detections]:
        for picture in pictures:
            _check_picture(picture)
        with self.times.measure("resize+network"), self._watched_start():
            scores, offsets = self._run_network(pictures)  # (B, N, C), (B, N, 4)
        return [self._detections(*found) for found in zip(pictures, scores, offsets, strict=True)]

    def raw_outputs(self, picture: Pixels) -> tuple[Floats, Floats]:
        """The network's scores (N, C) and offsets (N, 4) for one RGB uint8 picture, before anything is made of them.

        Raises:
            PictureError, ClosedError: as a call.
        """
        _check_picture(picture)
        with self.times.measure("resize+network"), self._watched_start():
            scores, offsets = self._run_network([picture])
        return scores[0], offsets[0]

    def _watched_start(self) -> AbstractContextManager[None]:
        tell, self._on_slow_start = self._on_slow_start, None
        return told_when_slow(tell, SLOW_START_SECONDS) if tell else nullcontext()

    def _run_network(self, pictures: list[Pixels]) -> tuple[Floats, Floats]:
        if len({picture.shape for picture in pictures}) == 1:
            batch = pictures[0][np.newaxis] if len(pictures) == 1 else np.stack(pictures)
            return self._network.run(batch)  # resized inside the same call
        resized = [self._network.resize(picture[np.newaxis]) for picture in pictures]
        return self._network.run_resized(np.concatenate(resized))

    def _detections(self, picture: Pixels, scores: Floats, offsets: Floats) -> Detections:
        if self._on_outputs is not None:
            self._on_outputs(scores, offsets)
        height, width = picture.shape[:2]
        found = self._decode(scores, offsets, self.anchors, (width, height))
        return replace(found, render=lambda detections: annotated_png(picture, detections))

    @property
    def wanted(self) -> Flags:
        """(C,) bool: the classes that are looked for."""
        return self._decode.wanted

    @property
    def thresholds(self) -> Floats | None:
        """(C,) float32: the score threshold of each class; None where all have the same."""
        return self._decode.thresholds

    @property
    def class_names(self) -> tuple[str, ...]:
        """Name of each class id; 0 is the background."""
        return self.spec.class_names

    @property
    def device_name(self) -> str:
        """Where the network runs, in TensorFlow's words."""
        return self._network.device_name

    def close(self) -> None:
        """Free the session and its memory; a second call does nothing."""
        self._network.close()

    def __enter__(self) -> "Detector":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_picture(picture: Pixels) -> None:
    if not isinstance(picture, np.ndarray):
        raise PictureError(f"expected a NumPy array, got {type(picture).__name__}; read_picture(path) makes one")
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
        raise PictureError(
            f"expected an RGB picture as a uint8 array (height, width, 3), got {picture.dtype} {picture.shape}"
        )

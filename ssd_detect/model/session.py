"""The one shared session: made once, used from any thread, closed once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
import tensorflow as tf

from ssd_detect.arrays import Floats, Pixels
from ssd_detect.conventions import ResizeRule
from ssd_detect.errors import ClosedError, DeviceError
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.graph import build_graph
from ssd_detect.settings import Device, SessionSettings


class NetworkSession:
    """A TensorFlow session around one network.

    The weights are constants of the graph, so that TensorFlow's CPU kernels may pack them once. On the CPU, the
    Grappler optimiser is off. Measured on two cores (TensorFlow 2.21, SSD300, 500x375 picture, medians of interleaved
    runs): constants 0.290 s, constants without Grappler 0.291 s, variables 0.299 s a picture; but first call 5.1 s,
    0.7 s and 0.6 s: Grappler copies the 105 MB of constants through each of its passes and finds nothing that
    the oneDNN kernels do not do by themselves. On a GPU it stays on, for its choice of layouts.

    Args:
        checkpoint: what to run.
        settings: device and threads.

    Raises:
        DeviceError: the GPU asked for is not there, or does not start.
    """

    def __init__(self, checkpoint: Checkpoint, settings: SessionSettings) -> None:
        device = settings.device
        placed = f"/GPU:{device.index}" if device.kind == "gpu" else None
        self._spec = checkpoint.spec
        self._graph = build_graph(checkpoint.spec, checkpoint.variables, placed)
        gpus = [] if device.kind == "cpu" else _visible_gpus()
        if device.kind == "gpu" and device.index >= len(gpus):
            raise DeviceError(_missing_gpu(device, gpus))
        config = _session_config(settings, on_gpu=bool(gpus))
        self.device_name = gpus[device.index] if gpus else "CPU"
        with _explained_errors(0, self.device_name):
            self._session: Any = tf.compat.v1.Session(graph=self._graph.graph, config=config)

    def run(self, pictures: Pixels) -> tuple[Floats, Floats]:
        """Scores (B, N, C) and offsets (B, N, 4) of (B, H, W, 3) uint8 RGB pictures.

        Raises:
            ClosedError: after `close()`.
            DeviceError: not enough memory for this batch; the GPU fails.
        """
        fetches = [self._graph.scores, self._graph.offsets]
        scores, offsets = self._fetch(fetches, {self._graph.pictures: self._before_graph(pictures)})
        return scores, offsets

    def resize(self, pictures: Pixels) -> Floats:
        """The network's input (B, size, size, 3) for (B, H, W, 3) uint8 pictures; raises as `run`."""
        inputs: Floats = self._fetch(self._graph.inputs, {self._graph.pictures: self._before_graph(pictures)})
        return inputs

    def run_resized(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Scores and offsets for what `resize` returned; raises as `run`."""
        scores, offsets = self._fetch([self._graph.scores, self._graph.offsets], {self._graph.inputs: inputs})
        return scores, offsets

    def _before_graph(self, pictures: Pixels) -> Pixels:
        """What the graph takes: under the rule of OpenCV, pictures of the network's size, else any."""
        if self._spec.resize is not ResizeRule.OPENCV or pictures.shape[1:3] == (self._spec.size, self._spec.size):
            return pictures
        return np.stack([_resize_like_opencv(picture, self._spec.size) for picture in pictures])

    def _fetch(self, tensors: Any, feeds: dict[Any, Any]) -> Any:
        session = self._session
        if session is None:
            raise ClosedError("this Detector is closed; make a new one")
        with _explained_errors(next(iter(feeds.values())).shape[0], self.device_name):
            return session.run(tensors, feeds)

    @property
    def num_nodes(self) -> int:
        """Operations in the graph; never changes."""
        return len(self._graph.graph.get_operations())

    def close(self) -> None:
        """Free the session; a second call does nothing."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _resize_like_opencv(picture: Pixels, side: int) -> Pixels:
    """(H, W, 3) to (side, side, 3) as the Caffe release, ssd.pytorch and ssd_keras do it: in whole grey levels."""
    resized = cv2.resize(np.ascontiguousarray(picture), (side, side), interpolation=cv2.INTER_LINEAR)
    return resized.astype(np.uint8, copy=False)


def _visible_gpus() -> list[str]:
    """Names of the GPUs that TensorFlow can use, without touching one."""
    return [device.name.removeprefix("/physical_device:") for device in tf.config.list_physical_devices("GPU")]


def _missing_gpu(device: Device, gpus: list[str]) -> str:
    found = f"TensorFlow sees {', '.join(gpus)}" if gpus else "TensorFlow sees no GPU"
    return f"device {device} is not there: {found}; use --device cpu, or type ssd-detect doctor to find out why"


def _session_config(settings: SessionSettings, *, on_gpu: bool) -> Any:
    config = tf.compat.v1.ConfigProto(
        allow_soft_placement=True,  # some kernels, such as the antialiased resize, exist for the CPU only
        intra_op_parallelism_threads=settings.intra_op_threads or 0,
        inter_op_parallelism_threads=settings.inter_op_threads or 0,
    )
    config.gpu_options.allow_growth = True
    if not on_gpu:
        config.device_count["GPU"] = 0
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


@contextmanager
def _explained_errors(batch: int, device_name: str) -> Iterator[None]:
    """What TensorFlow raises in the block becomes a line that says what to do, if anything is known about it."""
    try:
        yield
    except tf.errors.OpError as error:
        from ssd_detect.doctor.hints import explain_failure  # which knows drivers and libraries; only when all is lost

        out_of_memory = isinstance(error, tf.errors.ResourceExhaustedError)
        line = explain_failure(error.message, batch=batch, device=device_name, out_of_memory=out_of_memory)
        if line is None:
            raise
        raise DeviceError(line) from error

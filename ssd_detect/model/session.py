"""TensorFlow's network: one session, made once, used from any thread, closed once."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected
from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.errors import ClosedError, DeviceError
from ssd_detect.model.arithmetic import check_on_cpu, check_on_gpu, tf32_products
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.graph import build_graph
from ssd_detect.model.runs_on import RunsOn
from ssd_detect.settings import Device, SessionSettings


class NetworkSession:
    """A TensorFlow session around one network; an `engines.network.Network`.

    Measured with TensorFlow 2.21 on two cores (AMD EPYC with avx512_bf16), SSD300, one picture a call; seconds of CPU
    time, for others worked on the machine, where nothing else is said:

    - Weights are variables. As constants, whose packing TensorFlow's oneDNN kernels keep, a call takes 0.560 instead
      of 0.580, and 0.281 instead of 0.296 in bf16; but the first result takes 1.4 instead of 1.0, and the peak of
      memory is 1,500 instead of 880 MB: each of the graph's copies on its way into the session copies all of them.
    - Of Grappler's passes on the CPU, only that runs which makes one operation of convolution, bias and ReLU: 0.578
      to 0.591 a call instead of 0.588 to 0.592, at no cost in the first. All passes gave no more. On a GPU all are on,
      for their choice of layouts.
    - 95 % of a call are convolutions, pooling is 1 %, softmax, selection and all else are less than 1 % together. In
      interleaved runs a call took 0.584 where plain onnxruntime took 0.569 with waiting threads at rest, 0.621 with
      such that spin: a ratio of 1.03 (0.94).
    - No difference: SAME padding where it is equal, a callable instead of `Session.run` (0.2 ms each), selection in
      the graph instead of on the host, which is done for the sake of GPUs. Buffers that glibc keeps (mallopt's
      M_MMAP_THRESHOLD and M_TRIM_THRESHOLD) save 7 to 9 % of the page faults, and 0 to 1 % of the time of 1 and 4
      pictures a call.
    - By the clock, the machine at rest: 0.291 a call; 0.337 without oneDNN, 0.371 through XLA (and a first result after
      1.9 instead of 0.8), 0.286 with one thread between operations, 0.546 with one inside them; a picture of 2, 4 and 8
      a call 0.293, 0.285 and 0.280.
    - bf16 takes 0.51 of float32's time. float16 has no quick kernels on the CPU.

    On GPUs float32 means float32: see `arithmetic.tf32_products`.

    Args:
        checkpoint: what to run.
        settings: device, threads, precision.

    Raises:
        DeviceError: the GPU asked for is not there, or does not start.
        SettingError: the device does not compute with this precision.
    """

    def __init__(self, checkpoint: Checkpoint, settings: SessionSettings) -> None:
        device, precision = settings.device, settings.precision
        gpus = [] if device.kind == "cpu" else _visible_gpus()
        if device.kind == "gpu" and device.index >= len(gpus):
            raise DeviceError(_missing_gpu(device, gpus))
        name = gpus[device.index] if gpus else "CPU"
        _check_precision(precision, name)
        self._runs_on = RunsOn(EngineName.TENSORFLOW, tf.__version__, name, precision)
        placed = f"/GPU:{device.index}" if device.kind == "gpu" else None
        graph = build_graph(checkpoint.spec, checkpoint.variables, placed, precision)
        with _explained_errors(0, name):
            self._session: Any = tf.compat.v1.Session(graph=graph.graph, config=_session_config(settings, name))
            self._session.run(graph.initialise, graph.weights)
        self._graph = replace(graph, weights={})  # the session has its own copy

    @property
    def runs_on(self) -> RunsOn:
        """Who computes, where, with what numbers."""
        return self._runs_on

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        """Scores (B, N, C) and offsets (B, N, 4) float32 of (B, size, size, 3) float32 RGB, 0 to 255.

        Raises:
            ClosedError: after `close()`.
            DeviceError: not enough memory for this batch; the GPU fails.
        """
        scores, offsets = self._fetch((self._graph.scores, self._graph.offsets), {self._graph.resized: resized})
        return scores, offsets

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        """What `select_scores` makes of `run` and `limits` (C,); only that leaves the device. Raises as `run`."""
        feeds = {self._graph.resized: resized, self._graph.limits: limits}
        places, scores, offsets, peaks = self._fetch(self._graph.selected, feeds)
        picture_ids, anchor_ids, class_ids = places.T
        return Selected(picture_ids, anchor_ids, class_ids, scores, offsets, peaks)

    def _fetch(self, tensors: tuple[Any, ...], feeds: dict[Any, Floats]) -> Any:
        session, (_, _, device, precision) = self._session, self._runs_on
        if session is None:
            raise ClosedError("this Detector is closed; make a new one")
        on_gpu = device != "CPU"
        with (
            _explained_errors(len(feeds[self._graph.resized]), device),
            tf32_products(precision is Arithmetic.TF32) if on_gpu else nullcontext(),
        ):
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


def _check_precision(precision: Arithmetic, device_name: str) -> None:
    if precision is Arithmetic.FLOAT32:
        return
    if device_name == "CPU":
        check_on_cpu(precision)
        return
    index = int(device_name.rpartition(":")[2])
    details = tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[index])
    check_on_gpu(precision, device_name, details.get("compute_capability"))


def _visible_gpus() -> list[str]:
    """Names of the GPUs that TensorFlow can use, without touching one."""
    return [device.name.removeprefix("/physical_device:") for device in tf.config.list_physical_devices("GPU")]


def _missing_gpu(device: Device, gpus: list[str]) -> str:
    found = f"TensorFlow sees {', '.join(gpus)}" if gpus else "TensorFlow sees no GPU"
    return f"device {device} is not there: {found}; use --device cpu, or type ssd-detect doctor to find out why"


def _session_config(settings: SessionSettings, device_name: str) -> Any:
    config = tf.compat.v1.ConfigProto(
        allow_soft_placement=True,  # some kernels exist for the CPU only
        intra_op_parallelism_threads=settings.intra_op_threads or 0,
        inter_op_parallelism_threads=settings.inter_op_threads or 0,
    )
    config.gpu_options.allow_growth = True
    if device_name == "CPU":
        config.device_count["GPU"] = 0
        rewriting = config.graph_options.rewrite_options
        rewriting.optimizers.append("remap")  # convolution, bias and ReLU become one operation; nothing else is tried
        rewriting.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
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

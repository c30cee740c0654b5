"""What numbers TensorFlow computes the convolutions with, where it can, and how it is told."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import tensorflow as tf

from ssd_detect.conventions import Arithmetic
from ssd_detect.errors import SettingError
from ssd_detect.model.shared_switch import SharedSwitch

_KINDS: Mapping[Arithmetic, Any] = {
    Arithmetic.FLOAT32: tf.float32,
    Arithmetic.TF32: tf.float32,
    Arithmetic.BF16: tf.bfloat16,
    Arithmetic.FP16: tf.float16,
}

# The first NVIDIA GPUs that multiply in these kinds of number: Ampere (CUDA programming guide, compute capabilities).
_LEAST_CAPABILITY = {Arithmetic.TF32: (8, 0), Arithmetic.BF16: (8, 0)}

# As Linux lists them, of x86 and ARM. Without them oneDNN computes bf16 slower than float32.
_BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})

_TF32 = SharedSwitch(
    tf.config.experimental.tensor_float_32_execution_enabled, tf.config.experimental.enable_tensor_float_32_execution
)


def kind_of(precision: Arithmetic) -> Any:
    """TensorFlow's kind of number of kernels and maps.

    Raises:
        SettingError: TensorFlow has none, which is so for int8.
    """
    if precision not in _KINDS:
        raise SettingError(
            f"engine tensorflow does not compute with {precision.value}; use --engine onnxruntime or openvino"
        )
    return _KINDS[precision]


def check_on_cpu(precision: Arithmetic, cpu_info: Path = Path("/proc/cpuinfo")) -> None:
    """Refuse what a CPU has no quick instructions for.

    Raises:
        SettingError: says what to do.
    """
    if precision in (Arithmetic.TF32, Arithmetic.FP16):
        raise SettingError(
            f"engine tensorflow computes with {precision.value} on GPUs only, and runs on the CPU; "
            "use --precision float32 or bf16"
        )
    if precision is Arithmetic.BF16 and _has_bf16(cpu_info) is False:
        raise SettingError(
            "this processor has no instructions for bf16 (avx512_bf16 or amx_bf16), so that TensorFlow would be "
            "slower with it; use --precision float32, or try --engine openvino"
        )


def _has_bf16(cpu_info: Path) -> bool | None:
    """None where there is no list of the processor's abilities, which only Linux has."""
    try:
        lines = cpu_info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    listed = next((line for line in lines if line.startswith(("flags", "Features"))), None)
    return None if listed is None else not _BF16_FLAGS.isdisjoint(listed.split())


def check_on_gpu(precision: Arithmetic, name: str, capability: tuple[int, int] | None) -> None:
    """Refuse what a GPU cannot multiply in: TensorFlow would silently do it otherwise, or fail in the first call.

    Args:
        precision: that is asked for.
        name: of the GPU, such as `GPU:0`.
        capability: CUDA's; None is not known, and refuses nothing.

    Raises:
        SettingError: says what to do.
    """
    least = _LEAST_CAPABILITY.get(precision)
    if least is not None and capability is not None and capability < least:
        found, expected = (".".join(map(str, one)) for one in (capability, least))
        raise SettingError(
            f"{name} does not compute with {precision.value}: it has compute capability {found}, expected at least "
            f"{expected}; use --precision float32 or fp16"
        )


def tf32_products(allowed: bool) -> AbstractContextManager[None]:
    """Within the block, GPUs multiply float32 with 10 bits of fraction, or with all 23.

    TensorFlow has one switch for the process, on by default, which its kernels read when they start. So it is put
    back after the block, and blocks run at once only where they want the same, as those of two GPUs usually do; what
    other code of the process computes meanwhile has the same precision. cuDNN's choice of an algorithm is kept for the
    process too: two sessions that differ in nothing but this may share one.
    """
    return _TF32.at(allowed)

"""The environment variables that change what Python, the loader, CUDA and TensorFlow do."""

import re
from collections.abc import Mapping

_NAMES = (
    r"CUDA_(VISIBLE_DEVICES|DEVICE_ORDER|HOME|PATH|PATH_V\w+|ROOT|CACHE_\w+|FORCE_PTX_JIT|DISABLE_PTX_JIT|MODULE_LOADING)"
    r"|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES|DISABLE_REQUIRE|TF32_OVERRIDE)"
    r"|TF_\w+|XLA_FLAGS|PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
    r"|(LD_LIBRARY_|PYTHON)?PATH|LD_PRELOAD|PYTHON(HOME|NOUSERSITE)"
    r"|CONDA_(PREFIX|DEFAULT_ENV)|VIRTUAL_ENV|SLURM_JOB_ID|DISPLAY|WSL_DISTRO_NAME"
)


def relevant_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that are set, empty ones included: an empty CUDA_VISIBLE_DEVICES hides every GPU. Sorted by name."""
    return {name: environment[name] for name in sorted(environment) if re.fullmatch(_NAMES, name)}

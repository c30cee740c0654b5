"""`ptxas` and `libdevice`: what XLA needs to compile kernels, looked for where TensorFlow looks."""

import re
from collections.abc import Iterator
from pathlib import Path

from ssd_detect.doctor.facts import XlaFiles
from ssd_detect.doctor.probes.sources import Sources

_LIBDEVICE = Path("nvvm", "libdevice", "libdevice.10.bc")


def xla_files(sources: Sources, tensorflow: Path | None) -> XlaFiles:
    """Which files would be used; `tensorflow` is the folder of the package."""
    match = re.search(r"--xla_gpu_cuda_data_dir=(\S+)", sources.environment.get("XLA_FLAGS", ""))
    data_dir = match.group(1).strip("'\"") if match else None
    folders = list(dict.fromkeys(_folders(sources, tensorflow, data_dir)))
    ptxas = "ptxas.exe" if sources.kind == "Windows" else "ptxas"
    compilers = [*(folder / "bin" / ptxas for folder in folders), *(f / ptxas for f in sources.folders_in("PATH"))]
    return XlaFiles(
        ptxas=next((str(file) for file in compilers if file.is_file()), None),
        libdevice=next((str(folder / _LIBDEVICE) for folder in folders if (folder / _LIBDEVICE).is_file()), None),
        data_dir=data_dir,
        looked_in=tuple(str(folder) for folder in folders),
    )


def _folders(sources: Sources, tensorflow: Path | None, data_dir: str | None) -> Iterator[Path]:
    if data_dir is not None:
        yield Path(data_dir)
    here = sources.working_folder
    if here is not None:
        yield here / "cuda_sdk_lib"
    yield from (sources.root / "usr/local/cuda", sources.root / "opt/cuda")
    if tensorflow is not None:
        site_packages = tensorflow.parent
        yield from (site_packages / "nvidia" / "cuda_nvcc", site_packages.parent / "nvidia" / "cuda_nvcc")
        yield site_packages / "cuda"
    if here is not None:
        yield here

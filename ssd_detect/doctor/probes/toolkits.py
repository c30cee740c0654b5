"""CUDA toolkits on the disk, and the cuDNN that was copied into them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from ssd_detect.doctor.facts import Toolkit
from ssd_detect.doctor.probes.files import entries, read_text
from ssd_detect.doctor.probes.sources import Sources

_CUDNN_PARTS = ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL")


def toolkits(sources: Sources) -> tuple[Toolkit, ...]:
    """Each once, whatever links and variables lead to it."""
    folders = dict.fromkeys(folder.resolve() for folder in _folders(sources) if folder.is_dir())
    return tuple(Toolkit(str(folder), _cuda_version(folder), cudnn_header_version(folder)) for folder in folders)


def _folders(sources: Sources) -> Iterator[Path]:
    for name, value in sorted(sources.environment.items()):
        if value and re.fullmatch(r"CUDA_(HOME|PATH|ROOT|PATH_V\w+)", name):
            yield Path(value)
    if sources.kind == "Windows":
        programs = Path(sources.environment.get("ProgramFiles", r"C:\Program Files"))
        yield from entries(programs / "NVIDIA GPU Computing Toolkit" / "CUDA", "v*")
        return
    yield from entries(sources.root / "usr/local", "cuda*")
    yield from (sources.root / "opt/cuda", sources.root / "usr/lib/cuda")


def _cuda_version(folder: Path) -> str | None:
    try:
        return str(json.loads(read_text(folder / "version.json") or "")["cuda"]["version"])
    except (ValueError, KeyError, TypeError):  # before 11.1 there is a text file
        text = read_text(folder / "version.txt") or folder.name
    match = re.search(r"(\d+\.[\d.]*\d)", text)
    return match.group(1) if match else None


def cudnn_header_version(folder: Path) -> str | None:
    """Of the cuDNN whose header lies in `folder`/include: `cudnn_version.h`, before cuDNN 8 `cudnn.h`."""
    for name in ("cudnn_version.h", "cudnn.h"):
        text = read_text(folder / "include" / name) or ""
        parts = [re.search(rf"^#define {part}\s+(\d+)", text, re.MULTILINE) for part in _CUDNN_PARTS]
        if all(parts):
            return ".".join(part.group(1) for part in parts if part)
    return None

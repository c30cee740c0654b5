"""What pip, uv or conda installed, told by their records; nothing is imported."""

import json
import re
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ssd_detect.doctor.facts import CondaPackage, Distribution
from ssd_detect.doctor.probes.files import entries, read_text

_MATTERS = re.compile(
    r"(tensorflow|tf-nightly|tf-keras|intel-tensorflow|keras|numpy|protobuf|ml-dtypes|nvidia-|tensorrt|torch|jax|opencv-|"
    r"av$|pillow$|safetensors$|pip$)"
)
_REQUIREMENT_MATTERS = re.compile(r"(nvidia-|numpy|protobuf|tensorflow|tensorrt|keras)", re.IGNORECASE)
_CONDA_MATTERS = re.compile(
    r"(tensorflow|keras|numpy|cuda|cudnn|nccl|libcu|libnv|_openmp|av$|opencv|py-opencv|libprotobuf)"
)
_LIBRARY = re.compile(r"\.so(\.|$)|\.dll$|\.bc$|bin/ptxas")
_MOST_MISSING = 5


def normalised(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def relevant_distributions(search_path: Sequence[Path]) -> tuple[Distribution, ...]:
    """Those that matter, in the order in which Python finds them: of two with one name the first is imported."""
    return tuple(_described(*one) for one in installed_distributions(search_path, _MATTERS))


class Installed(NamedTuple):
    """A distribution's normalised name, its version, the folder that it lies in, and its records."""

    name: str
    version: str
    folder: Path
    records: metadata.Distribution


def installed_distributions(search_path: Sequence[Path], wanted: re.Pattern[str]) -> Iterator[Installed]:
    """Those whose name begins as `wanted`, by the names of their folders: parsing all metadata takes 0.2 s."""
    for folder in dict.fromkeys(search_path):
        for path in (*entries(folder, "*.dist-info"), *entries(folder, "*.egg-info")):
            name, version = (*path.stem.split("-"), "")[:2]
            if wanted.match(normalised(name)):
                yield Installed(normalised(name), version, folder, metadata.Distribution.at(path))


def _described(name: str, version: str, folder: Path, records: metadata.Distribution) -> Distribution:
    files = recorded_files(records)
    return Distribution(
        name=name,
        version=version,
        folder=str(folder),
        installer=(records.read_text("INSTALLER") or "").strip() or None,
        owns_tensorflow=any(file.startswith("tensorflow/") for file in files),
        requires=tuple(filter(_REQUIREMENT_MATTERS.match, _requirements(records))),
        missing_files=_missing(folder, files) if name.startswith("nvidia-") else (),
    )


def _requirements(records: metadata.Distribution) -> list[str]:
    # A half-removed distribution has no METADATA left, which newer Pythons answer with an exception.
    return [] if records.read_text("METADATA") is None else records.requires or []


def recorded_files(records: metadata.Distribution) -> list[str]:
    """The files that a distribution lists, relative to its folder; none where it keeps no such list."""
    lines = (records.read_text("RECORD") or "").splitlines()
    return [line.split(",")[0].replace("\\", "/").strip('"') for line in lines]


def _missing(folder: Path, files: Sequence[str]) -> tuple[str, ...]:
    libraries = (file for file in files if _LIBRARY.search(file))
    return tuple(file for file in libraries if not (folder / file).exists())[:_MOST_MISSING]


def leftovers(search_path: Sequence[Path]) -> tuple[str, ...]:
    """What pip renamed to begin with `~` and then could not remove."""
    return tuple(str(path) for folder in dict.fromkeys(search_path) for path in entries(folder, "~*"))


def conda_packages(prefix: Path) -> tuple[CondaPackage, ...]:
    """The packages of the conda environment `prefix` that matter here."""
    return tuple(package for package, _ in conda_records(prefix))


def conda_records(prefix: Path) -> Iterator[tuple[CondaPackage, tuple[str, ...]]]:
    """Each with its files, relative to the prefix; damaged records are passed over."""
    for file in entries(prefix / "conda-meta", "*.json"):
        if not _CONDA_MATTERS.match(file.name):
            continue
        try:
            record = json.loads(read_text(file) or "{}")
            name, number = record["name"], record["version"]
        except (ValueError, KeyError):
            continue
        channel = (
            str(record.get("channel", "")).rstrip("/").split("/")[-2 if "://" in str(record.get("channel")) else -1]
        )
        yield CondaPackage(name, number, record.get("build", ""), channel), tuple(record.get("files", ()))

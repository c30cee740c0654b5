"""`tables.toml`, read once."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from ssd_detect.doctor.rows import (
    BrokenRecipe,
    Capability,
    Code,
    CondaPackages,
    CudaDriver,
    CudnnCode,
    CudnnLibraries,
    Distribution,
    ErrorNumber,
    Extra,
    Generation,
    Libraries,
    MacWheels,
    Message,
    Metal,
    MinorCompatibility,
    Names,
    PtxIsa,
    Suits,
    TensorFlowDriver,
    TensorFlowRow,
    Variable,
    Wheel,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).with_name("tables.toml")


@dataclass(frozen=True)
class Tables:
    """The whole file: a field for each table, its rows in the order of the file."""

    looked_at: str
    sources: Mapping[str, str]
    variable: tuple[Variable, ...]
    tensorflow: tuple[TensorFlowRow, ...]
    distribution: tuple[Distribution, ...]
    broken_recipe: tuple[BrokenRecipe, ...]
    extra: tuple[Extra, ...]
    conda: tuple[CondaPackages, ...]
    cuda_driver: tuple[CudaDriver, ...]
    minor_compatibility: tuple[MinorCompatibility, ...]
    tensorflow_driver: tuple[TensorFlowDriver, ...]
    ptx_isa: tuple[PtxIsa, ...]
    libraries: tuple[Libraries, ...]
    cudnn: tuple[CudnnLibraries, ...]
    needed: tuple[Names, ...]
    msvc_runtime: tuple[Names, ...]
    wheel: tuple[Wheel, ...]
    capability: tuple[Capability, ...]
    generation: tuple[Generation, ...]
    code: tuple[Code, ...]
    suits: tuple[Suits, ...]
    cudnn_code: tuple[CudnnCode, ...]
    cuda_error: tuple[ErrorNumber, ...]
    nvml_error: tuple[ErrorNumber, ...]
    message: tuple[Message, ...]
    metal: tuple[Metal, ...]
    mac_wheels: tuple[MacWheels, ...]


@cache
def tables() -> Tables:
    """All rows."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    content["tensorflow"] = _with_their_series(content["tensorflow"])
    kinds = {name: get_args(hint)[0] for name, hint in get_type_hints(Tables).items() if get_args(hint)[1:] == (...,)}
    rows = {name: _rows(kind, content[name]) for name, kind in kinds.items()}
    return Tables(looked_at=content["looked_at"], sources=content["sources"], **rows)


def _rows(kind: type[Any], entries: list[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(**{name: _frozen(value) for name, value in entry.items()}) for entry in entries)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _with_their_series(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A single release has the row of its series, save for what it names itself."""
    series = {entry["version"]: entry for entry in entries}
    return [{**series[".".join(entry["version"].split(".")[:2])], **entry} for entry in entries]

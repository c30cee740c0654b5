"""A `Recipe` as lines of text for a terminal."""

from collections.abc import Iterator, Sequence

from ssd_detect.doctor.recipe import Recipe, SystemRecipe
from ssd_detect.doctor.table_file import tables
from ssd_detect.doctor.tables import capability, release

_LABEL_WIDTH = 11
_LINE_WIDTH = 110


def recipe_lines(recipe: Recipe) -> list[str]:
    """A headline, what holds everywhere, then each system with the commands to type; for copying, they stay whole."""
    lines = [f"TensorFlow {recipe.version} is built for CUDA {recipe.cuda} and cuDNN {recipe.cudnn}"]
    lines += _entry("NumPy", [recipe.numpy])
    lines += _entry("protobuf", [recipe.protobuf])
    lines += _entry("GPUs", [*_gpus(recipe)])
    if recipe.cpu:
        lines += ["", "CPU", *_entry("Python", [recipe.systems[-1].python]), *_entry("install", [recipe.cpu])]
    for system in recipe.systems:
        lines += ["", system.system, *_system(system)]
    lines += ["", "WSL2", *_entry("driver", [_wsl_driver(recipe)]), *_entry("install", ["as on Linux"])]
    lines += ["", "macOS", *_entry("", recipe.macos.split("; "))]
    return [*lines, *(["", *recipe.notes] if recipe.notes else [])]


def _system(system: SystemRecipe) -> Iterator[str]:
    if system.uses_gpu:
        yield from _entry("driver", [_driver(system)])
    else:
        yield from _entry("GPU", ["none: TensorFlow for Windows uses no GPU since 2.11; use WSL2, or TensorFlow 2.10"])
    yield from _entry("Python", [system.python])
    yield from _entry("install", system.commands)
    yield from _entry("libraries", _wrapped(system.libraries))


def _driver(system: SystemRecipe) -> str:
    text = f"{system.driver} or newer"
    if system.comfortable_driver == system.driver:
        return text
    return f"{text}; better {system.comfortable_driver} or newer, else some GPUs and functions are missing"


def _wsl_driver(recipe: Recipe) -> str:
    number = f", {recipe.wsl_driver} or newer" if recipe.wsl_driver else ""
    return f"that of Windows{number}; install none inside WSL"


def _gpus(recipe: Recipe) -> Iterator[str]:
    if recipe.native:
        yield f"{_architectures(recipe.native)} (compute capability {_span(recipe.native)})"
    if recipe.compiled:
        span = f"compute capability {_span(recipe.compiled)}"
        yield f"{_architectures(recipe.compiled)} ({span}): the first run compiles for minutes"


def _architectures(capabilities: Sequence[str]) -> str:
    rows = [row for cc in capabilities if (row := capability(cc))]
    return ", ".join(dict.fromkeys(row.architecture for row in rows))


def _span(capabilities: Sequence[str]) -> str:
    """Ranges of those that are there, with no other known one within."""
    known = sorted((row.cc for row in tables().capability), key=release)
    places = sorted(known.index(cc) for cc in capabilities)
    starts = [place for place in places if place - 1 not in places]
    ends = [place for place in places if place + 1 not in places]
    return ", ".join(_range(known[start], known[end]) for start, end in zip(starts, ends, strict=True))


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _wrapped(words: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 1 < _LINE_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _entry(label: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield f"  {label:{_LABEL_WIDTH}}{text}"
        label = ""

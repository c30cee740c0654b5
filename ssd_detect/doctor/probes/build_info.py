"""What TensorFlow was built for, read from its `build_info.py` as text: importing it may take seconds, or kill."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ssd_detect.doctor.facts import BuildFacts, Distribution
from ssd_detect.doctor.probes.files import read_text

_BUILD_INFO = Path("python", "platform", "build_info.py")
# 1.15 to 2.1 have module attributes under these names, later ones a dictionary.
_NEWER_NAMES = {"cuda_version_number": "cuda_version", "cudnn_version_number": "cudnn_version"}


def build_facts(search_path: Sequence[Path], distributions: Sequence[Distribution]) -> BuildFacts | None:
    """Of the TensorFlow that an import would take; None when there is none."""
    folder = next((entry for entry in search_path if (entry / "tensorflow" / "__init__.py").exists()), None)
    if folder is None:
        return None
    values = _values(read_text(folder / "tensorflow" / _BUILD_INFO) or "")
    return BuildFacts(
        version=_version(folder, distributions),
        folder=str(folder / "tensorflow"),
        is_cuda_build=values.get("is_cuda_build"),
        is_rocm_build=values.get("is_rocm_build"),
        cuda_version=values.get("cuda_version"),
        cudnn_version=values.get("cudnn_version"),
        compute_capabilities=tuple(values.get("cuda_compute_capabilities", ())),
    )


def _version(folder: Path, distributions: Sequence[Distribution]) -> str | None:
    owners = (d.version for d in distributions if d.owns_tensorflow and d.folder == str(folder))
    return next(owners, None)


def _values(text: str) -> dict[str, Any]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    values = dict(pair for statement in tree.body for pair in _assigned(statement))
    dictionary = values.pop("build_info", {})
    return {_NEWER_NAMES.get(name, name): value for name, value in (values | dictionary).items()}


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, Any]]:
    """Name and value of `name = literal`, and of `name = OrderedDict([...])`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return
    value = statement.value
    is_call = isinstance(value, ast.Call) and len(value.args) == 1
    try:
        literal = ast.literal_eval(value.args[0] if is_call and isinstance(value, ast.Call) else value)
    except ValueError:
        return
    yield statement.targets[0].id, dict(literal) if is_call else literal

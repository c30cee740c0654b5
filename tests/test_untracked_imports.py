"""onnxruntime and OpenVINO report to their makers unless they are imported in one way: that everything goes that way.

What goes over the network is seen by `test_no_network.py`.
"""

import ast
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ssd_detect.environment import import_untracked

ROOT = Path(__file__).parent.parent
REPORTING = ("onnxruntime", "openvino")
SOURCES = [path for folder in ("ssd_detect", "scripts", "tests") for path in (ROOT / folder).rglob("*.py")]


def direct_imports(source: str) -> list[str]:
    """Those of a module: statements, and calls of what imports by name other than `import_untracked`."""
    return [name for node in ast.walk(ast.parse(source)) for name in _imported(node) if _root(name) in REPORTING]


def _root(name: str) -> str:
    return name.partition(".")[0]


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        yield node.module or ""
    elif isinstance(node, ast.Call) and _last(node.func) in ("import_module", "__import__", "importorskip"):
        yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _last(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", []),
        ("import onnx, onnxruntime_tools\nfrom onnx import helper\nfrom . import onnxruntime", []),
        ("from ssd_detect.engines.onnxruntime_network import OnnxRuntimeNetwork", []),
        ("import_untracked('onnxruntime')", []),
        ("def late():\n    import onnxruntime as ort", ["onnxruntime"]),
        ("import os, openvino.properties", ["openvino.properties"]),
        ("from onnxruntime.quantization import quantize_static", ["onnxruntime.quantization"]),
        ("importlib.import_module('openvino'); import_module('onnxruntime')", ["openvino", "onnxruntime"]),
        ("pytest.importorskip('openvino'); __import__('onnxruntime')", ["openvino", "onnxruntime"]),
    ],
)
def test_direct_imports_are_seen(source: str, found: list[str]) -> None:
    assert direct_imports(source) == found


def test_nothing_imports_them_directly() -> None:
    assert len(SOURCES) > 300
    found = {str(path.relative_to(ROOT)): direct_imports(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}


# Imports what the arguments name and tells what that has left in the process.
LEFT = """
import json, os, sys
before = dict(os.environ)
from ssd_detect.environment import import_untracked
for name in sys.argv[1:]:
    import_untracked(name)
changed = {k: os.environ.get(k) for k in before.keys() | os.environ.keys() if before.get(k) != os.environ.get(k)}
print(json.dumps({"changed": changed, "hidden": [name for name, module in sys.modules.items() if module is None]}))
"""


@pytest.mark.parametrize("own", [{}, {"ORT_DISABLE_TELEMETRY": "0"}, {"ORT_DISABLE_TELEMETRY": "1"}])
def test_nothing_is_left_in_the_process(own: dict[str, str]) -> None:
    """Of the caller's variables none is changed, and its own import of the reporting package is as before."""
    variables = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    command = [sys.executable, "-c", LEFT, *REPORTING]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**variables, **own})
    assert json.loads(done.stdout) == {"changed": {}, "hidden": []}


MODULE = """
import os, threading, time
here, other = {here!r}, {other!r}
import barrier
barrier.reached[here].set()
barrier.reached[other].wait({patience})
time.sleep({pause})
allowed = os.environ.get("ORT_DISABLE_TELEMETRY") != "1"
"""


def test_one_thread_does_not_give_away_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two imports at the same time: the one that ends first must not let the other one report."""
    barrier = ModuleType("barrier")
    barrier.reached = {name: threading.Event() for name in ("quick", "slow")}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "barrier", barrier)
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {}
    for here, other, pause in (("quick", "slow", 0.0), ("slow", "quick", 0.3)):
        text = MODULE.format(here=here, other=other, patience=0.5, pause=pause)
        (tmp_path / f"{here}.py").write_text(text)
    threads = [
        threading.Thread(target=lambda name=name: found.update({name: import_untracked(name)}))
        for name in ("quick", "slow")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("quick", "slow"):
        monkeypatch.delitem(sys.modules, name)
    assert {name: module.allowed for name, module in found.items()} == {"quick": False, "slow": False}
    assert "ORT_DISABLE_TELEMETRY" not in os.environ


def test_what_is_imported_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's own onnxruntime is taken as it is."""
    own = ModuleType("onnxruntime")
    monkeypatch.setitem(sys.modules, "onnxruntime", own)
    assert import_untracked("onnxruntime") is own
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError):
        import_untracked("onnxruntime")

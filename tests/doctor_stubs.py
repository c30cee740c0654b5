"""Packages that misbehave, in a folder of their own, and the real command with them in its way."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

GOOD_STUB = """
class _Device:
    def __init__(self, name, kind): self.name, self.device_type = name, kind
class sysconfig:
    def get_build_info(): return {"is_cuda_build": True, "cuda_version": "12.5.1"}
class _Experimental:
    def get_device_details(device): return {"device_name": "NVIDIA H200", "compute_capability": (9, 0)}
class config:
    experimental = _Experimental
    def list_physical_devices():
        return [_Device("/physical_device:CPU:0", "CPU"), _Device("/physical_device:GPU:0", "GPU")]
__version__ = "2.21.0"
"""
NOISE = """
import os, sys
for i in range(200):
    print("noise on the output", i)
    os.write(1, b"native noise\\n")
    print("A module that was compiled using NumPy 1.x cannot be run in NumPy 2", file=sys.stderr)
"""


def write_stub(folder: Path, source: str, name: str = "tensorflow") -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(source, encoding="utf-8")


def run_doctor(
    *arguments: str, stubs: Path | None = None, environment: dict[str, str] | None = None, **options: Any
) -> "subprocess.CompletedProcess[str]":
    paths = [str(path) for path in (stubs, ROOT) if path]
    environment = {**os.environ, **(environment or {}), "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "ssd_detect", "doctor", *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(command, text=True, encoding="utf-8", env=environment, check=False, **options)


def broken(folder: Path, *names: str) -> Path:
    for name in names:
        write_stub(folder, f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')", name)
    return folder

"""When `auto` measures anew: all that decides which engine is the quickest, on made machines too."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ssd_detect.conventions import Arithmetic, EngineName
from ssd_detect.engines import condition as module
from ssd_detect.engines.condition import condition
from ssd_detect.engines.processor import usable_cores
from ssd_detect.settings import Device, SessionSettings
from tests.made_machines import install, lay, made_sources

ABLE = [EngineName.TENSORFLOW, EngineName.OPENCV]
CPU = SessionSettings(Device("cpu"), engine=EngineName.AUTO)
ANY = replace(CPU, device=Device("auto"))

GPU = "proc/driver/nvidia/gpus/0000:01:00.0/information"
A100: Mapping[str, str] = {
    GPU: "Model: \t\t NVIDIA A100\nIRQ:   \t\t 35\nGPU UUID: \t GPU-1\n",
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Kernel Module  550.54.14  Thu\n",
    "dev/nvidia0": "",
}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "variables", dict)


def on(root: Path, files: Mapping[str, str] = {}, settings: SessionSettings = ANY, **environment: str) -> str:
    lay(root, files)
    return condition(settings, ABLE, made_sources(root, **environment))


def test_what_is_asked_for_and_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = condition(CPU, ABLE)
    others = [
        condition(replace(CPU, intra_op_threads=usable_cores() + 1), ABLE),
        condition(replace(CPU, inter_op_threads=1), ABLE),
        condition(replace(CPU, device=Device("gpu", 1)), ABLE),
        condition(replace(CPU, precision=Arithmetic.BF16), ABLE),
        condition(CPU, [EngineName.TENSORFLOW, EngineName.OPENVINO]),
    ]
    for name, stand_in in {
        "releases_of": lambda engine: "99",
        "processor_id": lambda: "another",
        "usable_cores": lambda: 99,
        "variables": lambda: {"OMP_NUM_THREADS": "1"},
    }.items():
        monkeypatch.setattr(module, name, stand_in)
        others.append(condition(CPU, ABLE))
    assert len({before, *others}) == 1 + len(others)


def test_threads_as_many_as_there_are_cores_are_the_usual_ones() -> None:
    assert condition(CPU, ABLE) == condition(replace(CPU, intra_op_threads=usable_cores()), ABLE)


def test_with_and_without_code_for_gpus_in_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for installed in (["onnxruntime"], ["onnxruntime-gpu"], ["onnxruntime", "onnxruntime-gpu"], []):
        monkeypatch.setattr(
            "ssd_detect.engines.packages.version_of", lambda name, known=installed: "1.2" if name in known else None
        )
        told.append(condition(CPU, [EngineName.ONNXRUNTIME]).split()[3])
    assert told == [
        "onnxruntime=onnxruntime-1.2",
        "onnxruntime=onnxruntime-gpu-1.2",
        "onnxruntime=onnxruntime-1.2,onnxruntime-gpu-1.2",
        "onnxruntime=?",
    ]


def with_cudnn(root: Path) -> Path:
    install(root, "nvidia-cudnn-cu12", "9.1", {})
    return root


CHANGES: dict[str, Callable[[Path], str]] = {
    "its driver is gone": lambda root: on(root),
    "another model": lambda root: on(root, {**A100, GPU: A100[GPU].replace("A100", "H200")}),
    "another driver": lambda root: on(root, {**A100, "proc/driver/nvidia/version": "NVRM version: 570.1\n"}),
    "a second one": lambda root: on(root, {**A100, GPU.replace("01", "02"): A100[GPU]}),
    "one less in the container": lambda root: on(root, {**A100, "dev/nvidia1": ""}),
    "hidden": lambda root: on(root, A100, CUDA_VISIBLE_DEVICES=""),
    "another order": lambda root: on(root, A100, CUDA_DEVICE_ORDER="PCI_BUS_ID"),
    "other libraries": lambda root: on(root, A100, LD_LIBRARY_PATH="/usr/local/cuda/lib64"),
    "libraries installed": lambda root: on(with_cudnn(root), A100),
    "in WSL": lambda root: on(root, {"dev/dxg": "", "usr/lib/wsl/lib/libcuda.so.1": ""}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_gpu(change: str, tmp_path: Path) -> None:
    before = on(tmp_path / "before", A100)
    assert CHANGES[change](tmp_path / "after") != before
    assert on(tmp_path / "before", A100) == before


def test_what_does_not_matter(tmp_path: Path) -> None:
    """Numbers that change with each start of the machine; variables that this program sets; GPUs where none is used."""
    same = on(tmp_path / "a", A100)
    assert on(tmp_path / "b", {**A100, GPU: A100[GPU].replace("35", "36").replace("GPU-1", "GPU-2")}) == same
    assert on(tmp_path / "c", A100, TF_CPP_MIN_LOG_LEVEL="3", TERM="dumb", PATH="/bin") == same
    without = on(tmp_path / "none", settings=CPU)
    assert on(tmp_path / "a", A100, CPU, CUDA_VISIBLE_DEVICES="0") == without
    assert on(tmp_path / "none", CUDA_VISIBLE_DEVICES="0") == on(tmp_path / "none2")


def test_an_updated_driver_in_wsl_and_on_windows(tmp_path: Path) -> None:
    for kind, library in (("Linux", "usr/lib/wsl/lib/libcuda.so.1"), ("Windows", "windows/System32/nvcuda.dll")):
        told = []
        for content in ("551.1", "560.94"):
            lay(tmp_path / kind, {"dev/dxg": "", library: content})
            sources = made_sources(tmp_path / kind, kind, SystemRoot=str(tmp_path / kind / "windows"))
            told.append(condition(ANY, ABLE, sources))
        assert told[0] != told[1], kind

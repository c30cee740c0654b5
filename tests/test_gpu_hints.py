"""What is said of a GPU that is not used, that fails, or that is slow to start.

TensorFlow's errors are made by hand, since no test should fill a machine or break its driver; all that is made of them
is real, up to the exit status of the command.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

from ssd_detect import Detector
from ssd_detect.cli import startup
from ssd_detect.cli.main import program
from ssd_detect.cli.options import RunSettings
from ssd_detect.conventions import EngineName
from ssd_detect.doctor.facts import Gpu, GpuReport
from ssd_detect.doctor.hints import SLOW_START, UNUSED_GPU, explain_failure, has_nvidia_gpu
from ssd_detect.doctor.probes.sources import Sources
from ssd_detect.errors import DeviceError, ExitStatus
from ssd_detect.model.session import NetworkSession
from ssd_detect.settings import Device, SessionSettings
from ssd_detect.stages import told_when_slow

FULL = GpuReport("nvml", gpus=(Gpu(0, "NVIDIA T4", total_mib=15360, free_mib=312),))
BLANK = np.zeros((5, 5, 3), np.uint8)


@pytest.fixture
def machine(tmp_path: Path) -> Sources:
    """An empty Linux machine."""
    return Sources("Linux", tmp_path, {"PATH": str(tmp_path / "bin")}, (), tmp_path, tmp_path, tmp_path)


@pytest.fixture(scope="module")
def cpu_detector() -> Iterator[Detector]:
    with Detector(session=SessionSettings(Device("cpu"))) as made:
        yield made


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- is there a GPU?


def pci(root: Path, vendor: str, kind: str) -> None:
    device = root / "sys/bus/pci/devices/0000:01:00.0"
    for name, text in (("vendor", vendor), ("class", kind), ("device", "0x1eb8")):
        write(device / name, f"{text}\n")


def wsl(root: Path) -> None:
    write(root / "dev/dxg")
    write(root / "usr/lib/wsl/lib/libcuda.so.1")


SIGNS: dict[str, tuple[Callable[[Path], None], bool]] = {
    "nothing": (lambda root: None, False),
    "a GPU of another maker": (lambda root: pci(root, "0x1002", "0x030000"), False),
    "an NVIDIA sound device": (lambda root: pci(root, "0x10de", "0x040300"), False),
    "WSL without NVIDIA": (lambda root: write(root / "dev/dxg"), False),
    "a driver without GPUs": (lambda root: write(root / "proc/driver/nvidia/version"), False),
    "a GPU without a driver": (lambda root: pci(root, "0x10de", "0x030200"), True),
    "a driver": (lambda root: write(root / "proc/driver/nvidia/gpus/0000:01:00.0/information"), True),
    "WSL": (wsl, True),
}


@pytest.mark.parametrize(("make", "expected"), SIGNS.values(), ids=SIGNS.keys())
def test_signs_of_a_gpu(make: Callable[[Path], None], expected: bool, machine: Sources) -> None:
    make(machine.root)
    assert has_nvidia_gpu(machine) is expected
    assert not has_nvidia_gpu(replace(machine, kind="Darwin"))


def test_signs_on_windows(machine: Sources) -> None:
    windows = replace(machine, kind="Windows", environment={"SystemRoot": str(machine.root)})
    assert not has_nvidia_gpu(windows)
    write(machine.root / "System32" / "nvcuda.dll")
    assert has_nvidia_gpu(windows)


def test_signs_are_looked_for_in_no_time(machine: Sources) -> None:
    start = time.perf_counter()
    has_nvidia_gpu(Sources.of_this_machine())
    assert time.perf_counter() - start < 0.2


@pytest.mark.parametrize(
    ("device", "has_gpu", "expected"), [("auto", True, True), ("auto", False, False), ("cpu", True, False)]
)
def test_when_a_gpu_is_left_unused(
    device: str, has_gpu: bool, expected: bool, machine: Sources, cpu_detector: Detector
) -> None:
    if has_gpu:
        wsl(machine.root)
    assert startup.leaves_gpu_unused(cpu_detector, run_settings("--device", device), machine) is expected


def test_a_gpu_that_is_used(machine: Sources, cpu_detector: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    wsl(machine.root)
    monkeypatch.setattr(cpu_detector._network, "_runs_on", cpu_detector.runs_on._replace(device="GPU:0"))
    assert not startup.leaves_gpu_unused(cpu_detector, run_settings(), machine)


def test_an_engine_that_was_asked_for_leaves_no_gpu_unused(
    machine: Sources, cpu_detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    wsl(machine.root)
    monkeypatch.setattr(cpu_detector._network, "_runs_on", cpu_detector.runs_on._replace(engine=EngineName.OPENVINO))
    assert not startup.leaves_gpu_unused(cpu_detector, run_settings("--engine", "openvino"), machine)


def test_a_gpu_that_is_not_used_is_told_of(machine: Sources, capsys: pytest.CaptureFixture[str]) -> None:
    wsl(machine.root)
    with startup.open_detector(run_settings(), sources=machine):
        said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{UNUSED_GPU}\n")
    assert "ssd-detect doctor" in UNUSED_GPU


def run_settings(*arguments: str) -> RunSettings:
    """As the command line makes them."""
    import click

    from ssd_detect.cli.options import detection_options

    made: list[RunSettings] = []

    @click.command()
    @detection_options
    def command(run: RunSettings) -> None:
        made.append(run)

    command.main([*arguments], standalone_mode=False)
    return made[0]


# ---------------------------------------------------------------- failures

SAYS = "type ssd-detect doctor to find out more, or use --device cpu"
HOLDERS = "ssd-detect doctor shows who holds memory"
FREE = "312 of 15360 MiB are free on NVIDIA T4"
CUDNN = "cuDNN cannot start, most often because other programs hold the memory of the GPU"
KNOWN = {
    "nothing": ("", f"GPU:0 fails: TensorFlow says: nothing; {SAYS}"),
    "unknown": ("Something odd.\n\t more", f"GPU:0 fails: TensorFlow says: Something odd.; {SAYS}"),
    "unknown and long": ("x" * 999, f"GPU:0 fails: TensorFlow says: {'x' * 199}…; {SAYS}"),
    "cuDNN": (
        "Failed to get convolution algorithm. This is probably because cuDNN failed to initialize",
        f"GPU:0 fails: {CUDNN} ({FREE}); {SAYS}",
    ),
    "cuDNN handle": (
        "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
        f"GPU:0 fails: {CUDNN} ({FREE}); {SAYS}",
    ),
    "DNN library": ("DNN library is not found.\n\t [[{{node conv1}}]]", f"GPU:0 fails: cuDNN is missing; {SAYS}"),
    "cuDNN version": (
        "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.",
        f"GPU:0 fails: cuDNN is older than the one that TensorFlow was built with; {SAYS}",
    ),
    "invalid PTX": (
        "'cuLaunchKernel(function, gridX, ...)' failed with 'CUDA_ERROR_INVALID_PTX'",
        f"GPU:0 fails: this TensorFlow has no code that this GPU can run; {SAYS}",
    ),
    "old driver": (
        "CUDA driver version is insufficient for CUDA runtime version",
        f"GPU:0 fails: the NVIDIA driver is too old; {SAYS}",
    ),
    "library": (
        "Could not load dynamic library 'libcudnn.so.8'; dlerror: …",
        f"GPU:0 fails: a library of CUDA is missing; {SAYS}",
    ),
    "CUDA's own word for a full memory": (
        "failed to alloc 4096 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        f"not enough memory on GPU:0 for 4 picture(s) at once ({FREE}); "
        f"use a --batch-size smaller than 4, or use --device cpu; {HOLDERS}",
    ),
}


@pytest.mark.parametrize(("text", "expected"), KNOWN.values(), ids=KNOWN.keys())
def test_what_is_made_of_an_error_on_a_gpu(text: str, expected: str, machine: Sources) -> None:
    assert explain_failure(text, batch=4, device="GPU:0", report=lambda: FULL, sources=machine) == expected


@pytest.mark.parametrize(
    ("batch", "device", "report", "expected"),
    [
        (1, "CPU", FULL, "not enough memory for 1 picture(s) at once; close other programs"),
        (8, "CPU", FULL, "not enough memory for 8 picture(s) at once; use a --batch-size smaller than 8"),
        (0, "GPU:1", GpuReport(), f"not enough memory on GPU:1; close other programs, or use --device cpu; {HOLDERS}"),
        (
            1,
            "GPU:0",
            GpuReport(
                "nvidia-smi", gpus=(*FULL.gpus, Gpu(1, "NVIDIA A2"), Gpu(2, "NVIDIA L4", total_mib=9, free_mib=0))
            ),
            f"not enough memory on GPU:0 for 1 picture(s) at once ({FREE}, 0 of 9 MiB are free on NVIDIA L4); "
            f"close other programs, or use --device cpu; {HOLDERS}",
        ),
    ],
)
def test_out_of_memory(batch: int, device: str, report: GpuReport, expected: str, machine: Sources) -> None:
    found = explain_failure(
        "OOM", batch=batch, device=device, out_of_memory=True, report=lambda: report, sources=machine
    )
    assert found == expected


def test_free_memory_of_the_computer(machine: Sources) -> None:
    write(machine.root / "proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:   204800 kB\n")
    found = explain_failure("OOM", batch=2, device="CPU", out_of_memory=True, sources=machine)
    assert found == "not enough memory for 2 picture(s) at once (200 MiB are free); use a --batch-size smaller than 2"


def test_an_unknown_error_on_the_cpu_is_nobodys_guess(machine: Sources) -> None:
    assert explain_failure("Something odd.", batch=1, device="CPU", sources=machine) is None


@pytest.mark.skipif(sys.platform == "win32", reason="a script in place of nvidia-smi")
def test_free_memory_is_asked_of_nvidia_smi_where_nvml_is_silent(machine: Sources) -> None:
    smi = machine.root / "bin" / "nvidia-smi"
    write(smi, "#!/bin/sh\necho '0, NVIDIA T4, GPU-1, 00:01.0, 535.1, 15360, 312, Default, [N/A], 7.5'\n")
    smi.chmod(0o755)
    found = explain_failure("OOM", batch=2, device="GPU:0", out_of_memory=True, sources=machine)
    assert found is not None
    assert f"({FREE})" in found


# ---------------------------------------------------------------- through the session and the command


class Failing:
    """In place of a session; closes like one."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, *_: object) -> None:
        raise self.error

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture
def silent_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report of a full GPU, whatever this machine has."""
    monkeypatch.setattr("ssd_detect.doctor.hints._ask_driver", lambda sources: FULL)


ERRORS = {
    "memory": (
        tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[1,64,300,300]"),
        rf"^not enough memory on GPU:0 for 1 picture\(s\) at once \({FREE}\); close other programs, or use --device",
    ),
    "cuDNN": (tf.errors.UnknownError(None, None, "Failed to get convolution algorithm."), rf"{CUDNN} \({FREE}\)"),
    "PTX": (
        tf.errors.InternalError(None, None, "'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_PTX'"),
        "this TensorFlow has no code that this GPU can run; type ssd-detect doctor",
    ),
}


@pytest.mark.usefixtures("silent_driver")
@pytest.mark.parametrize(("error", "words"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_of_the_session(
    error: Exception, words: str, cpu_detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_detector._network, "_session", Failing(error))
    monkeypatch.setattr(cpu_detector._network, "_runs_on", cpu_detector.runs_on._replace(device="GPU:0"))
    with pytest.raises(DeviceError, match=words) as caught:
        cpu_detector(BLANK)
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)


def test_errors_on_the_cpu(cpu_detector: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_detector._network, "_session", Failing(ERRORS["memory"][0]))
    with pytest.raises(DeviceError, match=r"^not enough memory for 2 picture\(s\) at once.*smaller than 2$"):
        cpu_detector([BLANK, BLANK])
    odd = tf.errors.InvalidArgumentError(None, None, "a mistake of ours")
    monkeypatch.setattr(cpu_detector._network, "_session", Failing(odd))
    with pytest.raises(tf.errors.InvalidArgumentError):
        cpu_detector(BLANK)


def test_a_gpu_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise tf.errors.InternalError(None, None, "CUDA driver version is insufficient for CUDA runtime version")

    monkeypatch.setattr("ssd_detect.model.session._visible_gpus", lambda: ["GPU:0"])
    monkeypatch.setattr(tf.compat.v1, "Session", refuse)
    with pytest.raises(DeviceError, match="GPU:0 fails: the NVIDIA driver is too old; type ssd-detect doctor"):
        Detector()


@pytest.mark.usefixtures("silent_driver")
@pytest.mark.parametrize("name", ERRORS)
def test_the_command_ends_with_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, media: Path, tmp_path: Path
) -> None:
    error = ERRORS[name][0]
    network = "ssd_detect.model.session.NetworkSession"
    monkeypatch.setattr(f"{network}._fetch", failing_fetch(error))
    done = CliRunner().invoke(program, ["image", str(media / "chelsea.png"), "-o", str(tmp_path / "out.jpg")])
    assert done.exit_code == ExitStatus.FAILED
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.startswith("Error: ")] == lines[-1:]
    assert "ssd-detect doctor" in lines[-1]
    assert "--device cpu" in lines[-1]
    assert not list(tmp_path.iterdir())


def failing_fetch(error: Exception) -> Any:
    from ssd_detect.model.session import _explained_errors

    def fetch(self: object, tensors: object, feeds: dict[object, Any]) -> None:
        with _explained_errors(next(iter(feeds.values())).shape[0], "GPU:0"):
            raise error

    return fetch


# ---------------------------------------------------------------- a slow start


def test_a_slow_block_is_told_of_once() -> None:
    told = threading.Event()
    with told_when_slow(told.set, 0.01):
        assert told.wait(5)
    quick: list[int] = []
    with told_when_slow(lambda: quick.append(1), 0.05):
        pass
    time.sleep(0.1)
    assert quick == []


def test_a_slow_first_call_is_told_of(cpu_detector: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that sleeps; the second call is as slow, and says nothing."""
    told: list[str] = []
    assert isinstance(cpu_detector._network, NetworkSession)
    sleepy = Sleepy(cpu_detector._network._session, seconds=0.2)
    monkeypatch.setattr("ssd_detect.detector.SLOW_START_SECONDS", 0.05)
    monkeypatch.setattr(cpu_detector._network, "_session", sleepy)
    monkeypatch.setattr(cpu_detector, "_on_slow_start", lambda: told.append(SLOW_START))
    for _ in range(2):
        cpu_detector(BLANK)
    assert told == [SLOW_START]


class Sleepy:
    """A session whose every call takes longer."""

    def __init__(self, session: Any, seconds: float) -> None:
        self.session, self.seconds = session, seconds

    def run(self, *arguments: Any) -> Any:
        time.sleep(self.seconds)
        return self.session.run(*arguments)

    def close(self) -> None:
        self.session.close()


def test_only_a_gpu_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    with Detector(session=SessionSettings(Device("cpu")), on_slow_start=lambda: None) as on_cpu:
        assert on_cpu._on_slow_start is None
    monkeypatch.setattr("ssd_detect.model.session._visible_gpus", lambda: ["GPU:0"])
    with Detector(on_slow_start=lambda: None) as on_gpu:
        assert on_gpu._on_slow_start is not None

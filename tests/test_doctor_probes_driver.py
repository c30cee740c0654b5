"""The doctor's probes of NVIDIA's hardware and driver: made /sys, /proc and /dev, made programs, made libraries.

The libraries are compiled from C and loaded by the real child process, as NVIDIA's own would be.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ssd_detect.doctor.child import Child
from ssd_detect.doctor.facts import (
    BusDevice,
    Candidate,
    DriverFacts,
    Failure,
    Gpu,
    GpuProcess,
    GpuReport,
    KernelModule,
    Library,
)
from ssd_detect.doctor.probes.driver import driver_facts, gpu_report, tried_library
from ssd_detect.doctor.probes.hardware import bus_devices, device_files, kernel_module, windows_devices
from ssd_detect.doctor.probes.smi import ask_smi, find_smi
from tests.made_machines import compiled, lay, made_sources, program

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="no C compiler")
needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")

# ---------------------------------------------------------------- bus, kernel module, device files

PCI_IDS = """# a comment
10dd  Other
\t2330  Wrong
10de  NVIDIA Corporation
\t2204  GA102 [GeForce RTX 3090]
\t\t1043 87b3  Board
\t2330  GH100 [H100]
10df  Last
\t2330  Wrong too
"""


def lay_device(root: Path, address: str, driver: str | None, **words: str) -> None:
    folder = f"sys/bus/pci/devices/{address}"
    lay(root, {f"{folder}/{name}": f"{word}\n" for name, word in words.items()})
    if driver:
        lay(root, {f"sys/bus/pci/drivers/{driver}/": ""})
        (root / folder / "driver").symlink_to(f"../../drivers/{driver}")


@needs_shell
def test_the_bus(tmp_path: Path) -> None:
    lay(tmp_path, {"usr/share/misc/pci.ids": PCI_IDS})
    lay_device(tmp_path, "0000:00:02.0", "i915", vendor="0x8086", device="0x2330", **{"class": "0x030000"})
    lay_device(tmp_path, "0000:01:00.0", "nvidia", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    lay_device(tmp_path, "0000:01:00.1", "snd_hda_intel", vendor="0x10de", device="0x1aef", **{"class": "0x040300"})
    lay_device(tmp_path, "0000:02:00.0", "nouveau", vendor="0x10de", device="0x2204", **{"class": "0x030000"})
    lay_device(tmp_path, "0000:03:00.0", None, vendor="0x10de", device="0xffff", **{"class": "0x030000"})
    assert bus_devices(tmp_path) == (
        BusDevice("0000:01:00.0", "10de:2330", "GH100 [H100]", "nvidia"),
        BusDevice("0000:02:00.0", "10de:2204", "GA102 [GeForce RTX 3090]", "nouveau"),
        BusDevice("0000:03:00.0", "10de:ffff", None, None),
    )


def test_no_bus_and_an_empty_one(tmp_path: Path) -> None:
    assert bus_devices(tmp_path) is None
    lay(tmp_path, {"sys/bus/pci/devices/": ""})
    assert bus_devices(tmp_path) == ()


DISPLAYS = {
    "none": ("", ()),
    "one": (
        '{"Name": "NVIDIA GeForce RTX 4090", "PNPDeviceID": "PCI\\\\\\\\VEN_10DE&DEV_2684&SUBSYS_1"}',
        ("10de:2684",),
    ),
    "two": ('[{"Name": "Intel", "PNPDeviceID": "PCI\\\\\\\\VEN_8086&DEV_1"}, {"Name": "n", "PNPDeviceID": null}]', ()),
}


@needs_shell
@pytest.mark.parametrize(("text", "ids"), DISPLAYS.values(), ids=DISPLAYS.keys())
def test_displays_of_windows(text: str, ids: tuple[str, ...], tmp_path: Path) -> None:
    shell = program(tmp_path / "powershell", f"printf '%b' '{text}'\n")
    found = windows_devices([str(shell)], 5)
    assert found is not None
    assert tuple(device.device_id for device in found) == ids


def test_windows_without_powershell(tmp_path: Path) -> None:
    assert windows_devices([str(tmp_path / "none")], 5) is None


CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version: 12\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (root@host)\n"
MODULES = {
    "nothing": ({}, KernelModule()),
    "closed": (
        {"proc/driver/nvidia/version": CLOSED, "proc/modules": "nvidia 1 2\n"},
        KernelModule("535.183.01", False, False),
    ),
    "open": ({"proc/driver/nvidia/version": OPEN, "proc/modules": ""}, KernelModule("570.124.06", True, False)),
    "only in /sys": ({"sys/module/nvidia/version": "470.42.01\n"}, KernelModule("470.42.01")),
    "nouveau": ({"proc/modules": "snd 1\nnouveau 2273280 4 - Live 0x0\n"}, KernelModule(None, None, True)),
    "another starts like it": ({"proc/modules": "nouveau_like 1\n"}, KernelModule(None, None, False)),
    "built for others": (
        {
            "lib/modules/6.8.0-44/updates/dkms/nvidia.ko.zst": "",
            "lib/modules/6.8.0-45/kernel/fs/x.ko": "",
            "lib/modules/6.8.0-40/kernel/nvidia-535/nvidia.ko": "",
        },
        KernelModule(built_for=("6.8.0-40", "6.8.0-44")),
    ),
}


@pytest.mark.parametrize(("files", "expected"), MODULES.values(), ids=MODULES.keys())
def test_the_kernel_module(files: dict[str, str], expected: KernelModule, tmp_path: Path) -> None:
    lay(tmp_path, files)
    assert kernel_module(tmp_path) == expected


@needs_shell
def test_device_files(tmp_path: Path) -> None:
    assert device_files(tmp_path) == ()
    lay(tmp_path, {f"dev/{name}": "" for name in ("nvidia0", "nvidia10", "nvidiactl", "nvidia-modeset", "null")})
    (tmp_path / "dev/nvidia0").chmod(0o640)
    found = device_files(tmp_path)
    assert [Path(one.path).name for one in found] == ["nvidiactl", "nvidia0", "nvidia10"]
    assert (found[1].mode, found[1].group) == ("0640", (tmp_path / "dev/nvidia0").group())
    assert found[1].is_readable


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no users of that kind there")
def test_a_device_file_that_this_user_may_not_open() -> None:
    """In a process without the powers of root, whoever runs the test."""
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from ssd_detect.doctor.probes.hardware import device_files\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "print([(one.is_readable, one.is_writable) for one in device_files(Path(sys.argv[1]))])\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay(root, {"dev/nvidiactl": "", "dev/nvidia0": ""})
        root.chmod(0o755)
        (root / "dev/nvidiactl").chmod(0)
        (root / "dev/nvidia0").chmod(0o666)
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout == "[(False, False), (True, True)]\n"


# ---------------------------------------------------------------- nvidia-smi

ROW_3090 = "0, NVIDIA GeForce RTX 3090, GPU-1a, 00000000:01:00.0, 550.54.14, 24576, 23000, Default, [N/A], 8.6"
ROW_A100 = "1, NVIDIA A100, GPU-2b, 00000000:02:00.0, 550.54.14, 81920, 80000, Exclusive_Process, Enabled, 8.0"
RTX_3090 = Gpu(
    0, "NVIDIA GeForce RTX 3090", "8.6", "GPU-1a", "00000000:01:00.0", 24576, 23000, "Default",
    processes=(GpuProcess(4321, "/usr/bin/python3, train", 1024), GpuProcess(7, "game", None)),
)  # fmt: skip
A100 = Gpu(1, "NVIDIA A100", "8.0", "GPU-2b", "00000000:02:00.0", 81920, 80000, "Exclusive_Process", True)
HEALTHY = f"""case "$1" in
--query-gpu=*) echo "{ROW_3090}"; echo "{ROW_A100}";;
--query-compute-apps=*) echo 'GPU-1a, 4321, "/usr/bin/python3, train", 1024'; echo "GPU-1a, 7, game, [N/A]";;
*) echo "| NVIDIA-SMI 550.54.14    Driver Version: 550.54.14    CUDA Version: 12.4     |";;
esac
"""
OLD = """case "$1" in
*mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2;;
--query-gpu=*) echo "0, Quadro P400, GPU-3, 00000000:03:00.0, 388.73, 2048, 2000, Default";;
--query-compute-apps=*) echo "[Not Supported]";;
*) echo "| NVIDIA-SMI 388.73      Driver Version: 388.73 |";;
esac
"""
OLDER = """case "$1" in
*compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;;
--query-gpu=*) echo "0, Tesla T4, GPU-4, 00000000:04:00.0, 460.32.03, 15360, 15000, Default, Disabled";;
esac
"""
COULD_NOT = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running."
)
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch NVML library version: 550.54"
SMI = {
    "healthy": (HEALTHY, GpuReport("nvidia-smi", "550.54.14", "12.4", (RTX_3090, A100))),
    "old driver": (
        OLD,
        GpuReport(
            "nvidia-smi", "388.73", None,
            (Gpu(0, "Quadro P400", None, "GPU-3", "00000000:03:00.0", 2048, 2000, "Default"),),
        ),
    ),
    "driver of 2021": (
        OLDER,
        GpuReport(
            "nvidia-smi", "460.32.03", None,
            (Gpu(0, "Tesla T4", None, "GPU-4", "00000000:04:00.0", 15360, 15000, "Default", False),),
        ),
    ),
    "no driver": (f'echo "{COULD_NOT}"; exit 9\n', GpuReport(error=COULD_NOT)),
    "0 devices": ('echo "No devices were found"; exit 6\n', GpuReport(error="No devices were found")),
    "half-updated": (
        "echo Failed to initialize NVML: Driver/library version mismatch; echo NVML library version: 550.54; exit 18\n",
        GpuReport(error=MISMATCH),
    ),
    "says nothing": ("exit 0\n", GpuReport(error="nvidia-smi printed nothing")),
    "says something else": ("echo hello\n", GpuReport(error="hello")),
}  # fmt: skip


@needs_shell
@pytest.mark.parametrize(("script", "expected"), SMI.values(), ids=SMI.keys())
def test_what_nvidia_smi_says(script: str, expected: GpuReport, tmp_path: Path) -> None:
    assert ask_smi(program(tmp_path / "nvidia-smi", script), 5) == expected


@needs_shell
def test_an_nvidia_smi_that_hangs_or_does_not_start(tmp_path: Path) -> None:
    hangs = program(tmp_path / "nvidia-smi", "exec sleep 60\n")
    assert ask_smi(hangs, 0.2) == GpuReport(error=f"{hangs} gave no answer within 0.2 seconds")
    hangs.chmod(0o644)
    assert ask_smi(hangs, 5) == GpuReport(error=f"{hangs} cannot be started: Permission denied")


def test_where_nvidia_smi_is_looked_for(tmp_path: Path) -> None:
    assert find_smi(made_sources(tmp_path, PATH=str(tmp_path / "bin"))) is None
    lay(tmp_path, {"usr/lib/wsl/lib/nvidia-smi": ""})
    assert find_smi(made_sources(tmp_path)) == tmp_path / "usr/lib/wsl/lib/nvidia-smi"
    lay(tmp_path, {"bin/nvidia-smi": "", "System32/nvidia-smi.exe": "", "other/nvidia-smi.exe": ""})
    path = f"{tmp_path / 'none'}:{tmp_path / 'bin'}"
    assert find_smi(made_sources(tmp_path, PATH=path)) == tmp_path / "bin/nvidia-smi"
    windows = made_sources(tmp_path, "Windows", SystemRoot=str(tmp_path), PATH=f"{tmp_path / 'none'};")
    assert find_smi(windows) == tmp_path / "System32/nvidia-smi.exe"


# ---------------------------------------------------------------- the driver's libraries, in the child process

LIBCUDA = """
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned flags) { %s; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
"""
STARTS = {
    "healthy": ("return 0", DriverFacts(None, "550.54.14", "12.4", 0, 2)),
    "half-updated": ("return 803", DriverFacts(None, "550.54.14", "12.4", 803)),
    "no device": ("return 100", DriverFacts(None, "550.54.14", "12.4", 100)),
    "aborts": ("abort()", DriverFacts(error="the process was ended by SIGABRT")),
    "leaves": ("_exit(3)", DriverFacts(error="the process ended with status 3")),
    "hangs": ("for (;;) sleep(1)", DriverFacts(error="no answer within 1.5 seconds")),
}


@needs_gcc
@pytest.mark.parametrize(("start", "expected"), STARTS.values(), ids=STARTS.keys())
def test_the_driver(start: str, expected: DriverFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = compiled(tmp_path / "libcuda.so.550.54.14", LIBCUDA % start, "-Wl,-soname,libcuda.so.1")
    (tmp_path / "libcuda.so.1").symlink_to(file.name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with Child("auto") as child:
        found = driver_facts(child, 1.5 if "hang" in start or "sleep" in start else 30)
    path = str(file.resolve()) if expected.version else None
    assert found == DriverFacts(path, *(getattr(expected, name) for name in DriverFacts.__match_args__[1:]))


@needs_gcc
def test_no_driver_and_a_broken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, {"libcuda.so.1": "no library at all"})
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with Child("auto") as child:
        error = driver_facts(child, 30).error
    assert error is not None
    assert "libcuda.so.1" in error


# What NVML of the R525 drivers answers; functions that it lacks are told as unknown, as with older drivers.
LIBNVML = """
#include <string.h>
#include <stdlib.h>
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } Process;
int nvmlInitWithFlags(unsigned flags) { %(start)s; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "made error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strcpy(text, "525.60.13"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12000; return 0; }
int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned size) { strcpy(text, "python3"); return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = %(count)d; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = handle; return %(handle)d; }
int nvmlDeviceGetName(void *handle, char *text, unsigned size) { strcpy(text, "NVIDIA L4"); return 0; }
int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) { strcpy(text, "GPU-9"); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) { *major = 8; *minor = 9; return 0; }
int nvmlDeviceGetComputeMode(void *handle, int *mode) { *mode = 3; return 0; }
int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *then) { return 3; /* not supported */ }
int nvmlDeviceGetMemoryInfo(void *handle, Memory *m) { m->total = 24576ULL << 20; m->free = 512ULL << 20; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, Process *p) {
    if (*count < 2) { *count = 2; return 7; }
    *count = 2;
    p[0].pid = %(pid)d; p[0].used = 20000ULL << 20;
    p[1].pid = 4194305; p[1].used = ~0ULL; /* not available, as under WSL; and a process that has ended */
    return 0;
}
"""


def made_nvml(folder: Path, start: str = "return 0", count: int = 1, handle: int = 0) -> None:
    source = LIBNVML % {"start": start, "count": count, "handle": handle, "pid": os.getpid()}
    compiled(folder / "libnvidia-ml.so.1", source)


def report(root: Path) -> GpuReport:
    with Child("auto") as child:
        return gpu_report(child, made_sources(root, PATH=str(root / "bin")), 30, 10)


@needs_gcc
def test_nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_nvml(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    user = Path("/proc/self").owner()
    processes = (GpuProcess(os.getpid(), "python3", 20000, user), GpuProcess(4194305, "python3", None, None))
    gpu = Gpu(0, "NVIDIA L4", "8.9", "GPU-9", None, 24576, 512, "Exclusive_Process", None, None, processes)
    assert report(tmp_path) == GpuReport("nvml", "525.60.13", "12.0", (gpu,))


@needs_gcc
def test_nvml_without_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_nvml(tmp_path, count=0)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert report(tmp_path) == GpuReport("nvml", "525.60.13", "12.0", ())


@needs_gcc
@pytest.mark.parametrize(
    ("start", "handle", "code", "words"),
    [
        ("return 18", 0, 18, "NVML: "),
        ("return 9", 0, 9, "NVML: "),
        ("return 0", 15, 15, "NVML: "),
        ("abort()", 0, None, "NVML: the process was ended by SIGABRT"),
    ],
)
def test_nvml_that_fails(
    start: str, handle: int, code: int | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_nvml(tmp_path, start, handle=handle)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found = report(tmp_path)
    assert (found.source, found.gpus, found.error_code) == (None, (), code)
    assert found.error is not None
    assert found.error.startswith(words)
    assert found.error.endswith("; nvidia-smi: not found")


@needs_shell
def test_without_nvml_nvidia_smi_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    lay(tmp_path, {"libnvidia-ml.so.1": "no library at all"})
    program(tmp_path / "bin/nvidia-smi", HEALTHY)
    found = report(tmp_path)
    assert (found.source, found.driver_version, len(found.gpus), found.error_code) == ("nvidia-smi", "550.54.14", 2, 12)
    program(tmp_path / "bin/nvidia-smi", 'echo "No devices were found"; exit 6\n')
    failed = report(tmp_path)
    assert failed.error is not None
    assert failed.error.endswith("; nvidia-smi: No devices were found")


def test_without_nvidia_ml_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, {"pynvml.py": "raise ModuleNotFoundError('x', name='pynvml')"})
    monkeypatch.syspath_prepend(tmp_path)
    assert report(tmp_path).error == "NVML: the module pynvml is missing; nvidia-smi: not found"


# ---------------------------------------------------------------- loading the other libraries


@needs_gcc
@pytest.mark.parametrize(
    ("number", "version"), [(8907, "8.9.7"), (7605, "7.6.5"), (90312, "9.3.12"), (91002, "9.10.2")]
)
def test_the_version_that_cudnn_tells(number: int, version: str, tmp_path: Path) -> None:
    path = compiled(tmp_path / "libcudnn.so", f"unsigned long cudnnGetVersion(void) {{ return {number}; }}")
    library = Library("cudnn", "libcudnn.so.9", candidates=(Candidate(str(path), "RUNPATH", "9"),))
    with Child("auto") as child:
        found = tried_library(child, library, 30)
    assert (found.loaded_version, found.load_error, found.version) == (version, None, version)


@needs_gcc
def test_libraries_that_do_not_load(tmp_path: Path) -> None:
    compiled(tmp_path / "libneeded.so", "int needed;")
    options = (f"-L{tmp_path}", "-Wl,--no-as-needed", "-lneeded")
    needs = compiled(tmp_path / "libcusolver.so.11", "int solver;", *options)
    kills = compiled(
        tmp_path / "libcufft.so.11", "void abort(void); __attribute__((constructor)) void f(void) { abort(); }"
    )
    (tmp_path / "libneeded.so").unlink()
    with Child("auto") as child:
        lonely, deadly = (
            tried_library(child, Library("x", path.name, candidates=(Candidate(str(path), "RUNPATH"),)), 30).load_error
            for path in (needs, kills)
        )
        nothing = Library("cublas", "libcublas.so.12")
        assert tried_library(child, nothing, 30) == nothing
    assert lonely is not None
    assert "libneeded.so: cannot open shared object file" in lonely
    assert deadly == "the process was ended by SIGABRT"


def test_a_failed_question_leaves_the_rest_answerable(tmp_path: Path) -> None:
    with Child("auto") as child:
        assert isinstance(child.ask(f"load {tmp_path / 'none'}", 30), Failure)
        assert isinstance(child.ask("gpus", 30), dict)

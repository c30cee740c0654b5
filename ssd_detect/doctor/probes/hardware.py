"""NVIDIA's hardware and kernel driver, told by /sys, /proc and /dev."""

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from ssd_detect.doctor.facts import BusDevice, DeviceFile, KernelModule
from ssd_detect.doctor.probes.commands import run_command
from ssd_detect.doctor.probes.files import entries, read_text

_NVIDIA = "0x10de"
_DISPLAY_CLASSES = ("0x0300", "0x0302")  # VGA; 3D controller, which cards without an outlet are
_DEVICE_FILES = ("nvidiactl", "nvidia-uvm", "nvidia[0-9]*", "dxg")
# Where distributions and DKMS put it; walking the whole tree of 6,000 modules would take seconds on a cold disk.
_MODULE_PLACES = (
    *("updates", "updates/dkms", "extra", "extra/nvidia", "extramodules", "misc", "weak-updates/nvidia"),
    *(
        "kernel/drivers/video",
        "kernel/drivers/video/nvidia",
        "kernel/drivers/char/drm",
        "kernel/nvidia*",
        "kernel/nvidia*/*",
    ),
)
_ASK_WINDOWS = "Get-CimInstance Win32_VideoController | Select-Object Name,PNPDeviceID | ConvertTo-Json"


def bus_devices(root: Path) -> tuple[BusDevice, ...] | None:
    """NVIDIA's displays and accelerators on the PCI bus; None where there is no bus to be seen."""
    folder = root / "sys/bus/pci/devices"
    if not folder.is_dir():
        return None
    names = read_text(root / "usr/share/misc/pci.ids") or read_text(root / "usr/share/hwdata/pci.ids") or ""
    return tuple(_bus_device(device, names) for device in entries(folder) if _is_nvidia_display(device))


def _is_nvidia_display(device: Path) -> bool:
    return _word(device / "vendor") == _NVIDIA and _word(device / "class").startswith(_DISPLAY_CLASSES)


def _bus_device(device: Path, names: str) -> BusDevice:
    number = _word(device / "device").removeprefix("0x")
    driver = device / "driver"
    return BusDevice(
        address=device.name,
        device_id=f"10de:{number}",
        name=_pci_name(number, names),
        driver=driver.readlink().name if driver.is_symlink() else None,
    )


def _pci_name(number: str, names: str) -> str | None:
    """From the list of PCI ids: NVIDIA's section, then the device's line, which begins with a tab."""
    section = re.search(r"^10de .*\n((?:[\t#].*\n|\n)*)", names, re.MULTILINE)
    match = re.search(rf"^\t{number}\s+(.+)$", section.group(1), re.MULTILINE) if section else None
    return match.group(1) if match else None


def windows_devices(command: Sequence[str], seconds: float) -> tuple[BusDevice, ...] | None:
    """The same, asked of Windows by PowerShell; None when that does not answer."""
    answer = run_command([*command, "-NoProfile", "-Command", _ASK_WINDOWS], seconds)
    if answer.status != 0:
        return None
    found = json.loads(answer.text or "[]")
    return tuple(_windows_device(one) for one in (found if isinstance(found, list) else [found]) if _is_nvidia(one))


def _is_nvidia(display: dict[str, str | None]) -> bool:
    return "VEN_10DE" in (display["PNPDeviceID"] or "")


def _windows_device(display: dict[str, str | None]) -> BusDevice:
    match = re.search(r"DEV_([0-9A-F]{4})", display["PNPDeviceID"] or "")
    return BusDevice(device_id=f"10de:{match.group(1).lower() if match else '????'}", name=display["Name"])


def kernel_module(root: Path) -> KernelModule:
    """What is loaded, and for which kernels there are module files."""
    text = read_text(root / "proc/driver/nvidia/version") or ""
    match = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)\s", text)
    version = match.group(1) if match else read_text(root / "sys/module/nvidia/version")
    modules = read_text(root / "proc/modules")
    return KernelModule(
        version=version.strip() if version else None,
        is_open="Open Kernel Module" in text if text else None,
        nouveau_loaded=None if modules is None else any(line.startswith("nouveau ") for line in modules.splitlines()),
        built_for=tuple(_built_for(root / "lib/modules")),
    )


def _built_for(modules: Path) -> Iterator[str]:
    for kernel in entries(modules):
        if any(entries(kernel, f"{place}/nvidia.ko*") for place in _MODULE_PLACES):
            yield kernel.name


def device_files(root: Path) -> tuple[DeviceFile, ...]:
    """The files of /dev that lead to a GPU."""
    return tuple(_device_file(path) for pattern in _DEVICE_FILES for path in entries(root / "dev", pattern))


def _device_file(path: Path) -> DeviceFile:
    return DeviceFile(
        path=str(path),
        is_readable=os.access(path, os.R_OK),
        is_writable=os.access(path, os.W_OK),
        mode=f"{stat.S_IMODE(path.stat().st_mode):04o}",
        group=_group(path),
    )


def _group(path: Path) -> str | None:
    try:
        return path.group()
    except (KeyError, NotImplementedError):  # a group without a name; Windows
        return None


def _word(path: Path) -> str:
    return (read_text(path) or "").strip()

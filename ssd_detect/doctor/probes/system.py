"""The operating system and the processor, told by files and a few cheap commands."""

import ctypes
import platform
import re
import shlex
from pathlib import Path
from typing import Any, Literal

from ssd_detect.doctor.facts import SystemFacts
from ssd_detect.doctor.probes.commands import run_command
from ssd_detect.doctor.probes.container import container_kind
from ssd_detect.doctor.probes.files import read_text
from ssd_detect.doctor.probes.folders import own_home
from ssd_detect.doctor.probes.sources import Sources

_AVX_FEATURE = 39  # PF_AVX_INSTRUCTIONS_AVAILABLE of winnt.h
_SYSCTL_SECONDS = 2.0
_EFI_VARIABLE_BYTES = 5  # four of attributes, then the value


def system_facts(sources: Sources) -> SystemFacts:
    """What kind of machine this is."""
    probe = {"Linux": _linux, "Windows": _windows, "Darwin": _mac}.get(sources.kind)
    has_own_home = None if sources.kind == "Windows" else own_home(sources) is not None
    common = {
        "kind": sources.kind,
        "machine": platform.machine(),
        "shell": _shell(sources),
        "has_own_home": has_own_home,
    }
    common |= {"release": platform.release(), "name": f"{sources.kind} {platform.release()}"}
    return SystemFacts(**(common | (probe(sources) if probe else {})))


def _linux(sources: Sources) -> dict[str, Any]:
    root, environment = sources.root, sources.environment
    release = (read_text(root / "proc/sys/kernel/osrelease") or platform.release()).strip()
    os_release = _os_release(root)
    libc, libc_version = _libc(root)
    return {
        "release": release,
        "name": f"{os_release.get('PRETTY_NAME', 'Linux')}, kernel {release}",
        "distribution": tuple(f"{os_release.get('ID', '')} {os_release.get('ID_LIKE', '')}".split()),
        "libc": libc,
        "libc_version": libc_version,
        "has_avx": _has_avx(root / "proc/cpuinfo"),
        "wsl": _wsl(release),
        "wsl_name": environment.get("WSL_DISTRO_NAME"),
        "has_dxg": (root / "dev/dxg").exists(),
        "container": container_kind(root, environment),
        "secure_boot": _secure_boot(root / "sys/firmware/efi/efivars"),
    }


def _os_release(root: Path) -> dict[str, str]:
    text = read_text(root / "etc/os-release") or read_text(root / "usr/lib/os-release") or ""
    pairs = (line.partition("=") for line in text.splitlines() if re.match(r"\w+=", line))
    return {name: " ".join(shlex.split(value)) for name, _, value in pairs}


def _libc(root: Path) -> tuple[str | None, str | None]:
    name, version = platform.libc_ver()
    if name:
        return name, version
    return ("musl", None) if any(root.glob("lib/ld-musl-*")) else (None, None)


def _has_avx(cpu_info: Path) -> bool | None:
    """Whether an x86 Linux lists AVX among the processor's flags; None where there is no such list."""
    flags = next((line for line in (read_text(cpu_info) or "").splitlines() if line.startswith("flags")), None)
    return None if flags is None else "avx" in flags.split()


def _wsl(release: str) -> Literal[1, 2] | None:
    if "microsoft" not in release.lower():
        return None
    return 1 if release.endswith("-Microsoft") else 2


def _secure_boot(folder: Path) -> bool | None:
    for file in folder.glob("SecureBoot-*"):
        content = file.read_bytes()
        return len(content) == _EFI_VARIABLE_BYTES and content[-1] == 1
    return None


def _shell(sources: Sources) -> str | None:
    if sources.kind != "Windows":
        return Path(sources.environment.get("SHELL", "")).name or None
    # PowerShell puts the user's own modules first; in cmd the variable holds the machine's alone.
    modules = sources.environment.get("PSModulePath", "").lower().split(";")
    return "powershell" if "documents" in modules[0] else "cmd"


def _windows(sources: Sources) -> dict[str, Any]:
    kernel = getattr(ctypes, "windll", None)
    return {
        "name": f"Windows {platform.release()}, version {platform.version()}",
        "release": platform.version(),
        "has_avx": bool(kernel.kernel32.IsProcessorFeaturePresent(_AVX_FEATURE)) if kernel else None,
        "long_paths": _long_paths(),
    }


def _long_paths() -> bool | None:
    try:
        import winreg
    except ImportError:
        return None
    registry: Any = winreg  # whose names mypy knows on Windows alone
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\FileSystem") as key:
            return bool(registry.QueryValueEx(key, "LongPathsEnabled")[0])
    except OSError:
        return None


def _mac(sources: Sources) -> dict[str, Any]:
    features = _sysctl(sources, "machdep.cpu.features")
    return {
        "name": f"macOS {platform.mac_ver()[0]}",
        "has_avx": None if features is None else "AVX1.0" in features.split(),
        "is_rosetta": _sysctl(sources, "sysctl.proc_translated") == "1",
    }


def _sysctl(sources: Sources, name: str) -> str | None:
    answer = run_command([str(sources.root / "usr/sbin/sysctl"), "-n", name], _SYSCTL_SECONDS)
    return answer.text if answer.status == 0 else None

"""The check of NVIDIA's driver: is it there, loaded, whole, permitted, in order, and new enough?"""

from collections.abc import Callable
from dataclasses import replace

from ssd_detect.doctor.advice import install_driver, rebuild_module, unset
from ssd_detect.doctor.check import Check
from ssd_detect.doctor.checks.gpu_users import step_for_users
from ssd_detect.doctor.facts import Facts
from ssd_detect.doctor.situation import gpu_in_question, gpu_name, system_of, tensorflow_version
from ssd_detect.doctor.table_file import tables
from ssd_detect.doctor.tables import cuda_error, driver_for, generation, is_older, release, row_for

_WSL_LIBRARIES = "/usr/lib/wsl"
_UVM = "/dev/nvidia-uvm"
_REBOOT = "reboot"
_NO_DEVICE, _STUB, _MISMATCH, _NOT_SUPPORTED, _NOT_READY = 100, 34, 803, 804, 802  # of cuInit
_TOO_OLD = 35
_IN_USE = (2, 46)  # out of memory; all devices unavailable
_LOST = (15, 16)  # of NVML


def driver_check(facts: Facts) -> Check:
    """The first thing that is wrong with the driver, in the order of causes."""
    version = driver_version(facts)
    served = facts.driver.cuda_version or facts.gpu_report.cuda_version
    found = f"{version or 'of unknown version'}" + (f", serves CUDA up to {served}" if served else "")
    note = "what a driver serves is no installed CUDA toolkit, and needs none"
    check = Check("NVIDIA driver", "driver", "ok", found, details=(note, facts.driver.path or "not loaded"))
    faults = (fault(replace(check, mark="warn", stops="gpu"), facts) for fault in _FAULTS)
    return next((fault for fault in faults if fault is not None), check)


def driver_version(facts: Facts) -> str | None:
    """Of the driver: as it says, else of its library, else of its module."""
    return facts.gpu_report.driver_version or facts.driver.version or facts.kernel_module.version


# ---------------------------------------------------------------- missing


def _in_wsl(check: Check, facts: Facts) -> Check | None:
    if not facts.system.wsl:
        return None
    path = facts.driver.path
    if path is None:
        step = f"sudo ldconfig   (needs root), or: export LD_LIBRARY_PATH={_WSL_LIBRARIES}/lib"
        return replace(check, found=f"of Windows is not found in {_WSL_LIBRARIES}/lib", step=step, id="F10")
    if path.startswith(_WSL_LIBRARIES):
        return None
    step = "sudo apt purge 'nvidia-*' 'libnvidia-*'   (needs root; then, in PowerShell: wsl --shutdown)"
    found = f"for Linux hides that of Windows: {path}"
    return replace(check, found=found, wanted=f"libcuda.so.1 of {_WSL_LIBRARIES}/lib", step=step, id="F10")


def _without_module(check: Check, facts: Facts) -> Check | None:
    """On Linux, no kernel module of NVIDIA's is loaded."""
    if facts.system.kind != "Linux" or facts.system.wsl or facts.kernel_module.version or facts.gpu_report.gpus:
        return None
    holders = {device.driver for device in facts.bus or ()}
    if "nouveau" in holders or facts.kernel_module.nouveau_loaded:
        found = f"is nouveau, which cannot compute, for the {gpu_name(facts)}"
        return replace(check, found=found, wanted="NVIDIA's driver", step=install_driver(facts), id="F16")
    if "vfio-pci" in holders:
        step = "run ssd-detect in the virtual machine that has the GPU, or give the GPU back to this system"
        return replace(check, found=f"is vfio-pci: the {gpu_name(facts)} is passed on", step=step, id="F16")
    return _module_not_loaded(check, facts)


def _module_not_loaded(check: Check, facts: Facts) -> Check:
    built, kernel = facts.kernel_module.built_for, facts.system.release
    if not built:
        found = f"is not installed, for the {gpu_name(facts)}"
        return replace(check, found=found, wanted="NVIDIA's driver", step=install_driver(facts), id="F02")
    if kernel not in built:
        found = f"was built for kernel {', '.join(built)}, and {kernel} runs"
        return replace(check, found=found, step=rebuild_module(facts), id="F16")
    if facts.system.secure_boot:
        key = "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der"
        step = f"{key}   (needs root; then reboot and choose Enroll MOK)"
        return replace(
            check, found="is not loaded: Secure Boot refuses a module without a known key", step=step, id="F16"
        )
    return replace(check, found="is installed and not loaded", step="sudo modprobe nvidia   (needs root)", id="F16")


def _without_library(check: Check, facts: Facts) -> Check | None:
    if facts.driver.path is not None or facts.driver.error is None:
        return None
    library = "nvcuda.dll" if facts.system.kind == "Windows" else "libcuda.so.1"
    capabilities = facts.environment.get("NVIDIA_DRIVER_CAPABILITIES", "")
    step = install_driver(facts)
    if facts.system.container and "compute" not in capabilities and "all" not in capabilities:
        step = "start the container with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"
    found = f"has no {library} that can be loaded, for the {gpu_name(facts)}"
    return replace(check, found=found, wanted=library, step=step, id="F02")


# ---------------------------------------------------------------- in pieces


def _stub(check: Check, facts: Facts) -> Check | None:
    path = facts.driver.path or ""
    if "/stubs/" not in path and facts.driver.init_code != _STUB:
        return None
    step = f"take the folder of {path} out of the loader's search, and sudo ldconfig   (needs root)"
    if "stubs" in facts.environment.get("LD_LIBRARY_PATH", ""):
        step = unset(facts, "LD_LIBRARY_PATH")
    return replace(check, found=f"is hidden by a stub that only serves to build programs: {path}", step=step, id="F27")


def _compat(check: Check, facts: Facts) -> Check | None:
    if facts.driver.init_code != _NOT_SUPPORTED:
        return None
    tool = "apt" if {"debian", "ubuntu"} & set(facts.system.distribution) else "dnf"
    found = f"does not go with cuda-compat on this kind of GPU: {facts.driver.path}"
    return replace(check, found=found, step=f"sudo {tool} remove 'cuda-compat-*'   (needs root)", id="F27")


def _half_updated(check: Check, facts: Facts) -> Check | None:
    module, library = facts.kernel_module.version, facts.driver.version
    differ = module is not None and library is not None and release(module) != release(library)
    if "/compat/" in (facts.driver.path or "") or not (differ or facts.driver.init_code == _MISMATCH):
        return None
    found = f"is half updated: kernel module {module or 'of unknown version'}, libraries {library or 'of another'}"
    return replace(check, found=found, wanted="the same version", step=_REBOOT, id="F04")


# ---------------------------------------------------------------- in a bad state


def _lost(check: Check, facts: Facts) -> Check | None:
    if facts.gpu_report.error_code not in _LOST:
        return None
    step = "switch the computer off and on; sudo dmesg | grep Xid   (needs root) tells more"
    return replace(check, found=f"has lost the {gpu_name(facts)}: {facts.gpu_report.error}", step=step, id="F27")


def _forbidden(check: Check, facts: Facts) -> Check | None:
    closed = [file for file in facts.device_files if not (file.is_readable and file.is_writable)]
    if not closed:
        return None
    paths, group = ", ".join(file.path for file in closed), closed[0].group
    step = f"sudo usermod -aG {group or 'video'} $USER   (needs root; then log in again)"
    if group in (None, "root"):
        step = f"sudo chmod 666 {paths.replace(',', '')}   (needs root)"
    return replace(check, found=f"lets this user not open {paths}", wanted="read and write", step=step, id="F27")


def _without_parts(check: Check, facts: Facts) -> Check | None:
    gpu = gpu_in_question(facts)
    if gpu is None or not gpu.is_mig or gpu.mig_instances != 0:
        return None
    step = "sudo nvidia-smi mig -cgi 0 -C   (needs root), or turn MIG off: sudo nvidia-smi -mig 0"
    return replace(check, found=f"has MIG on and no part of the {gpu.name} made", step=step, id="F27")


def _not_starting(check: Check, facts: Facts) -> Check | None:
    """CUDA's start failed for a reason that has no check of its own."""
    code = facts.driver.init_code
    if code in (None, 0, _TOO_OLD):  # the last: the versions below say it better
        return None
    meaning = cuda_error(code or 0)
    found = f"does not start: cuInit says {code}" + (f", {meaning}" if meaning else "")
    gpu = gpu_in_question(facts)
    if code in _IN_USE:
        step = step_for_users(gpu) if gpu else "end the programs that use the GPU, or: --device cpu"
        return replace(check, found=found, step=step, id="F17")
    return replace(check, found=found, step=_step_for(code, facts), id="F27")


def _step_for(code: int | None, facts: Facts) -> str:
    if code == _NOT_READY:
        return "sudo systemctl start nvidia-fabricmanager   (needs root)"
    if code == _NO_DEVICE:
        return _branch_step(facts)
    if facts.system.kind != "Linux" or facts.system.wsl:
        return "type in PowerShell: wsl --shutdown; or restart Windows" if facts.system.wsl else "restart Windows"
    return "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm   (needs root), or reboot"


def _branch_step(facts: Facts) -> str:
    """A driver that finds none of its GPUs may have dropped them."""
    branch, version = max((g.last_branch or 0 for g in tables().generation), default=0), driver_version(facts)
    if version and release(version)[:1] > (branch,) and not facts.gpu_report.gpus:
        dropped = ", ".join(g.architecture for g in tables().generation if g.last_branch == branch)
        return f"if the GPU is of the generations {dropped}, install the driver of branch {branch}, the last for them"
    return _REBOOT


def _no_uvm(check: Check, facts: Facts) -> Check | None:
    """A found text of its own for the missing file, which is the reason."""
    files = {file.path for file in facts.device_files}
    if not files or _UVM in files or facts.driver.init_code in (None, 0):
        return None
    step = "sudo nvidia-modprobe -u -c=0   (needs root)"
    return replace(check, found=f"has not made {_UVM}", wanted=_UVM, step=step, id="F27")


# ---------------------------------------------------------------- too old


def _too_old(check: Check, facts: Facts) -> Check | None:
    version, tensorflow = driver_version(facts), tensorflow_version(facts)
    needed = _needed_driver(facts, tensorflow) if tensorflow else ""
    step = f"{install_driver(facts)}{_last_branch(facts)}"
    if not version or not needed or not is_older(version, needed):
        return _said_too_old(replace(check, step=step, id="F03"), facts)
    row = row_for(tensorflow or "")
    cuda = row.row.cuda if row else "unknown"
    found = f"{check.found}; TensorFlow {tensorflow}, built for CUDA {cuda}, needs {needed} or newer on this GPU"
    return replace(check, found=found, wanted=f"{needed} or newer", step=step, id="F03")


def _said_too_old(check: Check, facts: Facts) -> Check | None:
    """By the driver itself, where no table says so."""
    if facts.driver.init_code != _TOO_OLD:
        return None
    return replace(check, found=f"{check.found}; cuInit says {_TOO_OLD}, {cuda_error(_TOO_OLD)}")


def _last_branch(facts: Facts) -> str:
    """A line that keeps old GPUs from a driver that has dropped them."""
    gpu = gpu_in_question(facts)
    row = generation(gpu.compute_capability) if gpu and gpu.compute_capability else None
    return f"\nof branch {row.last_branch}, the last for {row.architecture} GPUs" if row and row.last_branch else ""


def _needed_driver(facts: Facts, tensorflow: str) -> str:
    row, gpu = driver_for(tensorflow), gpu_in_question(facts)
    if row is None:
        return ""
    capability = release((gpu and gpu.compute_capability) or "0")
    if facts.system.wsl:
        return row.blackwell_wsl if capability >= (10,) and row.blackwell_wsl else row.wsl
    if system_of(facts) == "windows":
        return row.windows
    special = row.blackwell_linux if capability >= (10,) else row.hopper_linux if capability >= (9,) else ""
    return special or row.linux


_FAULTS: tuple[Callable[[Check, Facts], Check | None], ...] = (
    _in_wsl,
    _without_module,
    _without_library,
    _stub,
    _compat,
    _half_updated,
    _lost,
    _forbidden,
    _without_parts,
    _no_uvm,
    _not_starting,
    _too_old,
)

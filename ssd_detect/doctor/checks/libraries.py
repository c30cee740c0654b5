"""Checks of the libraries that TensorFlow loads before it uses a GPU: missing, misplaced, hidden, of a wrong age."""

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath

from ssd_detect.doctor.advice import install_with_cuda, pin_of, pip_line, set_variable, unset
from ssd_detect.doctor.check import Check
from ssd_detect.doctor.facts import Candidate, Facts, Library
from ssd_detect.doctor.situation import distribution, gpu_in_question, tensorflow_version
from ssd_detect.doctor.tables import cudnn_code, extra_of, is_older, row_for

_PIN_FOR_OLD_GPUS = "<9.11"  # of cuDNN: see cudnn_code in tables.toml


def libraries_check(facts: Facts) -> Check | None:
    """Whether each library is found; None where nobody knows which are needed."""
    needed = [library for library in facts.library_search.libraries if library.is_required]
    if not needed:
        return None
    check = Check("CUDA libraries", "libraries", "ok", _found(needed), details=tuple(map(_detail, needed)))
    fault = replace(check, mark="warn", id="F21" if facts.system.kind == "Windows" else "F05", stops="gpu")
    incomplete = next((d for d in facts.distributions if d.name.startswith("nvidia-") and d.missing_files), None)
    if incomplete is not None:
        found = f"are not whole: {incomplete.name} lacks {', '.join(incomplete.missing_files)}"
        step = pip_line(facts, "--force-reinstall", "--no-deps", f"{incomplete.name}=={incomplete.version}")
        return replace(fault, found=found, step=step, id="F26")
    return _missing(fault, needed, facts) or _unloadable(fault, needed, facts) or check


def _found(needed: list[Library]) -> str:
    sources = {library.winner.origin.split(" ")[0] or "unknown" for library in needed if library.winner}
    return f"{len(needed)} of {len(needed)} found ({', '.join(sorted(sources))})"


def _detail(library: Library) -> str:
    winner = library.winner
    if winner is None:
        return f"{library.name}: not found"
    hidden = [c.path for c in library.candidates if c.is_reachable and c != winner]
    hides = f", hides {', '.join(hidden)}" if hidden else ""
    return f"{library.name}: {winner.path} ({winner.origin or 'unknown origin'}, by {winner.found_by}){hides}"


def _missing(fault: Check, needed: list[Library], facts: Facts) -> Check | None:
    missing = [library for library in needed if library.winner is None]
    if not missing:
        return None
    places = tuple(f"looked in {p.path} ({p.found_by})" for p in facts.library_search.places)
    wheels = tuple(f"installed: {d.name} {d.version}" for d in facts.distributions if d.name.startswith("nvidia-"))
    fault = replace(fault, details=(*fault.details, *places, *wheels))
    unreached = [library for library in missing if library.candidates]
    if unreached:
        return _unreached(fault, unreached, facts)
    text = ", ".join(library.name for library in missing)
    others = [other for library in missing for other in library.others]
    instead = f"; there are {', '.join(_other(other) for other in others)}" if others else ""
    step = install_with_cuda(facts, tensorflow_version(facts) or "")
    return replace(fault, found=f"are missing: {text}{instead}", step=step, id="F06" if others else fault.id)


def _other(other: Candidate) -> str:
    return f"{_name(other.path)} of {other.origin or other.path}"


def _unreached(fault: Check, libraries: list[Library], facts: Facts) -> Check:
    """They lie on the disk, in folders that the loader does not search."""
    folders = sorted({_folder(library.candidates[0].path) for library in libraries})
    names = ", ".join(library.name for library in libraries)
    found = f"{names} lie in {', '.join(folders)}, where TensorFlow does not look"
    return replace(fault, found=found, step=_step_to_reach(folders, facts), id="F06")


def _step_to_reach(folders: list[str], facts: Facts) -> str:
    version = tensorflow_version(facts) or ""
    row = row_for(version)
    if row and row.row.extra_broken:
        return install_with_cuda(facts, version)
    if all("site-packages" in folder for folder in folders) and row and row.row.and_cuda:
        return install_with_cuda(facts, version, "--force-reinstall")
    joined = (";" if facts.system.kind == "Windows" else ":").join(folders)
    name = "PATH" if facts.system.kind == "Windows" else "LD_LIBRARY_PATH"
    return set_variable(facts, name, joined)


def _unloadable(fault: Check, needed: list[Library], facts: Facts) -> Check | None:
    broken = next((library for library in needed if library.load_error), None)
    if broken is None or broken.winner is None:
        return None
    found = f"{broken.name} cannot be loaded: {broken.load_error} ({broken.winner.path})"
    step = install_with_cuda(facts, tensorflow_version(facts) or "", "--force-reinstall")
    if "zlibwapi" in (broken.load_error or ""):
        step = "put zlibwapi.dll of NVIDIA's cuDNN page into a folder of PATH, or take cuDNN 8.1"
    return replace(fault, found=found, step=step)


def _name(path: str) -> str:
    return PureWindowsPath(path).name  # which takes both kinds of slashes


def _folder(path: str) -> str:
    return str(PureWindowsPath(path).parent if "\\" in path else PurePosixPath(path).parent)


# ---------------------------------------------------------------- cuDNN


def cudnn_check(facts: Facts) -> Check | None:
    """Whether the cuDNN that would be loaded fits TensorFlow and the GPU; None where its version is unknown."""
    library = next((lib for lib in facts.library_search.libraries if lib.component == "cudnn"), None)
    row = row_for(tensorflow_version(facts) or "")
    if library is None or library.version is None or row is None or not row.is_known:
        return None
    check = Check("CUDA libraries", "cuDNN", "ok", library.version, details=(_detail(library),))
    needed = (row.row.cudnn_windows or row.row.cudnn) if facts.system.kind == "Windows" else row.row.cudnn
    fault = replace(check, mark="warn", stops="gpu")
    return _too_old(fault, library, needed, facts) or _too_new(fault, library, facts) or check


def _too_old(fault: Check, library: Library, needed: str, facts: Facts) -> Check | None:
    """The rule of cuDNN: the same major version, and at least the minor one."""
    version, major = library.version or "", needed.split(".")[0]
    if not is_older(version, needed) and version.split(".")[0] == major:
        return None
    wanted = f"{needed} or newer within {major}"
    found = f"{version} would be loaded, TensorFlow {tensorflow_version(facts)} needs {wanted}"
    by_path = library.winner is not None and library.winner.found_by == "LD_LIBRARY_PATH"
    step = unset(facts, "LD_LIBRARY_PATH") if by_path else _newer_cudnn(needed, major, facts)
    return replace(fault, found=found, wanted=wanted, step=step, id="F08" if by_path else "F07")


def _newer_cudnn(needed: str, major: str, facts: Facts) -> str:
    version = tensorflow_version(facts) or ""
    extra = extra_of(version)
    if extra is None:
        return install_with_cuda(facts, version)
    line = pip_line(facts, f"nvidia-cudnn-{extra.suffix}>={needed},<{int(major) + 1}")
    rivals = [d.name for d in facts.distributions if any("cudnn" in wish for wish in d.requires)]
    rivals = [name for name in rivals if not name.startswith("tensorflow")]
    if not rivals:
        return line
    return f"{line}\nand give {', '.join(rivals)}, which asks for another cuDNN, an environment of its own"


def _too_new(fault: Check, library: Library, facts: Facts) -> Check | None:
    gpu, code = gpu_in_question(facts), cudnn_code(library.version or "")
    if gpu is None or gpu.compute_capability is None or code is None or code.minimum == "":
        return None
    if not is_older(gpu.compute_capability, code.minimum):
        return None
    found = f"{library.version} has no code for {gpu.name} (compute capability {gpu.compute_capability})"
    version = tensorflow_version(facts) or ""
    extra, row = extra_of(version), row_for(version)
    needed = row.row.cudnn if row else ""
    step = pip_line(facts, f"nvidia-cudnn-{extra.suffix if extra else 'cu12'}>={needed},{_PIN_FOR_OLD_GPUS}")
    return replace(fault, found=found, wanted=_PIN_FOR_OLD_GPUS, step=step, id="F14")


# ---------------------------------------------------------------- XLA


def xla_check(facts: Facts) -> Check | None:
    """Whether XLA finds its compiler; None before 2.15, which has no wheel for it."""
    xla, version = facts.xla_files, tensorflow_version(facts) or ""
    missing = [name for name, path in (("ptxas", xla.ptxas), ("libdevice", xla.libdevice)) if path is None]
    check = Check("CUDA libraries", "ptxas and libdevice", "ok", "found", details=(f"{xla.ptxas}, {xla.libdevice}",))
    if not missing:
        return check
    if extra_of(version) is None:
        return None
    looked = tuple(f"looked in {folder}" for folder in xla.looked_in)
    check = replace(check, mark="warn", id="F15", details=looked)
    if xla.data_dir is not None:
        found = f"are not in {xla.data_dir}, which XLA_FLAGS names"
        return replace(check, found=found, step=unset(facts, "XLA_FLAGS"))
    step = pip_line(facts, pin_of("cuda-nvcc", version))
    if distribution(facts, "tensorflow") is None and facts.python.environment == "conda":
        step = "conda install -c nvidia cuda-nvcc"
    return replace(check, found=_not_found(missing), step=step)


def _not_found(missing: list[str]) -> str:
    if len(missing) == 2:
        return "are not found, which XLA needs"
    return f"are not both found: {missing[0]} is missing, which XLA needs"

"""Why a package cannot be imported, and the line that repairs it."""

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import NamedTuple

from ssd_detect.doctor.advice import SHOW_LOG, pip_line, replace_line, uninstall_line
from ssd_detect.doctor.facts import PACKAGES, TENSORFLOW, Facts, Failure, Package
from ssd_detect.doctor.situation import distribution, expects_gpu, tensorflow_version
from ssd_detect.doctor.table_file import tables
from ssd_detect.doctor.tables import is_older, metal_for, release

NOT_INSTALLED = "is not installed"
_MAX_LINE = 300
_SHOW_WHERE = "ssd-detect doctor -v   shows where it hangs"


class Explained(NamedTuple):
    """What was found, as the rest of a sentence that begins with the name of the check; the next step."""

    found: str
    step: str
    id: str = ""


def explain_import(package: Package, failure: Failure, facts: Facts) -> Explained:
    """Why a package cannot be imported, and the line that repairs it."""
    detail = failure.detail
    cause = _cause(package, failure, facts)
    if cause is not None:
        return Explained("cannot be imported either", f"repair {cause.name} first")
    if failure.kind == "missing" and detail.split(".")[0] == package.module:
        return Explained(NOT_INSTALLED, pip_line(facts, requirement(package, facts)), "F18")
    stranger = facts.strangers.get(package.module) or (failure.file if failure.is_users else None)
    if stranger is not None:
        return _shadowed(stranger, failure, facts)
    if failure.kind == "missing":
        return Explained(
            f"cannot be imported: it needs the module {detail}, which is missing", _reinstall(package, facts)
        )
    if failure.kind == "killed" and detail == "SIGILL":
        return _illegal_instruction(package, facts)
    if "libmetal_plugin" in detail:
        return _metal(facts)
    where = f" (in {failure.file})" if failure.file else ""
    step = _repair(package, detail, facts) if failure.kind in ("error", "exited") else _without_repair(package, failure)
    return Explained(f"cannot be imported: {how_it_ended(failure)}{where}", step or _reinstall(package, facts))


def _cause(package: Package, failure: Failure, facts: Facts) -> Package | None:
    """The package that this one needs, and that cannot be imported itself."""
    for other in PACKAGES:
        broken = facts.packages.get(other.module)
        if other == package or not isinstance(broken, Failure):
            continue
        needs = failure.kind == "missing" and failure.detail.split(".")[0] == other.module
        if needs or (other.module == "numpy" and failure == broken):
            return other
    return None


def _shadowed(file: str, failure: Failure, facts: Facts) -> Explained:
    """A file of the user's that has the name of a module."""
    path = PureWindowsPath(file) if facts.system.kind == "Windows" else PurePosixPath(file)
    own = path.parent if path.stem == "__init__" else path
    found = f"cannot be imported: {how_it_ended(failure)}; Python takes {file} for the module of that name"
    return Explained(found, f"rename or move {own}")


def _without_repair(package: Package, failure: Failure) -> str:
    """What else to do where it is not the package that is broken; "" where it may be."""
    if failure.kind == "hung":
        return f"try again; {_SHOW_WHERE}"
    if failure.detail == "SIGKILL":
        return f"free memory, for {package.name} needs some; then try again"
    return ""


def requirement(package: Package, facts: Facts) -> str:
    """What to give pip: TensorFlow's with the GPU libraries where there is a GPU, and not newer than glibc allows."""
    if package != TENSORFLOW:
        return package.requirement
    extra = "[and-cuda]" if expects_gpu(facts) and facts.system.kind == "Linux" else ""
    return package.requirement.replace("tensorflow", f"tensorflow{extra}") + _newest_for_glibc(facts)


def _newest_for_glibc(facts: Facts) -> str:
    if facts.system.libc != "glibc" or not facts.system.libc_version:
        return ""
    series = [row for row in tables().tensorflow if len(release(row.version)) == 2]
    too_new = [row.version for row in series if is_older(facts.system.libc_version, row.glibc)]
    return f",<{min(too_new, key=release)}" if too_new else ""


def _repair(package: Package, detail: str, facts: Facts) -> str:
    """The full OpenCV needs a desktop's libraries, which servers lack; the headless one does not."""
    if package.module == "cv2" and distribution(facts, "opencv-python") and re.search(r"lib(GL|gthread|SM)\b", detail):
        return replace_line(facts, ("opencv-python",), "--force-reinstall", package.requirement)
    return _reinstall(package, facts)


def _reinstall(package: Package, facts: Facts) -> str:
    return pip_line(facts, "--force-reinstall", package.requirement)


def _illegal_instruction(package: Package, facts: Facts) -> Explained:
    ended = "cannot be imported: SIGILL (illegal instruction) ended the attempt"
    if facts.system.has_avx:
        return Explained(f"{ended}: it seems to be built for a newer CPU than this one", _reinstall(package, facts))
    lacks = "lacks AVX" if facts.system.has_avx is False else "seems to lack AVX"
    return Explained(
        f"{ended}: this CPU {lacks}, which {package.name} needs",
        "use a CPU with AVX (made since about 2011); in a virtual machine, give it the host's CPU, such as -cpu host",
        "F19",
    )


def _metal(facts: Facts) -> Explained:
    """Apple's plugin is built for one TensorFlow and breaks the import of another."""
    version, plugin = tensorflow_version(facts) or "", distribution(facts, "tensorflow-metal")
    fitting = metal_for(version)
    pin = f"\nor take the one that fits: {pip_line(facts, f'tensorflow-metal=={fitting.metal}.*')}" if fitting else ""
    name = f"tensorflow-metal {plugin.version}" if plugin else "tensorflow-metal"
    found = f"cannot be imported: the plugin {name} does not fit TensorFlow {version}"
    return Explained(found, uninstall_line(facts, "tensorflow-metal") + pin, "F22")


def how_it_ended(failure: Failure) -> str:
    """A failure in words."""
    if failure.kind == "hung":
        return f"no answer within {failure.detail} seconds"
    if failure.kind == "unasked":
        return f"no child process could be started: {failure.detail}"
    if failure.kind == "exited":
        return f"it ended Python with status {failure.detail}"
    if failure.kind == "killed":
        reason = ", as happens when memory runs out" if failure.detail == "SIGKILL" else ""
        return f"the process was ended by {failure.detail}{reason}"
    return f"the module {failure.detail} is missing" if failure.kind == "missing" else one_line(failure.detail)


def one_line(text: str) -> str:
    """The telling line of an exception's text, which may be a whole traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines[1:] if re.match(r"(\w+\.)*\w*(Error|Exception): .", line)]
    line = errors[-1] if errors else next(iter(lines), "no reason given")
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"


NOT_TRIED = Explained("was not tried", SHOW_LOG.replace("what TensorFlow said", "what went wrong"))
"""For a package of which nothing is known."""

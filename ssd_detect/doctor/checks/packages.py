"""Checks of the group TensorFlow: it, what it needs from Python, and how it was installed."""

import re
from collections.abc import Iterator
from dataclasses import replace

from ssd_detect.doctor.advice import install_with_cuda, pip_line, quoted, replace_line
from ssd_detect.doctor.check import Check, Group
from ssd_detect.doctor.checks.imports import NOT_TRIED, explain_import
from ssd_detect.doctor.facts import DETECTION_PACKAGES, TENSORFLOW, Distribution, Facts, Failure, Package
from ssd_detect.doctor.requirements import satisfies
from ssd_detect.doctor.situation import (
    distribution,
    expects_gpu,
    gpu_name,
    running,
    sees_gpu,
    system_of,
    tensorflow_version,
)
from ssd_detect.doctor.tables import is_older, row_for

_OLDEST_TENSORFLOW = TENSORFLOW.requirement.split(">=")[1]
_WSL2 = 'use WSL2: there, "tensorflow[and-cuda]" uses the GPU; to install WSL2, type in PowerShell: wsl --install'
_TENSORFLOWS = re.compile(
    r"tensorflow(-cpu|-gpu|-intel|-macos|-rocm|-cpu-aws)?|tf-nightly(-cpu|-gpu)?|(nvidia|intel)-tensorflow"
)


def package_checks(facts: Facts) -> Iterator[Check]:
    """The lines of the group, in the order of causes: what does not fit TensorFlow comes before TensorFlow."""
    yield from (_fitting(package, facts) for package in DETECTION_PACKAGES)
    yield from _protobuf(facts)
    yield from _installations(facts)
    yield _tensorflow(facts)


def package_check(package: Package, facts: Facts, group: Group = "TensorFlow") -> Check:
    """Whether a package can be imported."""
    version = facts.packages.get(package.module)
    if isinstance(version, str):
        return Check(group, package.name, "ok", version)
    if version is None or (isinstance(version, Failure) and version.kind == "unasked"):
        return Check(group, package.name, "skipped", NOT_TRIED.found)
    found, step, identity = explain_import(package, version, facts)
    wanted = package.requirement if version.kind == "missing" else ""
    check = Check(group, package.name, "fail", found, wanted, step, identity)
    return check if group == "video" else replace(check, stops="detection")


def _fitting(package: Package, facts: Facts) -> Check:
    if package.module == "numpy":
        return _numpy(package_check(package, facts), facts)
    return _opencv(package_check(package, facts), facts) if package.module == "cv2" else package_check(package, facts)


def _numpy(check: Check, facts: Facts) -> Check:
    row = row_for(tensorflow_version(facts) or "")
    if check.mark == "ok" and row and row.is_known and not satisfies(check.found, row.row.numpy):
        return _misfit(check, facts, "numpy", check.found, row.row.numpy, "F24")
    return check


def _protobuf(facts: Facts) -> Iterator[Check]:
    row, found = row_for(tensorflow_version(facts) or ""), distribution(facts, "protobuf")
    if row and row.is_known and found and not satisfies(found.version, row.row.protobuf):
        check = Check("TensorFlow", "protobuf", "ok", found.version)
        yield _misfit(check, facts, "protobuf", found.version, row.row.protobuf, "F25")


def _misfit(check: Check, facts: Facts, name: str, version: str, wanted: str, identity: str) -> Check:
    """A failure where TensorFlow does not start; where it does, the table is stricter than the truth."""
    if running(facts) is not None:
        return check
    found = f"{version} does not fit TensorFlow {tensorflow_version(facts)}, which needs {wanted}"
    step = pip_line(facts, f"{name}{wanted}")
    return replace(check, mark="fail", found=found, wanted=wanted, step=step, id=identity, stops="detection")


def _opencv(check: Check, facts: Facts) -> Check:
    """Both packages bring the same files; whichever was installed last has won, and neither is whole."""
    found = [d for d in facts.distributions if re.fullmatch(r"opencv(-contrib)?-python(-headless)?", d.name)]
    if check.mark != "ok" or len(found) < 2:
        return check
    names = sorted(f"{d.name} {d.version}" for d in found)
    text = (
        f"was installed {'twice' if len(found) == 2 else 'several times'}: {' and '.join(names)} overwrite each other"
    )
    step = replace_line(facts, tuple(sorted(d.name for d in found)), "opencv-python-headless>=4.9")
    return replace(check, mark="warn", found=text, wanted="opencv-python-headless alone", step=step)


def _installations(facts: Facts) -> Iterator[Check]:
    found = tuple(d for d in facts.distributions if d.owns_tensorflow and _TENSORFLOWS.fullmatch(d.name))
    if len(found) > 1:
        yield _several(found, facts)
    elif facts.leftovers:
        folders = " ".join(quoted(facts, folder) for folder in facts.leftovers)
        remove = "Remove-Item -Recurse" if facts.system.kind == "Windows" else "rm -r"
        text = f"left {', '.join(facts.leftovers)} behind"
        yield Check("TensorFlow", "installations", "warn", text, "", f"{remove} {folders}", "F23")


def _several(found: tuple[Distribution, ...], facts: Facts) -> Check:
    """They write into the same folder, so that taking one away leaves the other in pieces."""
    listed = " and ".join(f"{d.name} {d.version}" for d in found)
    version = max((d.version for d in found), key=lambda version: [int(n) for n in re.findall(r"\d+", version)][:3])
    cuda = expects_gpu(facts) and system_of(facts) == "linux"
    wanted = f"tensorflow[and-cuda]=={version}" if cuda else f"tensorflow=={version}"
    check = Check("TensorFlow", "installations", "warn", f"overlap: {listed} write into the same folder", "one of them")
    step = replace_line(facts, tuple(d.name for d in found), wanted)
    missed = expects_gpu(facts) and running(facts) is not None and not sees_gpu(facts)
    return replace(check, step=step, id="F23", stops="gpu" if missed else "nothing")


def _tensorflow(facts: Facts) -> Check:
    version, failure = tensorflow_version(facts), facts.tensorflow
    if facts.quick and version is None:
        failure = Failure("missing", TENSORFLOW.module)
    if isinstance(failure, Failure) and failure.kind == "unasked":
        return Check("TensorFlow", "TensorFlow", "skipped", NOT_TRIED.found)
    if isinstance(failure, Failure):
        found, step, identity = explain_import(TENSORFLOW, failure, facts)
        wanted = TENSORFLOW.requirement if failure.kind == "missing" else ""
        return Check("TensorFlow", "TensorFlow", "fail", found, wanted, step, identity, stops="detection")
    if version is None or (failure is None and not facts.quick):
        return Check("TensorFlow", "TensorFlow", "fail", NOT_TRIED.found, "", NOT_TRIED.step, stops="detection")
    match = row_for(version)
    known = "" if match is None or match.is_known else ", newer than all that this program knows"
    return _age(Check("TensorFlow", "TensorFlow", "ok", f"{version}{known}", details=_origins(facts)), version, facts)


def _origins(facts: Facts) -> tuple[str, ...]:
    """Who installed what, where."""
    owners = (d for d in facts.distributions if d.owns_tensorflow)
    wheels = (f"{d.name} {d.version} in {d.folder}, by {d.installer or 'an unknown installer'}" for d in owners)
    return (*wheels, *(f"conda: {p.name} {p.version} {p.build} of {p.channel}" for p in facts.conda_packages))


def _age(check: Check, version: str, facts: Facts) -> Check:
    if not is_older(version, _OLDEST_TENSORFLOW):
        return check
    windows_gpu = facts.system.kind == "Windows" and expects_gpu(facts)
    step = _WSL2 if windows_gpu else pip_line(facts, "--upgrade", TENSORFLOW.requirement)
    found = f"{version} is older than ssd-detect is made for"
    return replace(check, mark="warn", found=found, wanted=TENSORFLOW.requirement, step=step)


def build_check(facts: Facts) -> Check | None:
    """What this TensorFlow was built for, where there is a GPU; None when that cannot be told."""
    version = tensorflow_version(facts)
    if facts.build is None or version is None:
        return None
    if facts.build.is_cuda_build is not False:
        cuda, cudnn = facts.build.cuda_version or "unknown", facts.build.cudnn_version or "unknown"
        return Check("TensorFlow", "build", "ok", f"for CUDA {cuda} and cuDNN {cudnn}", details=(facts.build.folder,))
    found, step, identity = _cpu_build(facts, version)
    found = f"{found}, so that the {gpu_name(facts)} is not used"
    return Check("TensorFlow", "build", "warn", found, "a build for CUDA", step, identity, stops="gpu")


def _cpu_build(facts: Facts, version: str) -> tuple[str, str, str]:
    if facts.system.kind == "Windows" and not is_older(version, "2.11"):
        last = "or stay on the CPU; TensorFlow 2.10 was the last for Windows with a GPU: ssd-detect doctor --for 2.10"
        return "is for the CPU only, as every TensorFlow for Windows since 2.11", f"{_WSL2}\n{last}", "F20"
    if facts.system.machine == "aarch64":
        step = "use NVIDIA's TensorFlow container: TensorFlow's wheels for aarch64 have no GPU code"
        return "is for the CPU only, as every wheel for aarch64", step, "F01"
    conda = next((p for p in facts.conda_packages if p.name.startswith("tensorflow")), None)
    if conda is not None:
        step = f"conda install -c conda-forge 'tensorflow={conda.version}=cuda*'"
        return f"is for the CPU only: conda's {conda.build}", step, "F01"
    return _cpu_wheel(facts, version)


def _cpu_wheel(facts: Facts, version: str) -> tuple[str, str, str]:
    names = tuple(d.name for d in facts.distributions if d.owns_tensorflow)
    name = names[0] if names else "tensorflow"
    step = replace_line(facts, (name,), f"tensorflow[and-cuda]=={version}")
    if name == "tensorflow":  # the very name that has GPU code elsewhere
        step = install_with_cuda(facts, version, "--force-reinstall")
    return f"of {name} {version} is for the CPU only", step, "F01"

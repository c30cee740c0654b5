"""The verdict on each made machine: works or not, the sentence, its cause, the next step; and what holds for all."""

import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ssd_detect.cli.doctor_lines import report_lines
from ssd_detect.doctor.facts import DeviceFacts, Facts, Failure, KernelModule, TensorFlowFacts
from ssd_detect.doctor.judge import cause_of, judge
from ssd_detect.doctor.redaction import Redactor
from ssd_detect.doctor.report import report
from ssd_detect.doctor.situation import wants_cuda
from tests.doctor_machines import FOLDER, Machine, machine, names

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "ssd_detect/doctor/schema/doctor.schema.json").read_text(encoding="utf-8"))
NAMES = names()
MACHINES = [machine(name) for name in NAMES]
ANN = Redactor(homes=("/home/ann",), users=("ann",))


@pytest.mark.parametrize("name", NAMES)
def test_a_machine(name: str) -> None:
    made = machine(name)
    verdict, expect = judge(made.facts), made.expect
    cause = cause_of(verdict)
    assert verdict.sentence == expect["sentence"]
    assert (verdict.works, verdict.works_on_gpu) == (expect["works"], expect["works_on_gpu"])
    assert (cause.name if cause else None) == expect.get("cause"), cause
    if cause:
        assert (cause.mark, cause.step) == (expect["mark"], expect["step"])
        assert expect.get("found", "") in cause.found


def test_there_is_a_machine_for_every_known_failure() -> None:
    assert len(NAMES) >= 40
    covered = {failure for made in MACHINES for failure in made.failures}
    assert covered >= {f"F{number:02}" for number in range(1, 30)}


def test_there_is_a_machine_for_every_report_of_users() -> None:
    """`D01` to `D14` of the collected reports; D07 and D09 were not among them."""
    covered = {report for made in MACHINES for report in made.reports}
    assert covered == {f"D{number:02}" for number in range(1, 15)} - {"D07", "D09"}


@pytest.mark.parametrize("name", NAMES)
def test_what_holds_for_every_machine(name: str) -> None:
    facts = machine(name).facts
    verdict = judge(facts)
    for check in verdict.checks:
        assert check.found
        assert bool(check.step) == check.is_fault, check
        assert "\n" not in check.found
        assert check.stops == "nothing" or check.is_fault
        assert not re.search(r"None|\{|Failure\(", check.found + check.step), check
    assert sum(check.is_fault and check.stops == "gpu" for check in verdict.checks) <= 1  # the cause, not what follows
    assert len([check.name for check in verdict.checks]) == len({(c.name, c.found) for c in verdict.checks})


@pytest.mark.parametrize("name", NAMES)
def test_the_json_of_every_machine(name: str) -> None:
    facts = machine(name).facts
    text = report(facts, judge(facts), ANN)
    jsonschema.validate(json.loads(text), SCHEMA)
    assert "/home/ann" not in text
    assert "8932f937" not in text
    assert not re.search(r"\bbob\b", text)  # who trains on the same GPU


@pytest.mark.parametrize("name", NAMES)
def test_facts_come_back_from_json(name: str) -> None:
    facts = machine(name).facts
    assert Facts.from_json(json.loads(json.dumps(asdict(facts)))) == facts


@pytest.mark.parametrize("made", [made for made in MACHINES if not made.expect["works_on_gpu"]], ids=lambda m: m.name)
def test_where_a_gpu_is_required_there_is_a_failure(made: Machine) -> None:
    verdict = judge(made.facts, require_gpu=True)
    assert not verdict.works_on_gpu
    assert any(check.mark == "fail" for check in verdict.checks)


def test_without_an_nvidia_gpu_nothing_about_drivers_and_cuda_is_a_warning() -> None:
    without = [name for name in NAMES if _has_no_gpu(machine(name).facts)]
    assert {"cpu-only", "container-cpu", "windows-cpu", "f10-wsl2-plain", "macos", "macos-intel"} <= set(without)
    for name in without:
        groups = {check.group for check in judge(machine(name).facts).checks if check.is_fault}
        assert not groups & {"NVIDIA driver", "CUDA libraries"}, name


def _has_no_gpu(facts: Facts) -> bool:
    """As far as anybody can see: WSL shows no hardware, and CUDA's libraries there stand for a wish."""
    return not (facts.gpu_report.gpus or facts.bus or facts.driver.path or wants_cuda(facts))


def test_a_driver_that_cannot_be_asked_hides_no_gpu() -> None:
    """`bus` is None where it cannot be seen, which is not the same as empty."""
    facts = replace(machine("f11-docker").facts, kernel_module=KernelModule())
    assert "docker run --gpus all" in judge(replace(facts, bus=None)).sentence
    assert judge(replace(facts, bus=())).sentence == "Works on the CPU."


def test_a_detection_on_the_gpu_proves_more_than_any_table() -> None:
    healthy = machine("healthy-linux").facts
    wrong = machine("f03-driver-too-old").facts
    verdict = judge(
        replace(healthy, driver=wrong.driver, gpu_report=wrong.gpu_report, kernel_module=wrong.kernel_module)
    )
    assert verdict.sentence == "Everything works on GPU 0 (NVIDIA GeForce RTX 4090)."
    driver = next(check for check in verdict.checks if check.name == "driver")
    assert (driver.mark, driver.found[:14]) == ("ok", "works, although"[:14])


def test_a_gpu_that_tensorflow_does_not_list_for_no_known_reason() -> None:
    facts = machine("healthy-linux").facts
    unused = machine("f05-no-libraries").facts
    facts = replace(unused, library_search=facts.library_search)
    why, step = "TensorFlow lists no GPU, and no reason is known", "ssd-detect doctor -v (shows what TensorFlow said)"
    assert judge(facts).sentence == f"Works on the CPU; for the GPU: {why}; type: {step}"
    told = judge(replace(facts, log="E0000 CUDA_ERROR_OUT_OF_MEMORY: out of memory"))
    assert "memory" in next(check.found for check in told.checks if check.name == "devices")


def test_an_import_that_fails_along_with_numpy_is_skipped() -> None:
    broken = Failure("error", "ImportError: libcblas.so.3")
    made = machine("tensorflow-hangs").facts
    verdict = judge(replace(made, packages={**made.packages, "numpy": broken, "cv2": broken}, tensorflow=broken))
    marks = {check.name: (check.mark, check.step) for check in verdict.checks}
    assert marks["TensorFlow"] == ("skipped", "")
    assert marks["OpenCV"] == ("fail", "repair NumPy first")
    why, step = "NumPy cannot be imported: ImportError: libcblas.so.3", "install --force-reinstall 'numpy>=1.26'"
    assert verdict.sentence == f"Cannot detect: {why}; type: /env/bin/python -m pip {step}"


@pytest.mark.parametrize(
    ("trial", "mark"),
    [
        ({"score": 0.951}, "fail"),
        ({"score": 0.949}, "ok"),
        ({"score": 0.0, "class_name": None, "box": None}, "fail"),
        ({"box": (9.0, 0.0, 268.9, 320.0)}, "fail"),
        ({"box": (7.0, 0.0, 268.9, 320.0)}, "ok"),
    ],
)
def test_how_far_a_detection_may_differ(trial: dict[str, object], mark: str) -> None:
    facts = machine("cpu-only").facts
    changed = replace(facts, trial=replace(facts.trial, **trial))  # type: ignore[type-var]
    assert next(check.mark for check in judge(changed).checks if check.name == "detection") == mark


def test_a_gpu_without_a_name() -> None:
    facts = machine("healthy-linux").facts
    assert isinstance(facts.tensorflow, TensorFlowFacts)
    nameless = replace(facts.tensorflow, devices=(DeviceFacts("CPU:0"), DeviceFacts("GPU:0")))
    assert judge(replace(facts, tensorflow=nameless)).sentence == "Everything works on GPU 0."


def test_a_gpu_that_is_required_where_there_is_none() -> None:
    for name, verb in (("cpu-only", "Works"), ("quick-cpu", "Should work"), ("macos", "Works")):
        verdict = judge(machine(name).facts, require_gpu=True)
        assert verdict.sentence == f"{verb} on the CPU, but there is no NVIDIA GPU in this machine."
        assert not verdict.works_on_gpu
        assert not any("--require-gpu" in check.step for check in verdict.checks)


@pytest.mark.parametrize("name", ["f02-no-driver", "healthy-linux", "f29-noise"])
def test_a_driver_that_is_not_found_is_noise_only_without_a_gpu(name: str) -> None:
    said = "Could not find cuda drivers on your machine"
    details = [d for check in judge(replace(machine(name).facts, log=said)).checks for d in check.details]
    assert not any("harmless" in detail for detail in details)
    without = judge(replace(machine("cpu-only").facts, log=said))
    assert any("harmless" in detail for check in without.checks for detail in check.details)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_told_to_take_over_folders_of_others(name: str) -> None:
    for check in judge(machine(name).facts).checks:
        assert "chown" not in check.step or "/home/ann/" in check.step


@pytest.mark.parametrize("name", NAMES)
def test_ssd_detect_is_installed_from_no_index(name: str) -> None:
    for check in judge(machine(name).facts).checks:
        assert not re.search(r"(install|reinstall|no-deps|ssd) ssd-detect\b", check.step)


# ---------------------------------------------------------------- the lines


def test_all_is_well_fits_a_screen() -> None:
    lines = list(report_lines(judge(machine("healthy-linux").facts), verbose=False))
    assert len(lines) <= 24
    assert max(map(len, map(plain, lines))) <= 110
    assert plain(lines[-1]) == "Everything works on GPU 0 (NVIDIA GeForce RTX 4090)."


def test_every_group_is_told_once_and_in_its_order() -> None:
    lines = [plain(line) for line in report_lines(judge(machine("healthy-linux").facts), verbose=True)]
    headings = [line[:15].strip() for line in lines[:-1] if line[:1].strip()]
    assert headings == [
        "system",
        "Python",
        "TensorFlow",
        "NVIDIA driver",
        "CUDA libraries",
        "devices",
        "checkpoint",
        "detection",
        "video",
        "folders",
    ]


def test_verbose_shows_where_each_library_was_found() -> None:
    verdict = judge(machine("f08-ld-library-path").facts)
    brief, full = ("\n".join(map(plain, report_lines(verdict, verbose))) for verbose in (False, True))
    where = "/opt/cudnn-9.1/lib/libcudnn.so.9 (system, by LD_LIBRARY_PATH), hides /env/lib"
    assert where in full
    assert where not in brief
    assert len(full.splitlines()) > len(brief.splitlines())


def test_a_fault_says_what_is_wanted_and_each_line_of_the_step() -> None:
    lines = [plain(line) for line in report_lines(judge(machine("f07-old-cudnn").facts), verbose=False)]
    at = next(number for number, line in enumerate(lines) if "cuDNN 9.1.0 would be loaded" in line)
    assert lines[at].split()[0] == "fail"
    assert lines[at + 1].strip() == "wanted: 9.3 or newer within 9"
    assert lines[at + 2].strip() == "next:   /env/bin/python -m pip install 'nvidia-cudnn-cu12>=9.3,<10'"
    assert lines[at + 3].strip().startswith("and give torch")


def plain(line: str) -> str:
    """Without the colours, which the command leaves out where nobody watches."""
    return re.sub(r"\x1b\[[\d;]*m", "", line)


def test_each_file_of_a_machine_is_small() -> None:
    for path in FOLDER.glob("f*.toml"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 60, path


# ---------------------------------------------------------------- what could not be found out


@pytest.mark.parametrize(
    "name",
    [
        "healthy-linux",
        "windows-2.10",
        "f07-old-cudnn",
        "wsl2",
        "f17-memory-taken",
        "macos",
        "f04-half-updated",
        "f17-exclusive",
        "f27-after-suspend",
        "f15-ptxas-missing",
        "f13-blackwell-2.20",
        "driver-says-too-old",
    ],
)
def test_whatever_is_unknown_the_doctor_has_a_verdict(name: str) -> None:
    """Each part in turn, then each field of each part, as if its probe had failed."""
    facts = machine(name).facts
    for hole in _with_holes(facts):
        verdict = judge(hole)
        assert verdict.sentence
        lines = [plain(line) for line in report_lines(verdict, verbose=True)]
        assert lines[-1] == verdict.sentence
        assert not re.search(r"\bNone\b", "\n".join(lines)), hole


@pytest.mark.parametrize("name", NAMES)
def test_no_line_shows_a_value_of_python(name: str) -> None:
    for require_gpu in (False, True):
        lines = report_lines(judge(machine(name).facts, require_gpu=require_gpu), verbose=True)
        assert not re.search(r"\b(None|True|False)\b", "\n".join(lines))


def _with_holes(facts: Facts) -> Iterator[Facts]:
    unknown = Facts()
    for field in fields(Facts):
        part = getattr(facts, field.name)
        yield replace(facts, **{field.name: getattr(unknown, field.name)})
        for hole in _holes(part):
            yield replace(facts, **{field.name: hole})


def _holes(part: Any) -> Iterator[Any]:
    """A record, or a tuple of them, with one field after the other unknown, also of the records within."""
    if isinstance(part, tuple):
        for place, one in enumerate(part):
            yield from ((*part[:place], hole, *part[place + 1 :]) for hole in _holes(one))
    for inner in fields(part) if is_dataclass(part) and not isinstance(part, type) else ():
        if inner.default is not MISSING:
            yield replace(part, **{inner.name: inner.default})
        yield from (replace(part, **{inner.name: hole}) for hole in _holes(getattr(part, inner.name)))

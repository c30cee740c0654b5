"""What NVIDIA's driver and libraries say when they are asked: in a child process, or by `nvidia-smi`."""

from dataclasses import replace
from typing import Any, Protocol

from ssd_detect.doctor.facts import DriverFacts, Failure, GpuReport, Library
from ssd_detect.doctor.probes.smi import ask_smi, find_smi
from ssd_detect.doctor.probes.sources import Sources


class Asked(Protocol):
    """A child process, as `Child`."""

    def ask(self, question: str, seconds: float) -> Any:
        """The answer, or a `Failure`."""


def driver_facts(child: Asked, seconds: float) -> DriverFacts:
    """Of libcuda or nvcuda.dll, started for at most `seconds`."""
    answer = child.ask("driver", seconds)
    return DriverFacts(error=_words(answer)) if isinstance(answer, Failure) else DriverFacts.from_json(answer)


def gpu_report(child: Asked, sources: Sources, seconds: float, command_seconds: float) -> GpuReport:
    """NVML's, whose answers are the same in all versions; else nvidia-smi's; else what each of them said.

    Args:
        seconds: how long NVML may take.
        command_seconds: how long a call of nvidia-smi may take.
    """
    answer = child.ask("gpus", seconds)
    nvml = GpuReport(error=f"NVML: {_words(answer)}") if isinstance(answer, Failure) else GpuReport.from_json(answer)
    if nvml.source is not None:
        return nvml
    program = find_smi(sources)
    if program is None:
        return replace(nvml, error=f"{nvml.error}; nvidia-smi: not found")
    smi = ask_smi(program, command_seconds)
    if smi.source is not None:
        return replace(smi, error_code=nvml.error_code)
    return replace(nvml, error=f"{nvml.error}; nvidia-smi: {smi.error}")


def tried_library(child: Asked, library: Library, seconds: float) -> Library:
    """`library` after the file that the loader takes was loaded, in the same child as those before it."""
    if library.winner is None:
        return library
    answer = child.ask(f"load {library.winner.path}", seconds)
    if isinstance(answer, Failure):
        return replace(library, load_error=_words(answer))
    return replace(library, loaded_version=answer)


def _words(failure: Failure) -> str:
    """A failure as a piece of text for a field that has no room for more."""
    words = {
        "hung": "no answer within {} seconds",
        "killed": "the process was ended by {}",
        "exited": "the process ended with status {}",
        "missing": "the module {} is missing",
        "unasked": "no child process could be started: {}",
    }
    return words.get(failure.kind, "{}").format(failure.detail)

"""`Check`, one line of the report, and `Verdict`, all of them with what they come to. Plain values, no judgement."""

from dataclasses import dataclass
from typing import Literal

Mark = Literal["ok", "warn", "fail", "skipped"]
Group = Literal[
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


NO_GPU = "there is no NVIDIA GPU in this machine"
_SPEAKING = ("GPU", "GPU code", "devices", "operations", "detection")  # whose `found` names what it is about


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Args:
        group: the part of the report that it belongs to.
        name: what was looked at.
        mark: `fail` keeps something from working; `warn` works less well than it could, or soon no more; `skipped` was
            not judged, since its cause has been named already.
        found: what is there, or what is wrong, as the rest of a sentence that begins with the name.
        wanted: what should be there; empty when it is.
        step: what to do or type next; empty when there is nothing to do.
        id: of the failure in the reference (`F07`); empty when there is none.
        details: lines for those who want to know more.
        stops: what cannot work because of it: nothing, the GPU, or detection on any device.
    """

    group: Group
    name: str
    mark: Mark
    found: str
    wanted: str = ""
    step: str = ""
    id: str = ""
    details: tuple[str, ...] = ()
    stops: Literal["nothing", "gpu", "detection"] = "nothing"

    @property
    def is_fault(self) -> bool:
        """Whether it is a warning or a failure."""
        return self.mark in ("warn", "fail")

    def as_clause(self) -> str:
        """As a part of a sentence."""
        speaks = self.name in _SPEAKING or self.found.startswith("there is no ")
        return self.found if speaks else f"{self.name} {self.found}"


@dataclass(frozen=True)
class Verdict:
    """What the checks come to.

    Args:
        checks: in the order of causes.
        works: whether detection works on the device asked for; when not `proved`, whether nothing speaks against it.
        works_on_gpu: the same, on a GPU.
        proved: whether detection was tried.
        sentence: sums it up; lines after the first are commands to type.
    """

    checks: tuple[Check, ...]
    works: bool
    works_on_gpu: bool
    proved: bool
    sentence: str

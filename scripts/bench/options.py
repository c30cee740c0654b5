"""What can be chosen about a run of measurements."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASTRONAUT = ROOT / "tests" / "media" / "astronaut.png"
BEFORE_ENGINES = "e279125adab3"
"""The last revision that knew nothing but TensorFlow's graph: what start-up and post-processing are compared with."""


@dataclass(frozen=True)
class Options:
    """One run.

    Args:
        folder: for what is made on the way; it goes with the run.
        baseline: revision to compare with.
        rounds: how often everything is measured; None leaves it to each part.
        tiny: a few of everything: to see that it works, not to learn numbers.
        torch_python: an interpreter that has PyTorch.
        pictures: a folder of pictures, instead of made ones.
        video: a video, instead of a made one.
        engines: of the program, for the parts that go through the whole of it; see `ours.open_detector`.
    """

    folder: Path
    baseline: str = BEFORE_ENGINES
    rounds: int | None = None
    tiny: bool = False
    torch_python: Path | None = None
    pictures: Path | None = None
    video: Path | None = None
    engines: tuple[str, ...] = ("tensorflow", "auto")

    def rounds_or(self, usual: int) -> int:
        """So many rounds."""
        return self.rounds or (2 if self.tiny else usual)

    def environment(self, tree: Path = ROOT) -> dict[str, str]:
        """Of child processes that run the program of `tree`, with caches of this run's own."""
        own = {
            "PYTHONPATH": os.pathsep.join([str(tree), str(ROOT / "scripts")]),
            "SSD_DETECT_HOME": str(self.folder / "home"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        return {**os.environ, **own}


def program(*arguments: str | Path) -> list[str]:
    """The command line of `ssd-detect`."""
    return [sys.executable, "-m", "ssd_detect", *map(str, arguments)]

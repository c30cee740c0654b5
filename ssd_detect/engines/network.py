"""What every engine offers: resized pictures in, scores and offsets out."""

from typing import Protocol

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected
from ssd_detect.model.runs_on import RunsOn


class Network(Protocol):
    """One network, loaded once, used from any thread, closed once.

    Pictures come resized (`model.resize`): (B, size, size, 3) float32 RGB, 0 to 255, the mean not subtracted.
    """

    @property
    def runs_on(self) -> RunsOn:
        """Who computes, where, with what numbers."""

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        """Scores (B, N, C) and offsets (B, N, 4), float32.

        Raises:
            ClosedError: after `close()`.
            DeviceError: not enough memory for this batch; the device fails.
        """

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        """Only what scores above `limits` (C,) float32, one a class: what `select_scores` makes of `run`; raises as it.

        An engine that can leaves the rest where it was computed.
        """

    def close(self) -> None:
        """Free it; a second call does nothing."""

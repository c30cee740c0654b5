"""How sources of frames are read: frozen, checked when built, passed down unchanged."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ssd_detect.errors import SettingError


@dataclass(frozen=True)
class SourceSettings:
    """What a source may take its time for, and what it cannot tell itself.

    Args:
        timeout_seconds: for a connection, and for each wait for more of a stream or a camera; above 0, at most a day.
        reconnects: tries in a row to connect again to a live stream or a camera that was lost; 0 to 1000.
        first_pause_seconds: before the first of them; each further pause is twice as long, up to `timeout_seconds`.
        sequence_rate: numbered pictures a second; above 0.
        spool: an existing folder for the sound of what cannot be opened twice, and for what must be copied to be read;
            the caller deletes it. None: no sound of such sources, and copies go where the system keeps temporary files.

    Raises:
        SettingError: a value is outside its range.
    """

    timeout_seconds: float = 10.0
    reconnects: int = 3
    first_pause_seconds: float = 0.5
    sequence_rate: Fraction = Fraction(25)
    spool: Path | None = None

    def __post_init__(self) -> None:
        for name in ("timeout_seconds", "first_pause_seconds"):
            value = getattr(self, name)
            if not 0.0 < value <= 86400.0:  # also false for NaN
                raise SettingError(f"{name} is {value}, expected a number above 0, at most 86400")
        if not 0 <= self.reconnects <= 1000:
            raise SettingError(f"reconnects is {self.reconnects}, expected a whole number from 0 to 1000")
        if self.sequence_rate <= 0:
            raise SettingError(f"sequence_rate is {self.sequence_rate}, expected a number above 0")
        if self.spool is not None and not self.spool.is_dir():
            raise SettingError(f"spool is {self.spool}, expected an existing folder")

    def pause_before(self, attempt: int) -> float:
        """Seconds to wait before a try to connect again; the first one is 0."""
        return float(min(self.first_pause_seconds * 2.0 ** min(attempt, 30), self.timeout_seconds))

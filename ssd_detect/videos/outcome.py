"""What came of one video: of this run, and of an earlier one that left records."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ssd_detect.formats.video_head import VideoHead, video_from
from ssd_detect.formats.video_summary import VideoSummary
from ssd_detect.media.video.store import StoredFrame
from ssd_detect.videos.place import Place


@dataclass
class VideoOutcome:
    """What came of a video.

    Args:
        place: where its files are.
        head: what it is.
        summary: what was found.
        time_base: seconds a tick of the stored frames.
        lost: what was missing, in words.
        interrupted: it was not done to its end.
        num_stored: frames that an earlier run did.
    """

    place: Place
    head: VideoHead
    time_base: Fraction
    summary: VideoSummary = field(default_factory=VideoSummary)
    lost: str | None = None
    interrupted: bool = False
    num_stored: int = 0

    @property
    def num_new_frames(self) -> int:
        """Frames that this run did."""
        return self.summary.num_frames - self.num_stored

    def to_dict(self) -> dict[str, Any]:
        """What `outcome_of` needs besides the records."""
        return {"head": self.head.to_dict(), "time_base": str(self.time_base), "lost": self.lost}

    def add_stored(self, frame: StoredFrame) -> None:
        """Count a frame that an earlier run did."""
        self.num_stored += 1
        self.summary.add_dict(frame.record, float(frame.duration * self.time_base))


def outcome_of(place: Place) -> VideoOutcome:
    """What came of a video that an earlier run finished and left records of."""
    facts = place.store.ended
    outcome = VideoOutcome(place, video_from(facts["head"]), Fraction(facts["time_base"]), lost=facts["lost"])
    for frame in place.store.frames():
        outcome.add_stored(frame)
    return outcome

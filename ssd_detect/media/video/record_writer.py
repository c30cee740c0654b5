"""For runs that write no video: the records alone."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ssd_detect.arrays import Pixels
from ssd_detect.media.video.clock import FrameTime
from ssd_detect.media.video.encoder import ticks
from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.store import SegmentStore, StoredFrame


class RecordWriter:
    """Stands in the place of a `VideoWriter`, and keeps only what was found.

    Args:
        like: the video.
        store: takes the records.
    """

    def __init__(self, like: VideoInfo, store: SegmentStore) -> None:
        self._like, self._store = like, store
        self.ends_with_pictures = False
        self.notes: tuple[str, ...] = ()
        self.losses: str | None = None

    def append(self, pixels: Pixels, time: FrameTime, record: Mapping[str, Any]) -> None:
        """Keep the record of a frame.

        Raises:
            OutputError: the system refuses.
        """
        base = self._like.time_base
        start, duration = ticks(time.start, base), ticks(time.end - time.start, base)
        self._store.append(StoredFrame(start, duration, True, 0, record), b"")

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._store:
            if kind is None:
                self._store.seal()

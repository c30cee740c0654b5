"""What the writers of frames have in common: each video begins with its head, and a file is whole or absent."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from ssd_detect.errors import OutputError
from ssd_detect.formats.frame_record import FrameRecord, frame_to_dict
from ssd_detect.formats.video_head import VideoHead
from ssd_detect.formats.writer import GrowingFile, opened_whole

Frame: TypeAlias = FrameRecord | Mapping[str, Any]
"""A frame as writers take it: the record, or what `frame_to_dict` made of it, so that a resumed run can pass it on."""
Writer = TypeVar("Writer", bound="FrameFileWriter")


def values_of(frame: Frame, video: VideoHead | None) -> Mapping[str, Any]:
    """The frame as `frame_to_dict` gives it.

    Raises:
        OutputError: it is not of the video that was begun last, or has another size.
    """
    values = frame_to_dict(frame) if isinstance(frame, FrameRecord) else frame
    told = values["file"], values["width"], values["height"]
    if video is None or told != (video.file, *video.size):
        begun = "no video" if video is None else f"{video.file} with {video.size[0]}x{video.size[1]}"
        raise OutputError(f"{told[0]}: got a frame of {told[1]}x{told[2]} pixels, but {begun} was begun")
    return values


class FrameFileWriter(ABC):
    """Writes the frames of one or more videos into one file, which appears when the `with` block ends well.

    Args:
        path: the file.
        overwrite: replace an existing file.

    Raises:
        OutputError: on entering or leaving: the file exists and `overwrite` is off, or the system refuses.
    """

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        self._file = GrowingFile(path)
        self._overwrite = overwrite
        self._video: VideoHead | None = None
        self._open = ExitStack()

    def begin(self, video: VideoHead) -> None:
        """The frames that follow are of this video.

        Raises:
            OutputError: the system refuses; what was written before stays whole.
        """
        self._file.append(self.head(video))
        self._video = video

    def append(self, frame: Frame) -> None:
        """Write one frame.

        Raises:
            OutputError: the frame is not of the video that was begun; or the system refuses, and what was written
                before stays whole.
        """
        self._file.append(self.frame(values_of(frame, self._video)))

    def opening(self) -> bytes:
        """What the file begins with."""
        return b""

    @abstractmethod
    def head(self, video: VideoHead) -> bytes:
        """What stands before the frames of a video."""

    @abstractmethod
    def frame(self, values: Mapping[str, Any]) -> bytes:
        """What stands for the frame with these values of `frame_to_dict`."""

    @contextmanager
    def _opened(self) -> Iterator[None]:
        with opened_whole(self._file, overwrite=self._overwrite):
            self._file.append(self.opening())
            yield

    def __enter__(self: Writer) -> Writer:
        self._open.enter_context(self._opened())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

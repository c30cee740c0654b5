"""From a found video to its frames, whatever it is."""

from pathlib import Path

from ssd_detect.media.sources.inputs import SourceKind
from ssd_detect.media.video.frames import FrameSource
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.media.video.sources.animation import AnimationReader, is_animation
from ssd_detect.media.video.sources.camera import CameraReader
from ssd_detect.media.video.sources.inputs import VideoInput
from ssd_detect.media.video.sources.network import open_network
from ssd_detect.media.video.sources.sequence import SequenceReader
from ssd_detect.media.video.sources.settings import SourceSettings
from ssd_detect.media.video.sources.standard_input import open_standard_input


def open_source(video: VideoInput, settings: SourceSettings) -> FrameSource:
    """The frames of a video that `find_videos` has found.

    Raises:
        VideoError: it is not there, cannot be read, or is no video.
    """
    if video.path is not None and video.kind is SourceKind.SEQUENCE:
        return SequenceReader(video.path, settings.sequence_rate)
    if video.path is not None:
        return _open_file(video.path)
    if video.url is not None:
        return open_network(video.url, settings)
    if video.number is not None:
        return CameraReader(video.number, video.name, settings)
    return open_standard_input(settings, _open_file)


def _open_file(path: Path) -> FrameSource:
    return AnimationReader(path) if is_animation(path) else VideoReader(path)

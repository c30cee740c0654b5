"""Which encoder writes which file, with which options. Names and options are FFmpeg's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import av
import av.error

from ssd_detect.errors import OutputError, SettingError
from ssd_detect.settings import EncodingSettings

GIF = "gif"
CODECS = {
    "h264": "libx264",
    "h265": "libx265",
    "hevc": "libx265",
    "vp9": "libvpx-vp9",
    "av1": "libsvtav1",
    "mpeg4": "mpeg4",
    "mjpeg": "mjpeg",
    "ffv1": "ffv1",
    "prores": "prores_ks",
}
"""Name of a codec -> the encoder that is used for it. Any other encoder of FFmpeg goes by its own name."""


@dataclass(frozen=True)
class Container:
    """A kind of video file.

    Args:
        format: FFmpeg's name of it.
        encoder: what is used when nobody asks for another.
        options: for its writer.
        fixed_rate: all frames take the same time, and the first one begins at 0.
    """

    format: str
    encoder: str
    options: Mapping[str, str] = field(default_factory=dict)
    fixed_rate: bool = False


# The index in front; and starts of tracks to 1/90000 s, for which the default is 1/1000 s.
_MP4_OPTIONS = MappingProxyType({"movflags": "faststart", "movie_timescale": "90000"})
_MATROSKA_OPTIONS = MappingProxyType({"avoid_negative_ts": "disabled"})  # else all is moved when the sound starts early

CONTAINERS = {
    ".mp4": Container("mp4", "libx264", _MP4_OPTIONS),
    ".m4v": Container("mp4", "libx264", _MP4_OPTIONS),
    ".mov": Container("mov", "libx264", _MP4_OPTIONS),
    ".mkv": Container("matroska", "libx264", _MATROSKA_OPTIONS),
    ".webm": Container("webm", "libvpx-vp9", _MATROSKA_OPTIONS),
    ".avi": Container("avi", "libx264", fixed_rate=True),
    ".gif": Container(GIF, "png"),  # what is kept until the palettes are made
}
"""Suffix of a file that can be written -> its kind."""


@dataclass(frozen=True)
class _Quality:
    """How an encoder is told the quality: options in which {} stands for the number, and the usual number."""

    usual: int
    options: Mapping[str, str]
    limits: tuple[int, int] = (0, 51)

    def options_for(self, crf: int | None) -> dict[str, str]:
        number = self.usual if crf is None else crf
        return {name: text.format(number) for name, text in self.options.items()}


# FFmpeg's own encoders would take a fixed quantiser from each frame, where PyAV cannot set it.
_QUANTISER, _QUANTISERS = {"qmin": "{}", "qmax": "{}"}, (1, 31)
# On 377 frames of 768x432, libx264 takes 2.25 s of CPU for 2.48 MB without B-frames, 2.92 s for 2.33 MB with them. The
# preset medium takes more than twice as long for the same size, time that a network on the same CPU would miss.
_QUALITIES = {
    "libx264": _Quality(18, {"preset": "veryfast", "crf": "{}"}),
    "libx264rgb": _Quality(18, {"preset": "veryfast", "crf": "{}"}),
    "libx265": _Quality(20, {"preset": "veryfast", "crf": "{}", "x265-params": "log-level=none", "forced-idr": "1"}),
    "libvpx-vp9": _Quality(24, {"crf": "{}", "b": "0", "cpu-used": "5", "row-mt": "1"}, (0, 63)),
    "libsvtav1": _Quality(28, {"crf": "{}", "preset": "9"}, (0, 63)),
    "mpeg4": _Quality(3, _QUANTISER, _QUANTISERS),
    "mjpeg": _Quality(3, _QUANTISER, _QUANTISERS),
    "h264_nvenc": _Quality(21, {"preset": "p4", "rc": "vbr", "cq": "{}", "forced-idr": "1"}),
    "hevc_nvenc": _Quality(23, {"preset": "p4", "rc": "vbr", "cq": "{}", "forced-idr": "1"}),
    "av1_nvenc": _Quality(28, {"preset": "p4", "rc": "vbr", "cq": "{}", "forced-idr": "1"}),
    "h264_qsv": _Quality(21, {"global_quality": "{}", "forced_idr": "1"}),
    "hevc_qsv": _Quality(23, {"global_quality": "{}", "forced_idr": "1"}),
    "h264_amf": _Quality(21, {"rc": "cqp", "qp_i": "{}", "qp_p": "{}", "forced_idr": "1"}),
    "hevc_amf": _Quality(23, {"rc": "cqp", "qp_i": "{}", "qp_p": "{}", "forced_idr": "1"}),
}
_LOSSLESS = {"ffv1": {}, "png": {}, "prores_ks": {"profile": "hq"}}  # or nearly; they take no quality
_WANTED_FORMATS = ("yuv420p", "nv12", "yuvj420p", "yuv422p10le", "bgr0", "rgb24", "yuv444p", "bgr24")
_RGB_FORMATS = ("bgr0", "rgb24", "bgr24", "bgra", "rgba", "gbrp")
_PREFERRED_FORMATS = {"mjpeg": "yuvj420p", "ffv1": "bgr0", "png": "rgb24", "libx264rgb": "rgb24"}


@dataclass(frozen=True)
class Encoder:
    """An encoder, chosen and known to be there.

    Args:
        name: FFmpeg's.
        pixel_format: what it is given.
        options: its own.
        container: of the file.
    """

    name: str
    pixel_format: str
    options: Mapping[str, str]
    container: Container

    @property
    def is_rgb(self) -> bool:
        """Whether it takes red, green and blue as they are."""
        return self.pixel_format in _RGB_FORMATS

    @property
    def is_full_range(self) -> bool:
        """Whether its luma always goes from 0 to 255."""
        return self.pixel_format.startswith("yuvj")

    @property
    def needs_even_sides(self) -> tuple[bool, bool]:
        """Whether width and height must be even, since colour is kept for two pixels at a time."""
        layout = av.VideoFormat(self.pixel_format, 16, 16)
        return (layout.chroma_width(16) < 16, layout.chroma_height(16) < 16)

    def size_for(self, width: int, height: int) -> tuple[int, int]:
        """The size of the copy of a video of this size: an odd side that must be even grows by one pixel."""
        even_width, even_height = self.needs_even_sides
        return width + (width % 2 if even_width else 0), height + (height % 2 if even_height else 0)


def container_of(path: Path) -> Container:
    """The kind of file that a name asks for.

    Raises:
        OutputError: no such kind.
    """
    container = CONTAINERS.get(path.suffix.lower())
    if container is None:
        found = path.suffix or "a file without suffix"
        raise OutputError(f"{path}: cannot write {found}; use {', '.join(CONTAINERS)}")
    return container


def choose_encoder(path: Path, settings: EncodingSettings) -> Encoder:
    """The encoder for a file of this name.

    Raises:
        OutputError: a suffix that cannot be written; an encoder that this build of FFmpeg lacks.
        SettingError: a codec that no encoder is known for; a quality for an encoder that takes none.
    """
    container = container_of(path)
    if container.format == GIF and (settings.codec or settings.crf is not None):
        raise SettingError(f"{path}: a GIF has no codec and no quality to choose; leave --codec and --crf out")
    name = CODECS.get(settings.codec.lower(), settings.codec) if settings.codec else container.encoder
    codec = _find(name, asked_for=settings.codec is not None)
    return Encoder(name, _pixel_format(name, codec), _options(name, settings.crf), container)


def _find(name: str, *, asked_for: bool) -> av.Codec:
    try:
        codec = av.Codec(name, "w")
    except ValueError as error:
        if not asked_for:
            raise OutputError(f"this build of PyAV has no {name} encoder; type: pip install --upgrade av") from error
        raise SettingError(f"--codec {name}: no such encoder in this build of FFmpeg; {_known()}") from error
    if codec.type != "video":
        raise SettingError(f"--codec {name}: is for {codec.type}, expected an encoder for video; {_known()}")
    return codec


def _known() -> str:
    return f"known are {', '.join(CODECS)}, and hardware encoders such as h264_nvenc where the machine has them"


def _pixel_format(name: str, codec: av.Codec) -> str:
    taken = [layout.name for layout in codec.video_formats or ()]
    wanted = (*((_PREFERRED_FORMATS[name],) if name in _PREFERRED_FORMATS else ()), *_WANTED_FORMATS)
    fitting = next((layout for layout in wanted if layout in taken), None)
    if fitting is None and taken:
        raise SettingError(f"--codec {name}: takes only {', '.join(taken)}, which cannot be made here; {_known()}")
    return fitting or _WANTED_FORMATS[0]


def _options(name: str, crf: int | None) -> dict[str, str]:
    quality = _QUALITIES.get(name)
    if quality is not None:
        least, most = quality.limits
        if crf is not None and not least <= crf <= most:
            raise SettingError(f"--crf {crf}: expected {least} (best) to {most} for the encoder {name}")
        return quality.options_for(crf)
    if crf is not None:
        raise SettingError(f"--crf is not for the encoder {name}; leave it out")
    return dict(_LOSSLESS.get(name, {}))


def error_text(error: Exception) -> str:
    """What went wrong, in FFmpeg's or the system's words, without their numbers."""
    return str(getattr(error, "strerror", None) or error)

"""Which decoder of Pillow's opens a picture. `Image.open` does not: it tries all formats, some of which run programs,
and has a pixel limit for the whole process that is not ours to change.
"""

from collections.abc import Callable
from typing import IO, TypeAlias

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    Jpeg2KImagePlugin,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from ssd_detect.errors import PictureError

_Opener: TypeAlias = Callable[[IO[bytes]], ImageFile.ImageFile]


class _TiffFile(TiffImagePlugin.TiffImageFile):
    """A TIFF file without Pillow's limit, which newer Pillows apply once more while decoding."""

    def load_prepare(self) -> None:
        size = getattr(self, "_tile_size", None)  # since Pillow 11.1
        if size is not None and self._im is None:
            self.im = Image.new(self.mode, size, None).im
        super().load_prepare()


def open_image(stream: IO[bytes], kind: str, name: str) -> ImageFile.ImageFile:
    """Read the header of a picture; its pixels wait for `load`.

    Args:
        stream: at its beginning; stays open.
        kind: as told by `kind_of`.
        name: of the picture, for messages.

    Raises:
        PictureError: a package that can read this kind is missing.
        OSError, SyntaxError, ValueError, ...: the header is damaged.
    """
    if kind == "HEIF":
        return _heif_opener(name)(stream)
    if kind == "AVIF":
        return _avif_opener(name)(stream)
    return _OPENERS[kind](stream)


# A JPEG file with further pictures behind the first (MPO) is read as the JPEG file that it begins with.
_OPENERS: dict[str, _Opener] = {
    "JPEG": JpegImagePlugin.JpegImageFile,
    "PNG": PngImagePlugin.PngImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "TIFF": _TiffFile,
    "JPEG2000": Jpeg2KImagePlugin.Jpeg2KImageFile,
    "PPM": PpmImagePlugin.PpmImageFile,
}


def _avif_opener(name: str) -> _Opener:
    try:
        from PIL import AvifImagePlugin
    except ImportError:
        supported = False
    else:
        supported = AvifImagePlugin.SUPPORTED
    if not supported:
        raise PictureError(f"{name}: is an AVIF picture, which needs Pillow 11.3; type: pip install -U pillow")
    return AvifImagePlugin.AvifImageFile


def _heif_opener(name: str) -> _Opener:
    try:
        from pillow_heif import HeifImageFile
    except ImportError as error:
        raise PictureError(f"{name}: is a HEIC picture; type: pip install 'ssd-detect[heic]'") from error
    return HeifImageFile

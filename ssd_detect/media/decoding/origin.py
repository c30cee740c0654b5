"""What the file of a picture held besides its pixels, so that a copy can hold it too."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PictureOrigin:
    """Where a picture comes from.

    Args:
        format: Pillow's name of the file format, such as "JPEG".
        lossless: whether the file stored the pixels exactly.
        icc_profile: the colour profile that the RGB pixels are meant for; None where none is known.
        exif: an EXIF block, with prefix, without orientation, stored size and thumbnail.
        quantization: of a JPEG, the quantisation tables of luma and chroma, or one for both, 64 numbers each in
            natural order; empty for other formats.
        subsampling: of a colour JPEG, 0 for 4:4:4, 1 for 4:2:2, 2 for 4:2:0; None for anything else.
    """

    format: str
    lossless: bool
    icc_profile: bytes | None = None
    exif: bytes | None = None
    quantization: tuple[tuple[int, ...], ...] = ()
    subsampling: int | None = None

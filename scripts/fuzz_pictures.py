"""Damaged pictures of every format through the reader: each must give a picture or one clear error, and soon.

    .venv/bin/python scripts/fuzz_pictures.py                2,000 pictures, some seconds
    .venv/bin/python scripts/fuzz_pictures.py --only 1234    one of them again, with what it raises

The same seed makes the same pictures. They are read in a process of its own, so that a crash of a C library is seen and
counted; it ends with status 1 if there was a fault: another exception than PictureError, a Python warning, more than 5
seconds, a crash, or a line on standard error. Only libtiff, dav1d and OpenCV's libpng may write there, since nothing
can silence them; these lines are counted.
"""

import argparse
import io
import random
import struct
import sys
import time
import warnings
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fuzzing import (  # noqa: E402
    Mutation,
    cut_off,
    cut_out,
    flip_bits,
    flip_bits_of_head,
    insert_junk,
    overwrite,
    read_in_child,
    run_children,
    swap_pieces,
    take_chatter,
    tell_faults,
)

from ssd_detect.errors import PictureError  # noqa: E402
from ssd_detect.media.decoding.kinds import kind_of  # noqa: E402
from ssd_detect.media.pictures import open_picture  # noqa: E402
from tests.made_pictures import png, saved, tiff  # noqa: E402

MOST_SECONDS = 5.0  # of computing, so that a busy machine does not count
HANG_SECONDS = 30.0  # on the clock


# --------------------------------------------------------------------------------------------------- whole pictures


def whole_pictures() -> dict[str, bytes]:
    """A small file of each kind."""
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    image = Image.fromarray(pixels).resize((64, 48), Image.Resampling.BICUBIC)
    frames = [image.rotate(90 * i).resize((64, 48)) for i in range(3)]
    animation = {"save_all": True, "append_images": frames[1:], "duration": 100}
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "a camera"
    Image.init()
    deep = (np.asarray(image).astype(np.uint16) * 257).astype(np.uint16)
    return {
        "JPEG": saved(image, "JPEG", exif=exif),
        "progressive JPEG": saved(image, "JPEG", progressive=True),
        "grey JPEG": saved(image.convert("L"), "JPEG"),
        "CMYK JPEG": saved(image.convert("CMYK"), "JPEG"),
        "PNG": saved(image, "PNG", exif=exif),
        "palette PNG": saved(image.quantize(16), "PNG", transparency=3),
        "1-bit PNG": saved(image.convert("1"), "PNG"),
        "RGBA PNG": saved(image.convert("RGBA"), "PNG"),
        "16-bit grey PNG": png(deep[..., :1]),
        "16-bit colour PNG": png(deep),
        "APNG": saved(frames[0], "PNG", **animation),
        "GIF": saved(frames[0], "GIF", **animation),
        "WebP": saved(image, "WEBP", exif=exif),
        "lossless WebP": saved(image.convert("RGBA"), "WEBP", lossless=True),
        "animated WebP": saved(frames[0], "WEBP", **animation),
        "BMP": saved(image, "BMP"),
        "palette BMP": saved(image.quantize(16), "BMP"),
        "TIFF": saved(image, "TIFF", exif=exif),
        "LZW TIFF": saved(image, "TIFF", compression="tiff_lzw"),
        "JPEG TIFF": saved(image, "TIFF", compression="jpeg"),
        "fax TIFF": saved(image.convert("1"), "TIFF", compression="group4"),
        "pages TIFF": saved(frames[0], "TIFF", **animation),
        "16-bit TIFF": tiff(deep, order=">"),
        "BigTIFF": tiff(deep[..., :1], big=True),
        "float TIFF": tiff(deep.astype(np.float32)),
        **({"AVIF": saved(image, "AVIF", exif=exif)} if "AVIF" in Image.SAVE else {}),
        "JPEG 2000": saved(image, "JPEG2000"),
        "PPM": saved(image, "PPM"),
        **heic(image),
    }


def heic(image: Image.Image) -> dict[str, bytes]:
    try:
        import pillow_heif
    except ImportError:
        return {}
    file = io.BytesIO()
    pillow_heif.from_pillow(image).save(file)
    return {"HEIC": file.getvalue()}


# ------------------------------------------------------------------------------------------------------ mutations


def wrong_header(content: bytearray, rng: random.Random) -> None:
    size = rng.choice([4, 12, 16, 33])
    content[:size] = rng.choice(list(PICTURES.values()))[:size]


def large_numbers(content: bytearray, rng: random.Random) -> None:
    """Claim a huge size, count or place: the small numbers of the picture's size are among those replaced."""
    wide, high = 64, 48
    places = [i for i in range(min(len(content), 2000)) if content[i] in (wide, high, wide - 1, high - 1)]
    for place in rng.sample(places, min(len(places), rng.choice([1, 2, 4]))):
        number = rng.choice([0x7FFF, 0xFFFF, 20000, 0x7FFFFFFF, 0xFFFFFFFF, 0])
        size = 2 if number <= 0xFFFF else 4
        place -= rng.choice([0, size - 1])  # least or most important byte first
        content[max(0, place) : max(0, place) + size] = number.to_bytes(size, rng.choice(["little", "big"]))


MUTATIONS: list[Mutation] = [
    flip_bits,
    flip_bits_of_head,
    cut_off,
    cut_out,
    insert_junk,
    overwrite,
    swap_pieces,
    wrong_header,
    large_numbers,
]


def mend_png(content: bytearray) -> None:
    """Correct the checksums of a PNG, so that what its chunks say is looked at."""
    place = 8
    while place + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, place)
        end = place + 8 + length
        if end + 4 <= len(content):
            struct.pack_into(">I", content, end, zlib.crc32(content[place + 4 : end]))
        place = end + 4


def mutated(number: int, seed: int) -> tuple[str, bytes]:
    """The kind and the content of picture `number`."""
    rng = random.Random(f"{seed} {number}")
    kind = list(PICTURES)[number % len(PICTURES)]
    content = bytearray(PICTURES[kind])
    names = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        mutation = rng.choice(MUTATIONS)
        if content:
            mutation(content, rng)
        names.append(mutation.__name__)
    if content[:4] == b"\x89PNG" and rng.random() < 0.5:
        mend_png(content)
    return f"{kind}, {' + '.join(names)}", bytes(content)


# --------------------------------------------------------------------------------------------------------- reading


def outcome(content: bytes, chatter: io.BufferedRandom) -> str:
    """`picture`, `error`, or what is wrong."""
    start = time.process_time()
    try:
        picture = open_picture(content, name="a")
        result = "picture" if picture.pixels.ndim == 3 else "FAULT no picture"
    except PictureError as error:
        text = str(error)
        result = "error" if text.startswith("a: ") and "\n" not in text else f"FAULT unclear: {text!r}"
    except BaseException as error:
        result = f"FAULT {type(error).__name__}: {error}"
    seconds = time.process_time() - start
    if seconds > MOST_SECONDS:
        result = f"FAULT {seconds:.1f} s"
    if said := take_chatter(chatter):
        allowed = kind_of(content) in ("TIFF", "AVIF", "PNG") and not result.startswith("FAULT")
        result = f"{result} and a line of its library's" if allowed else f"FAULT said {said!r}"
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="how many pictures (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which pictures (default: %(default)s)")
    parser.add_argument("--only", type=int, metavar="N", help="read picture N alone, here, and show what it raises")
    parser.add_argument("--child", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        kind, content = mutated(options.only, options.seed)
        print(kind)
        print(open_picture(content, name="a").notes)
        return
    if options.child is not None:
        warnings.simplefilter("error")
        numbers = range(options.child, options.child + options.count)
        read_in_child(numbers, HANG_SECONDS, lambda number: mutated(number, options.seed), outcome)
        return
    start = time.monotonic()
    results = run_children(__file__, options.count, "--seed", str(options.seed))
    faults = tell_faults(results)
    words = Counter(result.text.split()[0] for result in results)
    lines = sum(result.text.endswith("library's") for result in results)
    print(
        f"{options.count} damaged files of {len(PICTURES)} kinds (seed {options.seed}): {words['picture']} pictures, "
        f"{words['error']} errors, {faults} faults, {lines} lines of libraries, "
        f"{time.monotonic() - start:.0f} s"
    )
    sys.exit(1 if faults else 0)


PICTURES = whole_pictures()

if __name__ == "__main__":
    main()

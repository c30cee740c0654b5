"""Damaged pictures of every format through the reader: each must give a picture or one clear error, and soon.

    .venv/bin/python scripts/fuzz_pictures.py                2,000 pictures, some seconds
    .venv/bin/python scripts/fuzz_pictures.py --only 1234    one of them again, with what it raises

The same seed makes the same pictures. They are read in a process of its own, so that a crash of a C library is seen and
counted; it ends with status 1 if there was a fault: another exception than PictureError, a Python warning, more than 5
seconds, a crash, or a line on standard error. Only libtiff, dav1d and OpenCV's libpng may write there, since nothing
can silence them; these lines are counted.
"""

import argparse
import faulthandler
import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

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


def flip_bits(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 2, 4, 16, 64])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def flip_bits_of_head(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 2, 4])):
        content[rng.randrange(min(len(content), 200))] ^= 1 << rng.randrange(8)


def cut_off(content: bytearray, rng: random.Random) -> None:
    del content[rng.choice([rng.randrange(len(content)), max(0, len(content) - rng.randrange(1, 20))]) :]


def cut_out(content: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(content))
    del content[start : start + rng.choice([1, 2, 4, 100])]


def insert_junk(content: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(content) + 1)
    content[start:start] = rng.randbytes(rng.choice([1, 2, 4, 100]))


def overwrite(content: bytearray, rng: random.Random) -> None:
    start, size = rng.randrange(len(content)), rng.choice([1, 2, 4, 8, 64])
    content[start : start + size] = rng.choice([b"\0" * size, b"\xff" * size, rng.randbytes(size)])


def swap_pieces(content: bytearray, rng: random.Random) -> None:
    size = rng.choice([4, 16, 64, 256])
    first, second = rng.randrange(len(content)), rng.randrange(len(content))
    content[first : first + size], content[second : second + size] = (
        content[second : second + size],
        content[first : first + size],
    )


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


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
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


def read_all(first: int, count: int, seed: int) -> None:
    """In the child: a line for each picture, with what became of it."""
    warnings.simplefilter("error")
    with tempfile.TemporaryFile() as chatter:
        saved_stderr = os.dup(2)
        os.dup2(chatter.fileno(), 2)
        for number in range(first, first + count):
            kind, content = mutated(number, seed)
            print(f"{number}\t{kind}\t", end="", flush=True)
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True, file=saved_stderr)
            print(outcome(content, chatter), flush=True)
            faulthandler.cancel_dump_traceback_later()


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
    chatter.seek(0)
    if said := chatter.read().decode(errors="replace"):
        chatter.seek(0)
        chatter.truncate()
        allowed = kind_of(content) in ("TIFF", "AVIF", "PNG") and not result.startswith("FAULT")
        result = f"{result} and a line of its library's" if allowed else f"FAULT said {said!r}"
    return " ".join(result.split())


def run_children(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """All pictures; a child that dies is replaced by one that begins behind the picture that killed it."""
    results: Counter[str] = Counter()
    faults, number = [], 0
    while number < count:
        command = [
            sys.executable,
            __file__,
            "--child",
            str(number),
            "--count",
            str(count - number),
            "--seed",
            str(seed),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            shown, kind, result = line.split("\t", 2)
            number = int(shown) + 1
            result = result or f"FAULT crash or hang, status {done.returncode}: {done.stderr.strip()[-2000:]}"
            results[result.split()[0]] += 1
            results["line"] += result.endswith("library's")
            if result.startswith("FAULT"):
                faults.append(f"{shown} ({kind}): {result}")
        if not done.stdout:
            sys.exit(f"the child did not start: {done.stderr}")
    return results, faults


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
        read_all(options.child, options.count, options.seed)
        return
    start = time.monotonic()
    results, faults = run_children(options.count, options.seed)
    print("\n".join(faults))
    print(
        f"{options.count} damaged files of {len(PICTURES)} kinds (seed {options.seed}): {results['picture']} pictures, "
        f"{results['error']} errors, {len(faults)} faults, {results['line']} lines of libraries, "
        f"{time.monotonic() - start:.0f} s"
    )
    sys.exit(1 if faults else 0)


PICTURES = whole_pictures()

if __name__ == "__main__":
    main()

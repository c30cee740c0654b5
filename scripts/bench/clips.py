"""Made pictures and videos."""

import subprocess
from pathlib import Path
from typing import Any

import cv2
import imageio_ffmpeg  # type: ignore[import-untyped]
import numpy as np

from bench.options import ASTRONAUT
from ssd_detect.arrays import Pixels
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import read_picture

_RATE = 25
_SIZES = ((500, 375), (640, 480), (375, 500), (800, 600), (480, 480))  # (width, height)


def clip_720p(path: Path, num_frames: int) -> Path:
    """A camera that pans over a photograph, with a tone: there is something to find, and all of the picture moves."""
    width, height = 1280, 720
    pan = f"scale=1600:1600,crop={width}:{height}:160+160*sin(t):440+440*cos(t)"
    return _encoded(path, ["-loop", "1", "-framerate", str(_RATE), "-i", str(ASTRONAUT)], num_frames, ["-vf", pan])


def small_clip(path: Path, num_frames: int) -> Path:
    """A moving test picture of 96x64 with a tone."""
    return _encoded(path, ["-f", "lavfi", "-i", f"testsrc2=s=96x64:r={_RATE}"], num_frames)


def _encoded(path: Path, source: list[str], num_frames: int, changed: list[str] | None = None) -> Path:
    length = ["-frames:v", str(num_frames), "-t", str(num_frames / _RATE)]
    encoding = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *source, "-f", "lavfi", "-i", "sine"]
    subprocess.run([*command, *(changed or []), *encoding, *length, str(path)], check=True, stdin=subprocess.DEVNULL)
    return path


def picture_folder(folder: Path, num_pictures: int) -> Path:
    """JPEG files of a few sizes, each another part of a photograph in another light."""
    folder.mkdir(parents=True)
    photograph = read_picture(ASTRONAUT)
    generator = np.random.default_rng(0)
    for number in range(num_pictures):
        left, top = (int(value) for value in generator.integers(0, 128, 2))
        light = generator.uniform(0.6, 1.0)
        part = (photograph[top : top + 384, left : left + 384] * light).astype(np.uint8)
        save_picture(folder / f"{number:05d}.jpg", shrunk(part, _SIZES[number % len(_SIZES)]))
    return folder


def shrunk(picture: Pixels, size: tuple[int, int]) -> Pixels:
    """To (width, height), by areas."""
    pixels: Any = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    return np.asarray(pixels, np.uint8)

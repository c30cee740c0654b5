"""Pictures and a video for those who bring none: made of the portrait that the doctor detects in."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from ssd_detect.arrays import Pixels
from ssd_detect.media.picture_files import save_picture
from ssd_detect.media.pictures import read_picture
from ssd_detect.media.video.frames import VideoInfo
from ssd_detect.media.video.sources.iterables import frames_at_rate
from ssd_detect.media.video.writer import VideoWriter

VIDEO_SIZE = (1280, 720)
_SIZES = ((500, 375), (1280, 720), (1920, 1080))  # VOC's usual one, and those of cameras; width, height
_STEP = 8  # pixels that the video moves from frame to frame
_RATE = 25


def made_pictures(portrait: Path, folder: Path) -> tuple[Path, ...]:
    """The portrait itself, and JPEG files with it side by side in other sizes, written into `folder`."""
    pixels = read_picture(portrait)
    paths = []
    for width, height in _SIZES:
        path = folder / f"made-{width}x{height}.jpg"
        save_picture(path, _side_by_side(pixels, width, height))
        paths.append(path)
    return (portrait, *paths)


def made_clip(portrait: Path, path: Path, num_frames: int) -> None:
    """An MP4 in which two portraits side by side move to the right, `num_frames` long, 25 frames a second."""
    width, height = VIDEO_SIZE
    pixels = _side_by_side(read_picture(portrait), width, height)
    like = VideoInfo("made", width, height, Fraction(_RATE), Fraction(1, _RATE), num_frames)
    with VideoWriter(path, like=like, audio=False) as writer:
        for frame in frames_at_rate(islice(_moving(pixels), num_frames), _RATE):
            writer.append(frame.pixels, frame.time)


def _side_by_side(pixels: Pixels, width: int, height: int) -> Pixels:
    half = cv2.resize(pixels, (width // 2, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(np.concatenate([half, half], axis=1), np.uint8)


def _moving(pixels: Pixels) -> Iterator[Pixels]:
    while True:
        yield pixels
        pixels = np.roll(pixels, _STEP, axis=1)

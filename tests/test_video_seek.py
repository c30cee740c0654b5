"""Reading from a place in the middle: the same frames as when the whole file is read, found fast."""

from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import av
import pytest

from ssd_detect.media.video.reader import VideoReader
from tests.clips import ffmpeg, pictures

MOVING = pictures("64x48", "30", 20)
LONG = f"{MOVING} -f lavfi -i sine=d=20 -c:v libx264 -preset ultrafast -bf 3 -g 250 -pix_fmt yuv420p"
OPEN = "-preset ultrafast -x264-params open-gop=1:keyint=100:scenecut=0 -bf 3 -pix_fmt yuv420p"
CLIPS = {
    "long.mp4": f"{LONG} -c:a aac",
    "long.mov": f"{LONG} -c:a aac",
    "long.mkv": f"{LONG} -c:a aac",
    "long.ts": f"{LONG} -c:a aac",
    "long.avi": f"{LONG} -c:a libmp3lame",
    "long.flv": f"{LONG} -c:a aac",
    "fragments.mp4": f"{LONG} -c:a aac -movflags frag_keyframe+empty_moov",
    "late.mp4": f"{LONG} -c:a aac -output_ts_offset 7",
    "late.mkv": f"{LONG} -c:a aac -output_ts_offset 7",
    "open.mp4": f"{MOVING} -c:v libx264 {OPEN}",
    "open.ts": f"{MOVING} -c:v libx264 {OPEN}",
    "hidden.webm": f"{MOVING} -c:v libvpx-vp9 -cpu-used 8 -auto-alt-ref 1 -lag-in-frames 16 -g 250",
    "hevc.mkv": f"{MOVING} -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=100:open-gop=1",
    "programme.mpg": f"{MOVING} -c:v mpeg2video -bf 2 -g 100",
    "raw.h264": LONG.replace("-f lavfi -i sine=d=20", ""),
    "stills.avi": f"{MOVING} -c:v mjpeg",
}


class Seen(NamedTuple):
    start: Fraction
    end: Fraction
    content: str


def seen(path: Path, begin: Fraction | None = None, *, seek: bool = True) -> list[Seen]:
    with VideoReader(path) as reader:
        if begin is not None:
            reader.begin_at(begin, seek=seek)
        frames = [Seen(f.time.start, f.time.end, sha256(f.pixels.tobytes()).hexdigest()) for f in reader]
        assert reader.losses is None
        return frames


def key_times(path: Path) -> list[Fraction]:
    with av.open(str(path), "r") as container:
        packets = [p for p in container.demux(video=0) if p.is_keyframe and p.pts is not None]
        return [Fraction(p.pts * p.time_base) for p in packets if p.pts is not None]


@pytest.fixture(scope="module", params=[*CLIPS])
def clip_and_frames(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Seen]]:
    path = ffmpeg(CLIPS[request.param], tmp_path_factory.mktemp("seek") / request.param)
    return path, seen(path)


PLACES: dict[str, Callable[[list[Seen], Fraction], Fraction]] = {
    "before the first": lambda frames, key: frames[0].start - 9,
    "the first": lambda frames, key: frames[0].start,
    "soon": lambda frames, key: frames[0].start + Fraction(1, 3),
    "a key frame": lambda frames, key: key,
    "just behind it": lambda frames, key: key + Fraction(1, 10_000),
    "just before it": lambda frames, key: key - Fraction(1, 10_000),
    "between": lambda frames, key: frames[0].start + Fraction(37, 3),
    "the last": lambda frames, key: frames[-1].start,
    "behind the last": lambda frames, key: frames[-1].start + Fraction(1, 1000),
    "far behind": lambda frames, key: frames[-1].start + 1000,
}


@pytest.mark.parametrize("seek", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_the_same_frames_from_there(place: str, seek: bool, clip_and_frames: tuple[Path, list[Seen]]) -> None:
    path, whole = clip_and_frames
    keys = [time for time in key_times(path) if time > whole[0].start + 6]
    begin = PLACES[place](whole, keys[0] if keys else whole[-9].start)
    assert seen(path, begin, seek=seek) == [frame for frame in whole if frame.start >= begin]


def test_it_does_not_decode_all_that_lies_before(tmp_path: Path) -> None:
    """The first frame that comes out of the decoder is that of the last key frame before the place."""
    path = ffmpeg(CLIPS["long.mp4"], tmp_path / "long.mp4")
    with VideoReader(path) as reader:
        reader.begin_at(Fraction(18), seek=True)
        assert len([*reader]) == 60
        assert reader._decoded.num_frames == 600 - 500  # key frames are 250 apart

"""Clips of moviepy with boxes in them; and what happens without moviepy, or with an old or a broken one."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np
import pytest

from ssd_detect.annotator import AnyFrame, FrameAnnotator, detect_and_draw
from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.detector import Detector
from ssd_detect.errors import ClosedError, SettingError, UnknownClassError, VideoError
from ssd_detect.media.pictures import read_picture
from ssd_detect.media.video.reader import VideoReader
from ssd_detect.settings import DetectionSettings
from tests.clips import H264, facts, ffmpeg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # moviepy's own: on newer Pythons invalid escapes in its docstrings
    from moviepy import AudioClip, ColorClip, CompositeVideoClip, ImageClip, VideoClip, VideoFileClip

    from ssd_detect.moviepy import DetectObjects

# moviepy's own: its readers forget to close the pipes of the ffmpeg processes that they end.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning"),  # in its reader
]

FACE = (224, 120)  # x, y in astronaut.png
RATE = 30


class Counting:
    """A detector that counts the pictures which it is given."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.settings, self.class_names = detector.settings, detector.class_names
        self.count = 0

    def __call__(self, picture: Pixels) -> Detections:
        self.count += 1
        return self._detector(picture)


class Blank:
    """A detector that finds nothing, at once."""

    settings, class_names = DetectionSettings(), ("background", "cat")
    count = 0

    def __call__(self, picture: Pixels) -> Detections:
        self.count += 1
        return Detections.empty((picture.shape[1], picture.shape[0]), self.class_names)


@pytest.fixture
def counting(detector: Detector) -> Any:
    """The shipped detector; `.count` tells how often it was asked."""
    return cast(Any, Counting(detector))


@pytest.fixture(scope="module")
def astronaut(media: Path) -> Pixels:
    return read_picture(media / "astronaut.png")


@pytest.fixture(scope="module")
def clip_file(media: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six frames of the astronaut, each a little brighter, with AAC sound."""
    still = f"-loop 1 -framerate {RATE} -i {media / 'astronaut.png'}"
    brighter = "-vf eq=brightness='0.02*n':eval=frame"
    target = tmp_path_factory.mktemp("clips") / "astronaut.mp4"
    return ffmpeg(f"{still} -f lavfi -i sine=d=0.2 -frames:v 6 {brighter} {H264} -crf 18 -c:a aac", target)


@pytest.fixture
def clip(clip_file: Path) -> Iterator[VideoClip]:
    with VideoFileClip(str(clip_file)) as opened:
        yield opened


def changed(before: AnyFrame, after: AnyFrame) -> Any:
    """(n, 2): y, x of the pixels that are clearly different."""
    return np.argwhere(np.abs(before[..., :3].astype(int) - after[..., :3]).max(axis=2) > 60)


def is_boxed(before: AnyFrame, after: AnyFrame, spot: tuple[int, int] = FACE) -> bool:
    """Whether lines were drawn around the spot, and little else."""
    points = changed(before, after)
    if len(points) == 0 or len(points) > before.shape[0] * before.shape[1] / 6:
        return False
    (top, left), (bottom, right) = points.min(axis=0), points.max(axis=0)
    return bool(left < spot[0] < right and top < spot[1] < bottom)


def save(clip: VideoClip, target: Path) -> Path:
    # Sound in a file of its own is moviepy's way; without a name it would lie in the current folder.
    sound = str(target.with_suffix(".m4a"))
    clip.write_videofile(str(target), codec="libx264", audio_codec="aac", temp_audiofile=sound, logger=None)
    return target


def frames_in(path: Path) -> list[Pixels]:
    with VideoReader(path) as reader:
        return [frame.pixels for frame in reader]


class TestFrames:
    """The function from frame to frame, which serves moviepy 1 and any other editor too."""

    @pytest.mark.parametrize(
        ("frame", "found"),
        [
            (np.zeros((0, 8, 3), np.uint8), r"uint8 \(0, 8, 3\)"),
            (np.zeros((8, 8), np.uint8), r"uint8 \(8, 8\)"),
            (np.zeros((8, 8, 1), np.uint8), r"uint8 \(8, 8, 1\)"),
            (np.zeros((8, 8, 5)), r"float64 \(8, 8, 5\)"),
            (np.zeros((2, 8, 8, 3), np.uint8), r"uint8 \(2, 8, 8, 3\)"),
            (np.zeros((8, 8, 3), np.bool_), r"bool \(8, 8, 3\)"),
            (np.zeros((8, 8, 3), complex), r"complex128 \(8, 8, 3\)"),
            (np.full((8, 8, 3), np.nan), "NaN or infinity"),
            (np.full((8, 8, 3), np.inf, np.float32), "NaN or infinity"),
            ([[[0, 0, 0]]], "got list"),
            (None, "got NoneType"),
        ],
    )
    def test_what_is_no_frame(self, frame: Any, found: str, detector: Detector) -> None:
        with pytest.raises(VideoError, match=rf"^expected a frame \(height, width, 3 or 4\) .*{found}"):
            detect_and_draw(detector)(frame)

    @pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.int64, np.uint16])
    @pytest.mark.parametrize("channels", [3, 4])
    def test_any_numbers_with_and_without_alpha(
        self, dtype: type, channels: int, astronaut: Pixels, counting: Any
    ) -> None:
        alpha = np.arange(512 * 512, dtype=np.uint32).reshape(512, 512, 1).astype(np.uint8)
        frame: AnyFrame = np.concatenate([astronaut, alpha], axis=2)[..., :channels].astype(dtype)
        before = frame.copy()
        drawn = detect_and_draw(counting)(frame)
        assert (str(drawn.dtype), drawn.shape, counting.count) == ("uint8", frame.shape, 1)
        assert is_boxed(astronaut, drawn)
        assert np.array_equal(drawn[..., 3:], alpha if channels == 4 else alpha[..., :0])
        assert np.array_equal(frame, before)

    def test_numbers_are_rounded_and_cut_off(self, detector: Detector) -> None:
        row = np.array([-1e9, -0.4, 0.6, 127.4, 127.6, 255.4, 256, 1e9])
        frame = np.broadcast_to(row[np.newaxis, :, np.newaxis], (8, 8, 3))  # too small for any object, and read-only
        assert detect_and_draw(detector)(frame)[0, :, 0].tolist() == [0, 0, 1, 127, 128, 255, 255, 255]

    def test_views_of_any_strides(self, astronaut: Pixels, detector: Detector) -> None:
        mirrored = detect_and_draw(detector)(astronaut[:, ::-1])
        assert is_boxed(astronaut[:, ::-1], mirrored, (511 - FACE[0], FACE[1]))

    def test_a_frame_that_comes_again_is_not_detected_again(self, astronaut: Pixels, counting: Any) -> None:
        function = detect_and_draw(counting)
        first, second = function(astronaut), function(astronaut.copy())
        assert counting.count == 1
        assert np.array_equal(first, second)
        first[:] = 0  # the caller may do what it likes with a frame
        assert np.array_equal(function(astronaut), second)
        assert counting.count == 1

    def test_an_array_that_is_filled_anew_is_another_frame(self, astronaut: Pixels, counting: Any) -> None:
        function, canvas = detect_and_draw(counting), astronaut.copy()
        function(canvas)
        canvas[:] = 0
        assert not function(canvas).any()
        assert counting.count == 2

    @pytest.mark.parametrize("place", [(0, 0, 0), (255, 255, 1), (511, 511, 2)])
    def test_one_other_value_is_another_frame(self, place: Any, astronaut: Pixels, counting: Any) -> None:
        function, canvas = detect_and_draw(counting), astronaut.copy()
        function(canvas)
        canvas[place] ^= 1
        function(canvas)
        assert counting.count == 2

    def test_the_same_bytes_in_another_shape_are_another_frame(self, counting: Any) -> None:
        function, grey = detect_and_draw(counting), np.full(48 * 64 * 3, 99, np.uint8)
        for shape in ((48, 64, 3), (64, 48, 3), (64, 48, 3)):
            assert function(grey.reshape(shape)).shape == shape
        assert counting.count == 2

    def test_to_see_that_a_frame_is_another_costs_next_to_nothing(self) -> None:
        """Less than a copy of it; 2 ms of 720p when all of both was compared."""
        blank = cast(Any, Blank())
        annotator = FrameAnnotator(blank)
        frames = [np.full((720, 1280, 3), i, np.uint8) for i in range(2)]
        annotator._detect(frames[1])
        compared, copied = [], []
        for i in range(20):
            begin = perf_counter()
            annotator._detect(frames[i % 2])
            middle = perf_counter()
            frames[i % 2].tobytes()
            compared.append(middle - begin)
            copied.append(perf_counter() - middle)
        assert blank.count == 21
        assert min(compared) < 2 * min(copied)

    def test_labels_can_be_left_out(self, astronaut: Pixels, detector: Detector) -> None:
        boxes, labels = (detect_and_draw(detector, labels=on)(astronaut) for on in (False, True))
        assert 300 < len(changed(astronaut, boxes)) < len(changed(astronaut, labels))

    def test_blur(self, astronaut: Pixels, detector: Detector) -> None:
        x, y = FACE
        face = np.s_[y - 20 : y + 20, x - 20 : x + 20]
        for blur, hidden in (([], False), (["car"], False), (["Person"], True)):
            drawn = detect_and_draw(detector, labels=False, blur=blur)(astronaut)
            assert np.array_equal(drawn[face], astronaut[face]) != hidden
            assert (drawn[face].std() < astronaut[face].std() / 2) == hidden

    def test_what_nobody_looks_for_cannot_be_blurred(self, counting: Any) -> None:
        with pytest.raises(UnknownClassError, match="did you mean person"):
            detect_and_draw(counting, blur=["persn"])
        with pytest.raises(SettingError, match=r"^blur is 'person', expected .* such as \['person'\]$"):
            detect_and_draw(counting, blur="person")
        for settings in (DetectionSettings(classes=("car",)), DetectionSettings(exclude_classes=("person",))):
            counting.settings = settings
            with pytest.raises(SettingError, match=r"^cannot blur 'person': the detector's settings"):
                DetectObjects(counting, blur=["person"])


class TestWritten:
    """Clips through moviepy's own writer, and read back."""

    def test_a_clip_with_sound(self, clip: VideoClip, clip_file: Path, counting: Any, tmp_path: Path) -> None:
        told: list[tuple[float, Detections]] = []
        effect = DetectObjects(counting, on_detections=lambda seconds, found: told.append((seconds, found)))
        drawn = clip.with_effects([effect])
        assert counting.count == 0
        assert (drawn.fps, drawn.duration, tuple(drawn.size)) == (clip.fps, clip.duration, (512, 512))
        assert drawn.audio.duration == clip.audio.duration
        new, old = facts(save(drawn, tmp_path / "out.mp4")), facts(clip_file)
        assert (new.codec, len(new.times), new.rate, new.sizes) == ("h264", 6, Fraction(RATE), {(512, 512)})
        assert new.seconds == pytest.approx(old.seconds, abs=0.05)
        assert [track.codec for track in new.sound] == ["aac"]
        assert sum(map(len, new.sound[0].packets)) > 500
        assert counting.count == 6
        assert [seconds for seconds, _ in told] == pytest.approx([n / RATE for n in range(6)])
        assert all(any(name == "person" for name, *_ in found) for _, found in told)
        for before, after in zip(frames_in(clip_file), frames_in(tmp_path / "out.mp4"), strict=True):
            assert is_boxed(before, after)

    def test_the_given_clip_stays_as_it_is(self, clip: VideoClip, detector: Detector) -> None:
        before, attributes = clip.get_frame(0), dict(vars(clip))
        clip.with_effects([DetectObjects(detector)]).get_frame(0)
        assert vars(clip) == attributes
        assert np.array_equal(clip.get_frame(0), before)

    def test_a_part_without_sound(self, clip: VideoClip, counting: Any, tmp_path: Path) -> None:
        """Put on before and after the cut; frames outside the part are not detected."""
        told: list[float] = []
        effect = DetectObjects(counting, on_detections=lambda seconds, _: told.append(seconds))
        silent = clip.without_audio()
        before_cut = silent.with_effects([effect]).subclipped(2 / RATE, 4 / RATE)
        after_cut = silent.subclipped(2 / RATE, 4 / RATE).with_effects([effect])
        for part, times in ((before_cut, [2 / RATE, 3 / RATE]), (after_cut, [0, 1 / RATE])):
            new = facts(save(part, tmp_path / "part.mp4"))
            assert (len(new.times), new.sound) == (2, [])
            assert told == pytest.approx(times)
            told.clear()
        assert counting.count == 4

    def test_a_clip_with_a_mask(self, astronaut: Pixels, detector: Detector, tmp_path: Path) -> None:
        """Where the mask is 0, the ground shows through, and the box too is hidden."""
        mask = np.zeros((512, 512))
        mask[:, 200:] = 1
        clip = ImageClip(astronaut, duration=0.1).with_fps(RATE).with_mask(ImageClip(mask, is_mask=True))
        drawn = clip.with_effects([DetectObjects(detector)])
        assert np.array_equal(drawn.mask.get_frame(0), mask)
        ground = ColorClip((512, 512), (0, 0, 255), duration=0.1)
        new = frames_in(save(CompositeVideoClip([ground, drawn]), tmp_path / "out.mp4"))[0]
        assert np.abs(new[:, :190].astype(int) - [0, 0, 255]).max() < 60
        assert len(changed(astronaut[:, 210:], new[:, 210:])) > 300

    def test_a_still_is_detected_once(self, astronaut: Pixels, counting: Any, tmp_path: Path) -> None:
        clip = ImageClip(astronaut, duration=5 / RATE)
        new = frames_in(save(clip.with_effects([DetectObjects(counting)]).with_fps(RATE), tmp_path / "out.mp4"))
        assert (len(new), counting.count) == (5, 1)
        assert all(is_boxed(astronaut, frame) for frame in new)

    def test_the_way_of_moviepy_1(self, clip: VideoClip, clip_file: Path, detector: Detector, tmp_path: Path) -> None:
        drawn = clip.subclipped(0, 2 / RATE).image_transform(detect_and_draw(detector))
        new = facts(save(drawn, tmp_path / "out.mp4"))
        assert (len(new.times), len(new.sound)) == (2, 1)
        assert is_boxed(frames_in(clip_file)[0], frames_in(tmp_path / "out.mp4")[0])


class TestEffect:
    def test_a_time_asked_for_twice_is_detected_and_told_once(self, clip: VideoClip, counting: Any) -> None:
        told: list[float] = []
        drawn = clip.with_effects([DetectObjects(counting, on_detections=lambda seconds, _: told.append(seconds))])
        first, second = drawn.get_frame(0.1), drawn.get_frame(0.1)
        assert np.array_equal(first, second)
        assert (counting.count, told) == (1, [0.1])

    def test_one_effect_on_several_clips_at_once(self, clip: VideoClip, astronaut: Pixels, counting: Any) -> None:
        effect = DetectObjects(counting)
        still = ImageClip(astronaut[::2, ::2], duration=1).with_effects([effect])
        moving = clip.with_effects([effect])
        for _ in range(2):
            assert is_boxed(astronaut[::2, ::2], still.get_frame(0), (FACE[0] // 2, FACE[1] // 2))
            assert is_boxed(clip.get_frame(0), moving.get_frame(0))
        assert counting.count == 2

    def test_a_frame_kept_by_the_clip_is_not_shown_without_boxes(self, clip: VideoClip, detector: Detector) -> None:
        keeping = clip.with_memoize(True)
        plain = keeping.get_frame(0)
        drawn = keeping.with_effects([DetectObjects(detector)])
        assert is_boxed(plain, drawn.get_frame(0))
        assert drawn.get_frame(0) is drawn.get_frame(0)
        assert keeping.get_frame(0) is plain

    def test_frames_of_whole_numbers(self, detector: Detector) -> None:
        """A ColorClip has int64 frames."""
        drawn = ColorClip((64, 48), (255, 0, 9), duration=1).with_effects([DetectObjects(detector)]).get_frame(0)
        assert drawn.dtype == np.uint8
        assert (drawn == [255, 0, 9]).all()

    @pytest.mark.parametrize(
        ("clip", "found"),
        [
            (AudioClip(lambda t: np.sin(440 * t), duration=1, fps=8000), "got AudioClip$"),
            (ImageClip(np.zeros((8, 8)), is_mask=True, duration=1), r"got a mask \(ImageClip\)$"),
        ],
    )
    def test_what_has_no_pictures(self, clip: Any, found: str, detector: Detector) -> None:
        with pytest.raises(SettingError, match=found):
            clip.with_effects([DetectObjects(detector)])

    def test_grey_frames_are_refused_before_anything_is_written(self, detector: Detector) -> None:
        with pytest.raises(VideoError, match=r"got uint8 \(8, 8\)"):
            ImageClip(np.zeros((8, 8), np.uint8), duration=1).with_effects([DetectObjects(detector)])

    def test_a_closed_detector(self, clip: VideoClip) -> None:
        with Detector() as closed:
            drawn = clip.with_effects([DetectObjects(closed)])
        with pytest.raises(ClosedError):
            drawn.get_frame(0)


# What stands in moviepy/__init__.py -> what is said of it.
UNUSABLE = {
    "raise ModuleNotFoundError(\"No module named 'moviepy'\")": "No module named 'moviepy'",
    "raise RuntimeError('no ffmpeg\\n  found')": "no ffmpeg found",
    "raise KeyError": "KeyError",
    "__version__ = '1.0.3'": "this is 1.0.3",
}


class TestWithoutMoviepy:
    @pytest.fixture
    def run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
        """Runs Python code where moviepy is a package of the given content; gives what it prints."""
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parent.parent)]))

        def run(moviepy: str, code: str, *arguments: str) -> str:
            (tmp_path / "moviepy").mkdir()
            (tmp_path / "moviepy" / "__init__.py").write_text(moviepy)
            command = [sys.executable, "-c", code, *arguments]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, done.stderr
            return done.stdout

        return run

    @pytest.mark.parametrize("moviepy", UNUSABLE)
    def test_one_line_says_what_to_install(self, moviepy: str, run: Callable[..., str]) -> None:
        code = (
            "from ssd_detect.errors import MissingPackageError\n"
            "try:\n    import ssd_detect.moviepy\nexcept MissingPackageError as error:\n    print(error)\n"
        )
        assert run(moviepy, code) == (
            f"ssd_detect.moviepy needs moviepy 2, but {UNUSABLE[moviepy]}; "
            'type: pip install "moviepy>=2.1"; or stay with moviepy 1 and use '
            "clip.fl_image(ssd_detect.detect_and_draw(detector))\n"
        )

    @pytest.mark.slow
    def test_all_else_works_and_imports_no_moviepy(
        self, run: Callable[..., str], media: Path, clip_file: Path, tmp_path: Path
    ) -> None:
        code = (
            "import sys\nfrom ssd_detect import Detector\nfrom ssd_detect.annotator import detect_and_draw\n"
            "from ssd_detect.cli.main import program\n"
            "for arguments in (['--help'], sys.argv[1:4], sys.argv[4:], ['doctor', '--device', 'cpu']):\n"
            "    try:\n        program(arguments)\n"
            "    except SystemExit as error:\n        print('status', error.code)\n"
            "print('moviepy' in sys.modules)\n"
        )
        image = ["image", str(media / "astronaut.png"), "--quiet"]
        said = run("raise RuntimeError('imported')", code, *image, "video", str(clip_file), "out.mp4", "--quiet")
        assert [line for line in said.splitlines() if line.startswith("status")] == ["status 0"] * 4
        assert said.endswith("\nFalse\n")
        assert (tmp_path / "out.mp4").exists()

"""Detector: what it takes, what it gives, and where the time goes."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ssd_detect.arrays import Floats
from ssd_detect.boxes.postprocess import decode_candidates, keep_best
from ssd_detect.detector import Detector
from ssd_detect.errors import CheckpointError, PictureError, UnknownClassError
from ssd_detect.media.pictures import read_picture
from ssd_detect.settings import DetectionSettings


class TestPictures:
    def test_one_and_many(self, detector: Detector, media: Path) -> None:
        person, cat = read_picture(media / "astronaut.png"), read_picture(media / "chelsea.png")
        alone = detector(person)
        assert alone.class_names[alone.class_ids[0]] == "person"
        assert detector([]) == []
        together = detector([person, cat, person])
        assert [next(iter(d)).class_name for d in together] == ["person", "cat", "person"]
        for found in (together[0], together[2]):
            np.testing.assert_allclose(found.boxes, alone.boxes, atol=0.05)
            np.testing.assert_allclose(found.scores, alone.scores, atol=1e-5)
        stacked = detector(np.stack([person, person]))
        assert len(stacked) == 2

    def test_the_callers_array_is_never_changed(self, detector: Detector, media: Path) -> None:
        picture = read_picture(media / "astronaut.png")
        before = picture.copy()
        detector(picture)._repr_png_()
        np.testing.assert_array_equal(picture, before)
        picture.flags.writeable = False
        assert len(detector(picture)) == len(detector(np.asfortranarray(picture)))

    @pytest.mark.parametrize("size_hw", [(1, 1), (1, 900), (900, 1), (17, 33)])
    def test_odd_sizes(self, detector: Detector, size_hw: tuple[int, int]) -> None:
        found = detector(np.full((*size_hw, 3), 90, np.uint8))
        assert found.size == size_hw[::-1]

    @pytest.mark.parametrize(
        ("picture", "message"),
        [
            (np.zeros((5, 5), np.uint8), r"got uint8 \(5, 5\)"),
            (np.zeros((5, 5, 4), np.uint8), r"got uint8 \(5, 5, 4\)"),
            (np.zeros((5, 5, 3)), r"expected an RGB picture as a uint8 array .*got float64"),
            (np.zeros((0, 5, 3), np.uint8), r"got uint8 \(0, 5, 3\)"),
            (["person.jpg"], r"expected a NumPy array, got str; read_picture\(path\) makes one"),
        ],
    )
    def test_what_is_no_picture(self, detector: Detector, picture: Any, message: str) -> None:
        with pytest.raises(PictureError, match=message):
            detector(picture)

    def test_notebook_shows_the_annotated_picture(self, detector: Detector, media: Path) -> None:
        picture = read_picture(media / "astronaut.png")
        shown = detector(picture)._repr_png_()
        assert shown is not None
        annotated = np.array(Image.open(io.BytesIO(shown)))
        assert annotated.shape == picture.shape
        assert (annotated != picture).any()


class TestRawOutputs:
    def test_they_make_the_detections(self, detector: Detector, media: Path) -> None:
        picture = read_picture(media / "chelsea.png")
        scores, offsets = detector.raw_outputs(picture)
        assert (scores.shape, offsets.shape) == ((8732, 21), (8732, 4))
        candidates, _ = decode_candidates(scores, offsets, detector.anchors, detector.wanted, detector.settings)
        kept, found = keep_best(candidates, detector.settings), detector(picture)
        np.testing.assert_allclose(kept.scores, found.scores, atol=1e-5)
        np.testing.assert_array_equal(kept.scores, scores[kept.anchor_ids, kept.class_ids])

    def test_what_is_no_picture(self, detector: Detector) -> None:
        with pytest.raises(PictureError, match=r"got uint8 \(5, 5\)"):
            detector.raw_outputs(np.zeros((5, 5), np.uint8))


class TestPrepared:
    def test_they_give_what_a_call_gives(self, detector: Detector, media: Path) -> None:
        pictures = [read_picture(media / name) for name in ("astronaut.png", "chelsea.png")]
        prepared = [detector.prepare(picture) for picture in pictures]
        assert [(p.resized.shape, str(p.resized.dtype)) for p in prepared] == [((300, 300, 3), "float32")] * 2
        assert all(one.picture is picture for one, picture in zip(prepared, pictures, strict=True))
        assert detector.detect_prepared(prepared) == detector(pictures)
        assert detector.detect_prepared(prepared[:1]) == [detector(pictures[0])]
        assert detector.detect_prepared([]) == []

    def test_what_is_no_picture(self, detector: Detector) -> None:
        with pytest.raises(PictureError, match=r"got uint8 \(5, 5\)"):
            detector.prepare(np.zeros((5, 5), np.uint8))

    def test_all_are_checked_before_the_network_runs(self, detector: Detector) -> None:
        before = detector.times.seconds().get("network")
        with pytest.raises(PictureError, match=r"got uint8 \(5, 5\)"):
            detector([np.zeros((5, 5, 3), np.uint8), np.zeros((5, 5), np.uint8)])
        assert detector.times.seconds().get("network") == before


def test_outputs_are_told_of_and_change_nothing(detector: Detector, media: Path) -> None:
    """With `on_outputs` the scores are selected on the host, else where they were computed."""
    told: list[tuple[Floats, Floats]] = []
    pictures = [read_picture(media / name) for name in ("astronaut.png", "chelsea.png", "coffee.png")]
    with Detector(batch_size=2, on_outputs=lambda *outputs: told.append(outputs)) as listening:
        found = listening(pictures)
        assert listening.runs_on == detector.runs_on
    assert [(scores.shape, offsets.shape) for scores, offsets in told] == [((8732, 21), (8732, 4))] * 3
    with Detector(batch_size=2) as plain:
        assert found == plain(pictures)


class TestSettings:
    def test_unknown_class(self) -> None:
        with pytest.raises(UnknownClassError, match="did you mean person"):
            Detector(settings=DetectionSettings(classes=("prson",)))

    def test_unknown_checkpoint(self) -> None:
        with pytest.raises(CheckpointError, match="no such checkpoint"):
            Detector(Path("gone.ckpt"))

    def test_classes_and_agnostic(self, media: Path, detector: Detector) -> None:
        picture = read_picture(media / "astronaut.png")
        low = DetectionSettings(score_threshold=0.02, nms_threshold=0.3)
        with Detector(settings=low) as per_class:
            several = per_class(picture)
        with Detector(settings=DetectionSettings(0.02, 0.3, class_agnostic=True, max_detections=3)) as agnostic:
            few = agnostic(picture)
        assert 0 < len(few) <= 3 < len(several)
        with Detector(settings=DetectionSettings(0.02, 0.3, exclude_classes=("person",))) as others:
            assert 15 not in others(picture).class_ids

    def test_best_guess_is_of_a_wanted_class(self, media: Path) -> None:
        with Detector(settings=DetectionSettings(score_threshold=1.0, classes=("tv", "dog"))) as picky:
            found = picky(read_picture(media / "astronaut.png"))
        assert found.best_guess is not None
        assert found.best_guess.class_name in ("tvmonitor", "dog")
        assert 0 < found.best_guess.score < 0.5


class TestTimes:
    def test_stages(self, detector: Detector, media: Path) -> None:
        before = detector.times.seconds()
        detector(read_picture(media / "chelsea.png"))
        after = detector.times.seconds()
        assert list(after) == ["resize", "network", "decode", "nms"]
        assert all(after[stage] > before.get(stage, 0.0) for stage in after)
        assert after["decode"] + after["nms"] < after["network"]


def test_manifest_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ssd_detect.model import manifest

    read: Callable[[], Any] = manifest.manifest.__wrapped__
    monkeypatch.setattr(manifest, "checkpoints_folder", lambda: tmp_path)
    with pytest.raises(CheckpointError, match="the list of checkpoints is missing or damaged"):
        read()
    (tmp_path / "manifest.toml").write_text("[checkpoints.x]\nfile = 3")
    with pytest.raises(CheckpointError, match=r"manifest\.toml: .* install ssd-detect again"):
        read()

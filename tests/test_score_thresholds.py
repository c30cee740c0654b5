"""A score threshold for each class: the file, the options, and what becomes of scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.arrays import Floats
from ssd_detect.boxes.outputs import OutputDecoder
from ssd_detect.boxes.profiles import resolved
from ssd_detect.cli.main import program
from ssd_detect.conventions import Profile
from ssd_detect.detections import Detections
from ssd_detect.errors import FormatError, OutputError, SettingError, UnknownClassError
from ssd_detect.formats.thresholds import SCHEMA, ScoreThresholds, read_thresholds, write_thresholds
from ssd_detect.settings import DetectionSettings
from ssd_detect.stages import StageTimes

CLASSES = ("background", "cat", "dog", "tvmonitor")
WHOLE = ScoreThresholds({"cat": 0.25, "dog": 0.75}, "a", "ab" * 32, {"precision": 0.9})


class TestFile:
    @pytest.mark.parametrize("thresholds", [ScoreThresholds({}), ScoreThresholds({"été": 1.0, "b": 0.0}), WHOLE])
    def test_there_and_back(self, tmp_path: Path, thresholds: ScoreThresholds) -> None:
        write_thresholds(tmp_path / "new" / "t.json", thresholds, overwrite=False)
        assert read_thresholds(tmp_path / "new" / "t.json") == thresholds

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        write_thresholds(tmp_path / "t.json", WHOLE, overwrite=False)
        with pytest.raises(OutputError, match="exists already"):
            write_thresholds(tmp_path / "t.json", WHOLE, overwrite=False)
        write_thresholds(tmp_path / "t.json", ScoreThresholds({}), overwrite=True)
        assert read_thresholds(tmp_path / "t.json").classes == {}

    def test_written_by_a_person(self, tmp_path: Path) -> None:
        (tmp_path / "t.json").write_text(f'\ufeff{{"schema": "{SCHEMA}", "classes": {{"cat": 1}}}}', encoding="utf-8")
        assert read_thresholds(tmp_path / "t.json") == ScoreThresholds({"cat": 1.0})

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"schema": "ssd-detect.detections/1"}, "its schema is 'ssd-detect.detections/1'"),
            ({"classes": []}, "'classes' is no object"),
            ({"classes": {"cat": 1.5}}, "the threshold of 'cat' is 1.5, expected a number from 0 to 1"),
            ({"classes": {"cat": -0.5}}, "the threshold of 'cat' is -0.5"),
            ({"classes": {"cat": "0.5"}}, "'cat' is \"0.5\", expected a number"),
            ({"checkpoint": {}}, "'name' is missing"),
        ],
    )
    def test_damage(self, tmp_path: Path, change: dict[str, Any], message: str) -> None:
        path = tmp_path / "t.json"
        path.write_text(json.dumps(WHOLE.to_dict() | change))
        with pytest.raises(FormatError, match=f"^{path}: {message}"):
            read_thresholds(path)

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            ('{{"schema": "{0}", "classes": {{"cat": 0.5, "dog": 0.5, "cat": 0.9}}}}', "cat"),
            ('{{"schema": "{0}", "classes": {{"cat": 0.5}}, "classes": {{}}}}', "classes"),
        ],
    )
    def test_what_stands_there_twice(self, tmp_path: Path, content: str, name: str) -> None:
        """Which of two is meant, nobody knows."""
        path = tmp_path / "t.json"
        path.write_text(content.format(SCHEMA))
        with pytest.raises(FormatError, match=f"^{path}: '{name}' stands twice in one object; leave one out$"):
            read_thresholds(path)

    def test_gone(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match=r"gone\.json: cannot be read"):
            read_thresholds(tmp_path / "gone.json")


def found(scores: Floats, **chosen: Any) -> Detections:
    """What becomes of scores (n, 4) of anchors that do not overlap."""
    n = len(scores)
    anchors = np.stack([(np.arange(n) + 0.5) / n, np.full(n, 0.5), np.full(n, 0.5 / n), np.full(n, 0.5)], axis=1)
    profile = chosen.pop("profile", Profile.TUTORIAL)
    decode = OutputDecoder(CLASSES, resolved(DetectionSettings(**chosen), profile), StageTimes())
    return decode(scores, np.zeros((n, 4), np.float32), anchors.astype(np.float32), (1000, 1000))


class TestSelection:
    SCORES = np.array([[0.4, 0.3, 0.3, 0.0], [0.1, 0.2, 0.3, 0.4], [0.0, 0.8, 0.1, 0.1]], np.float32)

    def test_each_class_has_its_own(self) -> None:
        named = found(self.SCORES, score_threshold=0.25, class_thresholds=(("Cat", 0.5), ("tv", 0.4)))
        assert [(one.class_name, round(one.score, 6)) for one in named] == [("cat", 0.8), ("dog", 0.3), ("dog", 0.3)]

    def test_profiles_that_count_equal_scores(self) -> None:
        chosen = {"score_threshold": 1.0, "class_thresholds": (("tvmonitor", 0.4),)}
        assert len(found(self.SCORES, **chosen)) == 0
        assert len(found(self.SCORES, **chosen, profile=Profile.REFERENCE_EVAL)) == 1

    def test_unwanted_classes_stay_out(self) -> None:
        assert len(found(self.SCORES, class_thresholds=(("cat", 0.0),), classes=("dog",))) == 0

    @settings(max_examples=50, deadline=None)
    @given(
        threshold=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        profile=st.sampled_from(list(Profile)),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_the_same_for_all_classes_is_one_for_all(self, threshold: float, profile: Profile, seed: int) -> None:
        scores: Floats = np.random.default_rng(seed).integers(0, 5, (30, 4)).astype(np.float32) / np.float32(4)
        of_each = tuple((name, threshold) for name in CLASSES[1:])
        one = found(scores, score_threshold=threshold, profile=profile)
        assert found(scores, score_threshold=0.9, class_thresholds=of_each, profile=profile) == one

    @pytest.mark.parametrize(
        ("thresholds", "error", "message"),
        [
            ((("cta", 0.5),), UnknownClassError, "did you mean cat"),
            ((("tv", 0.5), ("tvmonitor", 0.6)), SettingError, "'tvmonitor' has two score thresholds"),
            ((("cat", float("nan")),), SettingError, "score threshold of 'cat' is nan"),
            ((("cat", 1.1),), SettingError, "score threshold of 'cat' is 1.1"),
        ],
    )
    def test_nonsense(self, thresholds: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            found(self.SCORES, class_thresholds=thresholds)


class TestOption:
    def test_image(self, tmp_path: Path, media: Path) -> None:
        """The astronaut's picture holds a person at 0.99 and, at a low threshold, more."""
        from ssd_detect.detector import Detector

        with Detector(settings=DetectionSettings(score_threshold=0.05)) as detector:
            sha256 = detector.checkpoint_sha256
        for name, whose in (("own", sha256), ("other", "0" * 64)):
            low = ScoreThresholds({"person": 1.0, "chair": 0.01}, name, whose)
            write_thresholds(tmp_path / f"{name}.json", low, overwrite=False)
            arguments = [str(media / "astronaut.png"), "-f", "jsonl", "-o", str(tmp_path / name), "--json", "-"]
            done = CliRunner().invoke(program, ["image", *arguments, "--thresholds", str(tmp_path / f"{name}.json")])
            assert done.exit_code == 0, done.output
            assert ("chosen for checkpoint other (SHA-256 000000000000)" in done.stderr) == (name == "other")
            record = json.loads(done.stdout)
            assert record["thresholds"]["classes"] == {"person": 1.0, "chair": 0.01}
            assert record["thresholds"]["score"] == 0.5
            assert "person" not in {one["class"] for one in record["detections"]}

    def test_a_class_of_no_checkpoint(self, tmp_path: Path) -> None:
        write_thresholds(tmp_path / "t.json", ScoreThresholds({"zebra": 0.5}), overwrite=False)
        done = CliRunner().invoke(program, ["image", "a.png", "--thresholds", str(tmp_path / "t.json")])
        assert (done.exit_code, done.stdout) == (2, "")
        assert "unknown class 'zebra'" in done.stderr

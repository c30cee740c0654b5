"""What a sound machine detects in the picture that ships."""

from ssd_detect.doctor.facts import Box, Failure, TrialFacts

# What the shipped checkpoint finds in the shipped picture. Builds of TensorFlow and Pillow differ by far less.
EXPECTED_CLASS, EXPECTED_SCORE = "person", 0.930
EXPECTED_BOX: Box = (0.0, 0.0, 268.9, 320.0)
SCORE_TOLERANCE, PIXEL_TOLERANCE = 0.02, 8.0


def is_as_expected(trial: TrialFacts | Failure | None) -> bool:
    """Whether the trial found what it finds on a sound machine."""
    if not isinstance(trial, TrialFacts) or trial.class_name != EXPECTED_CLASS or trial.box is None:
        return False
    pixels = max(abs(edge - expected) for edge, expected in zip(trial.box, EXPECTED_BOX, strict=True))
    return abs(trial.score - EXPECTED_SCORE) <= SCORE_TOLERANCE and pixels <= PIXEL_TOLERANCE


def object_text(class_name: str | None, score: float, box: Box | None) -> str:
    """A detection in a few words; "nothing" without one."""
    if class_name is None or box is None:
        return "nothing"
    return f"{class_name} {score:.2f} at " + " ".join(f"{edge:.0f}" for edge in box)


EXPECTED = object_text(EXPECTED_CLASS, EXPECTED_SCORE, EXPECTED_BOX)
"""The whole of it, in words."""

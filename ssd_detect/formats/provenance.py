"""Where results come from: written beside them, so that they can be made again."""

from dataclasses import dataclass
from typing import Any

from ssd_detect import __version__
from ssd_detect.conventions import Arithmetic
from ssd_detect.settings import DetectionSettings


@dataclass(frozen=True)
class Provenance:
    """The checkpoint and the settings of a run; the settings as resolved by the `Detector`.

    Which engine computed is not among them: they find the same. What it computed with is.
    """

    checkpoint_name: str
    checkpoint_sha256: str
    settings: DetectionSettings
    precision: Arithmetic = Arithmetic.FLOAT32

    def to_dict(self) -> dict[str, Any]:
        """Plain values: tool, checkpoint, arithmetic unless it is float32, thresholds; a limit of None is none.

        What computes is no precision there, since `metrics.json` tells that of detections.
        """
        chosen = self.settings
        of_classes = {"classes": dict(chosen.class_thresholds)} if chosen.class_thresholds else {}
        arithmetic = {} if self.precision is Arithmetic.FLOAT32 else {"arithmetic": self.precision.value}
        return {
            "tool": {"name": "ssd-detect", "version": __version__},
            "checkpoint": {"name": self.checkpoint_name, "sha256": self.checkpoint_sha256},
            **arithmetic,
            "thresholds": {
                "profile": None if chosen.profile is None else chosen.profile.value,
                "score": chosen.score_threshold,
                **of_classes,
                "nms": chosen.nms_threshold,
                "top_k": chosen.top_k,
                "max_detections": chosen.max_detections,
                "class_agnostic": chosen.class_agnostic,
            },
        }

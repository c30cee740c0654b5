"""Where results come from: written beside them, so that they can be made again."""

from dataclasses import dataclass
from typing import Any

from ssd_detect import __version__
from ssd_detect.settings import DetectionSettings


@dataclass(frozen=True)
class Provenance:
    """The checkpoint and the settings of a run; the settings as resolved by the `Detector`."""

    checkpoint_name: str
    checkpoint_sha256: str
    settings: DetectionSettings

    def to_dict(self) -> dict[str, Any]:
        """Plain values: tool, checkpoint, thresholds; a limit of None is none."""
        chosen = self.settings
        of_classes = {"classes": dict(chosen.class_thresholds)} if chosen.class_thresholds else {}
        return {
            "tool": {"name": "ssd-detect", "version": __version__},
            "checkpoint": {"name": self.checkpoint_name, "sha256": self.checkpoint_sha256},
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

"""How each port of SSD makes detections of scores and offsets: one description a profile, for `boxes.postprocess`.

Sources, read as facts: balancap/SSD-Tensorflow (`notebooks/ssd_notebook.ipynb`, `nets/np_methods.py`,
`nets/ssd_common.py`, `tf_extended/bboxes.py`), the Caffe release (`detection_output_layer.cpp`, `bbox_util.cpp`),
torchvision (`models/detection/ssd.py`, `_utils.py`), ssd.pytorch (`layers/functions/detection.py`, `box_utils.py`),
ssd_keras (`keras_layer_DecodeDetections.py`).

Taken over is all that changes what becomes of an ordinary box, including the places in a limit that boxes outside the
picture take from others. Not taken over are faults: equal scores keep the order of anchors, then of classes, where a
source leaves it to an unstable sort or turns it round; boxes without an area inside the picture, or with infinite
coordinates, are never reported; a score threshold of 0 is one like any other, where the notebook goes over to the best
class of each anchor; the multiplying of unselected scores and boxes by zero, of the reference's evaluation, is plain
leaving out; ssd.pytorch's last limit, which has no effect there either, does not exist. No NumPy here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ssd_detect.conventions import Profile
from ssd_detect.settings import DetectionSettings


@dataclass(frozen=True)
class ProfileRules:
    """What a profile decides, in the order in which it happens. Limits of None are none.

    Args:
        selects_equal: a score equal to the threshold is selected too.
        per_class: candidates are counted for each class by itself, else over all classes together.
        top_k: so many candidates enter the suppression; the user's number takes its place.
        max_log_scale: the logarithm of a box's side over its anchor's is cut to this.
        clips_first: boxes are cut off at the picture's borders before they are compared, else afterwards.
        flat_take_places: boxes that end up without an area inside the picture are left out last of all, after
            they have taken places in the limits (and, where not clipped first, removed others), else before the
            suppression.
        removes_equal: an IoU equal to the threshold removes a box too.
        max_per_class: so many of a class leave the suppression; of all classes where these are compared together.
        max_detections: so many leave a picture; the user's number takes its place.
    """

    selects_equal: bool = False
    per_class: bool = True
    top_k: int | None = 400
    max_log_scale: float | None = None
    clips_first: bool = False
    flat_take_places: bool = True
    removes_equal: bool = False
    max_per_class: int | None = None
    max_detections: int | None = 200


PROFILES: Mapping[Profile, ProfileRules] = {
    Profile.TUTORIAL: ProfileRules(
        per_class=False, clips_first=True, flat_take_places=False, removes_equal=True, max_detections=None
    ),
    Profile.REFERENCE_EVAL: ProfileRules(selects_equal=True, max_per_class=200, max_detections=None),
    Profile.CAFFE: ProfileRules(),
    Profile.TORCHVISION: ProfileRules(max_log_scale=math.log(1000 / 16), clips_first=True),
    Profile.SSD_PYTORCH: ProfileRules(top_k=200, max_detections=None),
    Profile.KERAS: ProfileRules(top_k=None, max_per_class=400),
}


def resolved(settings: DetectionSettings, profile: Profile) -> DetectionSettings:
    """`settings` with a profile, theirs or else this one, and with its limits where they leave them open.

    A limit that is still None is none. Resolving again, with any profile, changes nothing.
    """
    profile = settings.profile or profile
    rules = PROFILES[profile]
    return replace(
        settings,
        profile=profile,
        top_k=settings.top_k or rules.top_k,
        max_detections=settings.max_detections or rules.max_detections,
    )


def rules_of(settings: DetectionSettings) -> ProfileRules:
    """The rules that resolved settings stand for, with their limits.

    Raises:
        ValueError: the settings are not resolved.
    """
    if settings.profile is None:
        raise ValueError("settings without a profile; boxes.profiles.resolved gives them one")
    return _rules(settings.profile, settings.top_k, settings.max_detections)


@lru_cache(maxsize=16)  # asked for several times a picture
def _rules(profile: Profile, top_k: int | None, max_detections: int | None) -> ProfileRules:
    return replace(PROFILES[profile], top_k=top_k, max_detections=max_detections)

"""The words that a report is made of: a user or a computer may be called by one of them."""

import re
from functools import cache
from typing import get_args

from ssd_detect.doctor.advice import STEPS_FILE, steps
from ssd_detect.doctor.check import Group, Mark
from ssd_detect.doctor.facts import PACKAGES, TENSORFLOW
from ssd_detect.doctor.table_file import FILE


@cache
def vocabulary() -> frozenset[str]:
    """In small letters: the words of our tables and steps, of the checks, and those that such names often are."""
    texts = [FILE.read_text(encoding="utf-8"), STEPS_FILE.read_text(encoding="utf-8"), steps()["names"]["ordinary"]]
    texts += [*get_args(Group), *get_args(Mark), *(" ".join(package) for package in (*PACKAGES, TENSORFLOW))]
    return frozenset(re.findall(r"[^\W_]+", " ".join(texts).lower()))

"""The environment variables that change what Python, the loader, CUDA and TensorFlow do; no others are looked at."""

import re
from collections.abc import Mapping

from ssd_detect.doctor.table_file import tables

_SET = "set"  # stands for a value that is nobody's business


def relevant_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the tables that are set, empty ones included: an empty CUDA_VISIBLE_DEVICES hides every GPU. Sorted."""
    told = {}
    for name in sorted(environment):
        row = next((row for row in tables().variable if re.fullmatch(row.name, name)), None)
        if row is not None:
            told[name] = _SET if row.only_set else environment[name]
    return told

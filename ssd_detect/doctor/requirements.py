"""Whether a version satisfies a requirement such as `>=1.26,<2`: as much of PEP 440 as the tables use. Pure."""

import re

from ssd_detect.doctor.tables import is_older, release


def satisfies(version: str, requirement: str) -> bool:
    """Whether every part holds; a version without numbers is given the benefit of the doubt."""
    if not release(version):
        return True
    return all(_holds(version, part.strip()) for part in requirement.split(",") if part.strip())


def _holds(version: str, part: str) -> bool:
    match = re.fullmatch(r"(>=|<=|<|>|==|!=|~=)\s*([\d.]+)", part)
    if match is None:
        raise ValueError(f"not a part of a requirement: {part!r}")
    sign, bound = match.groups()
    older, newer = is_older(version, bound), is_older(bound, version)
    if sign == "~=":
        return not older and release(version)[: len(release(bound)) - 1] == release(bound)[:-1]
    return {">=": not older, "<=": not newer, "<": older, ">": newer, "==": older == newer, "!=": older != newer}[sign]

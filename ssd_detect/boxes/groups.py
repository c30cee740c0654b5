"""Rows of many groups (pictures, or classes of pictures) treated at once."""

import numpy as np

from ssd_detect.arrays import Integers


def sizes_of_runs(sorted_groups: Integers) -> Integers:
    """How many equal numbers follow each other, (g,), for each run of them; (n,) in."""
    is_last = np.ones(len(sorted_groups), np.bool_)
    np.not_equal(sorted_groups[1:], sorted_groups[:-1], out=is_last[:-1])
    sizes = np.flatnonzero(is_last) + 1  # ends so far
    sizes[1:] -= sizes[:-1].copy()
    return sizes


def by_group(groups: Integers) -> Integers:
    """Places in the order of their groups, (n,); those of one group keep theirs."""
    small = groups.astype(np.uint16) if groups.max(initial=0) < 2**16 else groups  # NumPy sorts 16 bits by radix
    return np.argsort(small, kind="stable")


def ranks(groups: Integers) -> Integers:
    """How many of its own group come before each, (n,)."""
    order = by_group(groups)
    sizes = sizes_of_runs(groups[order])
    ranked = np.empty(len(groups), np.int64)
    ranked[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranked

"""The probes: each finds out one kind of thing about a machine, from sources that it is given; `gather` runs all."""

from ssd_detect.doctor.probes.gather import Patience, gather
from ssd_detect.doctor.probes.sources import Sources

__all__ = ["Patience", "Sources", "gather"]

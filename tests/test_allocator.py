"""Freed memory stays with the process: measured by the pages that the system clears anew."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="of glibc")

# 12 MB come and go, in buffers of a size that glibc's usual thresholds, after it has learned, still give back.
_FAULTS = """
import resource
from ssd_detect.environment import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def use():
    buffers = [bytearray(3 << 20) for _ in range(4)]
    for buffer in buffers:
        buffer[::4096] = bytes(768)

{call}
use()
use()
before = faults()
for _ in range(10):
    use()
print(faults() - before)
"""


def num_faults(call: str, **variables: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _FAULTS.format(call=call)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_freed_memory_stays() -> None:
    assert num_faults("") > 10_000  # else nothing is gained, and this test cannot fail
    assert num_faults("keep_freed_memory()") < 2_000


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"])
def test_what_the_user_sets_counts(name: str) -> None:
    assert num_faults("keep_freed_memory()", **{name: "131072"}) > 10_000

"""A slice of `scripts/fuzz_checkpoints.py`: damaged checkpoints of every format give weights or one clear error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux does it")
def test_damaged_checkpoints(tmp_path: Path) -> None:
    """Each kind whole, and about a dozen times damaged."""
    command = [sys.executable, str(ROOT / "scripts" / "fuzz_checkpoints.py"), "--count", "200", "--seed", "1"]
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [*command, "--keep", str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path, env=quiet
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert " 0 faults" in done.stdout
    read = int(done.stdout.split(" read")[0].split()[-1])
    assert read >= 12  # the whole ones

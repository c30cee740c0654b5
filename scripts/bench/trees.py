"""Another revision of this project, as a folder."""

import io
import subprocess
import tarfile
from pathlib import Path

from bench.options import ROOT


def tree_of(revision: str, folder: Path) -> Path:
    """Unpack `revision` below `folder`; the repository's own state is not touched.

    Raises:
        SystemExit: git does not know the revision.
    """
    target = folder / f"tree-{revision}"
    if target.exists():
        return target
    done = subprocess.run(["git", "-C", str(ROOT), "archive", revision], capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"git does not give revision {revision}: {done.stderr.decode().strip()}; name --baseline REV")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(target, filter="data")
    return target

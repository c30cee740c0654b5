"""The Python that runs this, and whose environment it is."""

import platform
import re
import site
import struct
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from ssd_detect.doctor.facts import PythonFacts
from ssd_detect.doctor.probes.files import read_text
from ssd_detect.doctor.probes.sources import Sources


def python_facts(sources: Sources) -> PythonFacts:
    """What kind of Python this is."""
    return PythonFacts(
        version=platform.python_version(),
        path=sys.executable,
        prefix=str(sources.prefix),
        bits=8 * struct.calcsize("P"),
        environment=environment_kind(sources),
        by_uv=is_made_by_uv(sources.prefix),
        user_site=site.getusersitepackages() if site.ENABLE_USER_SITE else None,
        pip_version=_pip_version(),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        externally_managed=_is_externally_managed(sources),
    )


def environment_kind(sources: Sources) -> Literal["venv", "conda", "system"]:
    """A venv inside a conda environment is a venv: pip alone fills it."""
    if sources.prefix != sources.base_prefix:
        return "venv"
    return "conda" if (sources.prefix / "conda-meta").is_dir() else "system"


def is_made_by_uv(prefix: Path) -> bool:
    """Whether uv signed the environment's pyvenv.cfg."""
    return re.search(r"^uv\s*=", read_text(prefix / "pyvenv.cfg") or "", re.MULTILINE) is not None


def _pip_version() -> str | None:
    try:
        return version("pip")
    except PackageNotFoundError:
        return None


def _is_externally_managed(sources: Sources) -> bool:
    """PEP 668's mark counts outside virtual environments only."""
    is_marked = (Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED").exists()
    return is_marked and sources.prefix == sources.base_prefix

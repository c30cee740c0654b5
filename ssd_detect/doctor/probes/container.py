"""Whether this runs in a container, and in whose."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ssd_detect.doctor.probes.files import read_text

Container = Literal["docker", "podman", "kubernetes", "apptainer", "lxc", "other"]
_BY_VARIABLE: Mapping[str, Container] = {
    "KUBERNETES_SERVICE_HOST": "kubernetes",
    "APPTAINER_NAME": "apptainer",
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_NAME": "apptainer",
}
_BY_FILE: Mapping[str, Container] = {".dockerenv": "docker", "run/.containerenv": "podman"}
_BY_CONTROL_GROUP: Mapping[str, Container] = {
    "kubepods": "kubernetes",
    "docker": "docker",
    "libpod": "podman",
    "lxc": "lxc",
}
_BY_NAME: Mapping[str, Container] = {"docker": "docker", "podman": "podman", "lxc": "lxc"}


def container_kind(root: Path, environment: Mapping[str, str]) -> Container | None:
    """The engine; Kubernetes wins over the engine below it; None outside a container."""
    by_variable = next((kind for name, kind in _BY_VARIABLE.items() if name in environment), None)
    by_file = next((kind for name, kind in _BY_FILE.items() if (root / name).exists()), None)
    groups = read_text(root / "proc/1/cgroup") or ""
    by_group = next((kind for word, kind in _BY_CONTROL_GROUP.items() if word in groups), None)
    name = environment.get("container")  # set by podman, LXC and systemd-nspawn
    by_name = _BY_NAME.get(name, "other") if name else None
    return by_variable or by_file or by_group or by_name

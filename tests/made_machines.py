"""Machines made of files, for the probes of the doctor: a root folder, a Python environment, libraries, programs."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from ssd_detect.doctor.probes.sources import Sources

SITE = "env/lib/python3.12/site-packages"


def lay(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below `folder`; a name that ends in `/` is a folder."""
    for name, content in files.items():
        path = folder / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def made_sources(root: Path, kind: str = "Linux", **environment: str) -> Sources:
    """A machine whose `/` is `root`, with an environment in `root`/env."""
    (root / SITE).mkdir(parents=True, exist_ok=True)
    return Sources(kind, root, environment, (root / SITE,), root / "env", root / "usr", root)


def install(root: Path, name: str, version: str, files: Mapping[str, str | bytes], **metadata: str) -> None:
    """Put a distribution into the environment of a made machine, with its records.

    Args:
        files: name -> content, below site-packages.
        metadata: texts of INSTALLER and METADATA.
    """
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    records = {f"{info}/RECORD": "".join(f"{file},sha256=x,1\n" for file in files)}
    records[f"{info}/METADATA"] = metadata.get("METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    records[f"{info}/INSTALLER"] = metadata.get("INSTALLER", "pip\n")
    lay(root / SITE, {**files, **records})


def compiled(file: Path, source: str, *options: str) -> Path:
    """A shared library made from C."""
    file.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(file), *options]
    subprocess.run(command, input=source, text=True, check=True)
    return file


def program(file: Path, script: str) -> Path:
    """A program made from a shell script."""
    lay(file.parent, {file.name: f"#!/bin/sh\n{script}"})
    file.chmod(0o755)
    return file

"""`Sources`: everything outside this program that the probes read, so that made machines can be probed too."""

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.environment import variables


@dataclass(frozen=True)
class Sources:
    """Where the probes look.

    Args:
        kind: of system, as `platform.system()` says it.
        root: folder that stands for `/`.
        environment: variables.
        search_path: where Python finds packages, `sys.path`.
        prefix: of the Python environment, `sys.prefix`.
        base_prefix: of the Python that the environment was made from.
        working_folder: where output goes unless told otherwise; None when it no longer exists.
    """

    kind: str
    root: Path
    environment: Mapping[str, str]
    search_path: tuple[Path, ...]
    prefix: Path
    base_prefix: Path
    working_folder: Path | None

    @classmethod
    def of_this_machine(cls) -> "Sources":
        """The real ones."""
        working_folder = _working_folder()
        return cls(
            kind=platform.system(),
            root=Path(Path(sys.executable or ".").absolute().anchor or "/"),
            environment=variables(),
            search_path=tuple(path for entry in sys.path if (path := Path(entry) if entry else working_folder)),
            prefix=Path(sys.prefix),
            base_prefix=Path(sys.base_prefix),
            working_folder=working_folder,
        )

    def folders_in(self, variable: str) -> tuple[Path, ...]:
        """The folders that a variable such as PATH lists."""
        separator = ";" if self.kind == "Windows" else ":"
        return tuple(Path(part) for part in self.environment.get(variable, "").split(separator) if part)

    @property
    def conda_prefix(self) -> Path:
        """Of this Python's own conda environment; else of the one that is active, if any."""
        has_records = (self.prefix / "conda-meta").is_dir()
        return self.prefix if has_records else self.folder_of("CONDA_PREFIX") or self.prefix

    def folder_of(self, variable: str) -> Path | None:
        """The folder that a variable names; None when it is not set."""
        value = self.environment.get(variable)
        return Path(value) if value else None


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # deleted by another program
        return None

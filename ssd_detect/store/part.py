"""The beginning of a file that is being fetched, kept for the next try."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ssd_detect.files import explained_writing

Prospect: TypeAlias = Literal["goes on", "may go on", "begins anew"]


@dataclass(frozen=True)
class Part:
    """A part of what will be `target`, beside it.

    A second file tells of which address it is, and which version the server said that it was sending.
    """

    target: Path

    @property
    def path(self) -> Path:
        """Where the bytes are."""
        return self.target.with_name(self.target.name + ".part")

    @property
    def _label(self) -> Path:
        return self.target.with_name(self.target.name + ".part.json")

    @property
    def size(self) -> int:
        """Bytes that are here; 0 when there are none."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def version_of(self, url: str) -> str:
        """Which version of `url` this is a part of; empty where that is not known, so that it cannot be completed."""
        try:
            label = json.loads(self._label.read_text(encoding="utf-8"))
            return str(label["version"]) if label["url"] == _mark(url) and self.size else ""
        except (OSError, ValueError, TypeError, KeyError):
            return ""

    def prospect(self) -> Prospect | None:
        """What the next try will do with what is here; None: nothing is, or nobody knows where it is from."""
        try:
            label = json.loads(self._label.read_text(encoding="utf-8"))
            if not self.size:
                return None
            return ("goes on" if label["has_ranges"] else "may go on") if label["version"] else "begins anew"
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def begin(self, url: str, version: str, *, has_ranges: bool = False) -> None:
        """Forget what is here, and begin anew.

        Args:
            has_ranges: the server has said that it sends parts.

        Raises:
            OutputError: cannot be written.
        """
        label = {"url": _mark(url), "version": version, "has_ranges": has_ranges}
        with explained_writing(self.target):
            self._label.unlink(missing_ok=True)
            self.path.write_bytes(b"")
            self._label.write_text(json.dumps(label), encoding="utf-8")

    def discard(self) -> None:
        """Remove it.

        Raises:
            OutputError: cannot be removed.
        """
        with explained_writing(self.target):
            self.path.unlink(missing_ok=True)
            self._label.unlink(missing_ok=True)

    def finish(self) -> Path:
        """Where the whole file is, which no longer is a part."""
        with explained_writing(self.target):
            self._label.unlink(missing_ok=True)
        return self.path


def _mark(url: str) -> str:
    """Tells addresses apart, and keeps no passwords."""
    return hashlib.sha256(url.encode(errors="surrogateescape")).hexdigest()

"""Reading a file or a folder that may not be there."""

from pathlib import Path


def read_text(path: Path) -> str | None:
    """The text of a small file; None when it is missing or may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def entries(folder: Path, pattern: str = "*") -> list[Path]:
    """What lies in `folder`, sorted; nothing when it is missing or may not be read."""
    return sorted(folder.glob(pattern))

"""The library search paths that an ELF file carries: its dynamic section, read without loading the file.

The format: System V ABI, chapters "Object Files" and "Dynamic Linking"; 64-bit, little-endian files only.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

_HEADER = struct.Struct("<16s2HI3QI6H")
_PROGRAM_HEADER = struct.Struct("<2I6Q")
_DYNAMIC_ENTRY = struct.Struct("<qQ")
_LOAD, _DYNAMIC = 1, 2  # p_type
_STRTAB, _STRSZ, _RPATH, _RUNPATH = 5, 10, 15, 29  # d_tag


class SearchPaths(NamedTuple):
    """Folders with $ORIGIN filled in, duplicates left out. The loader honours rpath only where there is no runpath."""

    rpath: tuple[Path, ...] = ()
    runpath: tuple[Path, ...] = ()


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def search_paths(file: Path) -> SearchPaths:
    """What `file` tells the loader.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such ELF file, or a damaged one.
    """
    with file.open("rb") as stream:
        try:
            entries = dict(_wanted_strings(stream))
        except (struct.error, KeyError) as error:
            raise ValueError(f"{file}: ends too early or is damaged") from error
    rpath, runpath = (_folders(entries.get(tag, ""), file.parent) for tag in (_RPATH, _RUNPATH))
    return SearchPaths(() if runpath else rpath, runpath)


def _wanted_strings(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    segments = list(_segments(stream))
    dynamic = next((segment for segment in segments if segment.kind == _DYNAMIC), None)
    if dynamic is None:
        return
    entries = dict(_DYNAMIC_ENTRY.iter_unpack(_read(stream, dynamic.offset, dynamic.size)))
    names = _read(stream, _file_offset(segments, entries[_STRTAB]), entries[_STRSZ])
    for tag in (_RPATH, _RUNPATH):
        if tag in entries:
            start = entries[tag]
            yield tag, names[start : names.index(b"\0", start)].decode(errors="replace")


def _segments(stream: BinaryIO) -> Iterator[_Segment]:
    header = _HEADER.unpack(_read(stream, 0, _HEADER.size))
    if not header[0].startswith(b"\x7fELF\x02\x01"):
        raise ValueError("no 64-bit little-endian ELF file")
    table, entry_size, count = header[5], header[9], header[10]
    for index in range(count):
        kind, _, offset, address, _, size, _, _ = _PROGRAM_HEADER.unpack(
            _read(stream, table + index * entry_size, _PROGRAM_HEADER.size)
        )
        yield _Segment(kind, offset, address, size)


def _file_offset(segments: list[_Segment], address: int) -> int:
    for segment in segments:
        if segment.kind == _LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    raise ValueError(f"no segment holds the address {address:#x}")


def _read(stream: BinaryIO, offset: int, size: int) -> bytes:
    stream.seek(offset)
    return stream.read(size)


def _folders(text: str, origin: Path) -> tuple[Path, ...]:
    parts = dict.fromkeys(part for part in text.split(":") if part)
    filled = (part.replace("${ORIGIN}", str(origin)).replace("$ORIGIN", str(origin)) for part in parts)
    return tuple(dict.fromkeys(Path(part) for part in filled))

"""Texts that people and tools have written: any encoding that can be told, in or out of XML."""

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

MOST_XML_BYTES = 64 * 2**20
"""A larger XML file is refused: an object takes about 300 bytes, so this is some 200,000 in one picture."""

_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")

Mend = Callable[[str], None]
"""Told what was found when an encoding is guessed; it may raise ValueError where none is to be."""


def decoded(data: bytes, mend: Mend) -> str:
    """UTF-16 where a mark says so, else UTF-8, else, with a word, Latin-1, in which all bytes have a meaning."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        mend(f"byte {error.start} is no UTF-8, and the file does not say what it is")
        return data.decode("latin-1")


def parse_xml(data: bytes, mend: Mend) -> Element:
    """The outermost element of an XML file.

    A file that declares entities is refused: none of the tools writes some, and nested ones take any amount of memory
    (the "billion laughs"). So nothing is ever fetched or expanded.

    Raises:
        ValueError: not XML, declares entities, or too large.
    """
    if len(data) > MOST_XML_BYTES:
        raise ValueError(f"is too large, expected at most {MOST_XML_BYTES:,} bytes")
    builder = TreeBuilder()
    parser = expat.ParserCreate("utf-8")  # whatever the file declares: it is decoded by then
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(_xml_text(data, mend).encode("utf-8", errors="replace"), True)
    except expat.ExpatError as error:
        raise ValueError(f"is not XML: {error}") from error
    return builder.close()


def _xml_text(data: bytes, mend: Mend) -> str:
    declared = _DECLARED.match(data)
    name = declared.group(1).decode("ascii") if declared else "utf-8"
    if name.lower() in ("utf-8", "utf8", "utf-16"):  # UTF-16 could not be matched as bytes: the declaration is wrong
        return decoded(data, mend)
    try:
        return data.decode(name)
    except (LookupError, UnicodeDecodeError) as error:
        raise ValueError(f"is not XML: it declares the encoding {name}, but {error}") from error


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"declares the entity {name!r}, which no annotation needs")

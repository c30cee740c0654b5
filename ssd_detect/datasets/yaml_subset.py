"""As much YAML as the `data.yaml` of a YOLO data set has, so that no package is needed for six keys.

Understood are, at the top, `key: value` with a plain or quoted text, a list or a mapping of such texts, in brackets
(over several lines) or a line an item; comments, and the marks `---` and `...`. The values of keys that nobody asks for
are passed over. All else is an error, never a guess. All values stay text: `0`, `null` and `yes` too.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

Value = str | list[str] | dict[str, str]

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{}#&*!|>%@,:-][^:#]*?|-?\d+)\s*:(?:\s+(.*))?$""")
_TOKEN = re.compile(
    r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[][{},]|:(?=\s|$|[\[\]{},])|(?:[^][{},:"']|:(?!\s|$)|(?<=\S)["'])+)"""
)
_MARKS = tuple("&*!|>%@`?[]{},#")  # no plain text begins with one


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def parse_yaml_subset(text: str, wanted: Collection[str]) -> dict[str, Value]:
    """The values of the wanted keys that are there; one without a value is the empty text.

    Raises:
        ValueError: a wanted value is of a form that is not understood, or the text is no mapping at the top.
    """
    found: dict[str, Value] = {}
    for key, lines in _entries(text):
        name = _scalar(key, lines[0].number)
        if name in found:
            raise ValueError(f"line {lines[0].number}: the key {name!r} stands there twice; leave one out")
        if name in wanted:
            found[name] = _value(lines)
    return found


def _entries(text: str) -> Iterator[tuple[str, list[_Line]]]:
    """Each key at the top, with its lines: the rest of the key's own, then those below it."""
    key, lines = "", list[_Line]()
    for line in _lines(text):
        continued = lines and (line.indent > 0 or line.text.startswith(("- ", "]", "}")) or line.text == "-")
        if continued:
            lines.append(line)
            continue
        if lines:
            yield key, lines
        match = _KEY.match(line.text)
        if match is None:
            raise ValueError(f"line {line.number}: {line.text!r}, expected a key and a colon")
        key, lines = match.group(1), [_Line(line.number, 0, match.group(2) or "")]
    if lines:
        yield key, lines


def _lines(text: str) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), 1):
        bare = _without_comment(line).rstrip()
        if "\t" in bare[: len(bare) - len(bare.lstrip())]:
            raise ValueError(f"line {number}: a tab at its beginning, expected blanks")
        if bare and bare not in ("---", "..."):
            yield _Line(number, len(bare) - len(bare.lstrip()), bare.strip())


def _without_comment(line: str) -> str:
    """A comment begins at a # after a blank that is in no quoted text."""
    quote, escaped = "", False
    for i, character in enumerate(line):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = quote == '"' and character == "\\" and not escaped
        elif character in "\"'" and (i == 0 or line[i - 1] in " [{,:"):
            quote = character
        elif character == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i]
    return line


def _value(lines: Sequence[_Line]) -> Value:
    first, below = lines[0], lines[1:]
    if first.text.startswith(("[", "{")):
        return _flow(" ".join(line.text for line in lines), first.number)
    if first.text and below:
        raise ValueError(f"line {below[0].number}: a text of several lines is not understood; put it in one")
    if not below:
        return _scalar(first.text, first.number)
    if below[0].text.startswith(("[", "{")):
        return _flow(" ".join(line.text for line in below), below[0].number)
    if any(line.indent != below[0].indent for line in below):
        raise ValueError(f"line {below[0].number}: expected a list or a mapping of texts, a line each, indented alike")
    if below[0].text.startswith("-"):
        return [_item(line) for line in below]
    return _mapping((*_pair(line), line.number) for line in below)


def _mapping(pairs: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value, number in pairs:
        if key in found:
            raise ValueError(f"line {number}: the key {key!r} stands there twice; leave one out")
        found[key] = value
    return found


def _item(line: _Line) -> str:
    if line.text != "-" and not line.text.startswith("- "):
        raise ValueError(f"line {line.number}: {line.text!r}, expected an item that begins with a hyphen and a blank")
    rest = line.text[1:].strip()
    if rest[:1] not in ('"', "'") and _KEY.match(rest):
        raise ValueError(f"line {line.number}: {line.text!r} is a mapping within a list, which is not understood")
    return _scalar(rest, line.number)


def _pair(line: _Line) -> tuple[str, str]:
    match = _KEY.match(line.text)
    if match is None:
        raise ValueError(f"line {line.number}: {line.text!r}, expected a key and a colon")
    return _scalar(match.group(1), line.number), _scalar(match.group(2) or "", line.number)


def _flow(text: str, number: int) -> Value:
    """A list or mapping in brackets."""
    tokens = _tokens(text, number)
    closing = {"[": "]", "{": "}"}[tokens[0]]
    if tokens[-1] != closing or any(t in "[]{}" for t in tokens[1:-1]):
        raise ValueError(f"line {number}: expected one pair of brackets with texts in it")
    parts: list[list[str]] = [[]]
    for token in tokens[1:-1]:
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    if not parts[-1]:
        parts.pop()  # a comma may stand behind the last one
    if closing == "]" and all(len(part) == 1 and part[0] != ":" for part in parts):
        return [_scalar(part[0], number) for part in parts]
    if closing == "}" and all(len(part) in (2, 3) and part[1] == ":" for part in parts):
        return _mapping((_scalar(part[0], number), _scalar("".join(part[2:]), number), number) for part in parts)
    raise ValueError(f"line {number}: expected texts with commas between them")


def _tokens(text: str, number: int) -> list[str]:
    tokens, end = [], 0
    for match in _TOKEN.finditer(text):
        if match.start() != end:
            break
        end = match.end()
        if token := match.group(1).strip():
            tokens.append(token)
    if text[end:].strip():
        raise ValueError(f"line {number}: {text[end : end + 20]!r} is not understood")
    return tokens


def _scalar(text: str, number: int) -> str:
    if text.startswith("'"):
        if len(text) < 2 or not text.endswith("'") or "'" in text[1:-1].replace("''", ""):
            raise ValueError(f"line {number}: {text!r} is no quoted text")
        return text[1:-1].replace("''", "'")
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except json.JSONDecodeError as error:
            raise ValueError(f"line {number}: {text} is no quoted text") from error
    if text[:1] in _MARKS or text[:2] in ("-", "- ") or ": " in text or text.endswith(":"):
        raise ValueError(f"line {number}: {text!r} is of a form that is not understood; write plain or quoted text")
    return "" if text in ("~", "null") else text

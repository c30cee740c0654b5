"""Takes what tells who someone is out of a report that will be shown to strangers. Pure."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ssd_detect.doctor.vocabulary import vocabulary

# An NVIDIA GPU's or a slice's identifier, also shortened, as CUDA_VISIBLE_DEVICES may hold it.
_UUID = r"\b(?:MIG-)?(?:GPU|MIG)-[0-9a-f]{8}[0-9a-f-]*(?:/\d+/\d+)?"
_NAME = r"[^\s/:;,\"']+"
_OTHERS_HOME = (
    rf"(?:(?:/var)?/home/|/Users/)(?:{_NAME}(?: {_NAME})+(?=/)|{_NAME})"
    r"|[A-Z]:[\\/]+Users[\\/]+[^\\/:;,\"'\r\n]+"
)
_FEW_LETTERS = 3  # a shorter name, as one that is a word of ours, stands in many sentences: it goes only in paths


@dataclass(frozen=True)
class Redactor:
    """Replaces home folder, user name and host name, and whatever has the form of a GPU's UUID or a home folder.

    Args:
        homes: the user's home folder, in each form it is known by.
        users: the user's names.
        hosts: the computer's names.
    """

    homes: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """The text, with a placeholder in each place."""
        return self._pattern.sub(_placeholder, text)

    def value(self, value: Any) -> Any:
        """A value that JSON can hold, with each text in it redacted; the names of members are ours and stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    @cached_property
    def _pattern(self) -> "re.Pattern[str]":
        """One pattern for all, so that no placeholder is taken for a name in its turn."""
        parts = {
            "home": [rf"{re.escape(home)}(?![\w.-])" for home in _longest_first(_forms(self.homes))],
            "others": [_OTHERS_HOME],
            "uuid": [_UUID],
            "host": [_whole_word(name) for name in _longest_first(self.hosts)],
            "user": [_whole_word(name) for name in _longest_first(self.users)],
        }
        return re.compile("|".join(f"(?P<{kind}>{'|'.join(texts)})" for kind, texts in parts.items() if texts), re.I)


def _placeholder(match: "re.Match[str]") -> str:
    if match.lastgroup == "home":
        return "~"
    if match.lastgroup == "others":
        return re.sub(r"[^\\/]+$", "<user>", match.group())
    return f"<{match.lastgroup}>"


def _forms(homes: tuple[str, ...]) -> set[str]:
    """Each folder, also with slashes turned and with backslashes doubled, as error texts have them."""
    folders = {home.rstrip("/\\") for home in homes}  # a home of "/" would take every path with it
    turned = {form for home in folders for form in (home, home.replace("\\", "/"), home.replace("\\", "\\\\"))}
    return turned | {form.replace(" ", blank) for form in turned for blank in ("\\ ", "%20")}


def _longest_first(names: "tuple[str, ...] | set[str]") -> list[str]:
    return sorted(filter(None, names), key=lambda name: (-len(name), name))


def _whole_word(name: str) -> str:
    """The name by itself; in paths also with digits or `_` behind."""
    escaped = re.escape(name)
    if name.lower() in vocabulary():
        return rf"(?<=[/\\]){escaped}(?=[/\\:;,\s\"']|$)"
    if len(name) < _FEW_LETTERS:
        return rf"(?<=[/\\@=]){escaped}(?=[/\\@:\s\"']|$)"
    return rf"(?<!\w){escaped}(?!\w)|(?<=[/\\]){escaped}(?=[_\d])"

"""What the program says while it works: on standard error, by how much the user wants to hear."""

import sys
import unicodedata
from dataclasses import dataclass

import click

_UNPRINTABLE = ("Cc", "Zl", "Zp")  # control characters, and what parts lines and paragraphs


def say(text: str, *, err: bool = False) -> None:
    """One line on standard output or standard error, above the bar if there is one.

    What a name holds that would break the line, or drive the terminal, is spelled out, such as a line feed as `\\n`.
    """
    line = printable(text)
    stream = sys.stderr if err else sys.stdout
    if hasattr(stream, "rich_proxied_file"):  # click would write past the bar, into its line
        stream.write(f"{line}\n")
    else:
        click.echo(line, err=err)


def printable(text: str) -> str:
    """The text with what drives a terminal spelled out."""
    return "".join(_spelled(c) if unicodedata.category(c) in _UNPRINTABLE else c for c in text)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True)
class Talk:
    """Messages for a person. Results go to standard output instead, and are `result`."""

    quiet: bool = False
    verbose: bool = False

    def result(self, line: str, *, err: bool = False) -> None:
        """A line of the result, on standard output unless `err`; nothing under --quiet."""
        if not self.quiet:
            say(line, err=err)

    def note(self, line: str) -> None:
        """Something that the user should know; not under --quiet."""
        if not self.quiet:
            say(line, err=True)

    def detail(self, line: str) -> None:
        """Something that the user hears under --verbose."""
        if self.verbose and not self.quiet:
            say(line, err=True)

    def failure(self, line: str) -> None:
        """An error that does not end the run; always said."""
        say(f"Error: {line}", err=True)

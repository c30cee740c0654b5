"""What the program says while it works: on standard error, by how much the user wants to hear."""

from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Talk:
    """Messages for a person. Results go to standard output instead, and are `result`."""

    quiet: bool = False
    verbose: bool = False

    def result(self, line: str, *, err: bool = False) -> None:
        """A line of the result, on standard output unless `err`; nothing under --quiet."""
        if not self.quiet:
            click.echo(line, err=err)

    def note(self, line: str) -> None:
        """Something that the user should know; not under --quiet."""
        if not self.quiet:
            click.echo(line, err=True)

    def detail(self, line: str) -> None:
        """Something that the user hears under --verbose."""
        if self.verbose and not self.quiet:
            click.echo(line, err=True)

    def failure(self, line: str) -> None:
        """An error that does not end the run; always said."""
        click.echo(f"Error: {line}", err=True)

"""Arguments that must name something."""

from typing import TypeVar

import click

Given = TypeVar("Given", str, tuple[str, ...], None)


def not_empty(ctx: click.Context, param: click.Parameter, value: Given) -> Given:
    """A callback: the name, or the names, as given; an empty one, as of a variable that is not set, is refused."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("empty name, expected one that is not", ctx, param)
    return value

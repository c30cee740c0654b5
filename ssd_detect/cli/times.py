"""Times and rates on the command line, as exact fractions."""

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

# At most so many digits: Python refuses to read numbers of thousands, and FFmpeg counts in 64 bits.
_CLOCK = re.compile(r"(?:(?:(\d{1,5}):)?([0-5]?\d):)?(\d{1,9}(?:\.\d{1,99})?|\.\d{1,99})", re.ASCII)
_RATE = re.compile(r"\d{1,9}(?:\.\d{1,99}|/\d{1,9})?|\.\d{1,99}", re.ASCII)
_AUTO = "auto"


if TYPE_CHECKING:
    _FractionType = click.ParamType[Fraction]
else:  # before click 8.3 it takes no parameter
    _FractionType = click.ParamType


class Seconds(_FractionType):
    """Seconds, m:ss or h:mm:ss, with a fraction of a second if need be."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """The seconds."""
        match = _CLOCK.fullmatch(str(value))
        if match is None or (match.group(2) is not None and float(match.group(3)) >= 60):
            self.fail(f"{value!r} is no time; give seconds such as 90 or 1.5, or h:mm:ss such as 0:01:30", param, ctx)
        hours, minutes, seconds = match.groups()
        return 3600 * Fraction(hours or 0) + 60 * Fraction(minutes or 0) + Fraction(seconds)


SECONDS = Seconds()


def parse_rate(ctx: click.Context, param: click.Parameter, value: str | None) -> Fraction | None:
    """Frames a second: a number or a fraction, from 0.01 to 1000."""
    if value is None:
        return None
    try:
        rate = Fraction(value) if _RATE.fullmatch(value) else Fraction(0)
    except ZeroDivisionError:
        rate = Fraction(0)
    if not Fraction(1, 100) <= rate <= 1000:
        raise click.BadParameter(
            f"{value!r} is no rate; give frames a second from 0.01 to 1000, such as 25 or 30000/1001"
        )
    return rate.limit_denominator(100_000)


def parse_stride(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """Every so many-th frame; None for `auto`."""
    if value == _AUTO:
        return None
    if re.fullmatch(r"[0-9]{1,5}", value) is None or not 1 <= int(value) <= 10_000:
        raise click.BadParameter(f"{value!r} is no stride; give a whole number from 1 to 10000, or auto")
    return int(value)

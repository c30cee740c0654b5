"""Times, rates and strides of the command line."""

from fractions import Fraction

import click
import pytest

from ssd_detect.cli.times import SECONDS, parse_rate, parse_stride

CONTEXT, OPTION = click.Context(click.Command("video")), click.Option(["--it"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1:30", 90),
        ("0:01:30.04", 90 + Fraction(1, 25)),
        ("1:02:30", 3750),
        ("100:00:00", 360_000),
        ("999999999", 999_999_999),
        ("0.1", Fraction(1, 10)),  # exact, not the nearest binary number
    ],
)
def test_seconds(text: str, seconds: Fraction) -> None:
    assert SECONDS.convert(text, None, None) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "-1",
        "1:",
        ":30",
        "0:61",
        "60:00",
        "1:2:3:4",
        "1e3",
        "nan",
        "inf",
        "1,5",
        "٣",
        "9" * 10,
        "9" * 5000,
        "0." + "1" * 5000,
        "9" * 5000 + ":00:00",
    ],
)
def test_no_seconds(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is no time; give seconds such as 90 or 1\.5, or h:mm:ss"):
        SECONDS.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (None, None),
        ("25", 25),
        ("12.5", Fraction(25, 2)),
        ("30000/1001", Fraction(30000, 1001)),
        (".5", Fraction(1, 2)),
        ("1000", 1000),
        ("0.01", Fraction(1, 100)),
    ],
)
def test_rates(text: str | None, rate: Fraction | None) -> None:
    assert parse_rate(CONTEXT, OPTION, text) == rate


@pytest.mark.parametrize(
    "text",
    ["", "0", "-25", "0.009", "1001", "1/0", "0/1", "nan", "inf", "25fps", "1/2/3", "1e2", "1e999999999", "9" * 5000],
)
def test_no_rates(text: str) -> None:
    """Also one that Python would work on for hours."""
    with pytest.raises(click.BadParameter, match=r"is no rate; give frames a second from 0\.01 to 1000"):
        parse_rate(CONTEXT, OPTION, text)


@pytest.mark.parametrize(("text", "stride"), [("1", 1), ("10000", 10_000), ("auto", None)])
def test_strides(text: str, stride: int | None) -> None:
    assert parse_stride(CONTEXT, OPTION, text) == stride


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "AUTO", "10001", "٣", "9" * 5000])
def test_no_strides(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no stride; give a whole number from 1 to 10000, or auto"):
        parse_stride(CONTEXT, OPTION, text)

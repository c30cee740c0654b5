"""What a person at a terminal sees: whole lines, whatever the names, and above the bar."""

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from ssd_detect.cli.talk import Talk, say


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain", "plain"),
        ("ünï 日本 a\u00a0b \u3000", "ünï 日本 a\u00a0b \u3000"),
        ("line\nbreak.mp4", r"line\nbreak.mp4"),
        ("a\r\tb", r"a\r\tb"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\u2028\x9b", r"\u2028\x9b"),
        ("[red]a[/red]", "[red]a[/red]"),
    ],
)
def test_a_line_stays_one(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text)
    say(text, err=True)
    Talk().failure(text)
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\nError: {shown}\n")


def everything(terminal: int) -> str:
    """What was written to the other end, which is closed."""
    shown = b""
    with suppress(OSError):  # so Linux says that nothing is left
        while more := os.read(terminal, 100_000):
            shown += more
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
@pytest.mark.parametrize("stdout_too", [True, False])
def test_lines_stand_above_the_bar(stdout_too: bool) -> None:
    import pty

    code = (
        "from ssd_detect.cli.progress import counted_progress\n"
        "from ssd_detect.cli.talk import Talk\n"
        "talk = Talk()\n"
        "with counted_progress(9, 'frames', talk) as advance:\n"
        "    for _ in range(3): advance()\n"
        "    talk.note('first [b]note[/b]')\n"
        "    talk.result('a result')\n"
        "    talk.failure('bad')\n"
        "    advance()\n"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=theirs if stdout_too else subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
        check=True,
        timeout=60,
    )
    os.close(theirs)
    shown = everything(ours)
    os.close(ours)
    assert "4/9 frames" in shown
    for line in ("first [b]note[/b]", *(["a result"] if stdout_too else []), "Error: bad"):
        before, _, after = shown.partition(line)
        assert before.endswith(("\r\x1b[2K", "\n"))  # the bar's line is wiped, or the line before was another message
        assert after.startswith("\r\n")
    assert done.stdout == (None if stdout_too else b"a result\n")

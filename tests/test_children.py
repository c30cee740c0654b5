"""Child processes that answer, die, hang, or leave others behind: what is told of each, and that nothing stays."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ssd_detect import children
from ssd_detect.children import AnsweringChild, NoAnswerError, death, last_line, signal_of

NOT_ON_WINDOWS = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
ECHO = "for line in sys.stdin: tell(line.strip() + ' ' + sys.argv[1])"

Make = Callable[[str], AnsweringChild]


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A child that runs this code."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def made(code: str) -> AnsweringChild:
        (tmp_path / "stub_of_a_child.py").write_text(
            "import os, signal, subprocess, sys, time\n"
            "from ssd_detect.children import private_answers\n"
            "answers = private_answers()\n"
            "def tell(text):\n    answers.write(text + '\\n'); answers.flush()\n"
            f"def main():\n    {code}\n"
        )
        return AnsweringChild("stub_of_a_child", "told")

    return made


def test_no_question(child: Make) -> None:
    with child("pass"):
        pass


def test_a_line_for_each_line(child: Make) -> None:
    with child(ECHO) as one:
        assert one.ask("", 20) == " told\n"
        assert one.ask("a", 20) == "a told\n"
        assert one.log() == ""


def test_the_first_word_is_its(child: Make) -> None:
    with child("tell('ready'); print('noise', flush=True)") as one:
        assert one.answer(20) == "ready\n"
        with pytest.raises(NoAnswerError, match=r"^ended with exit status 0 \(noise\)$"):
            one.answer(20)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sys.exit(3)", r"ended with exit status 3 \(nothing was said\)"),
        ("raise ValueError('boom')", r"ended with exit status 1 \(ValueError: boom\)"),
        ("answers.write('half'); answers.flush(); os._exit(0)", r"ended with exit status 0 \(nothing was said\)"),
        pytest.param("os.kill(os.getpid(), 9)", r"ended by signal SIGKILL \(nothing .*\)", marks=NOT_ON_WINDOWS),
    ],
)
def test_a_death_is_told_each_time(code: str, words: str, child: Make) -> None:
    with child(code) as one:
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(NoAnswerError, match=f"^{words}$"):
                one.ask("question", 60)
            assert time.monotonic() - start < 30  # not after a wait for what will not come


def test_a_hang_is_ended(child: Make) -> None:
    with child("time.sleep(60)") as one:
        with pytest.raises(NoAnswerError, match=r"^gave no answer within 0\.5 s$"):
            one.ask("question", 0.5)
        with pytest.raises(NoAnswerError, match=r"^ended "):
            one.ask("question", 20)


@NOT_ON_WINDOWS
def test_one_that_lives_on_without_an_output_is_ended(child: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_ENDING_SECONDS", 0.5)
    with (
        child("answers.close(); time.sleep(60)") as one,
        pytest.raises(NoAnswerError, match=r"^ended by signal SIGKILL \("),
    ):
        one.answer(20)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_what_it_has_started_goes_with_it(child: Make) -> None:
    code = "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); tell(str(other.pid)); " + (
        "time.sleep(60)"
    )
    with child(code) as one:
        other = Path("/proc") / one.answer(20).strip()
        assert other.exists()
    deadline = time.monotonic() + 20
    while other.exists() and " Z " not in (other / "stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("status", "signal", "words"),
    [
        (0, None, "with exit status 0"),
        (1, None, "with exit status 1"),
        (0xC0000005, "SIGSEGV", "by signal SIGSEGV"),  # as Windows says it
        pytest.param(-11, "SIGSEGV", "by signal SIGSEGV", marks=NOT_ON_WINDOWS),
        pytest.param(-99, "signal 99", "by signal 99", marks=NOT_ON_WINDOWS),
    ],
)
def test_words_of_an_end(status: int, signal: str | None, words: str) -> None:
    assert (signal_of(status), death(status)) == (signal, words)


@pytest.mark.parametrize(("text", "line"), [("", ""), ("\n \n", ""), ("a\n  b \n\n", "b")])
def test_last_line(text: str, line: str) -> None:
    assert last_line(text) == line

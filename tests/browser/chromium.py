"""Chromium without a window."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MUST = "SSD_DETECT_REQUIRE_BROWSER"
"""Set where a missing browser is a failure: in continuous integration."""

CONSOLE = ("--enable-logging=stderr", "--v=0")
"""Options that make the browser say what a page writes to its console, in lines with `CONSOLE` in them."""

NAMES = ("chromium", "chromium-browser", "google-chrome")

_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # the sandbox does not start for root, nor in most containers
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers often have 64 MB of it
    "--autoplay-policy=no-user-gesture-required",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-breakpad",
)

_SECONDS_TO_END = 20


def find_browser() -> str:
    """The path of the program; skips the test where there is none, or fails it where there must be one."""
    program = next((path for path in map(shutil.which, NAMES) if path), None)
    if program is None:
        reason = f"no browser: none of {', '.join(NAMES)} is installed"
        if os.environ.get(MUST):
            pytest.fail(f"{reason}, and {MUST} is set")
        pytest.skip(reason)
    return program


@contextmanager
def browsing(program: str, url: str, folder: Path, options: Sequence[str] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    """The browser, showing a page; its profile and what it says (`browser.log`) go into a folder. The block ends it."""
    command = [program, *_OPTIONS, *options, f"--user-data-dir={folder / 'profile'}", url]
    with (
        (folder / "browser.log").open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)
            with suppress(ProcessLookupError):  # the usual case: its helpers have gone with it
                os.killpg(process.pid, signal.SIGKILL)

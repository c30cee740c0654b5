"""The report in a real browser: nothing is fetched, nothing fails, all pictures show, nothing sticks out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.reporting.report import write_report
from tests.browser.chromium import CONSOLE, browsing, find_browser
from tests.browser.server import LOOKER, Site, serving, wait_for
from tests.report_cases import CASES, Case, random_case

pytestmark = pytest.mark.slow

PATIENCE = 180  # seconds for all pages together
WIDTHS = (1280, 400)  # pixels: a desktop and a phone
SMALLEST_TEXT = 12  # pixels
CHARTS, EXAMPLES = 6, 24

# What the browser would notice, so that its silence about our pages means something.
BROKEN = b"""<!doctype html><title>broken</title><body><p style="width: 3000px; font-size: 5px">wide</p>
<img src="/missing.png" alt=""><script>console.error("told on purpose")</script>"""

PAGES: dict[str, Callable[[Path], Case]] = {**CASES, "80 classes": lambda folder: random_case(folder, 80, 40)}


class Seen:
    """What came back of the browser.

    Args:
        results: name -> width -> what was seen of the page.
        console: what the pages wrote to their consoles.
        requests: the paths that were asked for.
    """

    def __init__(self, results: dict[str, Any], console: list[str], requests: list[str]) -> None:
        self.results, self.console, self.requests = results, console, requests


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    find_browser()  # before the work
    folder = tmp_path_factory.mktemp("reports")
    return {_address(name): _write(name, folder) for name in PAGES}


def _address(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


def _write(name: str, folder: Path) -> bytes:
    case = PAGES[name](folder / "pictures")
    out = folder / _address(name)
    write_report(case.result, case.details, out, overwrite=False)
    return (out / "index.html").read_bytes()


@pytest.fixture(scope="module")
def seen(documents: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return look(documents, tmp_path_factory.mktemp("browser"))


def look(documents: dict[str, bytes], folder: Path) -> Seen:
    with (
        serving(Site(page=LOOKER, documents=documents, widths=WIDTHS)) as site,
        browsing(find_browser(), site.url, folder, CONSOLE) as process,
    ):
        results = wait_for(site, process, PATIENCE)
    log = (folder / "browser.log").read_text(errors="replace")
    if results is None:
        pytest.fail(f"nothing came back from the browser; it said:\n{log[-2000:]}")
    return Seen(results, [line for line in log.splitlines() if "CONSOLE" in line], site.requests)


@pytest.fixture(params=[(name, width) for name in PAGES for width in WIDTHS], ids=lambda case: f"{case[0]}, {case[1]}")
def shown(request: pytest.FixtureRequest, seen: Seen) -> dict[str, Any]:
    """One page at one width."""
    name, width = request.param
    found: dict[str, Any] = seen.results[_address(name)][str(width)]
    assert "error" not in found, found
    return {**found, "width": width}


def test_all_pictures_are_decoded_and_in_proportion(shown: dict[str, Any]) -> None:
    assert shown["images"] >= CHARTS
    assert shown["decoded"] == shown["images"]
    assert shown["distorted"] == 0


def test_nothing_sticks_out(shown: dict[str, Any]) -> None:
    assert shown["pageWidth"] <= shown["width"]
    assert shown["outside"] == 0


def test_text_is_large_enough_to_read(shown: dict[str, Any]) -> None:
    assert shown["smallestText"] >= SMALLEST_TEXT


def test_nothing_is_fetched(seen: Seen, documents: dict[str, bytes]) -> None:
    expected = ["/", "/pages.json", *(f"/{name}" for name in documents for _ in WIDTHS)]
    assert sorted(seen.requests) == sorted(expected)
    assert [widths[str(width)]["requests"] for widths in seen.results.values() for width in WIDTHS] == [
        [] for _ in range(len(documents) * len(WIDTHS))
    ]


def test_nothing_is_said_on_the_console(seen: Seen) -> None:
    assert seen.console == []


def test_a_large_report_has_all_its_pictures(seen: Seen) -> None:
    assert seen.results["80-classes"]["1280"]["images"] == CHARTS + EXAMPLES


def test_the_browser_notices_what_is_wrong(tmp_path: Path) -> None:
    seen = look({"broken": BROKEN}, tmp_path)
    found = seen.results["broken"]["400"]
    assert found["pageWidth"] > 400
    assert found["outside"] > 0
    assert (found["images"], found["decoded"]) == (1, 0)
    assert found["smallestText"] == 5
    assert "/missing.png" in seen.requests
    assert any("told on purpose" in line for line in seen.console)

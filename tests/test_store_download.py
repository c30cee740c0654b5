"""Fetching a file: servers and connections that fail in every way, and what is kept for the next try."""

import http.client
import random
import resource
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import urllib3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssd_detect.errors import CheckpointError, OutputError
from ssd_detect.store import answers, download
from ssd_detect.store.listener import Listener
from ssd_detect.store.part import Part
from tests.checkpoint_server import Plan, Served
from tests.live_servers import closed_port, http_server, redirect, silent_server
from tests.test_fetch import CERTIFICATE

CONTENT = random.Random(6).randbytes(300_000)
HUGE_PART = f"bytes 200000-299999/{'9' * 5000}"  # more digits than Python turns into a number
OTHER = random.Random(7).randbytes(310_000)
DATE = "Mon, 10 Apr 2017 12:00:00 GMT"
PAGE = b"<!DOCTYPE html><title>Sign in</title>" + b" " * 1000


@pytest.fixture(autouse=True)
def _no_proxies_and_short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(download, "_RETRIES", urllib3.Retry(total=3, backoff_factor=0.01))


@contextmanager
def serving(served: Served) -> Iterator[str]:
    with http_server({"/w.pth": served}, served.stopped) as address:
        yield f"{address}/w.pth"


def fetched(url: str, folder: Path, timeout: float = 5.0, listener: Listener | None = None) -> bytes:
    part = Part(folder / "w.pth")
    download.download(url, part, timeout, listener or Listener())
    return part.path.read_bytes()


def failure(url: str, folder: Path, timeout: float = 5.0) -> str:
    """The message of the one error that a download ends with."""
    with pytest.raises(CheckpointError) as caught:
        fetched(url, folder, timeout)
    message = str(caught.value)
    assert message.isprintable()
    assert "127.0.0.1" in message
    return message


def kept(folder: Path) -> int:
    return Part(folder / "w.pth").size


class TestWhole:
    def test_one_request(self, tmp_path: Path) -> None:
        served = Served(CONTENT)
        with serving(served) as url:
            assert fetched(url, tmp_path) == CONTENT
        assert served.ranges == [None]
        assert served.asked[0]["user-agent"].startswith("ssd-detect/")

    def test_a_length_that_is_no_number(self, tmp_path: Path) -> None:
        for length in ("9" * 5000, "nonsense", "\xb2"):
            served = Served(CONTENT, plans=[Plan(headers={"Content-Length": length})])
            Part(tmp_path / "w.pth").discard()
            with serving(served) as url:
                assert fetched(url, tmp_path) == CONTENT

    def test_progress(self, tmp_path: Path) -> None:
        told: list[tuple[int, int | None]] = []
        with serving(Served(CONTENT)) as url:
            fetched(url, tmp_path, listener=Listener(on_bytes=lambda *bytes_: told.append(bytes_)))
        assert told == sorted(told)
        assert told[-1] == (len(CONTENT), len(CONTENT))

    def test_no_length(self, tmp_path: Path) -> None:
        with serving(Served(CONTENT, plans=[Plan(chunked=True)])) as url:
            assert fetched(url, tmp_path) == CONTENT
        with serving(Served(CONTENT, plans=[Plan(headers={"Content-Length": None})])) as url:
            assert fetched(url, tmp_path) == CONTENT

    def test_what_was_there_of_another_address(self, tmp_path: Path) -> None:
        part = Part(tmp_path / "w.pth")
        part.begin("http://example.org/w.pth", '"one"')
        part.path.write_bytes(b"x" * 1000)
        with serving(Served(CONTENT)) as url:
            assert fetched(url, tmp_path) == CONTENT

    def test_a_label_that_makes_no_sense(self, tmp_path: Path) -> None:
        part = Part(tmp_path / "w.pth")
        part.path.write_bytes(b"x" * 1000)
        for label in ("", "3", "{}", '{"url": 3, "version": 4}'):
            part.target.with_name("w.pth.part.json").write_text(label)
            with serving(Served(CONTENT)) as url:
                assert fetched(url, tmp_path) == CONTENT


class TestGoingOn:
    @pytest.mark.parametrize("version", ['"one"', DATE])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_after_a_cut(self, version: str, chunked: bool, tmp_path: Path) -> None:
        notes: list[str] = []
        served = Served(CONTENT, version, plans=[Plan(cut=200_000, chunked=chunked), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path, listener=Listener(on_note=notes.append)) == CONTENT
        start = int(str(served.ranges[1]).removeprefix("bytes=").removesuffix("-"))
        assert 180_000 < start <= 200_000
        assert served.asked[1]["if-range"] == version
        assert len(notes) == 1
        assert notes[0].endswith("broke off; trying again")

    def test_after_a_stall(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(stall=200_000), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path, timeout=0.3) == CONTENT
        assert len(served.asked) == 2
        assert served.ranges[1] is not None

    def test_at_the_next_run(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(cut=100_000), *[Plan(status=503)] * 3, Plan()])
        with serving(served) as url:
            assert "gave up after 3 more tries; try again later" in failure(url, tmp_path)
            assert 80_000 < kept(tmp_path) <= 100_000
            assert fetched(url, tmp_path) == CONTENT
        assert None not in served.ranges[1:]

    def test_progress_earns_more_tries(self, tmp_path: Path) -> None:
        content = random.Random(1).randbytes(9 << 20)
        served = Served(content, plans=[Plan(cut=(1 << 20) + 50_000)])
        with serving(served) as url:
            assert fetched(url, tmp_path) == content
        assert len(served.asked) > 8

    def test_without_progress_it_ends(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(cut=20_000)])
        with serving(served) as url:
            assert "the connection broke off" in failure(url, tmp_path)
        assert len(served.asked) == 4

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(cuts=st.lists(st.integers(0, 300_000), max_size=3), has_ranges=st.booleans(), chunked=st.booleans())
    def test_however_it_is_cut(self, cuts: list[int], has_ranges: bool, chunked: bool, tmp_path: Path) -> None:
        Part(tmp_path / "w.pth").discard()
        plans = [*(Plan(cut=cut, chunked=chunked) for cut in cuts), Plan()]
        with serving(Served(CONTENT, has_ranges=has_ranges, plans=plans)) as url:
            assert fetched(url, tmp_path) == CONTENT

    @pytest.mark.parametrize("ignores_if_range", [False, True])
    def test_the_file_changes_half_way(self, ignores_if_range: bool, tmp_path: Path) -> None:
        def change() -> None:
            served.content, served.version = OTHER, '"two"'

        served = Served(CONTENT, ignores_if_range=ignores_if_range, plans=[Plan(cut=200_000, then=change), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path) == OTHER
        assert len(served.asked) == 2 + ignores_if_range

    @pytest.mark.parametrize("version", [None, 'W/"weak"'])
    def test_no_version_means_anew(self, version: str | None, tmp_path: Path) -> None:
        served = Served(CONTENT, version, plans=[Plan(cut=200_000), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path) == CONTENT
        assert served.ranges == [None, None]

    def test_no_parts_means_anew(self, tmp_path: Path) -> None:
        served = Served(CONTENT, has_ranges=False, plans=[Plan(cut=200_000), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path) == CONTENT
        assert served.ranges[1] is not None

    @pytest.mark.parametrize("told", [None, "bytes 0-9/300000", "bytes */300000", "nonsense", HUGE_PART])
    def test_another_part_than_asked_for(self, told: str | None, tmp_path: Path) -> None:
        wrong = Plan(headers={"Content-Range": told})
        served = Served(CONTENT, plans=[Plan(cut=200_000), wrong, Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path) == CONTENT
        assert served.ranges[2] is None

    def test_all_was_there(self, tmp_path: Path) -> None:
        """A run that was killed before it gave the file its name."""
        served = Served(CONTENT)
        with serving(served) as url:
            fetched(url, tmp_path)
            assert fetched(url, tmp_path) == CONTENT
        assert served.ranges == [None, f"bytes={len(CONTENT)}-"]

    def test_more_was_there_than_there_is(self, tmp_path: Path) -> None:
        served = Served(CONTENT, ignores_if_range=True)
        with serving(served) as url:
            part = Part(tmp_path / "w.pth")
            part.begin(url, '"one"')
            part.path.write_bytes(OTHER)
            assert fetched(url, tmp_path) == CONTENT
        assert served.ranges == [f"bytes={len(OTHER)}-", None]


class TestAnswers:
    @pytest.mark.parametrize(
        ("status", "words"),
        [(400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"), (410, "Gone")],
    )
    def test_final(self, status: int, words: str, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(status=status, body=PAGE)])
        with serving(served) as url:
            assert failure(url, tmp_path) == f"{url}: the server answered {status} ({words})"
        assert len(served.asked) == 1
        assert kept(tmp_path) == 0

    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
    def test_passing(self, status: int, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(status=status, body=PAGE), Plan(status=status), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path) == CONTENT
        assert len(served.asked) == 3

    def test_lasting(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(status=500)])
        with serving(served) as url:
            words = "the server answered 500 (Internal Server Error); gave up after 3 more tries; try again later"
            assert failure(url, tmp_path) == f"{url}: {words}"
        assert len(served.asked) == 4

    def test_pauses_grow(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(download, "_RETRIES", urllib3.Retry(total=3, backoff_factor=0.2))
        with serving(Served(CONTENT, plans=[Plan(status=500)])) as url:
            start = time.monotonic()
            failure(url, tmp_path)
        assert time.monotonic() - start > 0.0 + 0.4 + 0.8

    @pytest.mark.parametrize("status", [429, 503])
    def test_asked_to_wait(self, status: int, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(status=status, headers={"Retry-After": "1"}), Plan()])
        with serving(served) as url:
            start = time.monotonic()
            assert fetched(url, tmp_path) == CONTENT
        assert time.monotonic() - start >= 1.0

    def test_asked_to_wait_too_long(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(status=429, headers={"Retry-After": "3600"})])
        with serving(served) as url:
            assert "(Too Many Requests) and asks to wait 3600 seconds; try again then" in failure(url, tmp_path)
        assert len(served.asked) == 1

    @pytest.mark.parametrize("wait", ["soon", "-1", "", "9" * 400, "Wed, 99 Foo 0000"])
    def test_asked_nonsense(self, wait: str, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(status=503, headers={"Retry-After": wait}), Plan()])
        with serving(served) as url:
            if wait.startswith("9"):
                assert "asks to wait" in failure(url, tmp_path)
            else:
                assert fetched(url, tmp_path) == CONTENT

    @pytest.mark.parametrize("plan", [Plan(), Plan(chunked=True), Plan(headers={"Content-Length": None})])
    def test_an_empty_file(self, plan: Plan, tmp_path: Path) -> None:
        with serving(served := Served(b"", plans=[plan])) as url:
            assert failure(url, tmp_path) == f"{url}: the server sent 0 bytes, expected weights"
        assert len(served.asked) == 1
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "plan",
        [
            Plan(headers={"Content-Type": "text/html; charset=utf-8"}),
            Plan(body=PAGE),
            Plan(body=b"\xef\xbb\xbf \n<HTML>" + PAGE),
        ],
    )
    def test_a_web_page(self, plan: Plan, tmp_path: Path) -> None:
        with serving(Served(CONTENT, plans=[plan])) as url:
            words = "the server sent a web page, expected weights; get the file by hand"
            assert failure(url, tmp_path) == f"{url}: {words}"
        assert list(tmp_path.iterdir()) == []

    def test_a_web_page_costs_nothing_that_is_here(self, tmp_path: Path) -> None:
        with serving(Served(CONTENT, plans=[Plan(cut=200_000), Plan(status=404)])) as url:
            failure(url, tmp_path)
        before = kept(tmp_path)
        with serving(Served(CONTENT, '"two"', plans=[Plan(body=PAGE)])) as url:
            failure(url, tmp_path)
        assert kept(tmp_path) == before > 0

    def test_compressed(self, tmp_path: Path) -> None:
        with serving(Served(CONTENT, plans=[Plan(headers={"Content-Encoding": "gzip"})])) as url:
            assert "compressed although asked not to" in failure(url, tmp_path)


class TestLengths:
    def test_more_announced_than_comes(self, tmp_path: Path) -> None:
        more = {"Content-Length": str(len(CONTENT) + 5)}
        with serving(Served(CONTENT, None, plans=[Plan(headers=more)])) as url:
            assert "the connection broke off" in failure(url, tmp_path)

    def test_asked_for_the_rest_the_server_says_the_truth(self, tmp_path: Path) -> None:
        more = {"Content-Length": str(len(CONTENT) + 5)}
        served = Served(CONTENT, plans=[Plan(headers=more), Plan()])
        with serving(served) as url:
            assert fetched(url, tmp_path) == CONTENT
        assert len(served.asked) == 2

    def test_less_announced_than_comes(self, tmp_path: Path) -> None:
        """What follows the announced end is not read."""
        with serving(Served(CONTENT, plans=[Plan(headers={"Content-Length": "100"})])) as url:
            assert fetched(url, tmp_path) == CONTENT[:100]

    def test_a_part_longer_than_its_file(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(headers={"Content-Range": "bytes 10-99/100"})])
        with serving(served) as url:
            part = Part(tmp_path / "w.pth")
            part.begin(url, '"one"')
            part.path.write_bytes(CONTENT[:10])
            assert "sends more than the 100 bytes that it announced" in failure(url, tmp_path)

    @pytest.mark.parametrize("chunked", [False, True])
    def test_too_large(self, chunked: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for module in (answers, download):
            monkeypatch.setattr(module, "MAX_BYTES", 100_000)
        with serving(Served(CONTENT, plans=[Plan(chunked=chunked)])) as url:
            assert "at most" in failure(url, tmp_path)
        assert kept(tmp_path) <= 100_000

    def test_more_than_the_disk_has_room_for(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(answers, "MAX_BYTES", 10**18)
        served = Served(CONTENT, plans=[Plan(headers={"Content-Length": str(10**17)})])
        with serving(served) as url, pytest.raises(OutputError, match=r"w.pth: .*: 100,000,000,000,000,000 bytes are"):
            fetched(url, tmp_path)
        assert kept(tmp_path) == 0


LIMITED = """
import resource, signal, sys
from pathlib import Path
from ssd_detect.store.download import download
from ssd_detect.store.listener import Listener
from ssd_detect.store.part import Part
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    download(sys.argv[1], Part(Path(sys.argv[2])), 5.0, Listener())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_disk_is_full_half_way(tmp_path: Path) -> None:
    """A limit of the size of files stands in for it: both are errors of `write`."""
    served = Served(CONTENT)
    with serving(served) as url:
        command = [sys.executable, "-c", LIMITED, url, str(tmp_path / "w.pth")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"OutputError {tmp_path / 'w.pth'}: cannot be written: File too large\n"
        assert 0 < kept(tmp_path) <= 100_000
        assert fetched(url, tmp_path) == CONTENT
    assert served.ranges[1] is not None
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000


class TestConnections:
    def test_nobody_listens(self, tmp_path: Path) -> None:
        words = "the server cannot be reached: it refuses the connection; gave up after"
        assert words in failure(f"http://127.0.0.1:{closed_port()}/w.pth", tmp_path)

    def test_no_such_name(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match=r"the server cannot be reached: its name is not found; gave up"):
            fetched("http://models.invalid/w.pth", tmp_path)

    def test_nobody_answers(self, tmp_path: Path) -> None:
        with silent_server() as port:
            words = "nothing came for 0.2 seconds; gave up after 3 more tries; try again later"
            assert words in failure(f"http://127.0.0.1:{port}/w.pth", tmp_path, timeout=0.2)

    def test_no_http(self, tmp_path: Path) -> None:
        def greet(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"220 mail\r\n\r\n")

        with http_server({"/w.pth": greet}) as address:
            words = "what answers there does not speak HTTP; correct the address"
            assert failure(f"{address}/w.pth", tmp_path) == f"{address}/w.pth: {words}"

    @pytest.mark.parametrize("url", ["http://127.0.0.1:99999/x", "http://127.0.0.1:x/", "http://[127.0.0.1/"])
    def test_no_address(self, url: str, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError):
            fetched(url, tmp_path)

    def test_secrets_are_not_told(self, tmp_path: Path) -> None:
        with http_server({}) as address:
            message = failure(f"{address.replace('//', '//ann:pw1@')}/w.pth?token=pw2", tmp_path)
        assert "pw1" not in message
        assert "pw2" not in message
        with serving(Served(CONTENT, plans=[Plan(cut=9), Plan(status=404)])) as url:
            failure(url.replace("//", "//ann:pw1@"), tmp_path)
        assert all(b"pw1" not in path.read_bytes() for path in tmp_path.iterdir())

    def test_proxy(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        served = Served(CONTENT)
        url = "http://models.invalid/w.pth"
        with http_server({url: served}) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy)
            assert fetched(url, tmp_path) == CONTENT
        assert len(served.asked) == 1

    def test_no_proxy(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
        with serving(Served(CONTENT)) as url:
            assert "the proxy that HTTP_PROXY" in failure(url, tmp_path)
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            assert fetched(url, tmp_path) == CONTENT


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Of a server whose certificate is trusted in this test."""
    certificate = tmp_path / "certificate.pem"
    certificate.write_text(CERTIFICATE)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


class TestRedirects:
    def test_followed(self, tmp_path: Path) -> None:
        served = Served(CONTENT, plans=[Plan(cut=200_000), Plan()])
        with serving(served) as url, http_server({"/latest": redirect(url)}) as first:
            assert fetched(f"{first}/latest", tmp_path) == CONTENT
        assert served.ranges[1] is not None

    def test_in_a_circle(self, tmp_path: Path) -> None:
        with http_server({"/a": redirect("/b"), "/b": redirect("/a")}) as address:
            assert failure(f"{address}/a", tmp_path) == f"{address}/a: redirects more than 10 times"

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            ("file:///etc/passwd", "leads to no address that begins with http:// or https://, expected one that does"),
            ("ftp://127.0.0.1/x", "leads to no address that begins with http:// or https://, expected one that does"),
            ("http://[x/", "leads to no valid address"),
        ],
    )
    def test_to_no_web_address(self, target: str, words: str, tmp_path: Path) -> None:
        with http_server({"/a": redirect(target)}) as address:
            assert failure(f"{address}/a", tmp_path) == f"{address}/a: {words}"

    def test_secured(self, tls: ssl.SSLContext, tmp_path: Path) -> None:
        answers_: dict[str, Callable[[Any], None]] = {"/a": redirect("/w.pth"), "/w.pth": Served(CONTENT)}
        with http_server(answers_, tls=tls) as address:
            assert fetched(f"{address}/a", tmp_path) == CONTENT

    def test_from_open_to_secured(self, tls: ssl.SSLContext, tmp_path: Path) -> None:
        with (
            http_server({"/w.pth": Served(CONTENT)}, tls=tls) as secured,
            http_server({"/a": redirect(f"{secured}/w.pth")}) as address,
        ):
            assert fetched(f"{address}/a", tmp_path) == CONTENT

    def test_from_secured_to_open(self, tls: ssl.SSLContext, tmp_path: Path) -> None:
        served = Served(CONTENT)
        with serving(served) as url, http_server({"/a": redirect(url)}, tls=tls) as address:
            assert "redirects from https to an address that is not secured" in failure(f"{address}/a", tmp_path)
        assert served.asked == []

    def test_untrusted(self, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("REQUESTS_CA_BUNDLE")
        served = Served(CONTENT)
        with http_server({"/w.pth": served}, tls=tls) as address:
            message = failure(f"{address}/w.pth", tmp_path)
        assert "no secure connection: the server's certificate is not trusted" in message
        assert served.asked == []


def test_phrases_are_those_of_the_standard() -> None:
    assert all(code in http.client.responses for code in answers._TEMPORARY)

"""Pictures from the web: answers of every kind from servers on this machine, and the places that are out of bounds."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.errors import PictureError, SettingError
from ssd_detect.media.sources import connection
from ssd_detect.media.sources.connection import Clock, is_public_address
from ssd_detect.media.sources.fetch import MAX_REDIRECTS, fetch_picture
from ssd_detect.media.sources.urls import shown_url
from ssd_detect.settings import FetchSettings

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PUBLIC = "93.184.216.34"
HERE = FetchSettings(allow_private=True, timeout_seconds=5)
SHORT = FetchSettings(allow_private=True, timeout_seconds=0.1)  # in all 1 s

# For localhost and 127.0.0.1 until 2120; made for these tests and good for nothing else.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgv/bH+/MzTZhvPchI
i42yM1bhfEG1j5d0U1SazwFyhyyhRANCAATp484eDMASGi7yijlqehKGoyEDPWnX
jZxYM8c9Q5KVQOo4JgpMBhyiHM90gcSQUaWLQwOp/xK5OFyW12z0pj0c
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOnjzh4MwBIaLvKK
OWp6EoajIQM9adeNnFgzxz1DkpVA6jgmCkwGHKIcz3SBxJBRpYtDA6n/Erk4XJbX
bPSmPRyjXjBcMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8E
BTADAQH/MB0GA1UdDgQWBBSYxTSg5RQFVyy5F8KtFHlUMi4o5zAOBgNVHQ8BAf8E
BAMCAoQwCgYIKoZIzj0EAwIDSAAwRQIgB7rvwtsi4UO3HwWg6KyOSFRd4iAN/M8B
o2AuPYwGE+0CIQD6kSkg8evZqP/NxgrNtOidaSKJGkj5+d8A+kDok72/tQ==
-----END CERTIFICATE-----
"""


class Server(ThreadingHTTPServer):
    """Answers each path with the bytes, or the action, that a test has laid down for it; then hangs up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.answers: dict[str, bytes | Callable[[Handler], None]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.num_connections = 0
        self.closing = threading.Event()

    def get_request(self) -> tuple[socket.socket, Any]:
        request = super().get_request()
        self.num_connections += 1
        return request

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what many tests are about."""

    def put(self, answer: "bytes | Callable[[Handler], None]", path: str = "/a.png") -> str:
        self.answers[path] = answer
        return self.url + path

    def put_redirect(self, target: str, path: str, status: int = 302) -> str:
        return self.put(f"HTTP/1.1 {status} x\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode(), path)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        answer = self.server.answers[self.path]
        self.close_connection = True
        if callable(answer):
            answer(self)
        else:
            self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    yield from running(Server())


def running(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


def answer(content: bytes = PNG, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + content


def chunked(*chunks: bytes) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body


def stalled(start: bytes) -> Callable[[Handler], None]:
    """Sends `start`, then nothing more."""

    def act(handler: Handler) -> None:
        handler.wfile.write(start)
        handler.server.closing.wait(3)

    return act


def repeated(start: bytes, more: bytes, pause_seconds: float) -> Callable[[Handler], None]:
    """Sends `start`, then `more` again and again."""

    def act(handler: Handler) -> None:
        handler.wfile.write(start)
        end = time.monotonic() + 3
        while time.monotonic() < end and not handler.server.closing.wait(pause_seconds):
            handler.wfile.write(more)

    return act


def failure(url: str, settings: FetchSettings = HERE) -> str:
    """The message of the one error that a URL ends with."""
    with pytest.raises(PictureError) as caught:
        fetch_picture(url, settings)
    message = str(caught.value)
    assert message.isprintable()
    return message


class TestSettings:
    def test_defaults(self) -> None:
        settings = FetchSettings()
        assert (settings.timeout_seconds, settings.max_bytes, settings.allow_private) == (20, 104857600, False)
        assert settings.total_seconds == 200

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 86401])
    def test_no_such_time(self, seconds: float) -> None:
        with pytest.raises(SettingError, match=r"timeout_seconds is .*, expected a number above 0, at most 86400"):
            FetchSettings(timeout_seconds=seconds)

    def test_no_such_size(self) -> None:
        with pytest.raises(SettingError, match="max_bytes is 0, expected a whole number of at least 1"):
            FetchSettings(max_bytes=0)


class TestAnswers:
    def test_nothing(self, server: Server) -> None:
        url = server.put(answer(b""))
        assert failure(url) == f"{url}: the server sent 0 bytes, expected a picture"

    @pytest.mark.parametrize(
        "raw",
        [
            answer(),
            answer(PNG, "Content-Encoding: identity"),
            answer(PNG, "Content-Type: text/html"),  # the content has the last word
            b"HTTP/1.0 200 OK\r\n\r\n" + PNG,
            b"HTTP/1.1 200\r\nContent-Length: x\r\n\r\n" + PNG,
            chunked(PNG[:5], PNG[5:], b""),
            b"HTTP/1.1 100 Continue\r\n\r\n" + answer(),
        ],
        ids=["length", "identity", "wrong type", "until the end", "odd length", "chunked", "continue"],
    )
    def test_whole(self, server: Server, raw: bytes) -> None:
        assert fetch_picture(server.put(raw), HERE) == PNG

    def test_what_cannot_be_told_is_left_to_the_reader(self, server: Server) -> None:
        assert fetch_picture(server.put(answer(b"\x00\x01?", "Content-Type: application/zip")), HERE) == b"\x00\x01?"

    @pytest.mark.parametrize(
        ("raw", "message"),
        [
            (b"", "the connection broke off; try again"),
            (b"HTTP/1.1 2", "the server does not speak HTTP as it should"),
            (b"\x1b[31m hello\r\n\r\n", "the server does not speak HTTP as it should"),
            (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70000 + b"\r\n\r\n", "the server does not speak HTTP as it should"),
            (answer(b"gone", status="404 \x1b[31mNo"), "the server answered 404 (Not Found), expected 200 (OK)"),
            (answer(b"", status="204 x"), "the server answered 204 (No Content), expected 200 (OK)"),
            (answer(status="206 x"), "the server answered 206 (Partial Content), expected 200 (OK)"),
            (answer(status="299 x"), "the server answered 299, expected 200 (OK)"),
            (answer(status="301 x"), "the server answered 301 (Moved Permanently), expected 200 (OK)"),
            (
                answer(PNG, "Content-Encoding: gzip"),
                "the server sends it compressed although asked not to; download the picture and give its file",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + PNG,
                "the connection broke off after 264 of 1000 bytes; try again",
            ),
            (chunked(PNG), "the connection broke off; try again"),
            (chunked(PNG)[:-100], "the connection broke off; try again"),
            (chunked(PNG) + b"what?\r\n", "the connection broke off; try again"),
        ],
    )
    def test_no_answer_as_it_should_be(self, server: Server, raw: bytes, message: str) -> None:
        url = server.put(raw)
        assert failure(url) == f"{url}: {message}"

    @pytest.mark.parametrize(
        "raw",
        [
            answer(b"<!DOCTYPE html><html>"),
            answer(b"\xef\xbb\xbf\r\n <svg>", "Content-Type: image/png"),
            answer(b"please sign in", "Content-Type: text/plain; charset=utf-8"),
        ],
    )
    def test_web_page(self, server: Server, raw: bytes) -> None:
        url = server.put(raw)
        assert failure(url) == f"{url}: is a web page or other text, no picture; give the address of the picture itself"

    def test_what_is_asked(self, server: Server) -> None:
        server.put(answer(), "/%C3%A9%20%22x%22/a%2Fb.png;v=1?q=%C3%A9&r=a%20b")
        fetch_picture(f'{server.url}/é "x"/a%2Fb.png;v=1?q=é&r=a b#top', HERE)
        ((_, headers),) = server.asked
        assert headers["host"] == f"127.0.0.1:{server.port}"
        assert headers["accept-encoding"] == "identity"
        assert headers["user-agent"].startswith("ssd-detect/")
        assert "authorization" not in headers

    def test_no_proxy(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        assert fetch_picture(server.put(answer()), HERE) == PNG


class TestLimits:
    def test_clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: now)
        clock = Clock(FetchSettings(timeout_seconds=10))
        assert (clock.seconds(), clock.has_run_out) == (10, False)
        now += 95
        assert (clock.seconds(), clock.has_run_out) == (5, False)
        now += 5
        assert clock.has_run_out
        with pytest.raises(TimeoutError):
            clock.seconds()

    @pytest.mark.parametrize("raw", [answer(), chunked(PNG, b"")], ids=["length", "chunked"])
    def test_just_small_enough(self, server: Server, raw: bytes) -> None:
        assert fetch_picture(server.put(raw), FetchSettings(allow_private=True, max_bytes=len(PNG))) == PNG

    @pytest.mark.parametrize(
        "act",
        [
            stalled(b"HTTP/1.1 200 OK\r\nContent-Length: 264\r\n\r\n"),  # refused without waiting for a byte of it
            chunked(PNG, b""),
            repeated(chunked(PNG), b"8\r\n12345678\r\n", 0.001),
            repeated(b"HTTP/1.0 200 OK\r\n\r\n" + PNG, PNG, 0.001),
        ],
        ids=["length", "one byte", "chunked", "until the end"],
    )
    def test_too_large(self, server: Server, act: bytes | Callable[[Handler], None]) -> None:
        url = server.put(act)
        settings = FetchSettings(allow_private=True, max_bytes=len(PNG) - 1)
        expected = f"{url}: is larger than 0.0002508 MiB, the limit for a URL; download the picture and give its file"
        assert failure(url, settings) == expected

    @pytest.mark.parametrize(
        "start",
        [b"", b"HTTP/1.1 200 OK\r\nA:", answer()[:-1], chunked(PNG), b"HTTP/1.1 200 OK\r\n\r\n" + PNG],
        ids=["status", "headers", "body", "chunk", "until the end"],
    )
    def test_stall(self, server: Server, start: bytes) -> None:
        url = server.put(stalled(start))
        begin = time.monotonic()
        assert failure(url, SHORT) == f"{url}: no answer within 0.1 s; raise the limit with --url-timeout"
        assert 0.1 <= time.monotonic() - begin < 2.5

    @pytest.mark.parametrize(
        ("start", "more"),
        [
            (b"HTTP/1.1 200 OK\r\nA: ", b"x"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + PNG, b"x"),
            (chunked(PNG), b"0"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ],
        ids=["headers", "body", "chunk size", "continue"],
    )
    def test_drip(self, server: Server, monkeypatch: pytest.MonkeyPatch, start: bytes, more: bytes) -> None:
        """Each byte comes in time, and yet there is an end."""
        monkeypatch.setattr(FetchSettings, "total_seconds", 0.5)
        url = server.put(repeated(start, more, 0.02))
        begin = time.monotonic()
        assert failure(url) == f"{url}: not complete after 0.5 s; raise the limit with --url-timeout"
        assert 0.5 <= time.monotonic() - begin < 2.5

    def test_nobody_listens(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.png"
            assert failure(url) == f"{url}: cannot be fetched: Connection refused"


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_followed(self, server: Server, status: int) -> None:
        server.put(answer(), "/x/%C3%A9.png?q=1")
        url = server.put_redirect("../x/é.png?q=1", "/y/z", status)
        assert fetch_picture(url, HERE) == PNG

    def test_as_many_as_allowed(self, server: Server) -> None:
        server.put(answer(), "/0")
        for n in range(1, MAX_REDIRECTS + 2):
            server.put_redirect(f"/{n - 1}", f"/{n}")
        assert fetch_picture(f"{server.url}/{MAX_REDIRECTS}", HERE) == PNG
        url = f"{server.url}/{MAX_REDIRECTS + 1}"
        expected = f"{url}: redirected to {server.url}/0: more than 5 redirects are not followed"
        assert failure(url) == expected

    def test_loop(self, server: Server) -> None:
        url = server.put_redirect("/a.png", "/a.png")
        assert failure(url) == f"{url}: redirected to {url}: more than 5 redirects are not followed"
        assert len(server.asked) == MAX_REDIRECTS + 1

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("file:///etc/passwd", "redirected to file:///etc/passwd: only http:// and https:// addresses can be read"),
            ("ftp://127.0.0.1/a", "redirected to ftp://127.0.0.1/a: only http:// and https:// addresses can be read"),
            ("data:,x", "redirected to data:,x: only http:// and https:// addresses can be read"),
            ("http://a b/", "redirected to http://a b/: is no valid address"),
            ("http://a:b@c:d/", "redirected to http://c:d/: is no valid address"),
            ("http://[", "leads to no valid address"),
            ("http://\x1b]0;/", "leads to no valid address"),
            ("http://\x1bx/", "redirected to http://\\x1bx/: is no valid address"),
        ],
    )
    def test_elsewhere(self, server: Server, target: str, message: str) -> None:
        url = server.put_redirect(target, "/a.png")
        assert failure(url) == f"{url}: {message}"

    def test_error_there(self, server: Server) -> None:
        server.put(answer(status="404 x"), "/b")
        url = server.put_redirect("/b", "/a.png")
        expected = f"{url}: redirected to {server.url}/b: the server answered 404 (Not Found), expected 200 (OK)"
        assert failure(url) == expected


class Route:
    """`PUBLIC` leads to a server on this machine; names mean what `names` says, one meaning a look-up."""

    def __init__(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: dict[str, list[list[str]]] = {}
        self.connected: list[str] = []
        self.url = f"http://{PUBLIC}:{server.port}"
        connect, look_up = socket.socket.connect, socket.getaddrinfo

        def connect_here(connection: socket.socket, place: Any) -> None:
            self.connected.append(place[0])
            connect(connection, ("127.0.0.1", place[1]) if place[0] == PUBLIC else place)

        def look_up_here(host: str, port: int, **options: Any) -> list[Any]:
            addresses = self.names[host].pop(0) if host in self.names else [host]
            return [info for address in addresses for info in look_up(address, port, **options)]

        monkeypatch.setattr(socket.socket, "connect", connect_here)
        monkeypatch.setattr(socket, "getaddrinfo", look_up_here)


@pytest.fixture
def route(server: Server, monkeypatch: pytest.MonkeyPatch) -> Route:
    return Route(server, monkeypatch)


class TestPlaces:
    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
            "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
            "::", "::1", "fe80::1", "fe80::1%1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "ff0e::1",
            "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:c0a8:101::1", "64:ff9b:1::1",
        ],
    )  # fmt: skip
    def test_out_of_bounds(self, address: str) -> None:
        assert not is_public_address(address)

    @pytest.mark.parametrize(
        "address",
        [PUBLIC, "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"],
    )
    def test_public(self, address: str) -> None:
        assert is_public_address(address)

    @pytest.mark.parametrize(
        ("host", "address"),
        [
            ("127.0.0.1", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0.0.0.0", "0.0.0.0"),
            ("me@127.0.0.1", "127.0.0.1"),
        ],
    )
    def test_this_machine_only_when_allowed(self, server: Server, host: str, address: str) -> None:
        server.put(answer())
        url = f"http://{host}:{server.port}/a.png"
        expected = (
            f"{shown_url(url)}: {address} is a local or private address; use --allow-private-urls if it may be asked"
        )
        assert failure(url, FetchSettings()) == expected
        assert server.num_connections == 0
        assert fetch_picture(url, HERE) == PNG

    @pytest.mark.parametrize(
        "host", ["[::1]", "[::ffff:127.0.0.1]", "[::]", "localhost", "169.254.169.254", "10.1.2.3"]
    )
    def test_never_connected_to(self, route: Route, server: Server, host: str) -> None:
        assert "is a local or private address" in failure(f"http://{host}:{server.port}/", FetchSettings())
        assert route.connected == []

    def test_public_address(self, route: Route, server: Server) -> None:
        server.put(answer())
        assert fetch_picture(f"{route.url}/a.png", FetchSettings()) == PNG
        assert route.connected == [PUBLIC]

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_redirect_to_this_machine_only_when_allowed(self, route: Route, server: Server, status: int) -> None:
        inner = server.put(answer(), "/inner")
        server.put_redirect(inner, "/a.png", status)
        expected = f"{route.url}/a.png: redirected to {inner}: 127.0.0.1 is a local or private address; "
        assert failure(f"{route.url}/a.png", FetchSettings()).startswith(expected)
        assert route.connected == [PUBLIC]
        assert fetch_picture(f"{route.url}/a.png", HERE) == PNG
        assert route.connected == [PUBLIC, PUBLIC, "127.0.0.1"]

    def test_name_that_changes_its_meaning(self, route: Route, server: Server) -> None:
        """Looked up once a request, and what was looked up is what is connected to."""
        server.put(answer())
        server.put_redirect("/a.png", "/again")
        route.names["rebind.example"] = [[PUBLIC], ["127.0.0.1"]]
        url = f"http://rebind.example:{server.port}"
        assert fetch_picture(f"{url}/a.png", FetchSettings()) == PNG
        assert "127.0.0.1 is a local or private address" in failure(f"{url}/a.png", FetchSettings())
        route.names["rebind.example"] = [[PUBLIC], ["127.0.0.1"]]
        assert "127.0.0.1 is a local or private address" in failure(f"{url}/again", FetchSettings())
        assert route.connected == [PUBLIC, PUBLIC]

    def test_name_with_several_addresses(self, route: Route, server: Server) -> None:
        server.put(answer())
        route.names["both.example"] = [["10.1.2.3", PUBLIC]]
        assert fetch_picture(f"http://both.example:{server.port}/a.png", FetchSettings()) == PNG
        assert route.connected == [PUBLIC]

    def test_second_address_when_the_first_does_not_answer(self, route: Route, server: Server) -> None:
        server.put(answer())
        route.names["both.example"] = [["127.0.0.2", PUBLIC]]
        assert fetch_picture(f"http://both.example:{server.port}/a.png", HERE) == PNG
        assert route.connected == ["127.0.0.2", PUBLIC]

    @pytest.mark.parametrize(
        "error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")]
    )
    def test_no_such_name(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        def fail(*args: object, **options: object) -> None:
            raise error

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        expected = "http://nowhere.example/a: its host cannot be found; check the address and the network"
        assert failure("http://nowhere.example/a") == expected


class TestSecrets:
    def test_login_is_sent_to_its_host_alone(self, server: Server) -> None:
        server.put(answer(), "/b.png")
        server.put_redirect("/same", "/a.png")
        server.put_redirect(f"http://localhost:{server.port}/b.png", "/same")
        fetch_picture(f"http://me:p%40ss@127.0.0.1:{server.port}/a.png", HERE)
        logins = [headers.get("authorization") for _, headers in server.asked]
        assert logins == ["Basic bWU6cEBzcw==", "Basic bWU6cEBzcw==", None]

    @pytest.mark.parametrize(
        "url",
        [
            "http://me:hush@127.0.0.1/a.png",
            "http://hush@127.0.0.1/a.png",
            "http://me:x@hush@127.0.0.1/a.png",
            "http://127.0.0.1/a.png?token=hush",
            "http://127.0.0.1/a.png?w=1&X-Amz-Signature=hush&X-Amz-Credential=hush%2F1#hush",
            "http://me:hu/hush@127.0.0.1/a.png",
            "ftp://me:hush@127.0.0.1/a.png",
            "http://me:hush@/a.png",
        ],
    )
    def test_never_said(self, url: str) -> None:
        assert "hush" not in failure(url, FetchSettings())

    def test_the_rest_is_said(self) -> None:
        url = "https://me:x@host:1/a@b/c.png?id=1&token=x&w=2#top"
        assert shown_url(url) == "https://host:1/a@b/c.png?id=1&token=***&w=2"


class TestSecureConnections:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        path = tmp_path / "certificate.pem"
        path.write_text(CERTIFICATE)
        return path

    @pytest.fixture
    def secure_server(self, certificate: Path) -> Iterator[Server]:
        server = Server()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.url = f"https://localhost:{server.port}"
        yield from running(server)

    @pytest.fixture(autouse=True)
    def _fresh_context(self) -> Iterator[None]:
        connection._tls_context.cache_clear()
        yield
        connection._tls_context.cache_clear()

    def test_trusted(self, secure_server: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert fetch_picture(secure_server.put(answer()), HERE) == PNG
        other_name = f"https://127.0.0.2:{secure_server.port}/a.png"
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **_: _here(port))
        assert "no secure connection: IP address mismatch" in failure(other_name)

    def test_not_trusted(self, secure_server: Server) -> None:
        url = secure_server.put(answer())
        assert failure(url) in [f"{url}: no secure connection: self{mark}signed certificate" for mark in "- "]
        assert secure_server.asked == []

    def test_stall(self, secure_server: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        url = secure_server.put(stalled(answer()[:-1]))
        settings = FetchSettings(allow_private=True, timeout_seconds=0.5)
        assert failure(url, settings) == f"{url}: no answer within 0.5 s; raise the limit with --url-timeout"

    def test_server_without_it(self, server: Server) -> None:
        url = f"https://127.0.0.1:{server.port}/"
        assert failure(url).startswith(f"{url}: no secure connection: ")


def _here(port: int) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

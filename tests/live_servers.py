"""Servers on this computer for tests: HTTP with and without parts, motion JPEG, RTSP; they stop, stall and come back.

Every connection follows the next plan of a list, so that a test says what a server does when it is asked again.
"""

import base64
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any

STALL = "stall"  # keep the connection, send nothing more
DROP = "drop"  # close it
REFUSE = "refuse"  # close it before anything is sent

_LONGEST_SECONDS = 20.0  # no thread outlives this


@dataclass(frozen=True)
class Plan:
    """What happens on one connection: so many pictures, then an ending."""

    pictures: int = 10**9
    ending: str = DROP
    pause: float = 0.02  # seconds between pictures


@dataclass
class Plans:
    """A plan for each connection, in order; the last one holds for all that follow."""

    plans: Sequence[Plan]
    stopped: threading.Event = field(default_factory=threading.Event)
    num_connections: int = 0

    def next(self) -> Plan:
        plan = self.plans[min(self.num_connections, len(self.plans) - 1)]
        self.num_connections += 1
        return plan

    def send(self, plan: Plan, send_picture: Callable[[int], None]) -> None:
        """Send pictures as planned, counted from 0, and come back when the connection is to be closed."""
        end = time.monotonic() + _LONGEST_SECONDS
        with suppress(OSError):
            for number in range(plan.pictures):
                if self.stopped.wait(plan.pause) or time.monotonic() > end:
                    return
                send_picture(number)
            if plan.ending == STALL:
                self.stopped.wait(_LONGEST_SECONDS)


# How an HTTP server answers: it gets the handler of one request.
Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def http_server(
    answers: dict[str, Answer], stopped: threading.Event | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """An HTTP server; the block gets its address without a slash at the end. Other paths are not found."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            self.close_connection = True
            if answer is None:
                self.send_error(404)
                return
            with suppress(OSError):
                answer(self)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: Any) -> None:
            pass  # clients that go away are what is tested

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        # The handshake waits for the thread of its connection, which also closes what fails.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    finally:
        if stopped is not None:
            stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def _head(handler: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Connection", "close")
    handler.end_headers()


def whole(content: bytes, kind: str = "application/octet-stream", *, parts: bool = False, cut: int = 0) -> Answer:
    """A file; with `parts` the client may ask for a part of it; of `cut` bytes at its end none ever comes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", ""))
        start = int(wanted[1]) if parts and wanted else 0
        end = int(wanted[2]) + 1 if parts and wanted and wanted[2] else len(content)
        headers = {"Content_Type": kind, "Content_Length": str(end - start)}
        if parts:
            headers["Accept_Ranges"] = "bytes"
        if parts and wanted:
            headers["Content_Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        _head(handler, 206 if parts and wanted else 200, **headers)
        handler.wfile.write(content[start : min(end, len(content) - cut)])

    return answer


def redirect(target: str) -> Answer:
    """A redirect to another address."""
    return lambda handler: _head(handler, 302, Location=target, Content_Length="0")


def motion_jpeg(pictures: Sequence[bytes], plans: Plans) -> Answer:
    """JPEG after JPEG, as network cameras send them; the pictures begin anew when they are through."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        plan = plans.next()
        if plan.ending == REFUSE:
            return
        _head(handler, 200, Content_Type="multipart/x-mixed-replace; boundary=frame")

        def send(number: int) -> None:
            picture = pictures[number % len(pictures)]
            head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
            handler.wfile.write(head.encode() + picture + b"\r\n")

        plans.send(plan, send)

    return answer


def endless_bytes(content: bytes, plans: Plans, piece: int = 1880) -> Answer:
    """A file as if it were live: neither its size nor its end is told; each "picture" of a plan is a piece of it."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        plan = plans.next()
        if plan.ending == REFUSE:
            return
        _head(handler, 200, Content_Type="video/mp2t")
        pieces = [content[place : place + piece] for place in range(0, len(content), piece)]
        count = min(plan.pictures, len(pieces))

        def send(number: int) -> None:
            handler.wfile.write(pieces[number])

        plans.send(Plan(count, plan.ending, plan.pause), send)

    return answer


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def packets_to_a_port(content: bytes) -> Iterator[int]:
    """An MPEG transport stream, sent over and over to a UDP port of this computer whether anybody listens or not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    stopped = threading.Event()
    pieces = [content[place : place + 1316] for place in range(0, len(content), 1316)]  # seven packets, as usual

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for piece in cycle(pieces):
                with suppress(OSError):  # nobody listens yet
                    sender.sendto(piece, ("127.0.0.1", port))
                if stopped.wait(0.01):
                    return

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        stopped.set()
        thread.join(5)


class RtspServer:
    """An RTSP server (RFC 2326) of one H.264 video, interleaved on the connection (10.12), in packets of RFC 6184.

    Args:
        stream: H.264 with start codes (ISO 14496-10, annex B), every NAL unit shorter than a TCP segment; it is sent
            again from its start when it is through.
        plans: for the connections.
        login: `name:password` that the client must give (Basic, RFC 7617); None: anybody may watch.
    """

    _FRAME_TICKS = 3600  # of 90 kHz: 25 frames/s

    def __init__(self, stream: bytes, plans: Plans, login: str | None = None) -> None:
        self._access_units = _access_units(stream)
        self._plans, self._login = plans, login
        self._sequence = 0

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve while the block runs; it gets host and port."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=self._accept, args=(server,), daemon=True).start()
            try:
                yield f"127.0.0.1:{server.getsockname()[1]}"
            finally:
                self._plans.stopped.set()

    def _accept(self, server: socket.socket) -> None:
        server.settimeout(0.1)
        while not self._plans.stopped.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        plan = self._plans.next()
        with connection, suppress(OSError):
            connection.settimeout(_LONGEST_SECONDS)
            if plan.ending == REFUSE:
                return
            for request in _requests(connection):
                self._answer(connection, request)
                if request.startswith("PLAY"):
                    self._plans.send(plan, lambda number: connection.sendall(self._packets(number)))
                    return
                if request.startswith("TEARDOWN"):
                    return

    def _answer(self, connection: socket.socket, request: str) -> None:
        number = re.search(r"CSeq: *(\d+)", request, re.IGNORECASE)
        extra, body = self._content(request)
        status = "200 OK"
        if self._login and f"Basic {base64.b64encode(self._login.encode()).decode()}" not in request:
            status, extra, body = "401 Unauthorized", 'WWW-Authenticate: Basic realm="x"\r\n', ""
        head = f"RTSP/1.0 {status}\r\nCSeq: {number[1] if number else 0}\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())

    def _content(self, request: str) -> tuple[str, str]:
        if request.startswith("OPTIONS"):
            return "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\n", ""
        if request.startswith("DESCRIBE"):
            return "Content-Type: application/sdp\r\n", (
                "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n"
                "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\n"
                "a=control:track1\r\n"
            )
        if request.startswith("SETUP"):
            return "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n", ""
        return f"Session: 1\r\nRTP-Info: url=track1;seq={self._sequence + 1};rtptime=0\r\n", ""

    def _packets(self, number: int) -> bytes:
        """The RTP packets (RFC 3550, 5.1) of a frame, each behind its four bytes of interleaving."""
        units = self._access_units[number % len(self._access_units)]
        packets = b""
        for place, unit in enumerate(units):
            self._sequence = (self._sequence + 1) % 65536
            marker = 0x80 if place == len(units) - 1 else 0
            ticks = number * self._FRAME_TICKS
            packet = struct.pack(">BBHII", 0x80, marker | 96, self._sequence, ticks, 1) + unit
            packets += struct.pack(">cBH", b"$", 0, len(packet)) + packet
        return packets


def _requests(connection: socket.socket) -> Iterator[str]:
    """Each request up to its empty line; the client sends no bodies before it plays."""
    waiting = b""
    while more := connection.recv(4096):
        waiting += more
        while b"\r\n\r\n" in waiting:
            request, _, waiting = waiting.partition(b"\r\n\r\n")
            yield request.decode()


def _access_units(stream: bytes) -> list[list[bytes]]:
    """NAL units by frame: a slice (type 1 or 5) ends one, as there is one slice a frame."""
    units: list[list[bytes]] = [[]]
    for unit in re.split(b"\x00\x00\x01", stream)[1:]:
        units[-1].append(unit.rstrip(b"\x00"))
        if unit[0] & 31 in (1, 5):
            units.append([])
    return units[:-1]

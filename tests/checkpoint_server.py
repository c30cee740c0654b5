"""A file on a server of this computer, for tests: it answers as planned, badly if so planned, and counts."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler


@dataclass(frozen=True)
class Plan:
    """What happens at one request.

    Args:
        status: other than 200 and 206: that, with `body` and nothing of the file.
        headers: further ones, or others in place of the usual ones; None leaves one out.
        body: instead of the file.
        cut: close the connection after so many bytes of the body.
        stall: send nothing more after so many bytes of the body, but keep the connection.
        chunked: tell no length, and send in chunks (RFC 9112, 7.1).
        pause: seconds between pieces of 64 KiB.
        then: called once the answer is through.
    """

    status: int = 200
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    cut: int | None = None
    stall: int | None = None
    chunked: bool = False
    pause: float = 0.0
    then: Callable[[], None] = lambda: None


@dataclass
class Served:
    """A file as a server has it.

    Args:
        version: its ETag or, if not in quotes, the date of its last change; None: the server says neither.
        has_ranges: it sends parts when asked for them.
        ignores_if_range: it sends parts of a version other than the one asked for.
        plans: for the requests, in order; the last one holds for all that follow.
    """

    content: bytes
    version: str | None = '"one"'
    has_ranges: bool = True
    ignores_if_range: bool = False
    plans: Sequence[Plan] = (Plan(),)
    asked: list[dict[str, str]] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        plan = self.plans[min(len(self.asked), len(self.plans) - 1)]
        self.asked.append({name.lower(): value for name, value in handler.headers.items()})
        status, body, headers = self._answer(plan, handler)
        handler.send_response(status)
        for name, value in {**headers, **plan.headers}.items():
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()
        self._send(handler, body, plan)
        plan.then()

    @property
    def ranges(self) -> list[str | None]:
        """What part each request asked for."""
        return [headers.get("range") for headers in self.asked]

    def _answer(self, plan: Plan, handler: BaseHTTPRequestHandler) -> tuple[int, bytes, dict[str, str | None]]:
        status, body = plan.status, self.content if plan.body is None else plan.body
        headers: dict[str, str | None] = {"Content-Type": "application/octet-stream", "Connection": "close"}
        if self.version is not None:
            headers["ETag" if '"' in self.version else "Last-Modified"] = self.version
        if self.has_ranges:
            headers["Accept-Ranges"] = "bytes"
        start = self._start(handler)
        if status == 200 and start is not None:
            if start >= len(body):
                status, body = 416, b""
                headers["Content-Range"] = f"bytes */{len(self.content)}"
            else:
                status = 206
                headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
                body = body[start:]
        if plan.chunked:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = str(len(body))
        return status, body, headers

    def _start(self, handler: BaseHTTPRequestHandler) -> int | None:
        """Of the part that is asked for; None: all is to be sent."""
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        same = self.ignores_if_range or handler.headers.get("If-Range") == self.version
        return int(wanted[1]) if wanted and self.has_ranges and same else None

    def _send(self, handler: BaseHTTPRequestHandler, body: bytes, plan: Plan) -> None:
        limit = min((n for n in (plan.cut, plan.stall) if n is not None), default=len(body))
        for place in range(0, min(limit, len(body)), 1 << 16):
            piece = body[place : min(place + (1 << 16), limit)]
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if plan.chunked else piece)
            if plan.pause and self.stopped.wait(plan.pause):
                return
        if plan.stall is not None:
            self.stopped.wait(20.0)
        elif plan.chunked and plan.cut is None:
            handler.wfile.write(b"0\r\n\r\n")

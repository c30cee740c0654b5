"""A server for a page that looks at others or plays clips: with ranges, without which a browser cannot seek."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from subprocess import Popen
from typing import Any

PLAYER = Path(__file__).with_name("play.html")
LOOKER = Path(__file__).with_name("look.html")


@dataclass
class Site:
    """What is served, and what came back.

    Args:
        clips: name -> a clip's file, and the seconds to seek to.
        page: what the browser opens.
        documents: name -> an HTML page to look at.
        widths: pixels of the windows in which to look at them.
        results: what the page posts: name -> what it saw of the clip or the document.
        requests: the paths of all requests.
        ranges: the `Range` headers of all requests for clips.
    """

    clips: dict[str, tuple[Path, list[float]]] = field(default_factory=dict)
    page: Path = PLAYER
    documents: dict[str, bytes] = field(default_factory=dict)
    widths: tuple[int, ...] = ()
    results: "Queue[dict[str, Any]]" = field(default_factory=Queue)
    requests: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve on 127.0.0.1; `site.url` is the address of the page."""
    handler = type("Handler", (_Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, name="site")
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}/"
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def wait_for(site: Site, process: "Popen[bytes]", seconds: float) -> dict[str, Any] | None:
    """The results; None when the time is over or the browser has gone."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            return site.results.get(timeout=1)
        except Empty:
            continue
    return None


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self.site.requests.append(self.path)
        with suppress(ConnectionError):  # a browser leaves in the middle when it has seen enough
            if self.path == "/":
                self._send(self.site.page.read_bytes(), "text/html")
            elif self.path == "/clips.json":
                self._send(json.dumps(self._list_of_clips()).encode(), "application/json")
            elif self.path == "/pages.json":
                self._send(json.dumps(self._list_of_documents()).encode(), "application/json")
            elif self.path[1:] in self.site.documents:
                self._send(self.site.documents[self.path[1:]], "text/html")
            elif self.path[1:] in self.site.clips:
                self._send_part(self.site.clips[self.path[1:]][0].read_bytes())
            else:
                self.send_error(404)

    def do_POST(self) -> None:
        self.site.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(b"", "text/plain")

    def _list_of_clips(self) -> dict[str, Any]:
        return {name: {"url": f"/{name}", "seconds": seconds} for name, (_, seconds) in self.site.clips.items()}

    def _list_of_documents(self) -> dict[str, Any]:
        return {"pages": {name: f"/{name}" for name in self.site.documents}, "widths": self.site.widths}

    def _send_part(self, content: bytes) -> None:
        wanted = self.headers["Range"]
        self.site.ranges.append(wanted)
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
        if span is None:
            self._send(content, "video/mp4")
            return
        first, last = int(span[1]), min(int(span[2] or len(content)), len(content) - 1)
        about = f"bytes {first}-{last}/{len(content)}"
        self._send(content[first : last + 1], "video/mp4", 206, {"Content-Range": about})

    def _send(self, content: bytes, kind: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        about = {"Content-Type": kind, "Content-Length": str(len(content)), "Accept-Ranges": "bytes"}
        for name, value in (about | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

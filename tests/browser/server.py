"""A server for the page `play.html` and its clips, with ranges, without which a browser cannot seek."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

PAGE = Path(__file__).with_name("play.html")


@dataclass
class Site:
    """What is served, and what came back.

    Args:
        clips: name -> a clip's file, and the seconds to seek to.
        results: what the page posts: name -> what it saw of the clip.
        ranges: the `Range` headers of all requests for clips.
    """

    clips: dict[str, tuple[Path, list[float]]]
    results: "Queue[dict[str, Any]]" = field(default_factory=Queue)
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


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        with suppress(ConnectionError):  # a browser leaves in the middle when it has seen enough
            if self.path == "/":
                self._send(PAGE.read_bytes(), "text/html")
            elif self.path == "/clips.json":
                self._send(json.dumps(self._list_of_clips()).encode(), "application/json")
            elif self.path[1:] in self.site.clips:
                self._send_part(self.site.clips[self.path[1:]][0].read_bytes())
            else:
                self.send_error(404)

    def do_POST(self) -> None:
        self.site.results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(b"", "text/plain")

    def _list_of_clips(self) -> dict[str, Any]:
        return {name: {"url": f"/{name}", "seconds": seconds} for name, (_, seconds) in self.site.clips.items()}

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

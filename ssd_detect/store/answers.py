"""What a server's answer to a request for a file, or for the rest of one, is worth."""

import re
from http import HTTPStatus
from typing import NamedTuple

import requests
import urllib3

MAX_BYTES = 4 * 2**30
"""No SSD-VGG in any format is a quarter as large; more is refused before the disk is full."""

LONGEST_WAIT_SECONDS = 120.0
"""A server that asks for more patience than this is not waited for."""

_NUMBER = r"[0-9]{1,19}"  # Python takes thousands of digits for an error

_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})  # RFC 9110; 425 is RFC 8470's, 429 RFC 6585's


class BrokenOffError(Exception):
    """A try failed in a way that the next one may not.

    Args:
        wait_seconds: what the server asks for; None: nothing.
    """

    def __init__(self, reason: str, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds


class RefusedError(Exception):
    """An answer that no further try will better."""


class Body(NamedTuple):
    """What comes: bytes from `start` on, of `total` in all (None: not told), of this version of the file.

    `has_ranges`: the server says that it sends parts of the file.
    """

    start: int
    total: int | None
    version: str
    has_ranges: bool


def body_of(response: requests.Response, start: int, version: str) -> Body:
    """What an answer with status 200 or 206 brings, when bytes from `start` on were asked for.

    Raises:
        BrokenOffError: the file has changed since, or the server may do better later.
        RefusedError: no file will come of this.
    """
    _check_status(response)
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise RefusedError("the server sends it compressed although asked not to")
    body = _body(response, start, version)
    if body.total is not None and body.total > MAX_BYTES:
        raise RefusedError(f"is {body.total:,} bytes large, expected at most {MAX_BYTES:,}")
    return body


def _check_status(response: requests.Response) -> None:
    code = response.status_code
    if code in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return
    words = f"the server answered {code}{_phrase(code)}"
    if code not in _TEMPORARY:
        raise RefusedError(words)
    wait = _asked_wait(response)
    if wait is not None and wait > LONGEST_WAIT_SECONDS:
        raise RefusedError(f"{words} and asks to wait {wait:.0f} seconds; try again then")
    raise BrokenOffError(words, wait)


def _phrase(code: int) -> str:
    """The words of the standard; those of the server may hold anything."""
    return f" ({HTTPStatus(code).phrase})" if code in HTTPStatus._value2member_map_ else ""


def _asked_wait(response: requests.Response) -> float | None:
    """Seconds; a Retry-After that makes no sense asks for nothing."""
    try:
        return urllib3.Retry().get_retry_after(response.raw)
    except (urllib3.exceptions.HTTPError, ValueError, OverflowError):
        return None


def _body(response: requests.Response, start: int, version: str) -> Body:
    now = version_of(response)
    if response.status_code == HTTPStatus.OK:
        length = response.headers.get("Content-Length", "")
        ranges = response.headers.get("Accept-Ranges", "").strip().lower()
        if ranges == "none":
            now = ""  # it cannot be completed
        return Body(0, int(length) if re.fullmatch(_NUMBER, length) else None, now, ranges == "bytes")
    told = re.fullmatch(rf"bytes ({_NUMBER})-\d+/({_NUMBER}|\*)", response.headers.get("Content-Range", "").strip())
    if told is None or int(told[1]) != start or (now and now != version):
        raise BrokenOffError("the server sent another part than the one asked for")
    return Body(start, None if told[2] == "*" else int(told[2]), version, True)


def version_of(response: requests.Response) -> str:
    """What the server calls this version of the file, in a form that If-Range takes; empty where it does not.

    Source: RFC 9110, 13.1.5: a weak tag (`W/`) must not be used.
    """
    tag = str(response.headers.get("ETag", ""))
    return tag if tag.startswith('"') else str(response.headers.get("Last-Modified", ""))


def is_web_page(response: requests.Response, head: bytes) -> bool:
    """Whether this is HTML instead of weights: sites say so when a file is gone or wants a click."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind == "text/html" or re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html)", head, re.IGNORECASE) is not None

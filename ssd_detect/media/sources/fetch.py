"""Pictures from the web, within limits of time, size and place."""

import base64
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import OK, HTTPException, HTTPResponse, IncompleteRead, responses
from urllib.parse import SplitResult, quote, unquote_to_bytes, urljoin

from ssd_detect import __version__
from ssd_detect.errors import PictureError
from ssd_detect.media.decoding.kinds import HEAD_BYTES
from ssd_detect.media.sources.connection import Clock, GuardedConnection, RefusedError
from ssd_detect.media.sources.signatures import is_picture_content
from ssd_detect.media.sources.urls import shown_url, split_url
from ssd_detect.settings import FetchSettings

MAX_REDIRECTS = 5

_BLOCK_BYTES = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)
_DOWNLOAD = "; download the picture and give its file"


def fetch_picture(url: str, settings: FetchSettings) -> bytes:
    """The bytes of the picture at an http or https address; whether they can be decoded is not looked at.

    Every address is checked before it is connected to, and what was checked is what is connected to: a name is looked
    up once, so that it cannot come to mean another machine in between. This holds for each of at most `MAX_REDIRECTS`
    redirects too. A user name and password in the URL are sent to its host alone. The system's own limit rules how long
    the look-up of a name may last; all else ends after `settings.total_seconds`.

    Raises:
        PictureError: no such address, a place that is not allowed, any other answer than a picture (an error, a web
            page, nothing, only a part), too large, or too slow.
    """
    clock = Clock(settings)
    first, origin = shown_url(url), ""
    for _ in range(MAX_REDIRECTS + 1):
        with _explained(url, origin, settings, clock):
            answer = _ask(url, settings, clock)
        if isinstance(answer, bytes):
            return answer
        url, origin = answer.target, f"{first}: redirected to "
    raise PictureError(f"{origin}{shown_url(url)}: more than {MAX_REDIRECTS} redirects are not followed")


@dataclass(frozen=True)
class _Redirect:
    target: str


@contextmanager
def _explained(url: str, origin: str, settings: FetchSettings, clock: Clock) -> Iterator[None]:
    """Turn whatever goes wrong in the block into one line that begins with `origin` and `url`."""
    try:
        yield
    except PictureError as error:  # begins with the URL already
        raise PictureError(f"{origin}{error}") from error
    except (RefusedError, OSError, HTTPException, ValueError) as error:
        raise PictureError(f"{origin}{shown_url(url)}: {_reason(error, settings, clock)}") from error


def _reason(error: Exception, settings: FetchSettings, clock: Clock) -> str:
    """What went wrong, in one line without anything that the server sent."""
    if isinstance(error, TimeoutError):
        complete = f"not complete after {settings.total_seconds:g} s"
        answer = f"no answer within {settings.timeout_seconds:g} s"
        return f"{complete if clock.has_run_out else answer}; raise the limit with --url-timeout"
    if isinstance(error, socket.gaierror | UnicodeError):
        return "its host cannot be found; check the address and the network"
    if isinstance(error, ssl.SSLError):
        return f"no secure connection: {getattr(error, 'verify_message', '') or error.reason or 'it broke off'}"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be fetched: {error.strerror}"
    if isinstance(error, ConnectionError | IncompleteRead):
        return "the connection broke off; try again"
    if isinstance(error, HTTPException):
        return "the server does not speak HTTP as it should"
    return str(error) if isinstance(error, RefusedError) else "leads to no valid address"


def _ask(url: str, settings: FetchSettings, clock: Clock) -> bytes | _Redirect:
    """One request and its answer."""
    parts = split_url(url)
    with closing(GuardedConnection(parts, settings, clock)) as connection:
        connection.request("GET", _target(parts), headers=_headers(parts))
        with connection.getresponse() as response:
            location = response.headers.get("Location")
            if response.status in _REDIRECTS and location:
                # http.client takes every byte for Latin-1, and what is meant is UTF-8.
                return _Redirect(urljoin(url, location.encode("latin-1").decode(errors="surrogateescape")))
            _check_headers(response, settings.max_bytes)
            content = _body(response, settings.max_bytes)
            _check_content(content, response.headers.get_content_maintype())
            return content


def _target(parts: SplitResult) -> str:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return quote(target, safe="%/:?[]@!$&'()*+,;=~", errors="surrogateescape")


def _headers(parts: SplitResult) -> dict[str, str]:
    """What http.client does not say by itself; it says that the answer must not be compressed."""
    headers = {
        "Accept": "image/*, */*;q=0.1",
        "Connection": "close",
        "User-Agent": f"ssd-detect/{__version__}",
    }
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        name, _, password = user.partition(":")
        login = unquote_to_bytes(name) + b":" + unquote_to_bytes(password)
        headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
    return headers


def _check_headers(response: HTTPResponse, max_bytes: int) -> None:
    if response.status != OK:
        raise RefusedError(f"the server answered {_status(response.status)}, expected {_status(OK)}")
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise RefusedError(f"the server sends it compressed although asked not to{_DOWNLOAD}")
    if response.length is not None and response.length > max_bytes:
        raise RefusedError(_about_size(max_bytes))


def _status(code: int) -> str:
    """The number with the words of the standard; those of the server may hold anything."""
    return f"{code} ({responses[code]})" if code in responses else str(code)


def _about_size(max_bytes: int) -> str:
    return f"is larger than {max_bytes / 2**20:.4g} MiB, the limit for a URL{_DOWNLOAD}"


def _body(response: HTTPResponse, max_bytes: int) -> bytes:
    content = bytearray()
    while block := response.read1(_BLOCK_BYTES):
        content += block
        if len(content) > max_bytes:
            raise RefusedError(_about_size(max_bytes))
    if response.length:  # what was announced and has not come
        whole = len(content) + response.length
        raise RefusedError(f"the connection broke off after {len(content)} of {whole} bytes; try again")
    return bytes(content)


def _check_content(content: bytes, kind: str) -> None:
    """`kind` is what the server calls it, such as `image`; the content has the last word."""
    if not content:
        raise RefusedError("the server sent 0 bytes, expected a picture")
    if is_picture_content(content[:HEAD_BYTES]):
        return
    if kind == "text" or re.match(rb"(?:\xef\xbb\xbf)?\s*<", content):
        raise RefusedError("is a web page or other text, no picture; give the address of the picture itself")

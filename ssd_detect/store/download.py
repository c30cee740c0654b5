"""Fetching a file over HTTP, however often the connection breaks.

Built on requests and urllib3, which are well kept, and honour proxies (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) and
REQUESTS_CA_BUNDLE. pooch was looked at: it cannot go on with half a file, nor check the id that git gives one.
"""

import http.client
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import chain
from urllib.parse import urljoin

import requests
import urllib3

from ssd_detect import __version__
from ssd_detect.errors import CheckpointError, OutputError
from ssd_detect.files import explained_writing
from ssd_detect.media.sources.urls import shown_url
from ssd_detect.store.answers import MAX_BYTES, Body, BrokenOffError, RefusedError, body_of, is_web_page
from ssd_detect.store.listener import Listener
from ssd_detect.store.part import Part

_BLOCK_BYTES = 1 << 14  # what comes of a block before the connection breaks is lost, so not large
_MAX_REDIRECTS = 10
_RETRIES = urllib3.Retry(total=5, backoff_factor=0.5, backoff_max=30)
_PROGRESS_BYTES = 1 << 20  # a try that brings so many does not count against the number of tries
_NO_ADDRESS = "leads to no valid address"
_FOREVER = (  # of the errors of requests, those that the next try would meet again
    requests.exceptions.SSLError,
    requests.exceptions.TooManyRedirects,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    requests.exceptions.InvalidHeader,
)


def download(url: str, part: Part, timeout_seconds: float, listener: Listener) -> None:
    """Fetch all of `url` into `part`, going on with what is there if it is of the same version.

    Args:
        timeout_seconds: for connecting, and for each wait between bytes.

    Raises:
        CheckpointError: it cannot be had; what has come stays in `part` if it is of use.
        OutputError: `part` cannot be written, or has too little room.
    """
    retries = _RETRIES
    with _Session() as session:
        while True:
            before = part.size
            try:
                return _attempt(session, url, part, timeout_seconds, listener)
            except RefusedError as error:
                raise CheckpointError(f"{shown_url(url)}: {error}") from error
            except BrokenOffError as error:
                retries = _pause(_RETRIES if part.size - before >= _PROGRESS_BYTES else retries, url, error, listener)


class _Session(requests.Session):
    """Never lets itself be sent from a secured address to an open one."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = _MAX_REDIRECTS
        self.headers.update({"User-Agent": f"ssd-detect/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"})

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target and resp.url.startswith("https:") and not urljoin(resp.url, target).startswith("https:"):
            resp.close()
            raise RefusedError("redirects from https to an address that is not secured")
        return target


def _pause(retries: urllib3.Retry, url: str, error: BrokenOffError, listener: Listener) -> urllib3.Retry:
    """Wait before the next try; what is left of the tries.

    Raises:
        CheckpointError: none is left.
    """
    try:
        left = retries.increment("GET", url)
    except urllib3.exceptions.MaxRetryError as spent:
        tries = _RETRIES.total
        raise CheckpointError(
            f"{shown_url(url)}: {error}; gave up after {tries} more tries; try again later"
        ) from spent
    listener.on_note(f"{shown_url(url)}: {error}; trying again")
    time.sleep(left.get_backoff_time() if error.wait_seconds is None else error.wait_seconds)
    return left


def _attempt(session: requests.Session, url: str, part: Part, timeout_seconds: float, listener: Listener) -> None:
    version = part.version_of(url)
    start = part.size if version else 0
    headers = {"Range": f"bytes={start}-", "If-Range": version} if start else {}
    with _explained(timeout_seconds):
        response = session.get(url, headers=headers, stream=True, timeout=timeout_seconds)
    with response:
        if start and response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if response.headers.get("Content-Range", "").strip() == f"bytes */{start}":
                return  # there is no more: an earlier run had fetched all
            part.discard()
            raise BrokenOffError("the file there is shorter than what is here of it")
        try:
            body = body_of(response, start, version)
        except BrokenOffError:
            if response.ok:  # a part of another file: what is here is of no use
                part.discard()
            raise
        _save(response, url, body, part, timeout_seconds, listener)


def _save(
    response: requests.Response, url: str, body: Body, part: Part, timeout_seconds: float, listener: Listener
) -> None:
    """Write what comes behind what is there, and see that it is all."""
    _check_room(part, body)
    here = body.start
    blocks = _blocks(response, timeout_seconds)
    if here == 0:
        first = next(blocks, b"")
        _check_beginning(response, first, body)
        part.begin(url, body.version, has_ranges=body.has_ranges)
        blocks = chain([first], blocks)
    with explained_writing(part.target), part.path.open("ab") as file:
        for block in blocks:
            here += len(block)
            _check_size(here, body)
            file.write(block)
            listener.on_bytes(here, body.total)
    if body.total is not None and here < body.total:
        raise BrokenOffError(f"the connection broke off after {here:,} of {body.total:,} bytes")


def _check_beginning(response: requests.Response, first: bytes, body: Body) -> None:
    """Before anything is written, or what is here already is forgotten for it."""
    if first and is_web_page(response, first):
        raise RefusedError("the server sent a web page, expected weights; get the file by hand")
    if not first and not body.total:
        raise RefusedError("the server sent 0 bytes, expected weights")


def _check_room(part: Part, body: Body) -> None:
    with explained_writing(part.target):
        free = shutil.disk_usage(part.target.parent).free
    needed = (body.total or 0) - body.start
    if needed > free:
        raise OutputError(
            f"{part.target}: cannot be written: {needed:,} bytes are to come, {free:,} are free in {part.target.parent}"
        )


def _check_size(here: int, body: Body) -> None:
    if body.total is not None and here > body.total:
        raise RefusedError(f"the server sends more than the {body.total:,} bytes that it announced")
    if here > MAX_BYTES:
        raise RefusedError(f"is larger than {MAX_BYTES:,} bytes, expected at most so many")


def _blocks(response: requests.Response, timeout_seconds: float) -> Iterator[bytes]:
    while True:
        with _explained(timeout_seconds):
            block = response.raw.read(_BLOCK_BYTES, decode_content=False)
        if not block:
            return
        yield block


@contextmanager
def _explained(timeout_seconds: float) -> Iterator[None]:
    """Turn the errors of both libraries, inside the block, into ours.

    Raises:
        BrokenOffError, RefusedError: as their names say.
    """
    try:
        yield
    except _FOREVER as error:
        raise RefusedError(_reason(error)) from error
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise BrokenOffError(f"nothing came for {timeout_seconds:g} seconds") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        if _is_no_http(error):
            raise RefusedError("what answers there does not speak HTTP; correct the address") from error
        raise BrokenOffError(_reason(error)) from error
    except ValueError as error:  # of the standard library, on addresses that make no sense
        raise RefusedError(_NO_ADDRESS) from error


def _reason(error: Exception) -> str:
    if isinstance(error, requests.exceptions.SSLError):
        return "no secure connection: the server's certificate is not trusted (REQUESTS_CA_BUNDLE names others)"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy that HTTP_PROXY or HTTPS_PROXY names does not answer as one"
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return f"redirects more than {_MAX_REDIRECTS} times"
    if isinstance(error, requests.exceptions.InvalidSchema) and "SOCKS" not in str(error):
        return "leads to no address that begins with http:// or https://, expected one that does"
    if isinstance(error, _FOREVER):
        return _NO_ADDRESS
    if isinstance(error, urllib3.exceptions.ProtocolError):
        return "the connection broke off"
    return f"the server cannot be reached: {_why_unreachable(error)}"


def _why_unreachable(error: BaseException) -> str:
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror | urllib3.exceptions.NameResolutionError) for cause in causes):
        return "its name is not found"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "it refuses the connection"
    told = (cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror)
    return next(told, "the connection broke off before it answered")


def _is_no_http(error: BaseException) -> bool:
    """An answer that is none. That of one who hangs up is an empty one, and no reason to give up."""
    return any(
        isinstance(cause, http.client.HTTPException)
        and not isinstance(cause, http.client.RemoteDisconnected | http.client.IncompleteRead)
        for cause in _causes(error)
    )


def _causes(error: BaseException, depth: int = 8) -> Iterator[BaseException]:
    """The error and those in it: both libraries wrap one in the other, each in a way of its own."""
    yield error
    inner = (error.__cause__, error.__context__, getattr(error, "reason", None), *error.args)
    for cause in inner if depth else ():
        if isinstance(cause, BaseException):
            yield from _causes(cause, depth - 1)

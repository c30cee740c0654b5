"""A connection of http.client that knows where it may go and how long it may take.

Only the standard library: which address is really connected to, and how long each wait lasts, is out of reach in the
libraries above it. Proxies named in the environment are not used, since behind a proxy nobody could tell which address
is asked.
"""

import functools
import io
import ipaddress
import socket
import ssl
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import SplitResult

from ssd_detect.settings import FetchSettings

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last four bytes are an IPv4 address


class RefusedError(Exception):
    """An address that must not be asked, or an answer that is not accepted; the message lacks the URL."""


def is_public_address(address: str) -> bool:
    """Whether an IP address belongs to the public internet, and to a single machine."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(ip.packed[12:]) if ip in _NAT64 else None)
        if inner is not None:
            return is_public_address(str(inner))
        if ip.is_site_local:
            return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)


class Clock:
    """How long the next wait may last, so that all of them together end in time."""

    def __init__(self, settings: FetchSettings) -> None:
        self._longest = settings.timeout_seconds
        self._end = time.monotonic() + settings.total_seconds

    @property
    def has_run_out(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._end

    def seconds(self) -> float:
        """Above 0.

        Raises:
            TimeoutError: no time is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(self._longest, left)


class GuardedConnection(HTTPConnection):
    """One request to the host of a URL, at an address that has been checked."""

    def __init__(self, parts: SplitResult, settings: FetchSettings, clock: Clock) -> None:
        self._tls = parts.scheme == "https"
        self.default_port = 443 if self._tls else 80
        super().__init__(parts.hostname or "", parts.port or self.default_port)
        self._settings = settings
        self._clock = clock

    def connect(self) -> None:
        """Look the host up once, and connect to the first of its addresses that is allowed and answers.

        Raises:
            RefusedError: no address is allowed.
            OSError: none answers, or the connection cannot be made secure.
        """
        addresses = _addresses(self.host, self.port, self._settings)
        plain = _connected(addresses, self._clock)
        try:
            secured = _tls_context().wrap_socket(plain, server_hostname=self.host) if self._tls else plain
        except BaseException:
            plain.close()
            raise
        self.sock = _TimedSocket(secured, self._clock)


_Place = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
_AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, _Place]
"""As `socket.getaddrinfo` gives it; the place comes last and begins with the IP address."""


def _addresses(host: str, port: int, settings: FetchSettings) -> Sequence[_AddressInfo]:
    """Where a host is, without the places that are not allowed.

    Raises:
        RefusedError: none is allowed.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    allowed = [info for info in found if settings.allow_private or is_public_address(str(info[-1][0]))]
    if not allowed:
        where = found[0][-1][0]
        raise RefusedError(f"{where} is a local or private address; use --allow-private-urls if it may be asked")
    return allowed


def _connected(addresses: Sequence[_AddressInfo], clock: Clock) -> socket.socket:
    """A connection to the first address that takes one."""
    failure: OSError = OSError("no address")
    for family, kind, protocol, _, place in addresses:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(clock.seconds())
            connection.connect(place)
            return connection
        except OSError as error:
            connection.close()
            failure = error
    raise failure


@functools.cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


class _TimedSocket:
    """What http.client needs of a socket, with the clock in charge of every wait."""

    def __init__(self, connection: socket.socket, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def sendall(self, content: bytes) -> None:
        self._connection.settimeout(self._clock.seconds())
        self._connection.sendall(content)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._connection, self._clock))

    def close(self) -> None:
        self._connection.close()


class _TimedReader(io.RawIOBase):
    """Reads from a socket; keeps it open until it is closed itself, as files of sockets do."""

    def __init__(self, connection: socket.socket, clock: Clock) -> None:
        super().__init__()
        self._connection = connection
        self._file = connection.makefile("rb", buffering=0)
        self._clock = clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        self._connection.settimeout(self._clock.seconds())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()

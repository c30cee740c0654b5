"""Addresses on the web: which text is one, what it is made of, and how it is shown to people."""

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from ssd_detect.errors import PictureError

WEB_SCHEMES = ("http", "https")

_ANY_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_USER = re.compile(r"^([^/?#]*//)[^/?#]*@")
_SECRET = re.compile(r"([?&;][^=&;#]*(?:token|key|secret|sig|auth|pass|cred)[^=&;#]*=)[^&;#]+", re.IGNORECASE)


def is_url(text: str) -> bool:
    """Whether `text` is an address of any scheme; `split_url` says whether it is one that can be fetched."""
    return _ANY_URL.match(text) is not None


def split_url(url: str, schemes: Sequence[str] = WEB_SCHEMES) -> SplitResult:
    """The parts of an address of one of these schemes; its host and port are there and make sense.

    Raises:
        PictureError: another scheme, no host, or no address at all.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        shown = re.sub("//.*@", "//", shown_url(url))  # where the password ends cannot be told
        raise PictureError(f"{shown}: is no valid address") from error
    if parts.scheme not in schemes:
        *others, last = (f"{scheme}://" for scheme in schemes)
        raise PictureError(f"{shown_url(url)}: only {', '.join(others)} and {last} addresses can be read")
    if not host or re.search(r"[\s\x00-\x1f\x7f]", host) or port == 0:
        raise PictureError(f"{shown_url(url)}: is no valid address")
    return parts


def without_secrets(url: str) -> str:
    """`url` without user name, password and fragment; values of parameters that look like a secret are hidden."""
    bare = _USER.sub(r"\1", url.partition("#")[0])
    return _SECRET.sub(r"\1***", bare)


def shown_url(url: str) -> str:
    """`url` as messages and results show it.

    User name and password are left out, values of parameters that look like a secret (`token=`, `X-Amz-Signature=`)
    are hidden, the fragment goes, and what a terminal cannot print is escaped.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in without_secrets(url))

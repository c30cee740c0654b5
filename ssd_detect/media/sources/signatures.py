"""Whether a file found in a folder is a picture: by its first bytes, or by its name where they cannot tell.

`kinds` says of what kind a picture is. Here the question is stricter: a text that happens to begin like one is none.
"""

import re

from ssd_detect.media.decoding.kinds import kind_of

# Formats that cannot be read here are in, so that their files are reported and not passed over.
_SUFFIX = re.compile(
    r"\.(?:jpe?g|jpe|jfif|a?png|gif|bmp|dib|tiff?|webp|avifs?|hei[cf]s?|hif|j(?:p2|2k|pc|pf|px|xl)|p[bfgnp]m|tga|qoi)",
    re.IGNORECASE,
)


def is_picture_content(head: bytes) -> bool:
    """Whether a file that begins with `head` (`kinds.HEAD_BYTES` of it) is a picture."""
    kind = kind_of(head)
    if kind == "BMP":
        return head[6:10] == bytes(4)  # reserved
    if kind == "PPM":
        return re.match(rb"P.\s+[\d#]", head) is not None  # then comes the width, or a comment
    return kind is not None


def is_picture_suffix(suffix: str) -> bool:
    """Whether `suffix` (with its dot, in any letter case) promises a picture."""
    return _SUFFIX.fullmatch(suffix) is not None

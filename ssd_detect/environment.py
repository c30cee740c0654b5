"""The one module that reads or changes the process around us: environment variables and the error stream.

Only the command line uses it. The library leaves the process of its caller alone.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def silence_tensorflow() -> None:
    """Turn TensorFlow's log off, unless the user has set a level; works only before its import."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def silence_encoders() -> None:
    """Let SVT-AV1 report errors only, unless the user has set a level; works only before its first use."""
    os.environ.setdefault("SVT_LOG", "1")


def hide_gpus() -> None:
    """Leave every GPU untouched: CUDA then reports none; works only before TensorFlow's import."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def variables() -> dict[str, str]:
    """A copy of all environment variables, for the doctor's probes."""
    return dict(os.environ)


def open_standard_streams() -> None:
    """Give each standard stream that the caller has closed to the null device.

    Else the next file that is opened takes its number, and what native code writes to the error stream ends in it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person watches; a closed stream is None."""
    return stream is not None and stream.isatty()


@contextmanager
def held_back_stderr() -> Iterator[None]:
    """Hold back what native code writes to the error stream; show it only if the block fails.

    TensorFlow 2.21 greets with ten lines during its import whatever its log level says, past `sys.stderr`.
    """
    if sys.stderr is not None:  # None when the caller closed it
        sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(saved, 2)
            held.seek(0)
            os.write(2, held.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)

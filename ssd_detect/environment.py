"""The one module that reads or changes the process around us: environment variables and the error stream.

Only the command line uses it. The library leaves the process of its caller alone.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


def silence_tensorflow() -> None:
    """Turn TensorFlow's log off, unless the user has set a level; works only before its import."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def hide_gpus() -> None:
    """Leave every GPU untouched: CUDA then reports none; works only before TensorFlow's import."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


@contextmanager
def held_back_stderr() -> Iterator[None]:
    """Hold back what native code writes to the error stream; show it only if the block fails.

    TensorFlow 2.21 greets with ten lines during its import whatever its log level says, past `sys.stderr`.
    """
    try:
        saved = os.dup(2)
    except OSError:  # closed by the caller: nothing can be written to it anyway
        yield
        return
    sys.stderr.flush()
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

"""The one module that reads or changes the process around us: environment variables, error stream, collector.

Only the command line changes anything for good. The library leaves the process of its caller alone; it asks here for
the folders of the user, for what its child processes are to know, and for an import that is not reported.
"""

import ctypes
import faulthandler
import gc
import getpass
import importlib
import os
import platform
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import platformdirs

_ALLOCATOR_VARIABLES = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"}
# M_MMAP_THRESHOLD, bytes from which a buffer is the system's own, at the highest that glibc takes on 64 bits; and
# M_TRIM_THRESHOLD, bytes of which more may not lie idle at the end. By their numbers in malloc.h.
_ALLOCATOR_OPTIONS = {-3: 32 * 2**20, -1: 256 * 2**20}

_SIGNALLED = 128  # plus its number is the status of a process that a signal ended


def silence_tensorflow() -> None:
    """Turn TensorFlow's log off, unless the user has set a level; works only before its import."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def leave_keras_out() -> None:
    """Keep TensorFlow from importing Keras, and Matplotlib with it, which nothing here uses; before its import only.

    Towards its end, `tensorflow/__init__.py` imports the optimisers of the Keras that TF_USE_LEGACY_KERAS chooses, and
    does without where that one is not installed. With Keras 3 and Matplotlib that import is a quarter of TensorFlow's
    own time. What the user has set counts, and an installed `tf_keras` would be no less than Keras.
    """
    for name, value in without_keras().items():
        os.environ.setdefault(name, value)


def without_keras() -> dict[str, str]:
    """The variables of `leave_keras_out`, for child processes; what the user has set is to go before."""
    return {"TF_USE_LEGACY_KERAS": "1"} if find_spec("tf_keras") is None else {}


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import in the block without collecting garbage, and leave what is there at its end out of later collections.

    Modules make some million objects that all stay. The collector goes through them again and again while they come,
    and once more when the program ends: a fifth of the time of TensorFlow's import, and most of that of the end.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def end_quickly() -> None:
    """Spare Python its last search for garbage: the process ends, and files are closed by those who opened them."""
    gc.freeze()


def keep_freed_memory() -> None:
    """Let glibc keep what is freed for the next buffer; does nothing with another C library, or where the user chose.

    By itself it gives large buffers back to the system, or not, as it happens to have learned from those before, and
    the system clears each page anew: on a virtual machine a 720p frame then took 3.7 instead of 2.2 ms to resize, and
    8.9 instead of 5.9 ms to decode.
    """
    if sys.platform != "linux" or os.environ.keys() & _ALLOCATOR_VARIABLES:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in _ALLOCATOR_OPTIONS.items():
            mallopt(option, value)


def silence_encoders() -> None:
    """Let SVT-AV1 report errors only, unless the user has set a level; works only before its first use."""
    os.environ.setdefault("SVT_LOG", "1")


def tell_where_on_signal() -> None:
    """Write where each thread is to the error stream on SIGUSR1, which Windows lacks."""
    number = getattr(signal, "SIGUSR1", None)
    if number is not None:
        faulthandler.register(number)


class Terminated(SystemExit):
    """A signal ends this process; no other `SystemExit` comes from outside."""


@contextmanager
def terminated_in_order() -> Iterator[None]:
    """Inside the block, SIGTERM ends this process with status 143 and all that is to be done at an end."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated(_SIGNALLED + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def hide_gpus() -> None:
    """Leave every GPU untouched: CUDA then reports none; works only before TensorFlow's import."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"


def import_untracked(name: str) -> Any:
    """Import a package that reports to its maker, over the network, that it is used, without letting it.

    onnxruntime (1.32 on Linux) does so from its own code, and asks a variable, once, whether it may; openvino (2026)
    through a second package, and does without where that is missing. Neither sees a change after the import: what is
    changed in this process for it is put back at once, and processes that this one starts are told nothing.

    Raises:
        ImportError: as an import.
    """
    if name in sys.modules:
        return importlib.import_module(name)
    with _one_import, _telemetry_refused():
        return importlib.import_module(name)


_one_import = threading.RLock()  # else the first of two threads to be done would give the other one's import away


@contextmanager
def _telemetry_refused() -> Iterator[None]:
    hidden = {"openvino_telemetry": None} if "openvino_telemetry" not in sys.modules else {}
    is_set = "ORT_DISABLE_TELEMETRY" in os.environ  # by the caller or the user, who decide
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    sys.modules.update(hidden)  # type: ignore[arg-type] # None is what keeps a module from being imported
    try:
        yield
    finally:
        for module in hidden:
            sys.modules.pop(module, None)
        if not is_set:
            os.environ.pop("ORT_DISABLE_TELEMETRY", None)


def variables() -> dict[str, str]:
    """A copy of all environment variables, for the doctor's probes and for child processes."""
    return dict(os.environ)


def for_quiet_child(*, without_gpus: bool) -> dict[str, str]:
    """Variables for a child process that imports TensorFlow and is to say nothing but its errors."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1"} if without_gpus else {}
    return {**without_keras(), **variables(), "TF_CPP_MIN_LOG_LEVEL": "3", **hidden}


def open_standard_streams() -> None:
    """Give each standard stream that the caller has closed to the null device.

    Else the next file that is opened takes its number, and what native code writes to the error stream ends in it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def settings_folder() -> Path:
    """Where the user's own lists of checkpoints (`*.toml`) lie; SSD_DETECT_HOME, or as the platform has it."""
    own = os.environ.get("SSD_DETECT_HOME")
    return Path(own).absolute() if own else platformdirs.user_config_path("ssd-detect", appauthor=False)


def checkpoint_cache() -> Path:
    """Where fetched checkpoints lie; `checkpoints` in SSD_DETECT_HOME, or in the platform's folder for caches."""
    own = os.environ.get("SSD_DETECT_HOME")
    home = Path(own).absolute() if own else platformdirs.user_cache_path("ssd-detect", appauthor=False)
    return home / "checkpoints"


def engine_cache() -> Path:
    """Where networks lie that were made ready for other engines; `engines`, beside the fetched checkpoints."""
    return checkpoint_cache().with_name("engines")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person watches; a closed stream is None."""
    return stream is not None and stream.isatty()


def shows_colours(stream: TextIO | None) -> bool:
    """Whether colours are wanted and can be seen; see https://no-color.org."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def held_back_stderr() -> Iterator[None]:
    """Hold back what native code writes to the error stream; show it only if the block fails, not when it is stopped.

    TensorFlow 2.21 greets with ten lines during its import whatever its log level says, past `sys.stderr`.
    """
    if sys.stderr is not None:  # None when the caller closed it
        sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except Exception:
            os.dup2(saved, 2)
            held.seek(0)
            os.write(2, held.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def home_folders() -> tuple[str, ...]:
    """The user's home folder as it is named and as it is reached; none where the system knows none."""
    try:
        home = Path.home()
    except RuntimeError:  # a user id without an entry, as in containers
        return ()
    return tuple({str(home), os.path.realpath(home)})


def user_names() -> tuple[str, ...]:
    """What the user is called; nothing where the system does not know."""
    names = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
    with suppress(OSError, KeyError, ImportError):  # a user id without an entry; which, depends on Python's version
        names.add(getpass.getuser())
    return tuple(filter(None, names))


def host_names() -> tuple[str, ...]:
    """What the computer is called, with and without its domain."""
    name = platform.node()
    names = {name, name.split(".")[0], os.environ.get("COMPUTERNAME", ""), os.environ.get("HOSTNAME", "")}
    return tuple(names - {"", "localhost"})

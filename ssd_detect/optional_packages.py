"""Packages that not everybody has: under which name they are installed, and what to say when their import fails."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata

from ssd_detect.environment import Terminated
from ssd_detect.errors import DeviceError, MissingPackageError, SsdDetectError

ONNXRUNTIME_DISTRIBUTIONS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
)
"""All that bring the module onnxruntime."""


def version_of(distribution: str) -> str | None:
    """As it tells it itself, without an import; None where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def installed_of(distributions: Sequence[str]) -> str:
    """The one of these that is installed; the first where none is."""
    return next((name for name in distributions if version_of(name) is not None), distributions[0])


@contextmanager
def explained_import(module: str, distribution: str, needs: str, install: str) -> Iterator[None]:
    """Turn whatever the import of a package, in the block, raises into one line that says what to do.

    Args:
        module: that is imported.
        distribution: that brings it.
        needs: that and for what it is needed, in words.
        install: what to type where it is missing.

    Raises:
        MissingPackageError: it is not installed.
        DeviceError: it is, and something in it fails.
    """
    try:
        yield
    except Terminated:  # not by the package
        raise
    except (Exception, SystemExit) as error:  # a broken package raises what it likes
        raise _missing_or_broken(error, module, distribution, needs, install) from error


def _missing_or_broken(
    error: BaseException, module: str, distribution: str, needs: str, install: str
) -> SsdDetectError:
    if isinstance(error, ModuleNotFoundError) and error.name == module:
        return MissingPackageError(f"{needs} ({error}): {install}")
    reason = reason_in_words(error)
    return DeviceError(
        f"{needs}, which is installed but does not start ({reason}): pip install --force-reinstall {distribution}"
    )


def reason_in_words(error: BaseException) -> str:
    """Why an import failed, in one line: of what is no `ImportError`, its kind as well."""
    reason = (str(error).strip().splitlines() or [""])[0]
    if isinstance(error, ImportError):
        return reason
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__

"""Every error that this package raises on purpose, and the exit status that each one stands for."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """What the `ssd-detect` command says to the shell."""

    DONE = 0  # also when nothing was detected
    FAILED = 1
    USAGE = 2
    SOME_FAILED = 3  # some inputs failed, the others are done
    NO_CHECKPOINT = 4
    INTERRUPTED = 130


class SsdDetectError(Exception):
    """Root of the tree: one line saying what was found, what was expected, and what to do."""

    exit_status = ExitStatus.FAILED


class SettingError(SsdDetectError, ValueError):
    """A setting has a value that makes no sense."""

    exit_status = ExitStatus.USAGE


class UnknownClassError(SettingError):
    """A class name that the checkpoint does not know."""


class CheckpointError(SsdDetectError):
    """No usable checkpoint: missing, damaged, or of another network."""

    exit_status = ExitStatus.NO_CHECKPOINT


class PictureError(SsdDetectError):
    """A picture cannot be read, or an array is not a picture."""


class VideoError(SsdDetectError):
    """A video cannot be read or written."""


class OutputError(SsdDetectError):
    """A result cannot be written where it was asked for."""


class FormatError(SsdDetectError):
    """A file of results or annotations is damaged, or is of another kind than expected."""


class DeviceError(SsdDetectError):
    """The device asked for is not there, has too little memory, or an engine fails there or computes other numbers."""


class ClosedError(SsdDetectError):
    """A Detector was used after `close()`."""


class MissingPackageError(SsdDetectError, ImportError):
    """An optional package is needed for this; the message holds the line that installs it."""

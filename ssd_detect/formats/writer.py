"""What the writers of text formats have in common: when files are made, and that each is whole or absent."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, ClassVar, TypeVar

from ssd_detect.errors import OutputError
from ssd_detect.files import explained_writing, whole_file
from ssd_detect.formats.record import OutputSettings, PictureRecord

Writer = TypeVar("Writer", bound="FormatWriter")


class GrowingFile:
    """A file, open for a time, that takes each piece wholly or not at all.

    Args:
        target: the name that it will have, to be used in errors.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._stream: IO[bytes] | None = None

    @contextmanager
    def opened(self, stream: IO[bytes]) -> Iterator[None]:
        """Within the block, pieces go to `stream`, which has no buffer: what it refused must not be written later."""
        self._stream = stream
        try:
            yield
        finally:
            self._stream = None

    def _opened_stream(self) -> IO[bytes]:
        if self._stream is None:
            raise OutputError(f"{self.target}: is not open; append inside a with block")
        return self._stream

    def append(self, data: bytes) -> None:
        """Write at the end.

        Raises:
            OutputError: the system refuses, and the file is as it was before; or it is not open.
        """
        with explained_writing(self.target), self.all_or_nothing():
            rest = memoryview(data)
            while rest:
                rest = rest[self._opened_stream().write(rest) :]

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """When the block raises, what it appended is taken back."""
        stream = self._opened_stream()
        end = stream.tell()
        try:
            yield
        except BaseException:
            stream.seek(end)
            stream.truncate()
            raise

    def chunks(self, size: int = 1 << 20) -> Iterator[bytes]:
        """The whole content, at most `size` bytes at a time."""
        stream = self._opened_stream()
        stream.seek(0)
        while chunk := stream.read(size):
            yield chunk


@contextmanager
def opened_whole(file: GrowingFile, *, overwrite: bool) -> Iterator[None]:
    """Within the block `file` takes pieces; it has its name when the block ends well, and is gone when it does not.

    Raises:
        OutputError: the file exists and must not be replaced, or the system refuses.
    """
    with whole_file(file.target, overwrite=overwrite) as temporary, ExitStack() as closing:
        with explained_writing(file.target):
            stream = closing.enter_context(temporary.open("wb", buffering=0))
        with file.opened(stream):
            yield


def write_whole(target: Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file at once, wholly or not at all.

    Raises:
        OutputError: the file exists and must not be replaced, or the system refuses.
    """
    with whole_file(target, overwrite=overwrite) as temporary, explained_writing(target):
        temporary.write_bytes(content)


@contextmanager
def nameless_stream(folder: Path) -> Iterator[IO[bytes]]:
    """An unbuffered file in `folder` for what waits there to be put elsewhere; it vanishes at the block's end.

    Raises:
        OutputError: the system refuses.
    """
    with ExitStack() as closing:
        with explained_writing(folder):
            stream = closing.enter_context(tempfile.TemporaryFile(buffering=0, dir=folder))
        yield stream


class FormatWriter(ABC):
    """A `DetectionsWriter`; a format overrides what it needs.

    Args:
        settings: where and how to write.
    """

    def __init__(self, settings: OutputSettings) -> None:
        self.settings = settings
        self._open = ExitStack()

    def own_targets(self, key: PurePosixPath) -> list[Path]:
        """The files that the picture with this key gets for itself."""
        return []

    def shared_targets(self) -> list[Path]:
        """The files that all pictures share."""
        return []

    @abstractmethod
    def append(self, record: PictureRecord) -> None:
        """Write one picture's detections, all of them or, when it raises, none.

        Raises:
            OutputError: the system refuses, or a file exists that must not be replaced.
        """

    @contextmanager
    def opened(self) -> Iterator[None]:
        """What surrounds the appending: open before, complete after it went well, drop when it did not."""
        yield

    def __enter__(self: Writer) -> Writer:
        self._open.enter_context(self.opened())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)


class OwnFileWriter(FormatWriter):
    """A file a picture, `<folder>/<key><suffix>`."""

    suffix: ClassVar[str]

    def own_targets(self, key: PurePosixPath) -> list[Path]:
        """The one file of the picture with this key."""
        return [self.settings.folder / f"{key}{self.suffix}"]

    def append(self, record: PictureRecord) -> None:
        """Write the picture's file.

        Raises:
            OutputError: the system refuses, or the file exists and must not be replaced.
        """
        (target,) = self.own_targets(record.key)
        write_whole(target, self.content(record), overwrite=self.settings.overwrite)

    @abstractmethod
    def content(self, record: PictureRecord) -> bytes:
        """What the picture's file holds."""


class SharedFileWriter(FormatWriter):
    """One file for all pictures, `<folder>/<file_name>`; it appears when the block ends well."""

    def __init__(self, settings: OutputSettings, file_name: str) -> None:
        super().__init__(settings)
        self.target = settings.folder / file_name
        self.file = GrowingFile(self.target)

    def shared_targets(self) -> list[Path]:
        """The one file of all pictures."""
        return [self.target]

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The shared file is open within."""
        with opened_whole(self.file, overwrite=self.settings.overwrite):
            yield

"""Everything that a run writes for a picture, in one place."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.batch.pixel_writers import DonePicture, PixelWriter
from ssd_detect.errors import OutputError, SettingError, SsdDetectError
from ssd_detect.files import check_target, remove_leftovers
from ssd_detect.formats.record import DetectionsWriter, PictureRecord
from ssd_detect.media.sources.inputs import PictureInput


@dataclass(frozen=True)
class Outputs:
    """The writers of a run.

    Args:
        pixel_writers: make pictures of pictures.
        text_writers: write detections as data.
        report: told of every picture that is done, and of its own files.
        overwrite: existing files may be replaced.
    """

    pixel_writers: tuple[PixelWriter, ...]
    text_writers: tuple[DetectionsWriter, ...]
    report: Callable[[PictureRecord, list[Path]], None]
    overwrite: bool

    def targets(self, source: PictureInput) -> list[Path]:
        """All files that an input gets for itself."""
        of_pixels = [path for writer in self.pixel_writers for path in writer.own_targets(source)]
        return of_pixels + [path for writer in self.text_writers for path in writer.own_targets(source.key)]

    def shared_targets(self) -> list[Path]:
        """All files that the inputs share."""
        return [path for writer in self.text_writers for path in writer.shared_targets()]

    def check_shared(self) -> None:
        """Find out before the work begins whether the shared files may be written.

        Raises:
            OutputError: one may not.
            SettingError: two are the same.
        """
        shared = self.shared_targets()
        for i, path in enumerate(shared):
            if _folded(path.absolute()) in {_folded(other.absolute()) for other in shared[:i]}:
                raise SettingError(f"{path}: is asked for twice, by --json and by a format; leave one of them out")
            check_target(path, overwrite=self.overwrite)

    def possible(
        self, sources: Iterable[PictureInput], on_failure: Callable[[PictureInput, SsdDetectError], None]
    ) -> Iterator[PictureInput]:
        """The inputs whose files may be written; `on_failure` hears of the others."""
        taken = {_folded(path): "all pictures" for path in self.shared_targets()}
        for source in sources:
            try:
                for path in self.targets(source):
                    check_target(path, source.path, overwrite=self.overwrite)
                    if _folded(path) in taken:
                        raise OutputError(f"{source.name}: its {path} is the file of {taken[_folded(path)]} already")
            except SsdDetectError as error:
                on_failure(source, error)
            else:
                taken |= {_folded(path): source.name for path in self.targets(source)}
                yield source

    def remove_leftovers(self, sources: Iterable[PictureInput]) -> None:
        """Clear away the temporary files of a run that was killed."""
        for path in [*self.shared_targets(), *(path for source in sources for path in self.targets(source))]:
            remove_leftovers(path)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Shared files are written inside the block, and get their names at its end."""
        with ExitStack() as stack:
            for writer in self.text_writers:
                stack.enter_context(writer)
            yield

    def append(self, done: DonePicture) -> None:
        """Write all of one picture; raises OutputError."""
        for writer in self.pixel_writers:
            writer.append(done)
        self.append_record(done.record)

    def append_record(self, record: PictureRecord) -> None:
        """Write the data of one picture, of which the rest is written."""
        for writer in self.text_writers:
            writer.append(record)


def _folded(path: Path) -> str:
    """Equal for paths that some file system takes for one."""
    return str(path).casefold()

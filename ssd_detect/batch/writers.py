"""The writers that the settings ask for, before the checkpoint is loaded (to know the files' names) and after."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ssd_detect.batch.outputs import Outputs
from ssd_detect.batch.pixel_writers import AnnotatedWriter, CropsWriter, PixelWriter
from ssd_detect.batch.settings import JobSettings
from ssd_detect.formats.jsonl import open_json_lines
from ssd_detect.formats.names import WRITERS
from ssd_detect.formats.provenance import Provenance
from ssd_detect.formats.record import DetectionsWriter, OutputSettings, PictureRecord
from ssd_detect.stages import StageTimes


def planned_outputs(settings: JobSettings, further: Sequence[PixelWriter] = (), *, overwrite: bool) -> Outputs:
    """Writers that only know where they would write; `further` ones come first."""
    nowhere = OutputSettings(settings.folder, (), Provenance("", "", settings.detection), overwrite)
    return _outputs(settings, nowhere, lambda record, targets: None, StageTimes(), further)


def real_outputs(
    settings: JobSettings,
    class_names: tuple[str, ...],
    provenance: Provenance,
    report: Callable[[PictureRecord, list[Path]], None],
    times: StageTimes,
    further: Sequence[PixelWriter] = (),
    *,
    overwrite: bool,
) -> Outputs:
    """Writers that write; `report` is told of every picture that is done. `further` ones come first.

    Raises:
        FormatError, SettingError: the COCO annotation file is damaged or of other classes.
    """
    chosen = OutputSettings(settings.folder, class_names, provenance, overwrite, settings.coco_images)
    return _outputs(settings, chosen, report, times, further)


def _outputs(
    settings: JobSettings,
    chosen: OutputSettings,
    report: Callable[[PictureRecord, list[Path]], None],
    times: StageTimes,
    further: Sequence[PixelWriter],
) -> Outputs:
    text: list[DetectionsWriter] = [WRITERS[name](chosen) for name in settings.formats if name in WRITERS]
    if settings.json_lines is not None:
        text.append(open_json_lines(settings.json_lines, chosen.provenance, overwrite=chosen.overwrite))
    pixel_writers = (*further, *_pixel_writers(settings, chosen.overwrite, times))
    return Outputs(pixel_writers, tuple(text), report, chosen.overwrite)


def _pixel_writers(settings: JobSettings, overwrite: bool, times: StageTimes) -> Iterator[PixelWriter]:
    if "crops" in settings.formats:
        yield CropsWriter(settings.folder, settings.blur, overwrite, times)
    if "image" in settings.formats:  # last, since it draws into the picture
        yield AnnotatedWriter(settings.folder, settings.file, settings.labels, settings.blur, overwrite, times)

"""What `ssd-detect explain` does with its options: read, ask the network, tell."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.cli.options import RunSettings
from ssd_detect.errors import PictureError, SettingError
from ssd_detect.explaining.question import Question
from ssd_detect.files import check_target
from ssd_detect.media.sources.inputs import PictureInput, find_inputs

if TYPE_CHECKING:
    from ssd_detect.explaining.facts import Explanation
    from ssd_detect.media.pictures import Picture


@dataclass(frozen=True)
class ExplainSettings:
    """The options of `explain` that say where its answer goes; see its help."""

    json_target: str | None
    output: Path | None
    overwrite: bool

    @property
    def json_file(self) -> Path | None:
        """The file for JSON, unless it goes to standard output."""
        return None if self.json_target in (None, "-") else Path(str(self.json_target))

    @property
    def json_on_stdout(self) -> bool:
        """Whether standard output is for JSON alone."""
        return self.json_target == "-"


def run_explain(argument: str, question: Question, chosen: ExplainSettings, run: RunSettings) -> None:
    """Answer, as text and in the other ways that were chosen."""
    source = _only_input(argument)
    _check_targets(source, chosen)
    picture = _read(source, run)
    question.check_inside(picture.size)  # before TensorFlow's start
    explanation, values = _explained(source, picture, question, run)
    saved = _save(picture, explanation, values, chosen)
    _tell(source, explanation, chosen, run)
    if chosen.json_on_stdout:
        click.echo(values.decode("ascii"), nl=False)
    if saved:
        run.talk.note(f"saved {', '.join(map(click.format_filename, saved))}")


def _only_input(argument: str) -> PictureInput:
    found = find_inputs([argument], recursive=False)
    if found.errors:
        raise found.errors[0]
    if len(found.inputs) != 1:
        raise PictureError(f"{argument}: brings {len(found.inputs)} pictures, expected the name of one picture file")
    return found.inputs[0]


def _check_targets(source: PictureInput, chosen: ExplainSettings) -> None:
    if chosen.output is not None and chosen.output == chosen.json_file:
        raise SettingError(f"{chosen.output}: is asked for twice, by --json and by -o; leave one of them out")
    for target in (chosen.output, chosen.json_file):
        if target is not None:
            check_target(target, source.path, overwrite=chosen.overwrite)
    if chosen.output is not None:
        from ssd_detect.media.picture_files import check_suffix

        check_suffix(chosen.output)


def _read(source: PictureInput, run: RunSettings) -> "Picture":
    from ssd_detect.batch.settings import JobSettings
    from ssd_detect.batch.sources import read_source

    picture, _ = read_source(source, JobSettings(run.checkpoint, run.detection, run.batch_size))
    for note in picture.notes:
        run.talk.note(f"{click.format_filename(source.name)}: {note}")
    return picture


def _explained(
    source: PictureInput, picture: "Picture", question: Question, run: RunSettings
) -> "tuple[Explanation, bytes]":
    """The answer, and its JSON."""
    from ssd_detect.cli.startup import open_detector, tell_stage_times
    from ssd_detect.explaining.explain import explain
    from ssd_detect.explaining.json_value import to_json
    from ssd_detect.explaining.trace import RawPicture
    from ssd_detect.formats.json_text import json_file
    from ssd_detect.formats.provenance import Provenance

    with open_detector(run) as detector:
        scores, offsets = detector.raw_outputs(picture.pixels)
        raw = RawPicture(scores, offsets, detector.anchors, detector.wanted, detector.settings, detector.thresholds)
        explanation = explain(raw, detector.spec.anchors, detector.class_names, picture.size, question)
        provenance = Provenance(
            detector.checkpoint_name, detector.checkpoint_sha256, detector.settings, run.session.precision
        )
        tell_stage_times(detector, run.talk)
    return explanation, json_file(to_json(explanation, source.name, provenance))


def _tell(source: PictureInput, explanation: "Explanation", chosen: ExplainSettings, run: RunSettings) -> None:
    from ssd_detect.explaining.text import lines

    first, *others = lines(explanation)
    for line in (f"{click.format_filename(source.name)}: {first}", *others):
        run.talk.result(line, err=chosen.json_on_stdout)


def _save(picture: "Picture", explanation: "Explanation", values: bytes, chosen: ExplainSettings) -> list[Path]:
    """Write the files; the names of those that are asked for."""
    if chosen.json_file is not None:
        from ssd_detect.formats.writer import write_whole

        write_whole(chosen.json_file, values, overwrite=chosen.overwrite)
    if chosen.output is not None:
        from ssd_detect.explaining.picture import draw_explanation
        from ssd_detect.media.picture_files import save_picture

        save_picture(chosen.output, draw_explanation(picture.pixels, explanation), overwrite=chosen.overwrite)
    return [path for path in (chosen.json_file, chosen.output) if path is not None]

"""`ssd-detect video`: objects in a video."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssd_detect.cli.options import RunSettings, detection_options
from ssd_detect.cli.progress import counted_progress
from ssd_detect.errors import ExitStatus

if TYPE_CHECKING:
    from ssd_detect.media.video.reader import VideoReader
    from ssd_detect.media.video.run import VideoSummary
    from ssd_detect.media.video.writer import VideoWriter


@click.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--no-labels", is_flag=True, help="Draw boxes only, without class and score.")
@click.option("--no-audio", is_flag=True, help="Leave the sound out.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@detection_options
def video(source: Path, target: Path, no_labels: bool, no_audio: bool, overwrite: bool, run: RunSettings) -> int:
    """Find objects in a video; save an annotated copy with every frame, its time, and the sound.

    The copy is H.264 in .mp4, .mov or .mkv. Sound is copied as it is where the container takes it, else it becomes AAC.

    \b
    ssd-detect video in.mp4 out.mp4
    ssd-detect video in.mkv out.mp4 --class person --no-audio
    """
    from ssd_detect.media.video.reader import VideoReader
    from ssd_detect.media.video.writer import VideoWriter

    with VideoReader(source) as reader:  # what is wrong with either file is said before TensorFlow's start
        with VideoWriter(target, like=reader.info, audio=not no_audio, overwrite=overwrite) as writer:
            summary = _annotate(reader, writer, not no_labels, run)
        losses = reader.losses
    _tell(source, target, summary, run)
    if losses is not None:
        run.talk.failure(f"{click.format_filename(source)}: {losses}; all frames that could be read are done")
        return ExitStatus.SOME_FAILED
    return ExitStatus.DONE


def _annotate(reader: "VideoReader", writer: "VideoWriter", labels: bool, run: RunSettings) -> "VideoSummary":
    from ssd_detect.cli.startup import open_detector, tell_stage_times

    with open_detector(run) as detector:
        from ssd_detect.media.drawing.draw import draw_detections
        from ssd_detect.media.video.run import VideoRun

        video_run = VideoRun(
            detector,
            lambda picture, detections: draw_detections(picture, detections, labels=labels),
            run.batch_size,
            detector.times,
        )
        with counted_progress(reader.info.frame_count, "frames", run.talk) as advance:
            summary = video_run.annotate(reader, writer.append, advance)
        tell_stage_times(detector, run.talk)
    return summary


def _tell(source: Path, target: Path, summary: "VideoSummary", run: RunSettings) -> None:
    found = ", ".join(f"{name} {count}" for name, count in summary.objects.most_common()) or "none"
    guess = summary.best_guess
    if found == "none" and guess is not None:
        limit = run.detection.score_threshold
        found = f"none above {limit:g} (best: {guess.class_name} {guess.score:.3f})"
    name = click.format_filename(source.name)
    run.talk.result(f"{name}: {summary.num_frames} frames, {summary.seconds:.1f} s, objects: {found}")
    run.talk.result(f"saved {click.format_filename(target)}")

"""`ssd-detect video`: objects in videos."""

from pathlib import Path
from typing import Any

import click

from ssd_detect.cli.options import RunSettings, detection_options
from ssd_detect.cli.times import SECONDS, parse_rate, parse_stride
from ssd_detect.cli.video_run import VideoOptions, run_videos
from ssd_detect.errors import ExitStatus

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="IN OUT | IN... -o FOLDER")
@click.option(
    "-o",
    "--output",
    type=_FOLDER,
    metavar="FOLDER",
    help="Where annotated copies go, under their own names; .mp4 for inputs that are no files of the kinds above.",
)
@click.option("--recursive", is_flag=True, help="Look into folders of folders too.")
@click.option("--no-video", is_flag=True, help="Make no annotated copy: everything named is an input.")
@click.option(
    "--jsonl",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE|-",
    help="Write JSON lines: one about each video, then one a frame; - is standard output.",
)
@click.option(
    "--csv", type=_FILE, metavar="FILE", help="Write a table: a row for each object, and one for a frame without any."
)
@click.option(
    "--summary",
    type=_FILE,
    metavar="FILE",
    help="Write JSON: for each class how many, for how long, first and last sight.",
)
@click.option(
    "--crops",
    type=_FOLDER,
    metavar="FOLDER",
    help="Save each object as a picture, of each frame that the network sees.",
)
@click.option(
    "--snapshot-every", type=click.IntRange(min=1), metavar="N", help="Save every Nth annotated frame as a JPEG."
)
@click.option(
    "--snapshots", type=_FOLDER, metavar="FOLDER", help="Where snapshots go.  [default: snapshots, beside the copy]"
)
@click.option("--start", type=SECONDS, metavar="TIME", help="Begin there: seconds or h:mm:ss.")
@click.option("--end", type=SECONDS, metavar="TIME", help="End there.")
@click.option("--max-seconds", type=SECONDS, metavar="TIME", help="End after so much video, counted from --start.")
@click.option("--max-frames", type=click.IntRange(min=1), metavar="N", help="End after so many frames of the copy.")
@click.option(
    "--stride",
    callback=parse_stride,
    default="1",
    show_default=True,
    metavar="N|auto",
    help="Detect in every Nth frame; auto: in as many frames of a live source as time allows.",
)
@click.option(
    "--between",
    type=click.Choice(["interpolate", "hold"]),
    default="interpolate",
    show_default=True,
    help="Boxes in frames between those: move evenly, or stand still.",
)
@click.option(
    "--fps",
    callback=parse_rate,
    metavar="RATE",
    help="Write a constant rate, such as 25 or 30000/1001; for numbered pictures, theirs (else 25).",
)
@click.option(
    "--codec",
    metavar="NAME",
    help="h264, h265, vp9, av1, mpeg4, mjpeg, ffv1, prores, or an encoder such as h264_nvenc.",
)
@click.option("--crf", type=click.IntRange(0, 63), metavar="N", help="Quality; lower is better and larger.")
@click.option("--no-audio", is_flag=True, help="Leave the sound out.")
@click.option("--no-labels", is_flag=True, help="Draw boxes only, without class and score.")
@click.option(
    "--blur",
    multiple=True,
    metavar="NAME",
    help="Make objects of this class unrecognisable; may be given several times.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 86400, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for a camera or a server.",
)
@click.option(
    "--reconnects",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="Tries in a row to reach a live source again.",
)
@click.option("--resume", is_flag=True, help="Go on with an earlier run that was broken off; same options.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@detection_options  # fmt: skip
def video(inputs: tuple[str, ...], run: RunSettings, **chosen: Any) -> ExitStatus:
    """Find objects in videos; save annotated copies with every frame, its time, the sound, and all else.

    IN is a file, a folder, a quoted glob, @LIST (a file with an input a line), an http(s) or rtsp URL, a camera's
    number, numbered pictures (frames/%05d.png), an animated GIF, WebP or PNG, or - for a video on standard input; ./
    in front makes a file of any name, such as ./-0.mp4. OUT is .mp4, .m4v, .mov, .mkv, .webm, .avi or .gif. Up to 100
    damaged packets in a row are left out; a line and status 3 then say what was lost.

    \b
    ssd-detect video in.mp4 out.mp4
    ssd-detect video clips -o found --jsonl found/frames.jsonl
    ssd-detect video match.mkv part.mp4 --start 1:02:30 --end 1:05:00 --stride 3 --class person
    ssd-detect video 0 camera.mp4 --stride auto --max-seconds 60
    """
    return run_videos(inputs, VideoOptions(**chosen), run)

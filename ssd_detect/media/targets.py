"""Which picture goes where. Imports nothing heavy: what is wrong here is said at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ssd_detect.errors import OutputError, PictureError, SsdDetectError
from ssd_detect.files import check_target


@dataclass(frozen=True)
class PictureJob:
    """One picture to read and the name of its annotated copy."""

    source: Path
    target: Path


def is_writable_suffix(suffix: str) -> bool:
    """Whether a picture can be saved under a name that ends in `suffix` (letter case does not count)."""
    from PIL import Image  # here, so that the command line can speak without Pillow

    return Image.registered_extensions().get(suffix.lower()) in Image.SAVE


def plan_pictures(
    sources: Sequence[Path], output: Path | None, *, overwrite: bool
) -> tuple[list[PictureJob], list[SsdDetectError]]:
    """Name each picture's annotated copy, and sort out what cannot be done, before anything is loaded.

    Args:
        sources: picture files; one named twice counts once.
        output: a file, for a single picture; or a folder (existing, or for several pictures); None is the current one.
        overwrite: existing copies may be replaced.

    Returns:
        the jobs to do, and an error for each picture that cannot be done.
    """
    sources = list(dict.fromkeys(sources))
    jobs: dict[Path, PictureJob] = {}
    failures: list[SsdDetectError] = []
    for source in sources:
        job = PictureJob(source, _target(source, output, several=len(sources) > 1))
        try:
            _check_job(job, jobs, overwrite=overwrite)
            jobs[job.target] = job
        except SsdDetectError as error:
            failures.append(error)
    return list(jobs.values()), failures


def _target(source: Path, output: Path | None, *, several: bool) -> Path:
    suffix = source.suffix if is_writable_suffix(source.suffix) else ".png"
    name = f"{source.stem}_detections{suffix}"
    if output is None:
        return Path(name)
    return output / name if several or output.is_dir() else output


def _check_job(job: PictureJob, planned: dict[Path, PictureJob], *, overwrite: bool) -> None:
    if not job.source.exists():
        raise PictureError(f"{job.source}: no such file")
    if job.target in planned:
        raise OutputError(
            f"{job.source}: its copy would replace that of {planned[job.target].source}: both are {job.target}; "
            "give them different folders with -o, in two runs"
        )
    if not is_writable_suffix(job.target.suffix):
        raise OutputError(
            f"{job.target}: cannot save as {job.target.suffix or 'a file without suffix'}; use .png, .jpg or .webp"
        )
    check_target(job.target, job.source, overwrite=overwrite)

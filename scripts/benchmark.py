"""The numbers that the project promises, measured: parity with the reference, start-up, post-processing, overhead.

    scripts/benchmark                      all of it, about two minutes
    scripts/benchmark --pictures FOLDER    a whole run over the pictures of a folder against bare session calls
    scripts/benchmark --video [FILE]       the same over a video, and what memory does; without a file, a made one

Times are medians of interleaved runs; what is compared is measured side by side in this one process.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "golden"))

import seeded  # noqa: E402
from benchmark_video import video_numbers  # noqa: E402
from measuring import bare_seconds, medians, report, resident_mebibytes  # noqa: E402

from ssd_detect.arrays import Floats, Pixels  # noqa: E402
from ssd_detect.batch.job import JobHooks, PictureJob  # noqa: E402
from ssd_detect.batch.settings import JobSettings  # noqa: E402
from ssd_detect.boxes.anchors import make_anchors  # noqa: E402
from ssd_detect.boxes.postprocess import Candidates, decode_candidates, keep_best  # noqa: E402
from ssd_detect.boxes.profiles import resolved  # noqa: E402
from ssd_detect.conventions import Profile  # noqa: E402
from ssd_detect.detector import Detector  # noqa: E402
from ssd_detect.media.pictures import read_picture  # noqa: E402
from ssd_detect.media.sources.inputs import FoundInputs, PictureInput, find_inputs  # noqa: E402
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT  # noqa: E402
from ssd_detect.settings import DEFAULT_BATCH_SIZE, CheckpointSettings, DetectionSettings  # noqa: E402

WANTED = np.array([False] + [True] * 20)
THRESHOLDS = {"a": (0.15, 0.10), "b": (0.40, 0.10), "c": (0.01, 0.45)}


def golden_picture(index: int) -> Pixels:
    _, height, width = seeded.PICTURES[index]
    picture: Pixels = seeded.seeded_picture(index, height, width)
    return picture


def golden_numbers(size: int) -> dict[str, Any]:
    with np.load(ROOT / "tests" / "golden" / f"golden-{size}.npz") as arrays:
        return dict(arrays)


@contextmanager
def seeded_checkpoint(size: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"ssd_{size}_vgg.ckpt"
        script = ROOT / "tests" / "golden" / "seeded.py"
        subprocess.run([sys.executable, script, str(size), path], check=True, capture_output=True)
        yield path


def parity(size: int) -> None:
    print(f"\nParity with the reference implementation, SSD{size}, seeded weights")
    numbers, step = golden_numbers(size), 1 if size == 300 else 5
    anchors = np.abs(make_anchors(f"coco{size}")[:, [1, 0, 3, 2]] - numbers["anchors_yxhw"]).max()
    worst = {"input": 0.0, "scores": 0.0, "loc": 0.0}
    detections: dict[str, list[float]] = {name: [] for name in THRESHOLDS}
    with seeded_checkpoint(size) as path, Detector(path) as detector:
        for index in range(4 if size == 300 else 2):
            picture = golden_picture(index)
            scores, offsets = detector._network.run(picture[np.newaxis])
            found: dict[str, Any] = {"input": detector._network.resize(picture[np.newaxis])[0, ::7, ::7]}
            found |= {"scores": scores[0, ::step], "loc": offsets[0, ::step]}
            for name in worst:
                worst[name] = max(worst[name], float(np.abs(found[name] - numbers[f"p{index}_{name}"]).max()))
            for name in THRESHOLDS:
                detections[name].append(worst_box(numbers, index, name, scores[0], offsets[0], size))
    report("anchors, largest difference", f"{anchors:.1e}", "at most 1e-6")
    report("network input, largest difference (grey levels)", f"{worst['input']:.1e}", "at most 1e-3")
    report("scores, largest difference", f"{worst['scores']:.1e}", "at most 1e-4")
    report("offsets, largest difference", f"{worst['loc']:.1e}", "at most 1e-3")
    for name, values in detections.items():
        report(f"detections {THRESHOLDS[name]}, largest box difference", f"{max(values):.1e}", "at most 1e-4, as many")


def worst_box(numbers: dict[str, Any], index: int, name: str, scores: Floats, offsets: Floats, size: int) -> float:
    """Largest distance of a reference detection from ours of the same class and score; infinite if numbers differ."""
    score, nms = THRESHOLDS[name]
    kept = postprocess(scores, offsets, DetectionSettings(score, nms), f"coco{size}")
    boxes = numbers[f"p{index}_{name}_boxes_yxyx"][:, [1, 0, 3, 2]]
    with_area = (boxes[:, :2] < boxes[:, 2:]).all(axis=1)
    boxes, classes = boxes[with_area], numbers[f"p{index}_{name}_classes"][with_area]
    if len(boxes) != len(kept.scores):
        return float("inf")
    distance = np.abs(boxes[:, np.newaxis] - kept.boxes_unit).max(axis=2)  # (reference, ours)
    distance[classes[:, np.newaxis] != kept.class_ids] = np.inf
    score_distance = np.abs(numbers[f"p{index}_{name}_scores"][with_area][:, np.newaxis] - kept.scores)
    distance[score_distance > 1e-4] = np.inf
    return float(distance.min(axis=1).max())


def postprocess(scores: Floats, offsets: Floats, settings: DetectionSettings, preset: str) -> Candidates:
    settings = resolved(settings, Profile.TUTORIAL)
    candidates, _ = decode_candidates(scores, offsets, make_anchors(preset), WANTED, settings)
    return keep_best(candidates, settings)


def reference_style(scores: Floats, offsets: Floats, threshold: float, nms: float) -> tuple[Any, Any, Any]:
    """The reference's NumPy way: decode all, select, sort, then a Python loop over the boxes, each against all."""
    anchors = make_anchors("coco300")
    centres = offsets[:, :2] * anchors[:, 2:] * np.float32(0.1) + anchors[:, :2]
    sizes = anchors[:, 2:] * np.exp(offsets[:, 2:] * np.float32(0.2))
    corners = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)
    anchor_ids, columns = np.nonzero(scores[:, 1:] > threshold)
    class_ids, values, boxes = columns + 1, scores[:, 1:][anchor_ids, columns], np.clip(corners[anchor_ids], 0, 1)
    order = np.argsort(-values)[:400]
    class_ids, values, boxes = class_ids[order], values[order], boxes[order]
    keep = np.ones(len(values), np.bool_)
    for i in range(len(values) - 1):
        if keep[i]:
            later = boxes[i + 1 :]
            inner = np.maximum(np.minimum(boxes[i, 2:], later[:, 2:]) - np.maximum(boxes[i, :2], later[:, :2]), 0)
            shared = inner[:, 0] * inner[:, 1]
            area = np.prod(boxes[i, 2:] - boxes[i, :2])
            with np.errstate(invalid="ignore", divide="ignore"):
                iou = shared / (area + np.prod(later[:, 2:] - later[:, :2], axis=1) - shared)
            keep[i + 1 :] &= (iou < nms) | (class_ids[i + 1 :] != class_ids[i])
    kept = np.flatnonzero(keep)
    return class_ids[kept], values[kept], boxes[kept]


def postprocessing(detector: Detector) -> None:
    print("\nDecode + select + NMS, one picture")
    picture = read_picture(ROOT / "tests" / "media" / "astronaut.png")
    scores, offsets = detector._network.run(picture[np.newaxis])
    photograph = medians({"": lambda: postprocess(scores[0], offsets[0], DetectionSettings(), "coco300")}, 50)
    report("photograph, score 0.5", f"{photograph['']:.2f} ms", "under 1 ms")
    numbers = golden_numbers(300)
    golden = numbers["p0_scores"], numbers["p0_loc"]
    for threshold, limit in ((0.5, 4), (0.01, 8)):
        settings = DetectionSettings(threshold)
        both = medians(
            {
                "ours": lambda settings=settings: postprocess(*golden, settings, "coco300"),  # type: ignore[misc]
                "loop": lambda threshold=threshold: reference_style(*golden, threshold, 0.45),  # type: ignore[misc]
            },
            30,
        )
        report(f"golden arrays, score {threshold}", f"{both['ours']:.2f} ms", f"under {limit} ms")
        report("    a loop in the reference's style takes", f"{both['loop']:.2f} ms")
        report("    times faster", f"{both['loop'] / both['ours']:.1f}", "at least 5")
    for profile in Profile:
        settings = DetectionSettings(0.01, profile=profile)
        taken = medians({"": lambda settings=settings: postprocess(*golden, settings, "coco300")}, 9)  # type: ignore[misc]
        report(f"    in the way of {profile.value}", f"{taken['']:.1f} ms")


def overhead(detector: Detector) -> None:
    print("\nDetector on a 500x375 picture, and a bare session call on the same")
    picture = golden_picture(1)
    both = medians(
        {"detector": lambda: detector(picture), "session": lambda: detector._network.run(picture[np.newaxis])}, 15
    )
    report("Detector", f"{both['detector']:.1f} ms")
    report("session call", f"{both['session']:.1f} ms")
    rounds, before, start = 10, detector.times.seconds(), time.perf_counter()
    for _ in range(rounds):
        detector(picture)
    whole = time.perf_counter() - start
    spent = {stage: seconds - before.get(stage, 0.0) for stage, seconds in detector.times.seconds().items()}
    report(
        "everything but the session call", f"{1000 * (whole - spent['resize+network']) / rounds:.2f} ms", "under 5 ms"
    )
    for stage in ("decode", "nms"):
        report(f"    of it {stage}", f"{1000 * spent[stage] / rounds:.2f} ms")


def batches(detector: Detector) -> None:
    print("\nA batch against its pictures one by one")
    pictures = [golden_picture(i) for i in (1, 2, 3)]
    scores, _ = detector._run_network(pictures)
    worst = max(
        float(np.abs(scores[i] - detector._network.run(p[np.newaxis])[0][0]).max()) for i, p in enumerate(pictures)
    )
    report("scores, largest difference", f"{worst:.1e}", "at most 1e-5")


def start_up() -> None:
    print("\nStart-up: best of five")
    for arguments in (["--help"], ["image", "--help"], ["image", "a.jpg", "--score-threshold", "2"]):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "ssd_detect", *arguments], capture_output=True, check=False)
            times.append(time.perf_counter() - start)
        report(f"ssd-detect {' '.join(arguments)}", f"{min(times):.3f} s", "under 0.3 s")


def folder_run(folder: Path) -> None:
    """`image` over a folder, against the session calls alone, in turns of 48 pictures; with what memory does."""
    print(f"\nA run over {folder}, batches of {DEFAULT_BATCH_SIZE}, reading, drawing and saving included")
    inputs = find_inputs([str(folder)], recursive=False).inputs
    bare = whole = 0.0
    resident: list[float] = []
    with Detector() as detector, tempfile.TemporaryDirectory() as output:
        for first in range(0, len(inputs), 48):
            part = inputs[first : first + 48]
            bare += bare_seconds(detector, [read_picture(source.path) for source in part if source.path])
            start = time.perf_counter()
            run_part(detector, part, Path(output) / str(first), resident)
            whole += time.perf_counter() - start
    report("session calls alone", f"{bare:.1f} s")
    report("the run", f"{whole:.1f} s")
    report("ratio", f"{whole / bare:.3f}", "at most 1.05")
    report("pictures a second", f"{len(inputs) / whole:.2f}")
    if len(resident) > 100:
        report("memory at picture 100", f"{resident[99]:.0f} MiB")
        report("memory at the last picture", f"{resident[-1]:.0f} MiB", "as much")


def run_part(detector: Detector, part: tuple[PictureInput, ...], output: Path, resident: list[float]) -> None:
    settings = JobSettings(
        CheckpointSettings(DEFAULT_CHECKPOINT),
        DetectionSettings(),
        DEFAULT_BATCH_SIZE,
        folder=output,
        formats=("image", "json", "csv"),
    )
    hooks = JobHooks(
        load=lambda times: nullcontext(detector),
        on_record=lambda record, targets: resident.append(resident_mebibytes()),
        on_failure=lambda name, error: print(f"  {error}"),
    )
    PictureJob(FoundInputs(part, 0, ()), settings, hooks).run()


def main() -> None:
    """Measure and print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    parser.add_argument("--video", type=Path, metavar="FILE", nargs="?", const=Path(), help="default: a made one")
    parser.add_argument("--frames", type=int, metavar="N", help="with --video: compare speed over so many frames")
    chosen = parser.parse_args()
    if chosen.pictures is not None:
        folder_run(chosen.pictures)
        return
    if chosen.video is not None:
        video_numbers(chosen.video if chosen.video.name else None, chosen.frames)
        return
    start_up()
    for size in (300, 512):
        parity(size)
    with Detector() as detector:
        postprocessing(detector)
        overhead(detector)
        batches(detector)


if __name__ == "__main__":
    main()

"""`ssd-detect image` over many pictures: inputs of every kind, formats, resuming, stopping."""

import csv
import functools
import hashlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

import ssd_detect
from ssd_detect.batch.journal import JOURNAL_NAME
from ssd_detect.batch.pixel_writers import AnnotatedWriter
from ssd_detect.classes import VOC20
from ssd_detect.cli.main import program
from ssd_detect.media.pictures import read_picture
from ssd_detect.media.sources.inputs import PictureInput
from ssd_detect.stages import StageTimes
from tests.conftest import MEDIA

pytestmark = pytest.mark.usefixtures("networks_kept_open")  # the runs in processes of their own open it

ROOT = Path(__file__).parent.parent
NAMES = ("astronaut.png", "chelsea.png", "coffee.png")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def photos(tmp_path: Path, media: Path) -> Path:
    """A folder with pictures in it and below it, and other things."""
    (tmp_path / "photos" / "sub").mkdir(parents=True)
    shutil.copy(media / "astronaut.png", tmp_path / "photos" / "a.png")
    shutil.copy(media / "chelsea.png", tmp_path / "photos" / "sub" / "a.png")
    shutil.copy(media / "coffee.png", tmp_path / "photos" / "B.PNG")
    (tmp_path / "photos" / "notes.txt").write_text("no picture")
    (tmp_path / "photos" / ".hidden.png").write_bytes(b"")
    return tmp_path / "photos"


def image(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(program, ["image", *map(str, arguments)], input=stdin)


def files_below(folder: str | Path) -> list[str]:
    """All but the journal."""
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file() and p.name != JOURNAL_NAME)


def contents(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files_below(folder)}


class TestInputs:
    def test_folders(self, photos: Path) -> None:
        result = image("photos", "-o", "out")
        assert result.exit_code == 0, result.output
        assert files_below("out") == ["B_detections.PNG", "a_detections.png"]
        assert "2 pictures done, objects: person 1; 2 other files skipped; " in result.stderr
        result = image("photos", "-o", "deep", "--recursive", "-q")
        assert (result.exit_code, result.output) == (0, "")
        assert files_below("deep") == ["B_detections.PNG", "a_detections.png", "sub/a_detections.png"]

    def test_results_of_an_earlier_run_are_no_inputs(self, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(photos)
        assert image(".").exit_code == 0
        before = contents(photos)
        result = image(".", "--overwrite")
        assert result.exit_code == 0
        assert "2 pictures done" in result.stderr
        assert files_below(photos) == sorted(before)

    def test_globs_lists_and_each_file_once(self, photos: Path) -> None:
        Path("list.txt").write_text("# mine\nphotos/a.png\n\nphotos/./a.png\nphotos/gone.png\n")
        result = image("photos/*.png", "@list.txt", "photos/a.png", "--json", "-", "-o", "out")
        assert result.exit_code == 3
        assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == ["photos/a.png"]
        assert "gone.png: no such file" in result.stderr

    def test_standard_input(self, media: Path) -> None:
        result = image("-", "--json", "-", "-q", stdin=(media / "chelsea.png").read_bytes())
        assert result.exit_code == 0
        assert json.loads(result.stdout)["file"] == "-"
        assert files_below(".") == ["stdin_detections.png"]

    def test_urls(self, media: Path) -> None:
        with served(media) as address:
            refused = image(f"{address}/chelsea.png")
            assert refused.exit_code == 1
            assert "--allow-private-urls" in refused.stderr
            result = image(f"{address}/chelsea.png", "--allow-private-urls", "-o", "cat.png")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1] == "saved cat.png"

    @pytest.mark.parametrize("what", ["empty", "texts"])
    def test_a_folder_without_pictures_is_an_error(self, what: str) -> None:
        Path("folder").mkdir()
        if what == "texts":
            Path("folder/a.txt").write_text("x")
        result = image("folder")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: folder: ")

    def test_equal_names_get_their_own_files(self, media: Path) -> None:
        for name in ("x/a.png", "y/a.png"):
            Path(name).parent.mkdir()
            shutil.copy(media / "chelsea.png", name)
        assert image("x/a.png", "y/a.png", "-o", "out", "-q").exit_code == 0
        assert files_below("out") == ["x/a_detections.png", "y/a_detections.png"]

    def test_too_many_pixels(self, media: Path) -> None:
        result = image(media / "chelsea.png", "--max-pixels", 1000)
        assert result.exit_code == 1
        assert "--max-pixels" in result.stderr
        assert result.stderr.count("\n") == 1


def served(folder: Path) -> Any:
    """Context manager: the address of an HTTP server for the folder."""
    from contextlib import contextmanager

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    @contextmanager
    def serving() -> Iterator[str]:
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                thread.join()

    return serving()


class TestNames:
    @pytest.mark.parametrize(
        ("name", "key", "target"),
        [
            ("a.jpg", "a", "a_detections.jpg"),
            ("x/a.b.PNG", "x/a.b", "x/a.b_detections.PNG"),
            ("a", "a", "a_detections.png"),
            ("a.heic", "a", "a_detections.png"),
        ],
    )
    def test_the_copy_has_the_inputs_name_and_format(self, name: str, key: str, target: str) -> None:
        writer = AnnotatedWriter(Path("out"), None, True, (), False, StageTimes())
        source = PictureInput(name, Path(name), None, PurePosixPath(key))
        assert writer.own_targets(source) == [Path("out") / target]

    def test_the_format_of_a_url(self) -> None:
        writer = AnnotatedWriter(Path(), None, True, (), False, StageTimes())
        source = PictureInput("http://x/a.webp?b=c.png", None, "http://x/a.webp?b=c.png", PurePosixPath("a"))
        assert writer.target(source) == Path("a_detections.webp")

    @pytest.mark.parametrize("output", ["a.png", "link.png", "./x/../a.png"])
    def test_the_input_is_never_the_output(self, media: Path, output: str) -> None:
        Path("x").mkdir()
        shutil.copy(media / "chelsea.png", "a.png")
        Path("link.png").symlink_to("a.png")
        before = Path("a.png").read_bytes()
        result = image("a.png", "-o", output, "--overwrite")
        assert result.exit_code == 1
        assert "is the input itself" in result.stderr
        assert Path("a.png").read_bytes() == before

    def test_a_name_without_suffix_is_a_folder_and_one_with_is_a_file(self, media: Path) -> None:
        assert image(media / "chelsea.png", "-o", "new", "-q").exit_code == 0
        assert files_below("new") == ["chelsea_detections.png"]
        result = image(media / "chelsea.png", media / "coffee.png", "-o", "all.png")
        assert result.exit_code == 2
        assert "all.png: names a file, expected a folder for these results" in result.stderr
        assert image(media / "chelsea.png", "-o", "all.csv", "-f", "csv").exit_code == 2

    def test_options_that_contradict_each_other(self, media: Path) -> None:
        twice = image(media / "chelsea.png", "-o", "out", "-f", "jsonl", "--json", "out/detections.jsonl")
        assert twice.exit_code == 2
        assert "is asked for twice" in twice.stderr
        assert image(media / "chelsea.png", "--coco-images", "x.json").exit_code == 2

    @pytest.mark.parametrize("target", ["a.png", "link.png", "pipe"])
    def test_json_never_replaces_an_input_or_a_pipe(self, media: Path, target: str) -> None:
        shutil.copy(media / "chelsea.png", "a.png")
        Path("link.png").symlink_to("a.png")
        os.mkfifo("pipe")
        before = Path("a.png").read_bytes()
        result = image("a.png", "--json", target, "--overwrite")
        assert result.exit_code == 1
        assert result.stderr.startswith(f"Error: {target}: is ")
        assert Path("a.png").read_bytes() == before
        assert Path("pipe").is_fifo()

    def test_two_formats_never_share_a_file(self, media: Path) -> None:
        shutil.copy(media / "chelsea.png", "classes.png")
        result = image("classes.png", "-o", "out", "-f", "yolo")
        assert result.exit_code == 1
        assert "classes.txt is the file of all pictures already" in result.stderr


class TestFormats:
    def test_every_format_for_every_input(self, photos: Path) -> None:
        formats = ("image", "crops", "json", "jsonl", "csv", "coco", "voc", "yolo")
        options = [word for name in formats for word in ("-f", name)]
        result = image("photos", "-o", "out", *options, "--recursive", "--sha256")
        assert result.exit_code == 0, result.output
        assert files_below("out") == sorted(
            [
                "B.json", "B.txt", "B.xml", "B_detections.PNG", "a.json", "a.txt", "a.xml", "a_detections.png",
                "a_person_1.png", "classes.txt", "detections.coco.json", "detections.csv", "detections.jsonl",
                "sub/a.json", "sub/a.txt", "sub/a.xml", "sub/a_cat_1.png", "sub/a_detections.png",
            ]
        )  # fmt: skip
        found = [json.loads(line) for line in Path("out/detections.jsonl").read_text().splitlines()]
        assert [r["file"] for r in found] == ["photos/B.PNG", "photos/a.png", "photos/sub/a.png"]
        schema = json.loads((Path(ssd_detect.__file__).parent / "formats/schema/detections.schema.json").read_text())
        for record in found:
            jsonschema.validate(record, schema)
            assert record["sha256"] == hashlib.sha256(Path(record["file"]).read_bytes()).hexdigest()
        with open("out/detections.csv", newline="") as file:  # noqa: PTH123
            rows = list(csv.DictReader(file))
        assert [(r["file"], r["class"]) for r in rows] == [
            ("photos/B.PNG", ""), ("photos/a.png", "person"), ("photos/sub/a.png", "cat"),
        ]  # fmt: skip
        x0, y0, x1, y1 = found[2]["detections"][0]["box"]
        crop = read_picture("out/sub/a_cat_1.png")
        clean = read_picture("photos/sub/a.png")
        np.testing.assert_array_equal(crop, clean[int(y0) : int(np.ceil(y1)), int(x0) : int(np.ceil(x1))])

    def test_data_alone_writes_no_picture(self, photos: Path) -> None:
        assert image("photos", "-o", "out", "-f", "voc", "-q").exit_code == 0
        assert files_below("out") == ["B.xml", "a.xml"]

    def test_blur(self, media: Path) -> None:
        clean = read_picture(media / "astronaut.png")
        image(media / "astronaut.png", "-o", "boxed.png", "--no-labels")
        blurred = ("-o", "blurred.png", "--no-labels", "--blur", "Person", "--class", "dog")
        result = image(media / "astronaut.png", *blurred)
        assert result.exit_code == 0
        assert "person" not in result.stdout  # it is blurred, not reported
        face = (slice(80, 160), slice(180, 270))
        changed = np.abs(read_picture("blurred.png")[face].astype(int) - clean[face]).mean()
        assert changed > 10
        np.testing.assert_array_equal(read_picture("boxed.png")[face], clean[face])
        image(media / "astronaut.png", "-o", "crops", "-f", "crops", "--blur", "person")
        assert np.abs(read_picture("crops/astronaut_person_1.png")[face].astype(int) - clean[face]).mean() > 10
        assert image(media / "astronaut.png", "--blur", "prson").exit_code == 2

    def test_existing_shared_file_stops_before_any_work(self, photos: Path) -> None:
        Path("out").mkdir()
        Path("out/detections.csv").write_text("mine")
        result = image("photos", "-o", "out", "-f", "csv", "-f", "image")
        assert result.exit_code == 1
        assert files_below("out") == ["detections.csv"]
        assert Path("out/detections.csv").read_text() == "mine"

    def test_coco_with_the_ids_of_an_annotation_file(self, photos: Path) -> None:
        annotations = {
            "images": [{"id": 71, "file_name": "a.png"}, {"id": 72, "file_name": "B.PNG"}],
            "categories": [{"id": 100 + i, "name": name} for i, name in enumerate(VOC20) if i],
            "annotations": [],
        }
        Path("truth.json").write_text(json.dumps(annotations))
        result = image("photos", "-o", "out", "-f", "coco", "--coco-images", "truth.json")
        assert result.exit_code == 0, result.output
        (entry,) = json.loads(Path("out/detections.coco.json").read_text())
        assert (entry["image_id"], entry["category_id"]) == (71, 115)


class TestFailures:
    def test_strict_stops_at_the_first(self, photos: Path) -> None:
        (photos / "Aa.jpg").write_bytes(b"")
        result = image("photos", "-o", "out", "--strict", "--batch-size", 1, "-f", "jsonl")
        assert result.exit_code == 1
        assert files_below("out") == ["detections.jsonl"]
        (photos / "Aa.jpg").rename(photos / "C.jpg")
        result = image("photos", "-o", "out2", "--strict", "--batch-size", 1)
        assert result.exit_code == 3
        assert "a_detections.png" not in files_below("out2")  # stands after the bad one

    def test_summary_names_what_failed(self, photos: Path) -> None:
        (photos / "bad.jpg").write_text("x")
        result = image("photos", "gone.png", "-o", "out")
        assert result.exit_code == 3
        summary = result.stderr.splitlines()[-1]
        assert "2 pictures done" in summary
        assert "2 failed: gone.png, photos/bad.jpg" in summary

    def test_a_closed_pipe_ends_quietly(self, photos: Path) -> None:
        options = ["photos", "--recursive", "-o", "out", "--json", "-", "-q", "--batch-size", "1"]
        command = [sys.executable, "-m", "ssd_detect", "image", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b'{"schema"')
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        process.wait(60)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ssd_detect", "image", "many", "-o", "out", "--batch-size", "1", *arguments]


FORMATS = ["-f", "image", "-f", "json", "-f", "jsonl", "-f", "csv", "-f", "coco"]


def eight_pictures(folder: Path) -> Path:
    folder.mkdir()
    for i in range(8):
        shutil.copy(MEDIA / NAMES[i % 3], folder / f"{i}.png")
    return folder


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Eight pictures."""
    return eight_pictures(tmp_path / "many")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a run over `many` leaves that nobody stops."""
    folder = tmp_path_factory.mktemp("whole")
    eight_pictures(folder / "many")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert image("many", "-o", "out", *FORMATS, "-q", "--batch-size", 1).exit_code == 0
    return contents(folder / "out")


@pytest.mark.slow
class TestResuming:
    @pytest.mark.parametrize("num_done", [1, 4, 7])
    def test_a_killed_run_goes_on_to_the_same_end(
        self, many: Path, tmp_path: Path, num_done: int, whole: dict[str, str]
    ) -> None:
        """kill -9 when so many pictures are done; then --resume, compared with a run that nobody killed."""
        process = subprocess.Popen(command(*FORMATS), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        saved = 0
        for line in process.stdout:
            saved += ": saved " in line
            if saved == num_done:
                break
        process.kill()
        process.wait()
        process.stdout.close()
        assert not Path("out/detections.jsonl").exists()
        before = {p: p.stat().st_mtime_ns for p in Path("out").glob("*_detections.png")}
        assert len(before) >= num_done
        result = image("many", "-o", "out", *FORMATS, "--batch-size", 1, "--resume")
        assert result.exit_code == 0, result.output
        assert "8 pictures done" in result.stderr
        assert "in an earlier run" in result.stderr
        assert contents(tmp_path / "out") == whole
        done_first = sorted(before)[:num_done]
        assert [p.stat().st_mtime_ns for p in done_first] == [before[p] for p in done_first]  # not done again

    def test_after_the_end_there_is_nothing_to_do(self, many: Path, tmp_path: Path) -> None:
        assert image("many", "-o", "out", *FORMATS, "-q").exit_code == 0
        before = contents(tmp_path / "out")
        result = image("many", "-o", "out", *FORMATS, "--resume")
        assert result.exit_code == 0
        assert "8 pictures done, objects: person 3, cat 3; 8 of them in an earlier run" in result.stderr
        assert contents(tmp_path / "out") == before

    def test_after_the_end_other_options_are_refused_and_more_inputs_taken_in(self, many: Path, media: Path) -> None:
        assert image("many", "-o", "out", *FORMATS, "-q").exit_code == 0
        refused = image("many", "-o", "out", *FORMATS, "--resume", "--score-threshold", 0.9)
        assert refused.exit_code == 1
        assert "the run to resume had another checkpoint, other thresholds" in refused.stderr
        shutil.copy(media / "chelsea.png", many / "9.png")
        result = image("many", "-o", "out", *FORMATS, "--resume")
        assert result.exit_code == 0, result.output
        assert "9 pictures done, objects: cat 4, person 3; 8 of them in an earlier run" in result.stderr
        assert len(Path("out/detections.jsonl").read_text().splitlines()) == 9

    def test_what_failed_is_tried_again(self, media: Path) -> None:
        Path("few").mkdir()
        shutil.copy(media / "chelsea.png", "few/a.png")
        Path("few/b.png").write_text("broken")
        assert image("few", "-o", "out", "-f", "csv").exit_code == 3
        shutil.copy(media / "coffee.png", "few/b.png")
        result = image("few", "-o", "out", "-f", "csv", "--resume")
        assert result.exit_code == 0, result.output
        assert "1 of them in an earlier run" in result.stderr
        assert len(Path("out/detections.csv").read_text().splitlines()) == 3

    def test_other_options_are_refused(self, many: Path) -> None:
        process = subprocess.Popen(command(*FORMATS), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        process.wait()
        process.stdout.close()
        assert image("many", "-o", "out", *FORMATS, "--resume", "--score-threshold", 0.3).exit_code == 1
        assert image("many", "-o", "out", *FORMATS).exit_code == 1  # without --resume: its files stand in the way

    def test_a_picture_that_changed_is_done_again(self, many: Path, tmp_path: Path, media: Path) -> None:
        process = subprocess.Popen(command(*FORMATS), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            if "3.png: saved" in line:
                break
        process.kill()
        process.wait()
        process.stdout.close()
        shutil.copy(media / "chelsea.png", many / "0.png")
        assert image("many", "-o", "out", *FORMATS, "--resume", "-q").exit_code == 0
        first = json.loads(Path("out/detections.jsonl").read_text().splitlines()[0])
        assert first["detections"][0]["class"] == "cat"

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_ctrl_c_closes_the_streams_and_can_be_resumed(
        self, many: Path, tmp_path: Path, number: int, whole: dict[str, str]
    ) -> None:
        process = subprocess.Popen(command(*FORMATS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Stopping; finishing what is in hand" in stderr
        assert stderr.endswith("Stopped before the end; the same command with --resume goes on.\n")
        lines = Path("out/detections.jsonl").read_text().splitlines()
        assert 1 <= len(lines) < 8
        assert [json.loads(line)["file"] for line in lines] == [f"many/{i}.png" for i in range(len(lines))]
        assert len(json.loads(Path("out/detections.coco.json").read_text())["images"]) == len(lines)
        result = image("many", "-o", "out", *FORMATS, "--batch-size", 1, "--resume")
        assert result.exit_code == 0, result.output
        assert contents(tmp_path / "out") == whole

    def test_twice_ctrl_c_stops_at_once(self, many: Path) -> None:
        process = subprocess.Popen(command(*FORMATS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in stderr


def test_no_network_unless_asked(media: Path) -> None:
    """With a socket module that refuses, a whole run over local files works."""
    code = (
        "import socket, sys\n"
        "def refuse(*arguments, **options): raise AssertionError('a connection was opened')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from ssd_detect.cli.main import main\n"
        "main()"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, "image", str(media / "chelsea.png")],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

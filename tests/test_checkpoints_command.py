"""`ssd-detect checkpoints`: its verbs, their statuses and both of their streams."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import save

from ssd_detect.cli.checkpoints_table import table
from ssd_detect.cli.main import program
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT, manifest
from tests.checkpoint_server import Plan, Served
from tests.live_servers import http_server
from tests.made_manifests import ENTRY, add_entries, own_home
from tests.test_command_line import HEAVY, run_python
from tests.test_terminal import everything

CONTENT = save({"x": np.frombuffer(random.Random(6).randbytes(100_000), np.uint8)})
HASH = sha256(CONTENT).hexdigest()
SHIPPED = manifest()[DEFAULT_CHECKPOINT]
VERBS = ("list", "pull", "verify", "path", "remove")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with own_home(tmp_path / "home", monkeypatch) as folder:
        yield folder


@pytest.fixture
def server(home: Path) -> Iterator[str]:
    """Serves `made`, which the user's list knows, and has lost `lost`."""
    answers = {"/made": Served(CONTENT), "/lost": Served(CONTENT, plans=[Plan(status=404)])}
    with http_server(dict(answers)) as address:
        add_entries(
            home,
            {
                "made": {**ENTRY, "url": f"{address}/made", "sha256": HASH},
                "lost": {**ENTRY, "file": "lost.pth", "url": f"{address}/lost", "sha256": HASH},
                "unknown": {**ENTRY, "file": "unknown.pth", "url": f"{address}/made"},
            },
        )
        yield address


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program, ["checkpoints", *arguments])


class TestList:
    def test_lines(self, home: Path) -> None:
        result = run("list")
        assert (result.exit_code, result.stderr) == (0, "")
        lines = result.stdout.splitlines()
        assert len(lines) == 2 * len(manifest())
        assert max(map(len, lines)) <= 100
        assert lines[0].split() == [DEFAULT_CHECKPOINT, "shipped"]
        assert " ".join(lines[1].split()) == "SSD300 voc20 published - measured 39.8 voc07 Apache-2.0"
        index = next(i for i, line in enumerate(lines) if line.startswith("ssd300_vgg16_coco "))
        assert lines[index].endswith("  not here")
        assert " ".join(lines[index + 1].split()) == "SSD300 coco91 published 25.1 coco measured - BSD-3-Clause (code)"

    def test_the_users_own(self, home: Path) -> None:
        (home / "bad.toml").write_text("[checkpoints.x]\nsiez = 1\n")
        add_entries(home, {"ssd_300_vgg": {**ENTRY, "classes": ["apple", "pear"]}})
        (home / "made.caffemodel").write_bytes(b"x")
        result = run("list")
        assert result.exit_code == 0
        assert result.stderr == f"Error: {home / 'bad.toml'}: line 2: unknown key 'siez'; did you mean size?\n"
        lines = result.stdout.splitlines()
        line = next(i for i, line in enumerate(lines) if line.startswith("ssd_300_vgg "))
        assert lines[line].endswith("yours (instead of the one that ships)")
        assert " ".join(lines[line + 1].split()) == "SSD512 2 classes published - measured - licence unknown"

    def test_json(self, server: str) -> None:
        run("pull", "made")
        result = run("list", "--json")
        known = {entry["name"]: entry for entry in json.loads(result.stdout)}
        assert set(known) == set(manifest())
        assert known["made"]["path"] == str(manifest()["made"].cached)
        assert (known["made"]["where"], known["lost"]["where"]) == ("cached", "not here")
        assert known["lost"]["how_to_get"] == "type ssd-detect checkpoints pull lost"
        assert known[DEFAULT_CHECKPOINT]["measured"]["map"] == 0.398
        assert known["ssd300_vgg16_coco"]["published"] == {
            "map": 0.251, "metric": "coco", "on": "COCO val2017", "where": "torchvision's description of the weights",
        }  # fmt: skip
        assert known["made"] | {"source": "caffe", "anchor_rounding": "int", "colour_order": "bgr"} == known["made"]

    def test_names_that_drive_terminals(self, home: Path) -> None:
        add_entries(home, {"a": {**ENTRY, "licence": "\x1b[2Jfree\nfor all"}})
        lines = list(table([manifest()["a"]]))
        assert all(line.isprintable() for line in lines)


class TestPull:
    def test_one(self, server: str, home: Path) -> None:
        path = home / "checkpoints" / "made.caffemodel"
        result = run("pull", "made")
        assert (result.exit_code, result.stdout, result.stderr) == (0, f"made: fetched: {path}\n", "")
        assert path.read_bytes() == CONTENT
        result = run("pull", "made", "-q")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        assert run("pull", "made").stdout == f"made: was here: {path}\n"

    def test_some_fail(self, server: str) -> None:
        result = run("pull", "lost", "made")
        assert result.exit_code == 3
        assert result.stderr == f"Error: {server}/lost: the server answered 404 (Not Found)\n"
        assert result.stdout.startswith("made: fetched: ")

    @pytest.mark.parametrize(
        ("name", "status", "words"),
        [
            ("lost", 4, "404 (Not Found)"),
            ("unknown", 4, "use --accept-unverified"),
            ("ssd300_vgg16_cocoa", 4, "no such checkpoint; did you mean ssd300_vgg16_coco?"),
            ("x" * 50, 4, "no such checkpoint; ssd-detect checkpoints list shows all"),
            ("VGG_coco_SSD_300x300_iter_400000.h5", 4, "by hand from https://drive.google.com/"),
        ],
    )
    def test_failures(self, name: str, status: int, words: str, server: str) -> None:
        result = run("pull", name)
        assert (result.exit_code, result.stdout) == (status, "")
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        assert words in result.stderr

    def test_unverified(self, server: str) -> None:
        result = run("pull", "unknown", "--accept-unverified")
        assert result.exit_code == 0
        assert f"unknown: not verified: nobody has published its SHA-256, which is {HASH}; it is" in result.stderr

    def test_from(self, server: str, tmp_path: Path) -> None:
        (tmp_path / "brought").write_bytes(CONTENT)
        assert run("pull", "lost", "--from", str(tmp_path / "brought")).exit_code == 0
        assert run("remove", "lost").exit_code == 0
        assert run("pull", "lost", "--from", f"{server}/made").exit_code == 0
        result = run("pull", "made", "lost", "--from", "x")
        assert result.exit_code == 2
        assert "--from is for one checkpoint" in result.stderr

    @pytest.mark.parametrize("timeout", ["0", "-1", "nan", "soon"])
    def test_timeout(self, timeout: str, server: str) -> None:
        result = run("pull", "made", "--timeout", timeout)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1

    @pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
    @pytest.mark.parametrize(("options", "has_bar"), [([], True), (["-q"], False)])
    def test_a_bar_on_a_terminal(self, options: list[str], has_bar: bool, server: str) -> None:
        import pty

        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "ssd_detect", "checkpoints", "pull", "made", *options]
        terminal = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=terminal, check=True, timeout=60)
        os.close(theirs)
        shown = everything(ours)
        os.close(ours)
        assert ("100.1/100.1 kB" in shown) == has_bar
        assert done.stdout.startswith(b"made: fetched: ") == has_bar


class TestVerify:
    def test_all_that_are_here(self, server: str) -> None:
        result = run("verify")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == f"{DEFAULT_CHECKPOINT}: good: SHA-256 {SHIPPED.sha256}\n"
        run("pull", "made")
        assert f"made: good: SHA-256 {HASH}\n" in run("verify").stdout

    def test_bad(self, server: str, home: Path) -> None:
        run("pull", "made")
        path = home / "checkpoints" / "made.caffemodel"
        path.write_bytes(b"x")
        result = run("verify")
        assert result.exit_code == 4
        assert DEFAULT_CHECKPOINT in result.stdout
        assert result.stderr.startswith(f"Error: {path}: damaged: its SHA-256 is ")
        assert result.stderr.endswith("; type ssd-detect checkpoints pull made\n")
        assert run("verify", str(path)).stderr == result.stderr
        (home / "made.caffemodel").write_bytes(b"x")
        result = run("verify", "made")
        assert result.exit_code == 4
        assert result.stderr.endswith(f"; copy it again, or correct {home / 'made.toml'}\n")

    def test_by_path(self, server: str, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(CONTENT)
        (tmp_path / "y").write_bytes(b"y")
        result = run("verify", str(tmp_path / "x"), str(tmp_path / "y"))
        assert result.exit_code == 0
        known, unknown = result.stdout.splitlines()
        assert known == f"{tmp_path / 'x'}: good: is made"
        assert unknown.startswith(f"{tmp_path / 'y'}: unknown: no list knows its SHA-256, which is ")

    @pytest.mark.parametrize("given", ["made", "maed", "gone/x.pth"])
    def test_not_here(self, given: str, server: str) -> None:
        result = run("verify", given)
        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr.startswith(f"Error: {given}: ")


class TestPath:
    def test_path_alone(self, server: str, home: Path) -> None:
        assert run("path", DEFAULT_CHECKPOINT).stdout == f"{SHIPPED.file}\n"
        run("pull", "made")
        result = run("path", "made")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == f"{home / 'checkpoints' / 'made.caffemodel'}\n"

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("made", "made: is not here; type ssd-detect checkpoints pull made"),
            ("ssd_300_vgg", "ssd_300_vgg: is not here; type ssd-detect checkpoints pull ssd_300_vgg"),
            ("maed", "maed: no such checkpoint; did you mean made?"),
        ],
    )
    def test_not_here(self, name: str, words: str, server: str) -> None:
        result = run("path", name)
        assert (result.exit_code, result.stdout, result.stderr) == (4, "", f"Error: {words}\n")

    def test_a_damaged_list_may_be_why(self, home: Path) -> None:
        (home / "bad.toml").write_text("[checkpoints.mine]\n[")
        result = run("path", "mine")
        assert result.exit_code == 4
        assert result.stderr.startswith(f"Error: {home / 'bad.toml'}: is no TOML: ")
        assert "; mine: no such checkpoint; ssd-detect" in result.stderr
        assert result.stderr.count("bad.toml") == 1

    @pytest.mark.parametrize("arguments", [["list"], ["verify"], ["path", DEFAULT_CHECKPOINT], ["verify", "mine"]])
    def test_lists_that_are_left_out_are_told_once(self, arguments: list[str], home: Path) -> None:
        (home / "bad.toml").write_text("[checkpoints.mine]\n[")
        result = run(*arguments)
        assert result.exit_code == (4 if arguments[-1] == "mine" else 0)
        assert result.stderr.startswith(f"Error: {home / 'bad.toml'}: is no TOML: ")
        assert (result.stderr.count("bad.toml"), result.stderr.count("\n")) == (1, 1)

    @pytest.mark.parametrize("verb", ["path", "info"])
    def test_the_users_instead_of_the_one_that_ships(self, verb: str, home: Path) -> None:
        add_entries(home, {DEFAULT_CHECKPOINT: {**ENTRY, "url": "https://example.org/x"}})
        result = run(verb, DEFAULT_CHECKPOINT)
        assert result.exit_code == 4
        assert result.stderr.endswith(f" ({DEFAULT_CHECKPOINT} is described in {home / 'made.toml'})\n")
        if verb == "info":
            assert f"described in     {home / 'made.toml'}, instead of the manifest\n" in result.stdout


class TestRemove:
    def test_fetched_only(self, server: str, home: Path) -> None:
        run("pull", "made")
        result = run("remove", "made")
        assert (result.exit_code, result.stdout) == (0, f"made: removed, {len(CONTENT):,} bytes freed\n")
        assert list((home / "checkpoints").iterdir()) == []
        result = run("remove", DEFAULT_CHECKPOINT)
        assert result.exit_code == 4
        assert result.stderr == (f"Error: {DEFAULT_CHECKPOINT}: is shipped, and only fetched checkpoints are removed\n")
        assert SHIPPED.file.is_file()


class TestLight:
    @pytest.mark.parametrize("arguments", [["--help"], *[[verb, "--help"] for verb in VERBS], ["list"]])
    def test_imports(self, arguments: list[str]) -> None:
        heavy = (*HEAVY, "requests", "jsonschema")
        code = (
            "import sys\nfrom ssd_detect.cli.main import program\n"
            "try:\n    program(sys.argv[1:])\nexcept SystemExit as error:\n    print(error.code, file=sys.stderr)\n"
            f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
        )
        assert run_python(code, "checkpoints", *arguments).stderr == "0\n[]\n"

    def test_usage(self) -> None:
        for arguments in (["pull"], ["path"], ["remove"], ["lsit"], ["path", "a", "b"]):
            result = run(*arguments)
            assert result.exit_code == 2
            assert result.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        "arguments",
        [["pull", ""], ["pull", "made", "--from", ""], ["verify", "a", ""], ["path", ""], ["remove", ""], ["info", ""]],
    )
    def test_empty_names(self, arguments: list[str], home: Path) -> None:
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "empty name" in result.stderr
        assert result.stderr.count("\n") == 1

    @pytest.mark.parametrize("arguments", [["path"], ["verify"], ["info"], ["pull"], ["pull", "made", "--from"]])
    def test_names_that_are_too_long(self, arguments: list[str], home: Path) -> None:
        add_entries(home, {"made": {**ENTRY, "by_hand": "Ann's desk"}})
        for name in ("a" * 5000, f"a/{'b' * 5000}"):
            result = run(*arguments, name)
            assert (result.exit_code, result.stdout) == (4, "")
            assert (len(result.stderr) < 700, result.stderr.count("\n")) == (True, 1)

    def test_no_verb_shows_the_help(self) -> None:
        assert all(verb in run().output for verb in VERBS)


def test_the_file_that_ships_is_used_as_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However broken the user's own lists are."""
    (home / "bad.toml").write_text("[")
    from ssd_detect.model.locate import locate

    found: Any = locate(DEFAULT_CHECKPOINT)
    assert found.path == SHIPPED.file

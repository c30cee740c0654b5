"""The command `ssd-detect doctor` itself: statuses, streams, colours, JSON, and a machine in pieces."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest

from tests.doctor_stubs import NOISE, ROOT, broken, run_doctor, write_stub

SCHEMA = json.loads((ROOT / "ssd_detect/doctor/schema/doctor.schema.json").read_text(encoding="utf-8"))
HEAVY = {"tensorflow", "numpy", "cv2", "av", "PIL"}


def cpu_seconds() -> float:
    """Of the processes that have ended; the clock on the wall also counts what else this computer does."""
    times = os.times()
    return times.children_user + times.children_system


def all_of(terminal: int) -> str:
    """What a pseudo-terminal that nobody writes to any more was told; one reading may give a part of it."""
    said = b""
    with suppress(OSError):  # which Linux ends it with
        while chunk := os.read(terminal, 10_000):
            said += chunk
    os.close(terminal)
    return said.decode()


@pytest.mark.slow
def test_the_real_command_on_the_cpu() -> None:
    import tensorflow as tf

    start = cpu_seconds()
    done = run_doctor("--device", "cpu")
    assert cpu_seconds() - start < 20
    assert (done.returncode, done.stderr) == (0, "")
    assert f"TensorFlow {tf.__version__}\n" in done.stdout
    assert "person found with score 0.93 on CPU" in done.stdout
    assert "operations run on CPU:0" in done.stdout
    assert "fail" not in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stdout.endswith("\nWorks on the CPU; GPUs were left alone, as --device cpu asks.\n")


def test_a_gpu_that_is_required_and_not_there() -> None:
    done = run_doctor("--quick", "--device", "cpu", "--require-gpu")
    assert done.returncode == 1
    assert "fail    there is no GPU to use, since --device cpu leaves all alone\n" in done.stdout
    assert done.stdout.endswith("since --device cpu leaves all alone; leave out --device cpu\n")


def test_a_quick_look_takes_less_than_two_seconds(tmp_path: Path) -> None:
    write_stub(tmp_path, "raise SystemExit('a quick look imports no TensorFlow')")
    start = cpu_seconds()
    done = run_doctor("--quick", stubs=tmp_path)
    assert cpu_seconds() - start < 2
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("Should work on ")


def test_json_tells_nobody_who_and_where(tmp_path: Path) -> None:
    home = tmp_path / "Jörg (lab+7)"
    home.mkdir()
    write_stub(home, f"raise ImportError({str(home / 'x')!r} + ' of jörg_m on lab-42')")
    environment = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "USER": "jörg_m",
        "HOSTNAME": "lab-42",
        "XLA_FLAGS": f"--x={home}",
    }
    done = run_doctor("--json", stubs=home, environment=environment)
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    text = json.dumps(document, ensure_ascii=False)
    assert "~/x of <user> on <host>" in document["sentence"]
    assert "~/x of <user> on <host>" in document["facts"]["log"]
    for secret in (str(home), "jörg_m", "lab-42"):
        assert not re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", text)


def test_for_prints_a_recipe_and_looks_at_nothing(tmp_path: Path) -> None:
    done = run_doctor("--for", "tensorflow==1.15", stubs=broken(tmp_path, "tensorflow", "numpy"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "CUDA 10.0" in done.stdout
    assert "cudart64_100.dll" in done.stdout
    wrong = run_doctor("--for", "torch==2")
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize("other", [("--json",), ("--quick",), ("--require-gpu",), ("--device", "auto")])
def test_for_goes_alone(other: tuple[str, ...]) -> None:
    done = run_doctor("--for", "2.10", *other)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--for looks at nothing on this machine: it does not go with {other[0]} " in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--help",), ("doctor", "--help"), ("--version",)])
def test_help_and_version_with_everything_broken(arguments: tuple[str, ...], tmp_path: Path) -> None:
    broken(tmp_path, "tensorflow", "numpy", "cv2", "av", "safetensors", "PIL", "pynvml")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    command = [sys.executable, "-m", "ssd_detect", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("names", [("tensorflow",), ("tensorflow", "numpy", "cv2", "av", "safetensors")])
def test_without_packages_the_command_still_speaks(names: tuple[str, ...], tmp_path: Path) -> None:
    done = run_doctor(stubs=broken(tmp_path, *names))
    assert done.returncode == 1
    assert done.stdout.count("is not installed\n") == len(names)
    assert "-m pip install 'tensorflow>=2.16'" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Cannot detect: ")
    assert done.stderr == ""


def test_verbose_shows_what_the_import_said(tmp_path: Path) -> None:
    write_stub(tmp_path, NOISE + "raise ImportError('broken')")
    quiet, verbose = (run_doctor(*arguments, stubs=tmp_path) for arguments in ((), ("-v",)))
    assert quiet.stderr == ""
    assert "noise on the output 199" in verbose.stderr
    assert "Traceback" in verbose.stderr
    assert verbose.stdout.splitlines()[-1] == quiet.stdout.splitlines()[-1]
    assert "fail    TensorFlow cannot be imported: ImportError: broken" in quiet.stdout


def test_an_unknown_device_is_a_usage_error() -> None:
    done = run_doctor("--device", "tpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected auto, cpu or gpu:N" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_hears_what_is_being_checked(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    done = run_doctor(stubs=broken(tmp_path, "tensorflow"), stderr=theirs)
    os.close(theirs)
    said = all_of(ours)
    assert "Checking NumPy …" in said
    assert "Checking TensorFlow …" in said
    assert said.rsplit("\r", 2)[-2].strip() == ""  # wiped before the report begins
    assert "Checking" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_colours_are_for_terminals() -> None:
    import pty

    ours, theirs = pty.openpty()
    run_doctor("--quick", "--device", "cpu", stdout=theirs)
    os.close(theirs)
    shown = all_of(ours)
    assert "\x1b[32m" in shown
    assert "\x1b" not in run_doctor("--quick", "--device", "cpu").stdout


def test_the_own_process_imports_nothing_heavy(tmp_path: Path) -> None:
    broken(tmp_path, "tensorflow")
    program = (
        "import sys; from ssd_detect.cli.doctor import doctor; doctor.main([], standalone_mode=False); "
        f"sys.exit(', '.join({HEAVY} & set(sys.modules)) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "TensorFlow is not installed" in done.stdout


def test_the_picture_is_small_and_lies_in_the_package() -> None:
    import ssd_detect.doctor

    picture = Path(ssd_detect.doctor.__file__).with_name("astronaut.jpg")
    assert 10_000 < picture.stat().st_size < 60_000


def test_secrets_of_other_programs_are_in_no_report() -> None:
    secrets = {"TF_TOKEN_app_terraform_io": "s3cr3t", "TF_VAR_password": "s3cr3t", "TF_HTTP_PASSWORD": "s3cr3t"}
    for arguments in (("--json",), ("-v",)):
        done = run_doctor("--quick", *arguments, environment=secrets)
        assert "s3cr3t" not in done.stdout + done.stderr
        assert "TF_VAR" not in done.stdout


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that not even root may write to")
@pytest.mark.parametrize("arguments", [(), ("--quick",), ("--json",)])
def test_without_a_temporary_folder(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import tempfile; tempfile.tempdir = '/proc/self/fdinfo'")
    done = run_doctor(*arguments, stubs=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Cannot detect: there is no temporary folder with room: /proc/self/fdinfo cannot be written" in done.stdout
    assert "cannot be imported" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use cannot be deleted")
def test_in_a_folder_that_was_deleted(tmp_path: Path) -> None:
    def delete_own_folder() -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()

    lines = run_doctor("--quick", preexec_fn=delete_own_folder)
    assert lines.stderr == ""
    assert "fail    output folder is the current one, which no longer exists\n" in lines.stdout
    done = run_doctor("--quick", "--json", preexec_fn=delete_own_folder)
    jsonschema.validate(json.loads(done.stdout), SCHEMA)
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
@pytest.mark.parametrize("name_value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colours_for_those_who_want_none(name_value: tuple[str, str]) -> None:
    import pty

    ours, theirs = pty.openpty()
    run_doctor("--quick", "--device", "cpu", stdout=theirs, environment=dict([name_value]))
    os.close(theirs)
    shown = all_of(ours)
    assert "Python" in shown
    assert "\x1b" not in shown


def test_nothing_that_is_found_drives_the_terminal(tmp_path: Path) -> None:
    write_stub(
        tmp_path, "import sys; print('\\x1b[31mred\\tblue\\x07', file=sys.stderr); raise ImportError('\\x1b]0;x\\x07')"
    )
    done = run_doctor("-v", stubs=tmp_path, environment={"XLA_FLAGS": "\x1b[2J\x9b31m"})
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr)
    assert "XLA_FLAGS=\\x1b[2J" in done.stdout
    assert "\\x1b[31mred    blue" in re.sub(" +", "    ", done.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_sigterm_leaves_no_folder_and_no_child(tmp_path: Path) -> None:
    source = "import os, time; open(os.environ['MARK'], 'w').write(str(os.getpid())); time.sleep(600)"
    write_stub(tmp_path, source)
    room, mark = tmp_path / "room", tmp_path / "mark"
    room.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    environment |= {"TMPDIR": str(room), "MARK": str(mark)}
    process = subprocess.Popen([sys.executable, "-m", "ssd_detect", "doctor"], env=environment)
    deadline = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(room.iterdir())
    process.terminate()
    assert process.wait(20) == 143
    assert list(room.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_the_help_says_what_a_quick_look_is_worth() -> None:
    assert "nothing was found that stops detection" in " ".join(run_doctor("--help").stdout.split())

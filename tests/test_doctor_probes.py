"""The doctor's probes of the system, Python, what is installed, and folders, on machines made of files."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from ssd_detect.doctor.facts import PACKAGES, BuildFacts, CondaPackage, Failure, Folder
from ssd_detect.doctor.probes.build_info import build_facts
from ssd_detect.doctor.probes.checkpoint import checkpoint_facts, shipped_checkpoint
from ssd_detect.doctor.probes.container import container_kind
from ssd_detect.doctor.probes.distributions import conda_packages, leftovers, relevant_distributions
from ssd_detect.doctor.probes.folders import folder_facts, kernel_cache, own_home
from ssd_detect.doctor.probes.look_up import installed_packages
from ssd_detect.doctor.probes.own_files import own_files, strangers
from ssd_detect.doctor.probes.python import environment_kind, is_made_by_uv
from ssd_detect.doctor.probes.system import system_facts
from ssd_detect.doctor.probes.variables import relevant_variables
from ssd_detect.model.manifest import ManifestEntry, manifest
from tests.made_machines import SITE, install, lay, made_sources

# ---------------------------------------------------------------- system

UBUNTU = 'PRETTY_NAME="Ubuntu 24.04 LTS"\nID=ubuntu\nID_LIKE=debian\n# a comment\n'
WSL2 = "5.15.153.1-microsoft-standard-WSL2\n"
CPU = "processor\t: 0\nflags\t\t: fpu {}\n"


def test_an_empty_machine_is_unknown(tmp_path: Path) -> None:
    facts = system_facts(made_sources(tmp_path))
    assert facts.name.startswith("Linux, kernel ")
    assert (facts.has_avx, facts.wsl, facts.container, facts.secure_boot, facts.shell) == (None,) * 5
    assert facts.has_dxg is False


def test_a_healthy_linux(tmp_path: Path) -> None:
    lay(tmp_path, {"etc/os-release": UBUNTU, "proc/sys/kernel/osrelease": "6.8.0-45-generic\n"})
    lay(tmp_path, {"proc/cpuinfo": CPU.format("avx avx2"), "sys/firmware/efi/efivars/SecureBoot-8be4": b"\6\0\0\0\1"})
    facts = system_facts(made_sources(tmp_path, SHELL="/usr/bin/zsh"))
    assert facts.name == "Ubuntu 24.04 LTS, kernel 6.8.0-45-generic"
    assert facts.release == "6.8.0-45-generic"
    assert facts.distribution == ("ubuntu", "debian")
    assert (facts.has_avx, facts.secure_boot, facts.shell) == (True, True, "zsh")


def test_wsl2(tmp_path: Path) -> None:
    lay(tmp_path, {"proc/sys/kernel/osrelease": WSL2, "dev/dxg": ""})
    facts = system_facts(made_sources(tmp_path, WSL_DISTRO_NAME="Ubuntu-24.04"))
    assert (facts.wsl, facts.wsl_name, facts.has_dxg) == (2, "Ubuntu-24.04", True)


@pytest.mark.parametrize(
    ("release", "version"), [("", None), ("6.8.0-1015-azure", None), ("4.4.0-19041-Microsoft", 1), (WSL2, 2)]
)
def test_versions_of_wsl(release: str, version: int | None, tmp_path: Path) -> None:
    lay(tmp_path, {"proc/sys/kernel/osrelease": release})
    assert system_facts(made_sources(tmp_path)).wsl == version


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", None), ("Features\t: fp asimd\n", None), (CPU.format("avx512f"), False), (CPU.format("sse4_2 avx"), True)],
)
def test_avx_among_the_flags(content: str, expected: bool | None, tmp_path: Path) -> None:
    lay(tmp_path, {"proc/cpuinfo": content})
    assert system_facts(made_sources(tmp_path)).has_avx is expected


@pytest.mark.parametrize(("content", "expected"), [(b"", False), (b"\6\0\0\0\0", False), (b"\6\0\0\0\1", True)])
def test_secure_boot(content: bytes, expected: bool, tmp_path: Path) -> None:
    lay(tmp_path, {"sys/firmware/efi/efivars/SecureBoot-1": content})
    assert system_facts(made_sources(tmp_path)).secure_boot is expected


@pytest.mark.parametrize(
    ("files", "environment", "kind"),
    [
        ({}, {}, None),
        ({"proc/1/cgroup": "0::/init.scope\n"}, {}, None),
        ({".dockerenv": ""}, {}, "docker"),
        ({"run/.containerenv": ""}, {"container": "podman"}, "podman"),
        ({"proc/1/cgroup": "12:devices:/docker/4f1b\n"}, {}, "docker"),
        ({"proc/1/cgroup": "1:cpu:/kubepods/besteffort/pod1\n"}, {}, "kubernetes"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({}, {"APPTAINER_NAME": "tf.sif"}, "apptainer"),
        ({}, {"SINGULARITY_NAME": "tf.sif"}, "apptainer"),
        ({}, {"container": "systemd-nspawn"}, "other"),
    ],
)
def test_containers(files: dict[str, str], environment: dict[str, str], kind: str | None, tmp_path: Path) -> None:
    lay(tmp_path, files)
    assert container_kind(tmp_path, environment) == kind


@pytest.mark.parametrize(
    ("modules", "shell"),
    [
        ("", "cmd"),
        (r"C:\Program Files\WindowsPowerShell\Modules", "cmd"),
        (r"C:\Users\me\Documents\PowerShell\Modules;C:\x", "powershell"),
    ],
)
def test_shells_of_windows(modules: str, shell: str, tmp_path: Path) -> None:
    assert system_facts(made_sources(tmp_path, "Windows", PSModulePath=modules)).shell == shell


@pytest.mark.skipif(sys.platform == "win32", reason="a made program")
@pytest.mark.parametrize(("translated", "expected"), [("1", True), ("0", False)])
def test_rosetta(translated: str, expected: bool, tmp_path: Path) -> None:
    script = f'case "$2" in sysctl.proc_translated) echo {translated};; *) echo "FPU AVX1.0";; esac\n'
    lay(tmp_path, {"usr/sbin/sysctl": f"#!/bin/sh\n{script}"})
    (tmp_path / "usr/sbin/sysctl").chmod(0o755)
    facts = system_facts(made_sources(tmp_path, "Darwin"))
    assert (facts.is_rosetta, facts.has_avx) == (expected, True)


def test_an_unknown_system_is_named(tmp_path: Path) -> None:
    assert system_facts(made_sources(tmp_path, "FreeBSD")).name.startswith("FreeBSD ")


# ---------------------------------------------------------------- Python and what is installed


@pytest.mark.parametrize(
    ("files", "is_venv", "kind", "by_uv"),
    [
        ({}, False, "system", False),
        ({"env/conda-meta/": ""}, False, "conda", False),
        ({"env/conda-meta/": ""}, True, "venv", False),
        ({"env/pyvenv.cfg": "home = /usr/bin\n"}, True, "venv", False),
        ({"env/pyvenv.cfg": "home = /usr/bin\nuv = 0.5.1\n"}, True, "venv", True),
    ],
)
def test_environments(files: dict[str, str], is_venv: bool, kind: str, by_uv: bool, tmp_path: Path) -> None:
    lay(tmp_path, files)
    sources = made_sources(tmp_path)
    if not is_venv:
        sources = replace(sources, base_prefix=sources.prefix)
    assert (environment_kind(sources), is_made_by_uv(sources.prefix)) == (kind, by_uv)


def test_distributions(tmp_path: Path) -> None:
    requires = "Name: tensorflow\nRequires-Dist: numpy<2,>=1.26\nRequires-Dist: absl-py\n"
    requires += 'Requires-Dist: nvidia-cudnn-cu12==9.3.0.75; extra == "and-cuda"\n'
    install(tmp_path, "tensorflow", "2.18.0", {"tensorflow/__init__.py": ""}, METADATA=requires)
    install(tmp_path, "tensorflow-cpu", "2.16.1", {"tensorflow/__init__.py": ""}, INSTALLER="uv\n")
    install(tmp_path, "tensorflow-hub", "0.16.1", {"tensorflow_hub/__init__.py": ""})
    install(tmp_path, "requests", "2.32.0", {"requests/__init__.py": ""})
    found = {one.name: one for one in relevant_distributions([tmp_path / SITE, tmp_path / SITE, tmp_path / "none"])}
    assert list(found) == ["tensorflow", "tensorflow-cpu", "tensorflow-hub"]
    assert [one.owns_tensorflow for one in found.values()] == [True, True, False]
    assert [one.version for one in found.values()] == ["2.18.0", "2.16.1", "0.16.1"]
    assert (found["tensorflow"].installer, found["tensorflow-cpu"].installer) == ("pip", "uv")
    assert found["tensorflow"].requires == ("numpy<2,>=1.26", 'nvidia-cudnn-cu12==9.3.0.75; extra == "and-cuda"')
    assert found["tensorflow"].folder == str(tmp_path / SITE)


def test_the_same_distribution_in_two_folders(tmp_path: Path) -> None:
    install(tmp_path / "a", "numpy", "1.26.4", {})
    install(tmp_path / "b", "numpy", "2.1.0", {})
    found = relevant_distributions([tmp_path / "b" / SITE, tmp_path / "a" / SITE])
    assert [one.version for one in found] == ["2.1.0", "1.26.4"]


def test_a_half_finished_download(tmp_path: Path) -> None:
    files = {f"nvidia/cudnn/lib/libcudnn{part}.so.9": "" for part in ("", "_ops", "_cnn")}
    install(tmp_path, "nvidia-cudnn-cu12", "9.3.0.75", {**files, "nvidia/cudnn/LICENSE": ""})
    (tmp_path / SITE / "nvidia/cudnn/lib/libcudnn_ops.so.9").unlink()
    (tmp_path / SITE / "nvidia/cudnn/LICENSE").unlink()
    (found,) = relevant_distributions([tmp_path / SITE])
    assert found.missing_files == ("nvidia/cudnn/lib/libcudnn_ops.so.9",)


def test_damaged_records_are_no_end(tmp_path: Path) -> None:
    lay(
        tmp_path, {"keras-3.0.dist-info/": "", "torch.egg-info": "", "~ensorflow-2.1.dist-info/": "", "~ensorflow/": ""}
    )
    found = relevant_distributions([tmp_path])
    assert [(one.name, one.version, one.installer) for one in found] == [("keras", "3.0", None), ("torch", "", None)]
    assert leftovers([tmp_path]) == (str(tmp_path / "~ensorflow"), str(tmp_path / "~ensorflow-2.1.dist-info"))


def test_conda_packages(tmp_path: Path) -> None:
    channel = "https://conda.anaconda.org/conda-forge/linux-64"
    record = {"name": "cudnn", "version": "8.9.7", "build": "h0a5_0", "channel": channel}
    lay(tmp_path, {"conda-meta/cudnn-8.9.7.json": json.dumps(record), "conda-meta/cudatoolkit-1.json": "{"})
    lay(
        tmp_path, {"conda-meta/tensorflow-2.json": '{"name": "tensorflow", "version": "2.17.0", "channel": "defaults"}'}
    )
    lay(tmp_path, {"conda-meta/zlib-1.json": '{"name": "zlib", "version": "1"}'})
    assert conda_packages(tmp_path / "none") == ()
    assert conda_packages(tmp_path) == (
        CondaPackage("cudnn", "8.9.7", "h0a5_0", "conda-forge"),
        CondaPackage("tensorflow", "2.17.0", "", "defaults"),
    )


def test_packages_are_looked_up_without_an_import(tmp_path: Path) -> None:
    for module in ("numpy", "PIL", "cv2", "safetensors"):
        lay(tmp_path / SITE, {f"{module}/__init__.py": "raise SystemExit(7)"})
    for name, version in (("numpy", "2.1.0"), ("opencv-contrib-python", "4.10"), ("safetensors", "0.5")):
        install(tmp_path, name, version, {})
    found = installed_packages(relevant_distributions([tmp_path / SITE]), [tmp_path / SITE])
    assert list(found) == [package.module for package in PACKAGES]
    assert found == {
        "numpy": "2.1.0",
        "PIL": "unknown version",
        "cv2": "4.10",
        "safetensors": "0.5",
        "av": Failure("missing", "av"),
    }


NEW_BUILD = """import collections
build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']),
  ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False)])
"""
BUILDS = {
    "missing": (None, BuildFacts()),
    "damaged": ("build_info = {", BuildFacts()),
    "computed": ("build_info = compute()\nis_cuda_build = 1 < 2\n", BuildFacts()),
    "1.12": ("is_cuda_build = True\n", BuildFacts(is_cuda_build=True)),
    "2.1": (
        "is_cuda_build = True\ncuda_version_number = '10.1'\ncudnn_version_number = '7'\n",
        BuildFacts(is_cuda_build=True, cuda_version="10.1", cudnn_version="7"),
    ),
    "2.21": (NEW_BUILD, BuildFacts(None, "", True, False, "12.5.1", "9", ("sm_60", "compute_90"))),
    "CPU build": ("build_info = dict([('is_cuda_build', False)])", BuildFacts(is_cuda_build=False)),
    "nightly": ("build_info = {'is_cuda_build': True}", BuildFacts(is_cuda_build=True)),
}


@pytest.mark.parametrize(("text", "expected"), BUILDS.values(), ids=BUILDS.keys())
def test_what_tensorflow_was_built_for(text: str | None, expected: BuildFacts, tmp_path: Path) -> None:
    lay(tmp_path, {f"{SITE}/tensorflow/__init__.py": "raise SystemExit(7)"})
    if text is not None:
        lay(tmp_path, {f"{SITE}/tensorflow/python/platform/build_info.py": text})
    found = build_facts([tmp_path / "none", tmp_path / SITE], [])
    assert found is not None
    assert found.folder == str(tmp_path / SITE / "tensorflow")
    assert found == replace(expected, folder=found.folder)


def test_no_tensorflow(tmp_path: Path) -> None:
    assert build_facts([tmp_path], []) is None


def test_the_build_is_read_as_tensorflow_itself_tells_it() -> None:
    """Against the real TensorFlow of this environment, in a process that imports it."""
    program = "import json, tensorflow as tf; print(json.dumps([tf.__version__, tf.sysconfig.get_build_info()]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    version, told = json.loads(done.stdout)
    search_path = [Path(entry) for entry in sys.path]
    found = build_facts(search_path, relevant_distributions(search_path))
    assert found is not None
    assert found.version == version
    assert found.is_cuda_build == told["is_cuda_build"]
    assert found.cuda_version == told.get("cuda_version")
    assert list(found.compute_capabilities) == told.get("cuda_compute_capabilities", [])


def test_variables() -> None:
    wanted = {"CUDA_VISIBLE_DEVICES": "", "CUDA_PATH_V11_2": "x", "TF_CPP_MIN_LOG_LEVEL": "3", "LD_LIBRARY_PATH": "/a"}
    others = {"HOME": "/home/me", "AWS_SECRET": "s", "CUDA_PATHS": "x", "MYPATH": "x", "XTF_A": "x"}
    assert relevant_variables({**others, **wanted}) == wanted


@pytest.mark.parametrize(
    "name",
    ["TF_TOKEN_app_terraform_io", "TF_VAR_password", "TF_HTTP_PASSWORD", "TF_CLI_ARGS", "TF_CLI_CONFIG_FILE",
     "CUDA_CACHE_TOKEN", "CUDA_PATH_VAULT", "CUDA_PATH_V1_TOKEN", "NVIDIA_API_KEY", "PIP_INDEX_URL", "PYTHONPATHS",
     "tf_var_a", "TF_CPP_MIN_LOG_LEVEL\nTF_VAR_a", "DISPLAY"],
)  # fmt: skip
def test_what_other_variables_hold_is_never_told(name: str) -> None:
    """Terraform's begin with TF_ too."""
    assert relevant_variables({name: "secret"}) == {}


def test_of_a_job_only_is_told_that_there_is_one() -> None:
    assert relevant_variables({"SLURM_JOB_ID": "4711"}) == {"SLURM_JOB_ID": "set"}


# ---------------------------------------------------------------- folders and the checkpoint


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    found = folder_facts("output", tmp_path / "not" / "made")
    assert (found.path, found.is_writable) == (str(tmp_path / "not" / "made"), True)
    assert found.free_bytes is not None
    assert found.free_bytes > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that not even root may write to")
def test_a_folder_that_cannot_be_written_to() -> None:
    assert folder_facts("cache", Path("/proc/self/fdinfo")).is_writable is False


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a folder on a full disk")
def test_a_full_disk_is_found_by_writing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: Path("/dev/full").open("wb"))  # noqa: SIM115
    found = folder_facts("temporary", tmp_path)
    assert (found.is_writable, found.error) == (False, "No space left on device")


def test_a_current_folder_that_is_gone() -> None:
    assert folder_facts("output", None) == Folder("output", "", is_writable=False)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners")
def test_whose_a_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lay(tmp_path, {"home/.nv/": "", "tmp/": ""})
    home = tmp_path / "home"
    assert not folder_facts("cache", home / ".nv" / "ComputeCache", home).is_strangers
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    found = folder_facts("cache", home / ".nv" / "ComputeCache", home)
    assert (found.is_strangers, found.tried_in) == (True, str(home / ".nv"))
    assert not folder_facts("cache", home / "none", home).is_strangers  # the home folder itself
    assert not folder_facts("cache", tmp_path / "tmp", home).is_strangers
    assert not folder_facts("cache", home / ".nv").is_strangers


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners")
def test_what_can_be_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert own_home(made_sources(tmp_path, HOME=str(tmp_path))) == tmp_path
    for home in ("", "/", "relative", str(tmp_path / "gone")):
        assert own_home(made_sources(tmp_path, HOME=home)) is None
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert own_home(made_sources(tmp_path, HOME=str(tmp_path))) is None
    assert system_facts(made_sources(tmp_path, HOME=str(tmp_path))).has_own_home is False
    assert system_facts(made_sources(tmp_path, "Windows")).has_own_home is None


def test_where_ssd_detect_lies(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {"clone/.git/": "", "clone/ssd_detect/": "", "tree/.git": "gitdir", "site-packages/ssd_detect/": ""},
    )
    found = [own_files(tmp_path / name / "ssd_detect") for name in ("clone", "tree", "site-packages")]
    assert [one.is_checkout for one in found] == [True, True, False]
    assert found[0].folder == str(tmp_path / "clone")


def test_modules_of_the_users(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {"work/tensorflow.py": "", "work/av/__init__.py": "", "work/PIL/": "", f"{SITE}/numpy/__init__.py": ""},
    )
    assert strangers([tmp_path / "work", tmp_path / SITE]) == {
        "tensorflow": str(tmp_path / "work/tensorflow.py"),
        "av": str(tmp_path / "work/av/__init__.py"),
    }
    assert strangers([tmp_path / SITE, tmp_path / "work"]).keys() == {"tensorflow", "av"}
    lay(tmp_path, {"target/cv2/__init__.py": "", "target/opencv_python-4.9.dist-info/RECORD": ""})
    assert strangers([tmp_path / "target"]) == {}
    lay(tmp_path, {f"{SITE}/tensorflow/__init__.py": ""})
    assert strangers([tmp_path / SITE, tmp_path / "work"]).keys() == {"av"}


def test_the_cache_of_kernels(tmp_path: Path) -> None:
    assert kernel_cache(made_sources(tmp_path)) is None
    assert kernel_cache(made_sources(tmp_path, "Darwin", HOME=str(tmp_path))) is None
    lay(tmp_path, {".nv/ComputeCache/1/a": "123", ".nv/ComputeCache/index": "45", "NVIDIA/ComputeCache/b": "6"})
    home = str(tmp_path)
    cases = ((made_sources(tmp_path, HOME=home), 5), (made_sources(tmp_path, "Windows", APPDATA=home), 1))
    for sources, size in (*cases, (made_sources(tmp_path, HOME=home, CUDA_CACHE_PATH=f"{home}/none"), 0)):
        cache = kernel_cache(sources)
        assert cache is not None
        assert cache.size == size


def test_the_shipped_checkpoint() -> None:
    found = shipped_checkpoint()
    assert found.error is None
    assert found.sha256 == found.wanted_sha256
    assert found.size == Path(found.path).stat().st_size


def test_a_damaged_and_a_missing_checkpoint(tmp_path: Path) -> None:
    real = next(iter(manifest().values()))
    (tmp_path / "damaged").write_bytes(b"x")
    damaged, missing = (
        checkpoint_facts(ManifestEntry(real.name, tmp_path / name, real.sha256, real.spec))
        for name in ("damaged", "no")
    )
    assert (damaged.size, damaged.error) == (1, None)
    assert damaged.sha256 != damaged.wanted_sha256
    assert (missing.size, missing.sha256) == (None, None)
    assert missing.error == "No such file or directory"


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder_facts("temporary", tmp_path)
    assert list(tmp_path.iterdir()) == []

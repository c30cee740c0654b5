"""The doctor's emulation of the loader: which file would be taken for each library of CUDA, and why."""

import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ssd_detect.doctor.facts import BuildFacts, Candidate, Library, LibrarySearch, Toolkit, XlaFiles
from ssd_detect.doctor.probes.elf import SearchPaths, search_paths
from ssd_detect.doctor.probes.look_up import library_search
from ssd_detect.doctor.probes.search_places import loader_cache
from ssd_detect.doctor.probes.sources import Sources
from ssd_detect.doctor.probes.toolkits import toolkits
from ssd_detect.doctor.probes.wanted import asking_version, wanted_libraries
from ssd_detect.doctor.probes.xla import xla_files
from tests.made_machines import SITE, compiled, install, lay, made_sources, program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made machines with links and shell scripts")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="no C compiler")

# ---------------------------------------------------------------- ELF


@needs_gcc
@pytest.mark.parametrize("tags", ["--enable-new-dtags", "--disable-new-dtags"])
def test_search_paths_of_a_library(tags: str, tmp_path: Path) -> None:
    rpath = "$ORIGIN/../nvidia/cudnn/lib:/opt/lib:${ORIGIN}:/opt/lib"
    file = compiled(tmp_path / "lib" / "libx.so", "int x;", f"-Wl,{tags},-rpath,{rpath}")
    folders = (tmp_path / "lib" / "../nvidia/cudnn/lib", Path("/opt/lib"), tmp_path / "lib")
    expected = SearchPaths(runpath=folders) if tags == "--enable-new-dtags" else SearchPaths(rpath=folders)
    assert search_paths(file) == expected


@needs_gcc
def test_a_runpath_silences_an_rpath(tmp_path: Path) -> None:
    file = compiled(tmp_path / "libx.so", "int x;", "-Wl,--enable-new-dtags,-rpath,/run,-soname,/old")
    soname, rpath = (struct.pack("<q", tag) for tag in (14, 15))
    file.write_bytes(file.read_bytes().replace(soname, rpath))
    assert search_paths(file) == SearchPaths(runpath=(Path("/run"),))


@needs_gcc
def test_a_library_without_search_paths(tmp_path: Path) -> None:
    assert search_paths(compiled(tmp_path / "libx.so", "int x;")) == SearchPaths()


@pytest.mark.parametrize("content", [b"", b"MZ", b"\x7fELF\x02\x01", b"\x7fELF\x01\x01" + bytes(100), bytes(64)])
def test_what_is_no_such_library(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "libx.so").write_bytes(content)
    with pytest.raises(ValueError, match=r"ends too early|no 64-bit"):
        search_paths(tmp_path / "libx.so")


@needs_gcc
def test_every_shortened_library_is_an_error_or_read(tmp_path: Path) -> None:
    whole = compiled(tmp_path / "whole.so", "int x;", "-Wl,--enable-new-dtags,-rpath,/opt").read_bytes()
    for size in range(0, len(whole), 97):
        (tmp_path / "cut.so").write_bytes(whole[:size])
        try:
            found = search_paths(tmp_path / "cut.so")
        except ValueError:
            continue
        assert found.runpath in ((Path("/opt"),), ())


@pytest.mark.skipif(shutil.which("readelf") is None or sys.platform != "linux", reason="no readelf")
def test_the_runpath_of_the_real_tensorflow() -> None:
    """Against binutils, on the libraries of the TensorFlow of this environment."""
    folder = next(Path(entry) / "tensorflow" for entry in sys.path if (Path(entry) / "tensorflow/__init__.py").exists())
    file = folder / "libtensorflow_framework.so.2"
    text = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True, check=True).stdout
    listed = text.split("runpath: [")[1].split("]")[0] if "runpath: [" in text else ""
    expected = dict.fromkeys(Path(part.replace("$ORIGIN", str(folder))) for part in listed.split(":") if part)
    assert search_paths(file).runpath == tuple(expected)


# ---------------------------------------------------------------- the search on Linux

SONAMES = {
    "cuda_runtime": "libcudart.so.12",
    "cublas": "libcublas.so.12",
    "cufft": "libcufft.so.11",
    "cusolver": "libcusolver.so.11",
    "cusparse": "libcusparse.so.12",
    "cudnn": "libcudnn.so.9",
}
NEEDED = ("cudart", "cublas", "cublasLt", "cufft", "cusolver", "cusparse", "cudnn")
BUILD = {"is_cuda_build": True, "cuda_version": "12.5.1", "cudnn_version": "9"}


def install_tensorflow(root: Path, folders: Sequence[str] = tuple(SONAMES), version: str = "2.18.0") -> BuildFacts:
    """A TensorFlow whose framework looks into these folders of `nvidia`; only libtensorflow_cc looks for cuSOLVER's."""
    folder = root / SITE / "tensorflow"
    lay(folder, {"__init__.py": ""})
    for name, inner in (
        ("libtensorflow_framework.so.2", [f for f in folders if f != "cusolver"]),
        ("libtensorflow_cc.so.2", [f for f in folders if f == "cusolver"]),
    ):
        rpath = ":".join(f"$ORIGIN/../nvidia/{one}/lib" for one in inner) or "$ORIGIN"
        compiled(folder / name, "int x;", f"-Wl,--enable-new-dtags,-rpath,{rpath}")
    return BuildFacts(version, str(folder), **BUILD)  # type: ignore[arg-type]


def install_wheels(root: Path) -> None:
    for folder, soname in SONAMES.items():
        files = {f"nvidia/{folder}/lib/{soname}": "wheel"}
        files |= {f"nvidia/{folder}/lib/libcublasLt.so.12": "wheel"} if folder == "cublas" else {}
        install(root, f"nvidia-{folder.replace('_', '-')}-cu12", "9.3.0.75" if folder == "cudnn" else "12.5.3", files)


def search(sources: Sources, build: BuildFacts | None, found: Sequence[Toolkit] = ()) -> LibrarySearch:
    return library_search(sources, build, "x86_64", found, 5.0)


def named(result: LibrarySearch, component: str) -> Library:
    return next(library for library in result.libraries if library.component == component)


@needs_gcc
def test_a_healthy_environment(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    install_wheels(tmp_path)
    result = search(made_sources(tmp_path), build)
    assert result.wanted_by == "2.18.0"
    assert tuple(one.component for one in result.libraries if one.is_required) == ("driver", *NEEDED)
    for component in NEEDED:
        winner = named(result, component).winner
        assert winner is not None, component
        assert winner.found_by == "RUNPATH"
    assert named(result, "cudnn").winner == Candidate(
        path=str(tmp_path / SITE / "nvidia/cudnn/lib/libcudnn.so.9"),
        found_by="RUNPATH",
        version="9.3.0.75",
        origin="pip nvidia-cudnn-cu12 9.3.0.75",
        real_path=str((tmp_path / SITE / "nvidia/cudnn/lib/libcudnn.so.9").resolve()),
    )
    assert named(result, "driver").candidates == ()


@needs_gcc
def test_wheels_absent(tmp_path: Path) -> None:
    result = search(made_sources(tmp_path), install_tensorflow(tmp_path))
    assert all(named(result, component).candidates == () for component in NEEDED)
    looked = {place.path: place for place in result.places}
    assert looked[str(tmp_path / SITE / "nvidia/cudnn/lib")].exists is False


@needs_gcc
def test_wheels_that_the_loader_does_not_reach(tmp_path: Path) -> None:
    """As with 2.16.1, whose RUNPATH names the folder of the CUDA runtime alone."""
    build = install_tensorflow(tmp_path, ["cuda_runtime"], "2.16.2")
    install_wheels(tmp_path)
    result = search(made_sources(tmp_path), build)
    assert named(result, "cudart").winner is not None
    for component in ("cublas", "cusolver", "cudnn"):
        (candidate,) = named(result, component).candidates
        assert (candidate.is_reachable, candidate.found_by) == (False, "nothing")
        assert candidate.origin.startswith("pip nvidia-cu")


@needs_gcc
def test_the_order_of_the_loader(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    install_wheels(tmp_path)
    lay(
        tmp_path, {"old/libcudnn.so.9.1.0": "", "usr/lib/x86_64-linux-gnu/libcudnn.so.9": "", "cache/libcudnn.so.9": ""}
    )
    (tmp_path / "old/libcudnn.so.9").symlink_to("libcudnn.so.9.1.0")
    line = f"\\tlibcudnn.so.9 (libc6,x86-64) => {tmp_path}/cache/libcudnn.so.9"
    program(tmp_path / "sbin/ldconfig", f"printf '1 libs found\\n{line}\\n'")
    path = f"{tmp_path}/dead:{tmp_path}/old:"
    result = search(made_sources(tmp_path, LD_LIBRARY_PATH=path), build)
    cudnn = named(result, "cudnn")
    assert [one.found_by for one in cudnn.candidates] == ["LD_LIBRARY_PATH", "RUNPATH", "ldconfig", "default"]
    assert cudnn.winner is not None
    assert (cudnn.winner.version, cudnn.winner.origin) == ("9.1.0", "system")
    assert cudnn.winner.path == str(tmp_path / "old/libcudnn.so.9")
    assert [place.exists for place in result.places if place.found_by == "LD_LIBRARY_PATH"] == [False, True]
    order = [place.found_by for place in result.places]
    assert order == sorted(order, key=["LD_LIBRARY_PATH", "RUNPATH", "default"].index)
    assert named(result, "cublas").winner == next(iter(named(result, "cublas").candidates))


@needs_gcc
def test_wheels_of_another_cuda(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    files = {"nvidia/cuda_runtime/lib/libcudart.so.11.0": "", "nvidia/cuda_runtime/lib/libcudart_static.so.12": ""}
    install(tmp_path, "nvidia-cuda-runtime-cu11", "11.8.89", files)
    library = named(search(made_sources(tmp_path), build), "cudart")
    assert library.winner is None
    (other,) = library.others
    assert Path(other.path).name == "libcudart.so.11.0"
    assert (other.origin, other.is_reachable) == ("pip nvidia-cuda-runtime-cu11 11.8.89", True)


@needs_gcc
def test_what_a_soname_links_to_is_no_other_version(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    lay(tmp_path, {"usr/lib/libcudart.so.12.5.82": "", "usr/lib/libcudart.so.1": "", "usr/lib/libcudart.so": ""})
    (tmp_path / "usr/lib/libcudart.so.12").symlink_to("libcudart.so.12.5.82")
    library = named(search(made_sources(tmp_path), build), "cudart")
    assert library.version == "12.5.82"
    assert [Path(other.path).name for other in library.others] == ["libcudart.so.1"]


@needs_gcc
def test_a_dead_link_is_no_library(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libcudart.so.12").symlink_to("libcudart.so.12.5.82")
    assert named(search(made_sources(tmp_path), build), "cudart").candidates == ()


@needs_gcc
def test_a_toolkit_on_the_disk(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    header = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 5\n#define CUDNN_PATCHLEVEL 1\n"
    lay(tmp_path, {"usr/local/cuda-12.5/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.5.1"}}'})
    lay(
        tmp_path, {"usr/local/cuda-12.5/include/cudnn_version.h": header, "usr/local/cuda-12.5/lib64/libcudnn.so.9": ""}
    )
    (tmp_path / "usr/local/cuda").symlink_to("cuda-12.5")
    sources = made_sources(tmp_path, LD_LIBRARY_PATH=f"{tmp_path}/usr/local/cuda/lib64")
    found = toolkits(sources)
    assert found == (Toolkit(str((tmp_path / "usr/local/cuda-12.5").resolve()), "12.5.1", "9.5.1"),)
    winner = named(search(sources, build, found), "cudnn").winner
    assert winner is not None
    assert (winner.found_by, winner.origin, winner.version) == ("LD_LIBRARY_PATH", "CUDA toolkit 12.5.1", "9.5.1")


@needs_gcc
def test_wsl_and_a_linux_driver_inside(tmp_path: Path) -> None:
    build = install_tensorflow(tmp_path)
    lay(tmp_path, {"usr/lib/wsl/lib/libcuda.so.1": ""})
    (unseen,) = named(search(made_sources(tmp_path), build), "driver").candidates
    assert (unseen.origin, unseen.is_reachable) == ("WSL", False)
    program(
        tmp_path / "sbin/ldconfig", f"echo '  libcuda.so.1 (libc6,x86-64) => {tmp_path}/usr/lib/wsl/lib/libcuda.so.1'"
    )
    (seen,) = named(search(made_sources(tmp_path), build), "driver").candidates
    assert (seen.origin, seen.found_by) == ("WSL", "ldconfig")
    lay(tmp_path, {"usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01": ""})
    (tmp_path / "usr/lib/x86_64-linux-gnu/libcuda.so.1").symlink_to("libcuda.so.535.183.01")
    shadowing = made_sources(tmp_path, LD_LIBRARY_PATH=f"{tmp_path}/usr/lib/x86_64-linux-gnu")
    winner = named(search(shadowing, build), "driver").winner
    assert winner is not None
    assert (winner.origin, winner.version) == ("system", "535.183.01")


def test_conda(tmp_path: Path) -> None:
    """Conda's TensorFlow is built for another CUDA than that of PyPI, and finds its libraries by other means."""
    lay(
        tmp_path,
        {"env/lib/libcudart.so.11.8.89": "", "env/lib/libcudnn.so.8": "", f"{SITE}/tensorflow/__init__.py": ""},
    )
    (tmp_path / "env/lib/libcudart.so.11.0").symlink_to("libcudart.so.11.8.89")
    toolkit = '{"name": "cudatoolkit", "version": "11.8.0", "files": ["lib/libcudart.so.11.0"]}'
    lay(tmp_path, {"env/conda-meta/cudatoolkit-11.8.0.json": toolkit})
    cudnn = '{"name": "cudnn", "version": "8.9.7.29", "files": ["lib/libcudnn.so.8", "include/cudnn.h"]}'
    lay(tmp_path, {"env/conda-meta/cudnn-8.9.7.29.json": cudnn})
    build = BuildFacts("2.15.0", str(tmp_path / SITE / "tensorflow"), True, False, "11.8", "8")
    result = search(made_sources(tmp_path, LD_LIBRARY_PATH=str(tmp_path / "env/lib")), build)
    runtime, dnn = named(result, "cudart"), named(result, "cudnn")
    assert runtime.name == "libcudart.so.11.0"
    assert runtime.winner is not None
    assert (runtime.winner.origin, runtime.version) == ("conda cudatoolkit 11.8.0", "11.8.89")
    assert dnn.winner is not None
    assert (dnn.winner.origin, dnn.version) == ("conda cudnn 8.9.7.29", "8.9.7.29")


def test_torch_brings_its_own(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.4.0", {"torch/lib/libcudnn.so.9": ""})
    (candidate,) = named(search(made_sources(tmp_path), None), "cudnn").candidates
    assert (candidate.origin, candidate.version, candidate.is_reachable) == ("pip torch 2.4.0", None, False)


def test_the_cache_of_the_loader(tmp_path: Path) -> None:
    sources = made_sources(tmp_path)
    assert loader_cache(sources, "x86_64", 5) == {}
    lines = (
        "libx.so.1 (libc6) => /lib32/libx.so.1",
        "libx.so.1 (libc6,x86-64, hwcap: 2) => /first",
        "libx.so.1 (libc6,x86-64) => /second",
        "liby.so (libc6,AArch64) => /arm",
    )
    program(tmp_path / "usr/sbin/ldconfig", "".join(f"echo '\t{line}'\n" for line in lines))
    assert loader_cache(sources, "x86_64", 5) == {"libx.so.1": Path("/first")}
    assert loader_cache(sources, "aarch64", 5) == {"liby.so": Path("/arm")}
    program(tmp_path / "usr/sbin/ldconfig", "echo 'ldconfig: unrecognized option: p' >&2; exit 1\n")
    assert loader_cache(sources, "x86_64", 5) == {}


# ---------------------------------------------------------------- the search on Windows

WINDOWS_1_15 = BuildFacts("1.15.0", is_cuda_build=True, cuda_version="10.0", cudnn_version="7")


def windows_path(*folders: Path) -> str:
    return ";".join(str(folder) for folder in folders)


def test_the_seven_missing_dlls_of_1_15(tmp_path: Path) -> None:
    result = search(made_sources(tmp_path, "Windows", SystemRoot=str(tmp_path / "Windows")), WINDOWS_1_15)
    missing = [one.name for one in result.libraries if one.is_required and not one.candidates]
    needed = ["cudart", "cublas", "cufft", "curand", "cusolver", "cusparse"]
    assert missing == ["nvcuda.dll", *(f"{name}64_100.dll" for name in needed), "cudnn64_7.dll"]


def test_windows_searches_the_path(tmp_path: Path) -> None:
    cuda = tmp_path / "CUDA" / "v10.0"
    lay(cuda, {"bin/cudart64_100.dll": "", "bin/cudnn64_7.dll": "", "version.txt": "CUDA Version 10.0.130\n"})
    lay(cuda, {"include/cudnn.h": "#define CUDNN_MAJOR 7\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 5\n"})
    lay(tmp_path, {"Windows/System32/nvcuda.dll": "", "CUDA/v11.2/bin/cudart64_110.dll": ""})
    environment = {"SystemRoot": str(tmp_path / "Windows"), "CUDA_PATH_V10_0": str(cuda)}
    environment["CUDA_PATH_V11_2"] = str(tmp_path / "CUDA/v11.2")
    outside = made_sources(tmp_path, "Windows", **environment)
    found = toolkits(outside)
    assert [(one.version, one.cudnn_version) for one in found] == [("10.0.130", "7.6.5"), ("11.2", None)]
    cudart = named(search(outside, WINDOWS_1_15, found), "cudart")
    assert [(one.found_by, one.origin) for one in cudart.candidates] == [("nothing", "CUDA toolkit 10.0.130")]
    assert [(Path(one.path).name, one.origin) for one in cudart.others] == [("cudart64_110.dll", "CUDA toolkit 11.2")]
    inside = made_sources(tmp_path, "Windows", PATH=windows_path(tmp_path / "gone", cuda / "bin"), **environment)
    result = search(inside, WINDOWS_1_15, found)
    assert named(result, "driver").winner == named(result, "driver").candidates[0]
    assert [one.found_by for one in named(result, "cudnn").candidates] == ["PATH"]
    assert named(result, "cudnn").version == "7.6.5"
    assert [(place.found_by, place.exists) for place in result.places][-2:] == [("PATH", False), ("PATH", True)]


def test_companions_of_2_10_on_windows(tmp_path: Path) -> None:
    build = BuildFacts("2.10.1", is_cuda_build=True, cuda_version="64_112", cudnn_version="64_8")
    names = {one.name: one for one in wanted_libraries("2.10.1", build, "Windows")}
    assert names["cudart64_110.dll"].is_required
    for name in ("cudnn_ops_infer64_8.dll", "zlibwapi.dll", "msvcp140_1.dll"):
        assert not names[name].is_required
    lay(tmp_path, {"env/Library/bin/cudnn64_8.dll": "", "env/conda-meta/": ""})
    path = windows_path(tmp_path / "env/Library/bin")
    winner = named(search(made_sources(tmp_path, "Windows", PATH=path), build), "cudnn").winner
    assert winner is not None
    assert winner.found_by == "PATH"


def test_wheels_on_windows_are_not_looked_into(tmp_path: Path) -> None:
    build = BuildFacts("2.10.1", is_cuda_build=True, cuda_version="64_112", cudnn_version="64_8")
    install(tmp_path, "nvidia-cuda-runtime-cu11", "11.8.89", {"nvidia/cuda_runtime/bin/cudart64_110.dll": ""})
    (candidate,) = named(search(made_sources(tmp_path, "Windows"), build), "cudart").candidates
    assert (candidate.is_reachable, candidate.origin) == (False, "pip nvidia-cuda-runtime-cu11 11.8.89")


# ---------------------------------------------------------------- which libraries are asked for


@pytest.mark.parametrize(
    ("version", "asked"), [(None, "2.21"), ("0.5", "2.21"), ("odd", "2.21"), ("1.15.5", "1.15.5"), ("9.1", "9.1")]
)
def test_whose_libraries_are_looked_for(version: str | None, asked: str) -> None:
    assert asking_version(BuildFacts(version)) == asked
    assert asking_version(None) == "2.21"


@pytest.mark.parametrize(
    ("cuda", "cudnn", "name"),
    [
        (None, None, "libcudart.so.12"),
        ("64_112", "8", "libcudart.so.12"),
        ("11.8", "64_8", "libcudart.so.12"),
        ("11.8", "8", "libcudart.so.11.0"),
    ],
)
def test_what_a_build_says_goes_before_the_table(cuda: str | None, cudnn: str | None, name: str) -> None:
    build = BuildFacts("2.15.0", is_cuda_build=True, cuda_version=cuda, cudnn_version=cudnn)
    assert name in [one.name for one in wanted_libraries("2.15.0", build, "Linux")]


def test_nothing_is_wanted_on_a_mac(tmp_path: Path) -> None:
    assert search(made_sources(tmp_path, "Darwin"), None) == LibrarySearch()


@pytest.mark.parametrize("version", ["1.12", "1.15", "2.1", "2.4", "2.10", "2.14", "2.15.1", "2.18", "2.21", "2.99"])
def test_each_library_is_wanted_once(version: str) -> None:
    wanted = wanted_libraries(version, None, "Linux")
    names = [one.name for one in wanted]
    assert names[0] == "libcuda.so.1"
    assert len(names) == len(set(names))
    assert sum(one.is_required for one in wanted) in (7, 8, 9)


# ---------------------------------------------------------------- toolkits and XLA


def test_no_toolkits(tmp_path: Path) -> None:
    assert toolkits(made_sources(tmp_path, CUDA_HOME=str(tmp_path / "gone"), CUDA_PATH="")) == ()


def test_toolkits_of_several_ages(tmp_path: Path) -> None:
    lay(tmp_path, {"usr/local/cuda-10.0/version.txt": "CUDA Version 10.0.130\n", "usr/local/cuda-11.2/bin/nvcc": ""})
    lay(
        tmp_path,
        {"usr/local/cuda-12.4/version.json": "{damaged", "mine/version.json": '{"cuda": {"version": "12.6.3"}}'},
    )
    found = toolkits(made_sources(tmp_path, CUDA_HOME=str(tmp_path / "mine")))
    assert [one.version for one in found] == ["12.6.3", "10.0.130", "11.2", "12.4"]


LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"


def test_xla_finds_nothing(tmp_path: Path) -> None:
    found = xla_files(made_sources(tmp_path, PATH=""), None)
    assert (found.ptxas, found.libdevice, found.data_dir) == (None, None, None)
    assert str(tmp_path / "usr/local/cuda") in found.looked_in


def test_xla_finds_the_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / SITE / "nvidia/cuda_nvcc"
    lay(wheel, {"bin/ptxas": "", LIBDEVICE: ""})
    found = xla_files(made_sources(tmp_path), tmp_path / SITE / "tensorflow")
    assert (found.ptxas, found.libdevice) == (str(wheel / "bin/ptxas"), str(wheel / LIBDEVICE))


def test_xla_is_led_astray(tmp_path: Path) -> None:
    lay(tmp_path, {"bin/ptxas": ""})
    flags = f"--xla_dump_to=/x --xla_gpu_cuda_data_dir='{tmp_path}/wrong'"
    found = xla_files(made_sources(tmp_path, XLA_FLAGS=flags, PATH=str(tmp_path / "bin")), None)
    assert found == XlaFiles(str(tmp_path / "bin/ptxas"), None, f"{tmp_path}/wrong", found.looked_in)
    assert found.looked_in[0] == f"{tmp_path}/wrong"

"""The tables of TensorFlow, CUDA, cuDNN, drivers and GPUs: each row has a source, rows fit each other, known values."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ssd_detect.doctor import tables as t
from ssd_detect.doctor.rows import Ranged, Row, TensorFlowRow
from ssd_detect.doctor.table_file import FILE, tables

SERIES = [row.version for row in tables().tensorflow if row.version.count(".") == 1]
RELEASES = [row.version for row in tables().tensorflow]


def all_rows() -> Iterator[Row]:
    for value in vars(tables()).values():
        if isinstance(value, tuple):
            yield from value


def test_every_row_says_where_it_was_read() -> None:
    rows = list(all_rows())
    assert len(rows) > 200
    for row in rows:
        assert row.source, row
        for source in row.source.split():
            mark, _, key = source.partition(":")
            assert mark in "WDTKI", row
            if mark == "T":
                assert re.fullmatch(r"[\w-]+#\d+", key), row
            else:
                assert key in tables().sources, row


def test_every_source_is_used() -> None:
    used = {source.partition(":")[2] for row in all_rows() for source in row.source.split()}
    assert set(tables().sources) <= used


def test_ranges_are_the_right_way_round_and_do_not_overlap() -> None:
    for name in ("tensorflow_driver", "code", "needed", "extra", "conda", "metal", "libraries", "cudnn_code"):
        rows: tuple[Ranged, ...] = getattr(tables(), name)
        for row in rows:
            assert not row.last or t.is_within(row.first, row.first, row.last), row
        for before, after in pairwise(rows):
            assert before.last, before
            assert not t.is_within(after.first, before.first, before.last), after


@pytest.mark.parametrize("version", RELEASES)
def test_all_that_a_tensorflow_needs_is_known(version: str) -> None:
    match = t.row_for(version)
    assert match is not None
    row = match.row
    assert match.is_known
    assert t.driver_of_cuda(row.cuda) is not None
    assert t.code_in(version) is not None
    driver = t.driver_for(version)
    assert driver is not None
    assert bool(driver.windows) == row.windows_gpu
    for system in ("linux", "windows"):
        files = t.needed_libraries(version, system)
        assert {"cudart", "cublas", "cudnn"} <= set(files)
        assert all(files.values())
    for name in t.needed_libraries(version, "linux"):
        assert t.wheel_of(name) is not None
    assert (t.extra_of(version) is not None) == row.and_cuda
    assert row.and_cuda or t.conda_packages(version) is not None
    assert bool(row.nvidia_folders) == row.and_cuda
    bought = t.distribution(row.gpu_package, version)
    assert bought is not None
    assert bought.linux_gpu
    assert bought.windows_gpu == row.windows_gpu


@pytest.mark.parametrize("version", RELEASES)
def test_the_extra_brings_the_cuda_and_cudnn_of_the_tested_build(version: str) -> None:
    match, extra = t.row_for(version), t.extra_of(version)
    assert match is not None
    if extra is not None:
        runtime, cudnn = (re.sub(r"[<>=]+", "", extra.pins[name].split(",")[0]) for name in ("cuda-runtime", "cudnn"))
        assert runtime.startswith(match.row.cuda)
        assert cudnn.startswith(match.row.cudnn)
        assert extra.suffix == "cu" + match.row.cuda.split(".")[0]


def test_newer_tensorflow_never_wants_less() -> None:
    rows = [row for row in tables().tensorflow if row.version in SERIES]
    for older, newer in pairwise(rows):
        for name in ("version", "cuda", "cudnn", "glibc"):
            assert t.release(getattr(older, name)) <= t.release(getattr(newer, name)), (name, newer.version)
        for name in ("python", "python_windows"):
            pairs = zip(getattr(older, name), getattr(newer, name), strict=True)
            assert all(t.release(a) <= t.release(b) for a, b in pairs), newer.version
        assert older.windows_gpu >= newer.windows_gpu


def test_newer_cuda_never_wants_an_older_driver() -> None:
    rows = tables().cuda_driver
    for older, newer in pairwise(rows):
        assert t.is_older(older.cuda, newer.cuda), newer
        assert not t.is_older(newer.linux, older.linux), newer
        assert not newer.windows or not t.is_older(newer.windows, older.windows), newer


def test_the_comfortable_driver_is_never_the_older_one() -> None:
    for row in tables().tensorflow_driver:
        assert not t.is_older(row.comfortable_linux, row.linux), row
        assert not row.windows or not t.is_older(row.comfortable_windows, row.windows), row


def test_architectures_have_a_generation() -> None:
    assert {row.architecture for row in tables().capability} == {row.architecture for row in tables().generation}
    for row in tables().capability:
        assert t.generation(row.cc) is not None


def test_what_suits_agrees_with_the_code() -> None:
    """No GPU below the minimum, and none whose architecture follows an "a" of the elementwise kernels, suits."""
    for version in SERIES:
        code = t.code_in(version)
        assert code is not None
        for row in tables().capability:
            if t.is_older(row.cc, code.minimum):
                assert t.suits(version, row.cc) == "no", (version, row.cc)
            if code.mlir_ptx.endswith("a") and t.is_older(code.mlir_ptx, row.cc):
                assert t.suits(version, row.cc) == "no", (version, row.cc)


SEVEN_OF_2_21 = (
    "libcudart.so.12 libcublas.so.12 libcublasLt.so.12 libcufft.so.11 libcusolver.so.11 libcusparse.so.12 libcudnn.so.9"
)
WINDOWS_OF_2_10 = (
    "cudart64_110.dll cublas64_11.dll cublasLt64_11.dll cufft64_10.dll curand64_10.dll cusolver64_11.dll "
    "cusparse64_11.dll cudnn64_8.dll"
)
WINDOWS_OF_1_15 = (
    "cudart64_100.dll cublas64_100.dll cufft64_100.dll curand64_100.dll cusolver64_100.dll cusparse64_100.dll "
    "cudnn64_7.dll"
)
LINUX_OF_2_4 = (
    "libcudart.so.11.0 libcublas.so.11 libcublasLt.so.11 libcufft.so.10 libcurand.so.10 libcusolver.so.10 "
    "libcusparse.so.11 libcudnn.so.8"
)


@pytest.mark.parametrize(
    ("version", "system", "files"),
    [
        ("0.1", "linux", ""),
        ("2.21.0", "linux", SEVEN_OF_2_21),
        ("2.30.0", "linux", SEVEN_OF_2_21),
        ("2.16.1", "linux", SEVEN_OF_2_21.replace("cudnn.so.9", "cudnn.so.8")),
        ("2.4.1", "linux", LINUX_OF_2_4),
        ("2.10.1", "windows", WINDOWS_OF_2_10),
        ("1.15", "windows", WINDOWS_OF_1_15),
        ("1.12.0", "windows", "cudart64_90.dll cublas64_90.dll cufft64_90.dll curand64_90.dll cusolver64_90.dll "
                              "cudnn64_7.dll"),
    ],
)  # fmt: skip
def test_libraries_that_must_all_be_there(version: str, system: Any, files: str) -> None:
    assert list(t.needed_libraries(version, system).values()) == files.split()


@pytest.mark.parametrize(
    ("version", "row", "is_known"),
    [
        ("", None, False),
        ("1", None, False),
        ("odd", None, False),
        ("1.11.0", None, False),
        ("1.16.0", None, False),
        ("2.16.1", "2.16.1", True),
        ("2.16.2", "2.16", True),
        ("2.16.0rc1", "2.16", True),
        ("2.15.0.post1", "2.15.0", True),
        ("1.15", "1.15", True),
        ("2.23.0-dev20261026", "2.21", False),
        ("3.0", "2.21", False),
    ],
)
def test_the_row_of_a_version(version: str, row: str | None, is_known: bool) -> None:
    match = t.row_for(version)
    assert (match.row.version if match else None, bool(match and match.is_known)) == (row, is_known)


def row_of(version: str) -> TensorFlowRow:
    match = t.row_for(version)
    assert match is not None
    return match.row


def test_known_values() -> None:
    assert (row_of("1.15").cuda, row_of("1.15").cudnn) == ("10.0", "7.4")
    assert (row_of("2.10").cuda, row_of("2.10").cudnn_compiled) == ("11.2", "8.1.0")
    assert (row_of("2.21").python, row_of("2.21").glibc) == (("3.10", "3.13"), "2.27")
    assert row_of("2.16.1").nvidia_folders == ("cuda_runtime",)
    assert row_of("2.16.1").cuda == row_of("2.16.2").cuda == "12.3"
    assert row_of("2.12.1").numpy == ">=1.22,<=1.24.3"
    assert row_of("2.17").numpy.startswith(">=1.23.5,<2")
    assert [row_of(v).loading for v in ("1.13", "1.14", "2.11", "2.12")] == ["linked", "named", "named", "unnamed"]


@pytest.mark.parametrize(
    ("cuda", "linux", "windows"),
    [("10.0", "410.48", "411.31"), ("11.2", "460.27.03", "460.82"), ("12.5", "555.42.02", "555.85"),
     ("11.4.2", "470.42.01", "471.11"), ("13.0", "580.65.06", ""), ("8.0", None, None)],
)  # fmt: skip
def test_the_driver_of_a_toolkit(cuda: str, linux: str | None, windows: str | None) -> None:
    row = t.driver_of_cuda(cuda)
    assert (row.linux if row else None, row.windows if row else None) == (linux, windows)


@pytest.mark.parametrize(
    ("driver", "system", "cuda"),
    [("", "linux", None), ("375.26", "linux", None), ("388.73", "windows", "9.0"), ("550.54.14", "linux", "12.4"),
     ("535.183.01", "linux", "12.2"), ("999", "linux", "13.4"), ("610.12", "windows", "12.9")],
)  # fmt: skip
def test_the_cuda_of_a_driver(driver: str, system: Any, cuda: str | None) -> None:
    assert t.cuda_of_driver(driver, system) == cuda


@pytest.mark.parametrize(
    ("version", "cc", "verdict"),
    [
        ("2.21", "3.7", "no"), ("2.14", "3.7", "native"), ("2.3", "5.0", "no"), ("2.2", "5.0", "jit"),
        ("2.16.2", "5.2", "native"), ("2.17", "5.2", "no"), ("2.21.0", "6.1", "native"), ("1.12", "7.5", "no"),
        ("1.15", "8.6", "no"), ("2.10", "8.6", "jit"), ("2.16", "8.6", "native"), ("2.20", "12.0", "no"),
        ("2.21", "12.0", "jit"), ("2.21", "9.0", "jit"), ("2.30", "9.0", "jit"), ("2.21", "13.0", "no"),
        ("2.21", "10.7", "no"),
    ],
)  # fmt: skip
def test_gpus_and_tensorflow(version: str, cc: str, verdict: str) -> None:
    assert t.suits(version, cc) == verdict


@pytest.mark.parametrize(
    ("cc", "newest"), [("2.0", None), ("3.5", "2.14"), ("5.2", "2.16"), ("7.0", "2.21"), ("12.0", "2.21")]
)
def test_the_newest_tensorflow_of_a_gpu(cc: str, newest: str | None) -> None:
    assert t.newest_tensorflow_for(cc) == newest


@pytest.mark.parametrize(
    ("cc", "architecture"),
    [("1.3", None), ("7.5", "Turing"), ("8.8", "Ampere"), ("8.9", "Ada"), ("12.1", "Blackwell"), ("14.0", None)],
)
def test_architectures(cc: str, architecture: str | None) -> None:
    row = t.capability(cc)
    assert (row.architecture if row else None) == architecture
    assert (t.generation(cc) is None) == (architecture is None)


def test_last_driver_branches() -> None:
    branches = {cc: row.last_branch for cc in ("3.5", "6.1", "7.0", "7.5") if (row := t.generation(cc))}
    assert branches == {"3.5": 470, "6.1": 580, "7.0": 580, "7.5": None}


@pytest.mark.parametrize(("cudnn", "minimum"), [("9.3.0", "5.0"), ("9.10.2.21", "5.0"), ("9.11.0.98", "7.5"),
                                                ("9.28.0", "7.5"), ("8.9", None)])  # fmt: skip
def test_the_oldest_gpu_of_a_cudnn(cudnn: str, minimum: str | None) -> None:
    row = t.cudnn_code(cudnn)
    assert (row.minimum if row else None) == minimum


@pytest.mark.parametrize(
    ("requirement", "version", "python", "instead"),
    [
        ("tensorflow[and-cuda]", "2.15.0", "3.11.2", "tensorflow[and-cuda]==2.15.1"),
        ("tensorflow[and-cuda]", "2.15.1", "3.11.2", None),
        ("tensorflow[and-cuda]", "2.14.1", "3.11.2", "tensorflow[and-cuda]==2.15.1"),
        ("tensorflow[and-cuda]", "2.14.1", "3.10", None),
        ("tensorflow[and-cuda]", "2.16.1", "3.12", "tensorflow[and-cuda]==2.16.2"),
        ("tensorflow-gpu", "2.12.0", "3.10", "tensorflow"),
        ("tensorflow-gpu", "2.15.1", "3.10", "tensorflow[and-cuda]"),
        ("tensorflow-gpu", "2.4", "3.8", None),
        ("tensorflow", "2.15.0", "3.11", None),
    ],
)
def test_recipes_that_do_not_work(requirement: str, version: str, python: str, instead: str | None) -> None:
    row = t.broken_recipe(requirement, version, python)
    assert (row.instead if row else None) == instead


@pytest.mark.parametrize(
    ("name", "version", "linux", "windows"),
    [("tensorflow", "1.14", False, False), ("tensorflow", "1.15.5", True, True), ("tensorflow", "2.10.1", True, True),
     ("tensorflow", "2.11.0", True, False), ("tensorflow-cpu", "2.21.0", False, False),
     ("tensorflow-gpu", "2.12.0", False, False), ("tf-nightly", "2.23.0", True, False)],
)  # fmt: skip
def test_distributions_with_the_code_for_gpus(name: str, version: str, linux: bool, windows: bool) -> None:
    row = t.distribution(name, version)
    assert row is not None
    assert (row.linux_gpu, row.windows_gpu) == (linux, windows)


def test_errors_and_messages() -> None:
    assert t.cuda_error(35) == "the driver is too old for this CUDA"
    assert t.cuda_error(1234567) is None
    assert t.nvml_error(9) == "the driver is not loaded"
    assert t.message_in("") is None
    found = t.message_in("UNKNOWN: could not create cuDNN handle: CUDNN_STATUS_NOT_INITIALIZED")
    assert found is not None
    assert found.cause == "cudnn-start"


def test_small_look_ups() -> None:
    assert t.minor_compatibility("10.0") is None
    compatible = t.minor_compatibility("12.5")
    assert compatible is not None
    assert compatible.linux == "525.60.13"
    isa = t.ptx_isa("8.5")
    assert isa is not None
    assert isa.driver == "555"
    assert t.ptx_isa("1.0") is None
    metal, intel, odd = t.metal_for("2.17.1"), t.mac_wheels("x86_64"), t.mac_wheels("ppc")
    assert metal is not None
    assert metal.metal == "1.1"
    assert intel is not None
    assert intel.last == "2.16.2"
    assert odd is None
    assert t.msvc_runtime("1.15") == ("msvcp140.dll",)
    assert t.library_files("7.5", "6", "linux") == t.library_files("", "", "windows") == {}
    assert t.minor_compatibility("") is None
    assert t.known_range() == ("1.12", "2.21")


@pytest.mark.parametrize(
    ("version", "first", "last", "within"),
    [("2.14.1", "2.14", "2.14", True), ("2.15", "2.14", "2.14", False), ("2.9", "2.10", "", False),
     ("2.10", "2.9", "", True), ("2.16", "2.16.1", "2.16.1", False), ("2.0.0", "2", "2", True)],
)  # fmt: skip
def test_versions_within_a_range(version: str, first: str, last: str, within: bool) -> None:
    assert t.is_within(version, first, last) == within


def test_the_file_lies_in_the_package_and_needs_nothing_heavy() -> None:
    assert Path(t.__file__).with_name("tables.toml") == FILE
    program = (
        "import sys; from ssd_detect.doctor.table_file import tables; tables(); "
        "sys.exit(', '.join({'numpy', 'tensorflow', 'cv2', 'av'} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

"""`--for tensorflow==X`: the recipes against the figures of the reference, and their text."""

import re

import pytest

from ssd_detect.doctor.recipe import Recipe, SystemRecipe, recipe
from ssd_detect.doctor.recipe_text import recipe_lines
from ssd_detect.errors import ExitStatus, SettingError

# version: driver on Linux and Windows, CUDA, cuDNN, newest Python on Linux, NumPy
FIGURES = {
    "1.12": ("384.81", "385.54", "9.0", "7", "3.6", ">=1.13.3,<2"),
    "1.15": ("410.48", "411.31", "10.0", "7.4", "3.7", ">=1.16,<2"),
    "2.1": ("418.39", "418.96", "10.1", "7.6", "3.7", ">=1.16,<2"),
    "2.4": ("450.51.05", "451.48", "11.0", "8.0", "3.8", "~=1.19.2"),
    "2.10": ("450.80.02", "452.39", "11.2", "8.1", "3.10", ">=1.20,<2"),
    "2.11": ("450.80.02", "", "11.2", "8.1", "3.10", ">=1.20,<2"),
    "2.14": ("450.80.02", "", "11.8", "8.7", "3.10", ">=1.23.5,<2"),
    "2.15": ("525.60.13", "", "12.2", "8.9", "3.11", ">=1.23.5,<2"),
    "2.16.1": ("525.60.13", "", "12.3", "8.9", "3.12", ">=1.23.5,<2"),
    "2.17": ("525.60.13", "", "12.3", "8.9", "3.12", ">=1.23.5,<2"),
    "2.21": ("525.60.13", "", "12.5", "9.3", "3.13", ">=1.26"),
}
LINUX_PIP = {
    "1.12": 'python -m pip install "tensorflow-gpu==1.12.*" "numpy>=1.13.3,<2" "protobuf>=3.6.1,<3.21"',
    "1.15": 'python -m pip install "tensorflow==1.15.*" "numpy>=1.16,<2" "protobuf>=3.6.1,<3.21"',
    "2.1": 'python -m pip install "tensorflow==2.1.*" "numpy>=1.16,<2" "protobuf>=3.8,<3.21"',
    "2.4": 'python -m pip install "tensorflow==2.4.*" "numpy~=1.19.2" "protobuf>=3.9.2,<3.21"',
    "2.10": 'python -m pip install tensorflow==2.10.1 "numpy>=1.20,<2" "protobuf>=3.9.2,<3.20"',
    "2.11": 'python -m pip install "tensorflow==2.11.*" "numpy>=1.20,<2" "protobuf>=3.9.2,<3.20"',
    "2.12": "python -m pip install tensorflow==2.12.1 nvidia-cudnn-cu11==8.6.0.163",
    "2.14": 'python -m pip install "tensorflow[and-cuda]==2.14.1"',
    "2.15": 'python -m pip install "tensorflow[and-cuda]==2.15.1"',
    "2.15.0": 'python -m pip install "tensorflow[and-cuda]==2.15.1"',
    "2.16.1": 'python -m pip install "tensorflow[and-cuda]==2.16.2"',
    "2.17.0": 'python -m pip install "tensorflow[and-cuda]==2.17.0"',
    "2.21": 'python -m pip install "tensorflow[and-cuda]==2.21.0"',
}


def systems(found: Recipe) -> tuple[SystemRecipe, SystemRecipe]:
    linux, windows = found.systems
    assert (linux.system, windows.system) == ("Linux", "Windows")
    return linux, windows


@pytest.mark.parametrize("version", FIGURES)
def test_figures(version: str) -> None:
    driver, windows_driver, cuda, cudnn, python, numpy = FIGURES[version]
    found = recipe(f"tensorflow=={version}")
    linux, windows = systems(found)
    assert (found.cuda, found.cudnn, found.numpy) == (cuda, cudnn, numpy)
    assert (linux.driver, windows.driver) == (driver, windows_driver)
    assert linux.python.split()[-1] == python
    assert windows.uses_gpu == bool(windows_driver) == bool(windows.libraries)
    assert linux.uses_gpu


@pytest.mark.parametrize("version", LINUX_PIP)
def test_what_pip_installs_on_linux(version: str) -> None:
    assert LINUX_PIP[version] in systems(recipe(version))[0].commands


@pytest.mark.parametrize(
    ("version", "conda", "python"),
    [
        ("1.12", "conda install cudatoolkit=9.0 cudnn=7.6", "3.6"),
        ("1.15", "conda install cudatoolkit=10.0 cudnn=7.6", "3.7"),
        ("2.1", "conda install cudatoolkit=10.1 cudnn=7.6", "3.7"),
        ("2.10", "conda install -c conda-forge cudatoolkit=11.2 cudnn=8.1.0", "3.10"),
        ("2.13", "conda install -c conda-forge cudatoolkit=11.8", "3.11"),
    ],
)
def test_what_conda_installs(version: str, conda: str, python: str) -> None:
    linux, windows = systems(recipe(version))
    assert linux.commands[0] == f"conda create -n ssd python={python}"
    assert conda in linux.commands
    assert linux.commands[-1].startswith("export LD_LIBRARY_PATH=$CONDA_PREFIX/lib")
    assert ("nvidia.cudnn" in linux.commands[-1]) == (version == "2.13")
    assert (conda in windows.commands) == windows.uses_gpu
    assert not any("export" in line for line in windows.commands)


def test_windows_after_2_10_is_told_so() -> None:
    text = "\n".join(recipe_lines(recipe("2.11")))
    assert "uses no GPU since 2.11; use WSL2, or TensorFlow 2.10" in text
    assert systems(recipe("2.17"))[1].commands == ("python -m pip install tensorflow==2.17.1",)


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ("1.15", "1.15"),
        ("tensorflow==1.15.*", "1.15"),
        (" TensorFlow == 2.10.1 ", "2.10.1"),
        ("tensorflow_gpu==2.4", "2.4"),
        ("tensorflow[and-cuda]==2.21.0", "2.21.0"),
        ("'tensorflow[and-cuda]'", "2.21"),
        ("tensorflow-cpu==2.20", "2.20"),
        ("tf-nightly", "2.21"),
        ("tf-nightly==2.23.0.dev20261026", "2.23.0.dev20261026"),
    ],
)
def test_ways_to_ask(requirement: str, version: str) -> None:
    assert recipe(requirement).version == version


@pytest.mark.parametrize(
    "requirement",
    ["", " ", "==", "torch==2.1", "tensorflow==", "tensorflow==1.11", "tensorflow==2.22", "1.16", "tensorflow==2.07",
     "tensorflow==2.1\uff15", "\uff12.\uff11\uff15", "tensorflow==02.1", "tensorflow==2.1.01",
     "tensorflow2.10", "tensorflow==x", "numpy", "-1", "ünï", "torch>=2"],
)  # fmt: skip
def test_what_is_no_known_tensorflow(requirement: str) -> None:
    with pytest.raises(SettingError, match=r"known are 1\.12 to 2\.21, as in --for tensorflow==2\.21") as caught:
        recipe(requirement)
    assert caught.value.exit_status is ExitStatus.USAGE
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "requirement",
    ["tensorflow>=2", "tensorflow>=2.10", "tensorflow~=2.10", "tensorflow[foo]", "tensorflow[and-cuda]>=2.16",
     "tensorflow==2", "tensorflow==2.*", "2", "tensorflow==99", "tensorflow==2.10,<3", "tensorflow<2.11", ">=2.10",
     "tensorflow!=2.10", "tensorflow===2.10"],
)  # fmt: skip
def test_one_exact_version_is_asked_for(requirement: str) -> None:
    words = r"give one exact version, such as tensorflow==2\.21 \(known are 1\.12 to 2\.21\)"
    with pytest.raises(SettingError, match=words):
        recipe(requirement)


@pytest.mark.parametrize("version", ["1.15.99", "1.15.1", "2.16.0", "2.10.2", "2.20.7"])
def test_a_release_that_was_never_published(version: str) -> None:
    with pytest.raises(SettingError, match=rf"there is no TensorFlow {re.escape(version)}; there are \d"):
        recipe(f"tensorflow=={version}")


@pytest.mark.parametrize("version", ["1.15.5", "2.16.1", "2.16.0rc1", "2.15.0.post1", "2.21.4"])
def test_a_release_that_was_or_may_have_been_published(version: str) -> None:
    assert recipe(version).version == version


def test_the_build_for_the_cpu_comes_first_where_it_was_asked_for() -> None:
    text = "\n".join(recipe_lines(recipe("tensorflow-cpu==2.20")))
    assert (
        "\nCPU\n  Python     3.9 to 3.13\n  install    python -m pip install tensorflow-cpu==2.20.0\n\nLinux\n" in text
    )
    old = recipe("tensorflow-cpu==2.10")
    assert old.cpu == 'python -m pip install tensorflow-cpu==2.10.1 "numpy>=1.20,<2" "protobuf>=3.9.2,<3.20"'
    assert recipe("tensorflow==2.20").cpu == ""


def test_no_system_gets_a_numpy_that_breaks_it() -> None:
    caps = '"numpy>=1.20,<2" "protobuf>=3.9.2,<3.20"'
    for version in ("2.10", "2.11"):
        found = recipe(version)
        assert all(any(caps in line for line in system.commands) for system in found.systems)
        assert found.macos.count(caps) == 2
        assert "Python 3.7 to 3.10; " in found.macos
    assert '"numpy>=1.23.5,<2"' in systems(recipe("2.14.0"))[0].commands[0]
    assert "numpy" not in recipe("2.21").macos


@pytest.mark.parametrize(
    ("version", "span"),
    [("2.3", "(compute capability 3.5 to 3.7, 5.2 to 7.5)"), ("2.10", "(compute capability 3.5 to 7.5)")],
)
def test_gpus_in_between_are_not_promised(version: str, span: str) -> None:
    assert span in "\n".join(recipe_lines(recipe(version)))


def test_new_gpus_are_named_where_they_do_not_work() -> None:
    assert "No code for newer GPUs: Blackwell (RTX 50), Rubin." in recipe("2.20").notes
    for version in ("1.15", "2.10", "2.18"):
        (note,) = [note for note in recipe(version).notes if "No code for newer" in note]
        assert "Blackwell (RTX 50)" in note
    assert not any("No code for newer" in note for note in recipe("2.21").notes)


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("tensorflow-gpu==2.12", "its installation fails on purpose; use tensorflow."),
        ("tensorflow-gpu==2.14", "its installation fails on purpose; use tensorflow[and-cuda]."),
        ("tensorflow-cpu==2.20", "tensorflow-cpu 2.20 itself cannot use an NVIDIA GPU; tensorflow can"),
        ("tensorflow==1.14", "tensorflow 1.14 itself cannot use an NVIDIA GPU; tensorflow-gpu can"),
        ("2.14", "The extra and-cuda cannot be installed on Python 3.11."),
        ("2.15.0", "Do not take 2.15.0 itself"),
        ("2.16.1", "Do not take 2.16.1 itself: it does not look where pip puts"),
        ("tf-nightly", "A nightly build may want more than TensorFlow 2.21"),
        ("1.13", "Its import fails when a library is missing"),
        ("1.15", "NVIDIA's own CUDA 10.0 and cuDNN 7.4 do as well"),
        ("2.14", "The last driver for Kepler GPUs is that of branch 470."),
        ("2.21", "The last driver for Pascal and Volta GPUs is that of branch 580."),
        ("2.21", 'GPUs older than Turing also need: python -m pip install "nvidia-cudnn-cu12>=9.3,<9.11"'),
        ("2.21", "Hopper GPUs need driver 555.42.02 or newer."),
        ("2.21", "Blackwell GPUs need driver 570.26 or newer."),
    ],
)
def test_notes(requirement: str, words: str) -> None:
    assert words in "\n".join(recipe(requirement).notes)


def test_a_sound_release_has_no_word_of_its_own_faults() -> None:
    notes = "\n".join(recipe("tensorflow==2.16.2").notes)
    assert not re.search(r"2\.16|pip", notes)


@pytest.mark.parametrize(
    ("version", "native", "compiled"),
    [("2.3", ("3.5", "7.5"), ()), ("2.10", ("3.5", "7.5"), ("8.0", "8.9")), ("2.20", ("6.0", "8.9"), ("9.0", "9.0")),
     ("2.21", ("6.0", "8.9"), ("9.0", "12.1"))],
)  # fmt: skip
def test_gpus(version: str, native: tuple[str, str], compiled: tuple[str, ...]) -> None:
    found = recipe(version)
    assert (found.native[0], found.native[-1]) == native
    assert (*found.compiled[:1], *found.compiled[-1:]) == compiled
    assert ("5.0" in found.native) == (version == "2.10")


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.15", "for the CPU (x86_64): "),
        ("2.10", '"tensorflow-macos==2.10.*" "tensorflow-metal==0.6.*" "numpy>=1.20,<2"'),
        ("2.16.2", "for the CPU (arm64 or x86_64): python -m pip install tensorflow==2.16.2"),
        ("2.17", 'for the CPU (arm64): python -m pip install tensorflow==2.17.1; for the GPU of an Apple chip: '
                 'python -m pip install "tensorflow==2.17.*" "tensorflow-metal==1.1.*"'),
    ],
)  # fmt: skip
def test_macos(version: str, words: str) -> None:
    found = recipe(version)
    assert words in found.macos
    assert "metal" not in recipe("2.21").macos


TEXT_OF_1_15 = """\
TensorFlow 1.15 is built for CUDA 10.0 and cuDNN 7.4
  NumPy      >=1.16,<2
  protobuf   >=3.6.1,<3.21
  GPUs       Kepler, Maxwell, Pascal, Volta, Turing (compute capability 3.5 to 3.7, 5.2 to 7.5)
             Maxwell (compute capability 5.0): the first run compiles for minutes

Linux
  driver     410.48 or newer
  Python     2.7, 3.3 to 3.7
  install    conda create -n ssd python=3.7
             conda activate ssd
             conda install cudatoolkit=10.0 cudnn=7.6
             python -m pip install "tensorflow==1.15.*" "numpy>=1.16,<2" "protobuf>=3.6.1,<3.21"
             export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$LD_LIBRARY_PATH
  libraries  libcudart.so.10.0 libcublas.so.10.0 libcufft.so.10.0 libcurand.so.10.0 libcusolver.so.10.0
             libcusparse.so.10.0 libcudnn.so.7

Windows
  driver     411.31 or newer
  Python     3.5 to 3.7
  install    conda create -n ssd python=3.7
             conda activate ssd
             conda install cudatoolkit=10.0 cudnn=7.6
             python -m pip install "tensorflow==1.15.*" "numpy>=1.16,<2" "protobuf>=3.6.1,<3.21"
  libraries  cudart64_100.dll cublas64_100.dll cufft64_100.dll curand64_100.dll cusolver64_100.dll cusparse64_100.dll
             cudnn64_7.dll

WSL2
  driver     that of Windows; install none inside WSL
  install    as on Linux

macOS
"""


def test_the_text_of_the_tutorials_tensorflow() -> None:
    text = "\n".join(recipe_lines(recipe("tensorflow==1.15")))
    assert text.startswith(TEXT_OF_1_15)


@pytest.mark.parametrize("version", [*FIGURES, "tf-nightly"])
def test_only_commands_may_be_wide(version: str) -> None:
    found = recipe(version)
    commands = {line for system in found.systems for line in system.commands}
    for line in recipe_lines(found):
        assert line == line.rstrip()
        assert len(line) <= 120 or line.strip() in commands or "pip install" in line or "developer.nvidia" in line, line
    assert "that of Windows, 528.33 or newer" in "\n".join(recipe_lines(recipe("2.15")))

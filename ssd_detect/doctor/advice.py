"""What to type next, on this system, in this shell, with this package manager: pure functions that return text.

The first line of a step is the one thing to do; further lines add to it.
"""

import re
import shlex
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ssd_detect.doctor.facts import Facts
from ssd_detect.doctor.tables import conda_packages, extra_of, is_within, known_range, row_for

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_POWERSHELLS = ("powershell", "pwsh")
SHOW_LOG = "ssd-detect doctor -v   shows what TensorFlow said"
STEPS_FILE = Path(__file__).with_name("steps.toml")


@cache
def steps() -> Mapping[str, Mapping[str, str]]:
    """`steps.toml`: what -> which system -> the step."""
    content: dict[str, dict[str, str]] = tomllib.loads(STEPS_FILE.read_text(encoding="utf-8"))
    return content


def in_sentence(step: str) -> str:
    """The one thing to do, as the end of a sentence: `type: ` before a command, its remark in parentheses."""
    command, _, remark = step.splitlines()[0].partition("   ")
    if remark:
        remark = f" {remark.strip()}" if remark.strip().startswith("(") else f" ({remark.strip()})"
    return f"{'type: ' if _is_command(command) else ''}{command}{remark}"


def _is_command(step: str) -> bool:
    word = step.split(" ")[0]
    is_program = re.match(r"[\"'$]|python3\.\d+$|/|[A-Z]:\\", word) is not None
    return is_program or word in steps()["commands"]["begin_with"].split()


# ---------------------------------------------------------------- Python packages


def pip_line(facts: Facts, *arguments: str) -> str:
    """The line that installs into the very Python that runs this."""
    return _pip(facts, "install", *arguments)


def uninstall_line(facts: Facts, *names: str) -> str:
    """The line that takes packages out of the very Python that runs this."""
    return _pip(facts, "uninstall", *(() if _uses_uv(facts) else ("-y",)), *names)


def replace_line(facts: Facts, names: tuple[str, ...], *arguments: str) -> str:
    """Uninstall, then install; Windows' old PowerShell knows no `&&`."""
    return f"{uninstall_line(facts, *names)}{_and(facts)}{pip_line(facts, *arguments)}"


def _and(facts: Facts) -> str:
    return "; " if facts.system.shell in _POWERSHELLS else " && "


def _pip(facts: Facts, action: str, *arguments: str) -> str:
    if _uses_uv(facts):
        options = tuple("--reinstall" if word == "--force-reinstall" else word for word in arguments)
        return _joined(facts, "uv", "pip", action, "--python", facts.python.path, *options)
    return _joined(facts, facts.python.path or "python", "-m", "pip", action, *arguments)


def _uses_uv(facts: Facts) -> bool:
    return facts.python.by_uv and facts.python.pip_version is None


def quoted(facts: Facts, word: str) -> str:
    """A word as the user's shell takes it."""
    if facts.system.kind != "Windows":
        return shlex.quote(word)
    return word if re.fullmatch(r"[\w.:\\/=-]+", word) else f'"{word}"'


def _joined(facts: Facts, *words: str) -> str:
    line = " ".join(quoted(facts, word) for word in words)
    return f"& {line}" if line.startswith('"') and facts.system.shell in _POWERSHELLS else line


def new_environment(facts: Facts, python: str, *more: str) -> str:
    """How to get ssd-detect, and `more`, into an environment with another Python, by the tool that made this one."""
    words = " ".join([".", *(quoted(facts, word) for word in more)])
    if facts.python.by_uv:
        return own_line(f"uv venv --python {python} ssd && uv pip install --python ssd {words}")
    if facts.python.environment == "conda":
        return own_line(f"conda create -n ssd python={python} && conda run -n ssd pip install {words}")
    if facts.system.kind == "Windows":
        return own_line(rf"py -{python} -m venv ssd{_and(facts)}ssd\Scripts\python -m pip install {words}")
    return own_line(f"python{python} -m venv ssd && ssd/bin/python -m pip install {words}")


def own_line(line: str) -> str:
    """A line that has to be typed in the folder of ssd-detect, which is in no index."""
    return f"{line}   (in the folder of ssd-detect)"


def restore_own_files(facts: Facts, name: str) -> str:
    """How damaged or missing files of ssd-detect, in a folder of this name, come back."""
    if facts.own_files.is_checkout:
        return f"cd {quoted(facts, facts.own_files.folder)}{_and(facts)}git checkout -- {name}"
    return own_line(pip_line(facts, "--force-reinstall", "--no-deps", "."))


# ---------------------------------------------------------------- TensorFlow and its libraries


def install_with_cuda(facts: Facts, version: str, *options: str) -> str:
    """The line that brings this TensorFlow with its GPU libraries; the repaired release where this one is broken."""
    match = row_for(version)
    if match is not None and not match.row.and_cuda:
        return _conda_libraries(version)
    fixed = match.row.install if match and match.row.extra_broken else version
    return pip_line(facts, *options, f"tensorflow[and-cuda]=={fixed}")


def _conda_libraries(version: str) -> str:
    """Before 2.14 no extra brings the libraries; conda has them."""
    packages = conda_packages(version)
    if packages is None:
        return f"ssd-detect doctor --for tensorflow=={version}   tells what it needs"
    cudnn = f" cudnn={packages.cudnn}" if packages.cudnn else ""
    also = f" && python -m pip install {packages.pip}" if packages.pip else ""
    return f"conda install -c conda-forge cudatoolkit={packages.cudatoolkit}{cudnn}{also}"


def pin_of(wheel: str, version: str) -> str:
    """The requirement on an nvidia wheel ("cudnn") that the extra of this TensorFlow has."""
    extra = extra_of(version)
    if extra is None:
        return f"nvidia-{wheel}-cu12"
    pin = extra.pins[wheel]
    return f"nvidia-{wheel}-{extra.suffix}{pin if pin[0] in '<>=' else f'=={pin}'}"


def fits_python(facts: Facts, version: str) -> bool:
    """Whether this TensorFlow has wheels for the Python that runs this."""
    match = row_for(version)
    return match is not None and is_within(facts.python.version, *match.row.python)


def newest_python() -> str:
    """The newest Python that any TensorFlow we know has wheels for."""
    match = row_for(known_range()[1])
    assert match is not None  # the range is the table's own
    return match.row.python[1]


# ---------------------------------------------------------------- the system


def install_driver(facts: Facts) -> str:
    """How NVIDIA's driver comes onto this system."""
    return _for_system(facts, steps()["driver"])


def rebuild_module(facts: Facts) -> str:
    """How the kernel module is built for the running kernel."""
    return _for_system(facts, steps()["rebuild"]).format(kernel=facts.system.release)


def _for_system(facts: Facts, table: Mapping[str, str]) -> str:
    words = ("Windows",) if facts.system.kind == "Windows" else facts.system.distribution
    return next((table[word] for word in words if word in table), table["other"])


def unset(facts: Facts, name: str) -> str:
    """How an environment variable is taken away in the user's shell."""
    default = "cmd" if facts.system.kind == "Windows" else "other"
    table = steps()["unset"]
    return table.get(facts.system.shell or default, table[default]).format(name=name)


def set_variable(facts: Facts, name: str, value: str) -> str:
    """How an environment variable is set in the user's shell."""
    if facts.system.shell in _POWERSHELLS:
        return f'$Env:{name} = "{value}"'
    return f"set {name}={value}" if facts.system.kind == "Windows" else f"export {name}={value}"


def give_gpu_to_container(facts: Facts) -> str:
    """How the container that this runs in is started with its GPU."""
    return steps()["container"][facts.system.container or "other"]

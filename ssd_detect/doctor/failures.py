"""An exception as a `Failure`."""

import sysconfig
import traceback
from dataclasses import replace
from importlib.machinery import PathFinder
from pathlib import Path

from ssd_detect.doctor.facts import Failure
from ssd_detect.doctor.probes.own_files import is_installed
from ssd_detect.errors import SsdDetectError

_OURS = Path(__file__).parent.parent


def failure_of(error: BaseException) -> Failure:
    """What went wrong, in plain values."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return Failure("missing", error.name)
    if isinstance(error, SystemExit):
        return Failure("exited", str(_status(error.code)))
    text = str(error) if isinstance(error, SsdDetectError) else f"{type(error).__name__}: {error}"
    return Failure("error", text)


def _status(code: object) -> int:
    """What the shell would see of `sys.exit(code)`."""
    if code is None:
        return 0
    return code if isinstance(code, int) else 1


def failed_import(module: str, error: BaseException) -> Failure:
    """The same for the import of `module`, with the file that the error came from where it is another's."""
    failure, file = failure_of(error), _file_of(error)
    if file is None or _belongs_to(file, module):
        return failure
    return replace(failure, file=str(file), is_users=not _is_installed(file))


def _file_of(error: BaseException) -> Path | None:
    """Of the module that lacks something, as far as the error tells; else that which raised."""
    named = (getattr(error, "path", None), getattr(getattr(error, "obj", None), "__file__", None))
    text = next((name for name in named if isinstance(name, str)), None)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_absolute()]
    text = text or (frames[-1].filename if frames else None)
    return Path(text) if text else None


def _belongs_to(file: Path, module: str) -> bool:
    spec = PathFinder.find_spec(module)
    origin = Path(spec.origin) if spec and spec.origin else None
    own = origin.parent if origin and origin.stem == "__init__" else origin
    return file.is_relative_to(_OURS) or (own is not None and file.is_relative_to(own))


def _is_installed(file: Path) -> bool:
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return is_installed(file) or any(file.is_relative_to(folder) for folder in folders)

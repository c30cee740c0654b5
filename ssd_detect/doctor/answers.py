"""The child process of `ssd-detect doctor`: answers questions, and may die of one, which is an answer too.

A question is a line on standard input: `tensorflow`, `devices`, `detection`, `encoders`, `fonts`, `driver`, `gpus`,
`load` and the path of a library, or the name of a module to import. Its answer is a line of JSON on standard output:
{"value": …}, or {"failure": {"kind": …, "detail": …}}.
"""

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any, BinaryIO

from ssd_detect.doctor.facts import DeviceFacts, TensorFlowFacts
from ssd_detect.doctor.failures import failed_import, failure_of
from ssd_detect.doctor.native import driver_facts, gpu_report, load_library
from ssd_detect.environment import hide_gpus, silence_encoders, tell_where_on_signal
from ssd_detect.settings import Device


def main() -> None:
    """For the arguments device and folder: answer until the input ends."""
    device_text, folder = sys.argv[1:]
    tempfile.tempdir = folder  # which is cleared away, however this process ends
    device = Device.parse(device_text)
    if device.kind == "cpu":
        hide_gpus()
    silence_encoders()
    tell_where_on_signal()
    questions, answers = _private_streams()
    for line in questions:
        answer = _answer(line.decode().strip(), device)
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The standard streams, out of reach of what is imported: what that prints goes to the error stream."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return questions, answers


def _answer(question: str, device: Device) -> dict[str, Any]:
    special: dict[str, Callable[[], Any]] = {
        "tensorflow": lambda: asdict(_tensorflow_facts()),
        "driver": lambda: asdict(driver_facts()),
        "gpus": lambda: asdict(gpu_report()),
        "devices": lambda: [asdict(trial) for trial in _device_trials()],
        "detection": lambda: asdict(_trial(device)),
        "encoders": lambda: [asdict(tried) for tried in _encoders()],
        "fonts": lambda: [asdict(tried) for tried in _fonts()],
    }
    try:
        if question.startswith("load "):
            return {"value": load_library(question.removeprefix("load "))}
        return {"value": special[question]() if question in special else _module_version(question)}
    except (Exception, SystemExit) as error:
        traceback.print_exc(file=sys.stderr)
        is_import = question == "tensorflow" or question not in special
        return {"failure": asdict(failed_import(question, error) if is_import else failure_of(error))}


def _module_version(name: str) -> str:
    return str(import_module(name).__version__)


def _device_trials() -> Any:
    from ssd_detect.doctor.device_trial import try_devices

    return try_devices()


def _encoders() -> Any:
    from ssd_detect.doctor.video_trial import try_encoders

    return try_encoders()


def _fonts() -> Any:
    from ssd_detect.doctor.video_trial import try_fonts

    return try_fonts()


def _trial(device: Device) -> Any:
    from ssd_detect.doctor.trial import run_trial

    return run_trial(device)


def _tensorflow_facts() -> TensorFlowFacts:
    """Asked of TensorFlow itself, not of the room `model/`, which a broken TensorFlow breaks too."""
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()  # keys differ between builds; nightlies lack the versions
    return TensorFlowFacts(
        version=str(tf.__version__),
        is_cuda_build=bool(build.get("is_cuda_build", False)),
        cuda_version=build.get("cuda_version"),
        cudnn_version=build.get("cudnn_version"),
        devices=tuple(_device_facts(tf, device) for device in tf.config.list_physical_devices()),
    )


def _device_facts(tf: Any, device: Any) -> DeviceFacts:
    name = device.name.removeprefix("/physical_device:")
    details = tf.config.experimental.get_device_details(device) if device.device_type == "GPU" else {}
    capability = details.get("compute_capability")
    return DeviceFacts(
        name=name,
        model=details.get("device_name"),
        compute_capability=".".join(str(part) for part in capability) if capability else None,
    )

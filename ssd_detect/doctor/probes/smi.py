"""`nvidia-smi`, for when NVML cannot be asked. Its texts change between versions, so only its CSV is relied upon."""

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssd_detect.doctor.facts import Gpu, GpuProcess, GpuReport
from ssd_detect.doctor.probes.commands import run_command
from ssd_detect.doctor.probes.sources import Sources

_OLDEST_FIELDS = "index,name,uuid,pci.bus_id,driver_version,memory.total,memory.free,compute_mode"
# Drivers before about R510 know no compute_cap, and before about R450 no MIG: asked for either they answer nothing.
_FIELDS = (f"{_OLDEST_FIELDS},mig.mode.current,compute_cap", f"{_OLDEST_FIELDS},mig.mode.current", _OLDEST_FIELDS)
_PROCESS_FIELDS = "gpu_uuid,pid,process_name,used_memory"
_FORMAT = "--format=csv,noheader,nounits"
_UNKNOWN = re.compile(r"\[?(N/A|Not Supported|Unknown Error|Insufficient Permissions)\]?", re.IGNORECASE)


def find_smi(sources: Sources) -> Path | None:
    """The program; on PATH or where drivers put it."""
    name = "nvidia-smi.exe" if sources.kind == "Windows" else "nvidia-smi"
    usual: Sequence[Path] = (sources.root / "usr/bin", sources.root / "usr/lib/wsl/lib")
    if sources.kind == "Windows":
        system = Path(sources.environment.get("SystemRoot", r"C:\Windows"))
        programs = Path(sources.environment.get("ProgramFiles", r"C:\Program Files"))
        usual = (system / "System32", programs / "NVIDIA Corporation" / "NVSMI")
    return next((folder / name for folder in (*sources.folders_in("PATH"), *usual) if (folder / name).is_file()), None)


def ask_smi(program: Path, seconds: float) -> GpuReport:
    """All that it tells; `error` holds its words when it knows no GPU."""
    text = ""
    for fields in _FIELDS:
        text, status = run_command([str(program), f"--query-gpu={fields}", _FORMAT], seconds)
        if status is None or "not a valid field" not in text.lower():
            break
    rows = _rows(text, fields) if status == 0 else []
    if not rows:
        return GpuReport(error=_one_line(text))
    processes = _processes(program, seconds)
    gpus = tuple(_gpu(row, processes.get(row["uuid"], ())) for row in rows)
    return GpuReport("nvidia-smi", rows[0]["driver_version"], _cuda_version(program, seconds), gpus)


def _rows(text: str, fields: str) -> list[dict[str, str]]:
    names = fields.split(",")
    cells = csv.reader(text.splitlines(), skipinitialspace=True)
    return [dict(zip(names, row, strict=True)) for row in cells if len(row) == len(names)]


def _gpu(row: Mapping[str, str], processes: Sequence[GpuProcess]) -> Gpu:
    mig = _known(row.get("mig.mode.current"))
    return Gpu(
        index=int(row["index"]),
        name=row["name"],
        compute_capability=_known(row.get("compute_cap")),
        uuid=_known(row["uuid"]),
        pci_address=_known(row["pci.bus_id"]),
        total_mib=_number(row["memory.total"]),
        free_mib=_number(row["memory.free"]),
        compute_mode=_known(row["compute_mode"]),
        is_mig=None if mig is None else mig == "Enabled",
        processes=tuple(processes),
    )


def _processes(program: Path, seconds: float) -> dict[str, tuple[GpuProcess, ...]]:
    """UUID of the GPU -> its processes."""
    text, status = run_command([str(program), f"--query-compute-apps={_PROCESS_FIELDS}", _FORMAT], seconds)
    by_gpu: dict[str, tuple[GpuProcess, ...]] = {}
    for row in _rows(text, _PROCESS_FIELDS) if status == 0 else ():
        process = GpuProcess(int(row["pid"]), _known(row["process_name"]), _number(row["used_memory"]))
        by_gpu[row["gpu_uuid"]] = (*by_gpu.get(row["gpu_uuid"], ()), process)
    return by_gpu


def _cuda_version(program: Path, seconds: float) -> str | None:
    match = re.search(r"CUDA Version:\s*(\d+\.\d+)", run_command([str(program)], seconds).text)
    return match.group(1) if match else None


def _known(text: str | None) -> str | None:
    return None if text is None or _UNKNOWN.fullmatch(text) else text


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _one_line(text: str) -> str:
    return " ".join(text.split()) or "nvidia-smi printed nothing"

"""What `ssd-detect benchmark` prints: short tables, at most 80 columns wide unless a name is longer."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ssd_detect.counting import counted

if TYPE_CHECKING:
    from ssd_detect.benchmark.results import Benchmark, EngineResult, Machine, Opened
    from ssd_detect.benchmark.samples import Samples

_WIDTH = 80
_LABEL = 10
_GIB, _MIB = 2**30, 2**20
_HALF = "middle half"
_SPINS = 0.1
"""Of a core: an engine that uses more while it waits takes it from those that are measured."""


def lines(found: "Benchmark") -> Iterator[str]:
    """All lines."""
    yield from _machine(found.machine)
    if found.opened is not None:
        yield from _labelled("network", _network(found.opened))
    sizes = (f"{one.name} {one.width}x{one.height}" for one in found.pictures)
    yield from _labelled("pictures", ", ".join(sizes))
    for part in (_cold_start, _stages, _batches, _threads, _video, _compared):
        table = list(part(found))
        if table:
            yield ""
            yield from table
    yield ""
    warm_ups = counted(found.num_warm_ups, "warm-up call")
    yield f"Medians; the middle half lies between the quartiles. Without {warm_ups}."


def _machine(machine: "Machine") -> Iterator[str]:
    memory = () if machine.memory_bytes is None else (f"{machine.memory_bytes / _GIB:.1f} GiB",)
    cores = counted(machine.cores, "core")
    if machine.cores < machine.all_cores:
        cores += f" of {machine.all_cores}"
    yield from _labelled("machine", ", ".join((machine.processor, cores, *memory, *machine.gpus, machine.system)))
    packages = (f"{name} {version}" for name, version in machine.packages.items())
    yield from _labelled("software", ", ".join((f"Python {machine.python}", *packages)))


def _network(opened: "Opened") -> str:
    classes = counted(opened.num_classes, "class", "classes")
    return (
        f"{opened.checkpoint}, SSD{opened.size}, {classes}; {opened.engine} {opened.version}, {opened.precision}, "
        f"{opened.device}, {counted(opened.threads, 'thread')}"
    )


def _labelled(label: str, text: str) -> Iterator[str]:
    indent = " " * _LABEL
    yield from textwrap.wrap(text, _WIDTH, initial_indent=label.ljust(_LABEL), subsequent_indent=indent)


def _cold_start(found: "Benchmark") -> Iterator[str]:
    cold, opened = found.cold_start, found.opened
    if cold is None or opened is None:
        return
    count = counted(len(cold.end.values), "process", "processes")
    rows = [
        ("first result", *_seconds(cold.first_result)),
        ("picture written, process ended", *_seconds(cold.end)),
        ("the network's first call alone", f"{opened.first_call_seconds:.2f}", ""),
    ]
    yield from _table((f"cold start, s ({count})", "median", _HALF), rows)


def _stages(found: "Benchmark") -> Iterator[str]:
    table = found.stages
    if table is None:
        return
    whole = table.whole.median
    named = [*table.stages.items(), ("whole", table.whole)]
    rows = [(name, *_milliseconds(one), f"{one.median / whole:.1%}") for name, one in named]
    yield from _table((f"ms for {table.picture.name}", "median", _HALF, "share"), rows)


def _batches(found: "Benchmark") -> Iterator[str]:
    rows = [
        (str(one.batch_size), *_rates(one.batch_size, one.seconds), _memory(one.peak_bytes)) for one in found.batches
    ]
    if rows:
        yield from _table(("batch size", "pictures/s", _HALF, "memory"), rows)


def _threads(found: "Benchmark") -> Iterator[str]:
    rows = [(str(one.threads), *_rates(1, one.seconds)) for one in found.threads]
    if rows:
        yield from _table(("threads", "pictures/s", _HALF), rows)


def _video(found: "Benchmark") -> Iterator[str]:
    video = found.video
    if video is None:
        return
    rows = [
        ("end to end", *_rates(video.frames, video.run), f"{video.ratio:.2f}"),
        ("bare network", *_rates(video.frames, video.network), "1.00"),
    ]
    title = f"video {video.width}x{video.height}, {video.frames} frames, batch {video.batch_size}"
    yield from _table((title, "frames/s", _HALF, "ratio"), rows)
    if found.peak_bytes is not None:
        yield f"peak memory of the process: {_memory(found.peak_bytes)}"


def _compared(found: "Benchmark") -> Iterator[str]:
    if not found.compared:
        return
    count = max(1, len(found.pictures))
    rows = [_compared_row(one, found, count) for one in found.compared if one.opened is not None]
    yield from _table(("engine", "ms", _HALF, "ratio", "cold s", "memory", "off", "same"), rows)
    yield from _wrapped(
        "ms: a picture, one at a time; ratio: of it to the first engine's; cold s: from the start of a process to its "
        f"first result; off: largest difference of a score from {found.compared[0].engine}'s; same: whether the same "
        "objects are found"
    )
    if any(one.agreement is not None and one.agreement.agrees is None for one in found.compared):
        yield "Other arithmetic than float32 finds a little less, and is not judged; eval tells how much."
    for one in found.compared:
        yield from _compared_notes(one)


def _compared_row(one: "EngineResult", found: "Benchmark", count: int) -> Sequence[str]:
    ratio = found.ratio_to_first(one)
    times = ("-", "-") if one.seconds is None else _milliseconds(one.seconds, count)
    cold = "-" if one.cold_start is None else f"{one.cold_start.first_result.median:.2f}"
    off, same = "-", "-"
    if one.agreement is not None:
        off, same = f"{one.agreement.score_difference:.1e}", "yes" if one.agreement.same_detections else "NO"
    return one.engine, *times, "-" if ratio is None else f"{ratio:.2f}", cold, _memory(one.peak_bytes), off, same


def _compared_notes(one: "EngineResult") -> Iterator[str]:
    """What a row cannot hold; problems are said on the error stream."""
    if one.missing:
        yield from _wrapped(f"{one.engine}: not measured: {one.missing}")
    if one.refusal:
        yield from _wrapped(f"{one.engine}: not measured: {one.refusal}")
    if one.idle_share is not None and one.idle_share > _SPINS:
        yield from _wrapped(
            f"{one.engine}: its worker used {one.idle_share:.0%} of a core while others were measured, which slows them"
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def _seconds(samples: "Samples") -> tuple[str, str]:
    low, high = samples.quartiles
    return f"{samples.median:.2f}", f"{low:.2f} to {high:.2f}"


def _milliseconds(samples: "Samples", count: int = 1) -> tuple[str, str]:
    low, high = (1000 * value / count for value in samples.quartiles)
    decimals = 1 if low >= 100 else 2
    return f"{1000 * samples.median / count:.{decimals}f}", f"{low:.{decimals}f} to {high:.{decimals}f}"


def _rates(count: int, samples: "Samples") -> tuple[str, str]:
    """Pictures or frames a second."""
    low, high = samples.quartiles
    return f"{count / samples.median:.2f}", f"{count / high:.2f} to {count / low:.2f}"


def _memory(count: int | None) -> str:
    return "-" if count is None else f"{count / _MIB:.0f} MiB"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()

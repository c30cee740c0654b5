"""What is known about a checkpoint as JSON; `formats/schema/checkpoint.schema.json` describes it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ssd_detect import __version__
from ssd_detect.inspection.info import FileInfo, NetworkInfo

if TYPE_CHECKING:  # it imports TensorFlow
    from ssd_detect.inspection.trial import Guess, Judgement

SCHEMA = "ssd-detect.checkpoint/1"


def document(info: FileInfo, guess: "Guess | None") -> dict[str, Any]:
    """The whole of it; `variables` and `guess` are null when nobody asked."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "ssd-detect", "version": __version__},
        "path": str(info.path),
        "files": [file.name for file in info.files],
        "bytes": info.bytes,
        "sha256": info.sha256,
        "container": info.container,
        "tensors": info.tensors,
        "numbers": info.numbers,
        "extra": dict(info.extra),
        "network": _network(info.network) if info.network else None,
        "problem": info.problem,
        "variables": None if info.variables is None else [asdict(variable) for variable in info.variables],
        "guess": _guess(guess) if guess else None,
    }


def _network(network: NetworkInfo) -> dict[str, Any]:
    return {
        "name": network.name,
        "source": network.source,
        "size": network.size,
        "classes": list(network.class_names),
        "parameters": network.parameters,
        "step": network.step,
        "facts": {
            name: {"value": fact.value, "told_by": fact.told_by.value, "sure": fact.is_sure}
            for name, fact in network.facts.items()
        },
        "assumed": list(network.assumed),
        "about": dict(network.about),
    }


def _guess(guess: "Guess") -> dict[str, Any]:
    return {
        "pictures": guess.pictures,
        "things": guess.things,
        "anchors": _judgement(guess.anchors),
        "colour_order": _judgement(guess.colour_order),
        "trials": [asdict(trial) for trial in guess.trials],
    }


def _judgement(judgement: "Judgement") -> dict[str, Any]:
    return {"choice": judgement.choice, "z": round(judgement.z, 3), "sure": judgement.is_sure}

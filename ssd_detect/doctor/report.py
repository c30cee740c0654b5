"""The report as JSON, to be attached to a bug report. `schema/doctor.schema.json` describes it."""

import json
from dataclasses import asdict, replace
from typing import Any

from ssd_detect import __version__
from ssd_detect.doctor.check import Verdict
from ssd_detect.doctor.facts import Facts
from ssd_detect.doctor.redaction import Redactor

SCHEMA = "ssd-detect.doctor/1"
_TEXTS = ("found", "wanted", "step", "details")  # of a check; the rest is one of a few words of ours


def report(facts: Facts, verdict: Verdict, redactor: Redactor) -> str:
    """The text of the document: what was judged, and the facts it was judged by.

    Args:
        facts: what is known about the machine.
        verdict: what it comes to.
        redactor: takes out who and where the user is; who else uses the GPUs goes too.
    """
    others = (process.user for gpu in facts.gpu_report.gpus for process in gpu.processes)
    redactor = replace(redactor, users=(*redactor.users, *filter(None, others)))
    document = {
        "schema": SCHEMA,
        "tool": {"name": "ssd-detect", "version": __version__},
        "works": verdict.works,
        "works_on_gpu": verdict.works_on_gpu,
        "proved": verdict.proved,
        "sentence": redactor.text(verdict.sentence),
        "checks": [_redacted(asdict(check), redactor) for check in verdict.checks],
        "facts": redactor.value(asdict(facts)),
    }
    return json.dumps(document, indent=2)  # in ASCII, which every terminal and every path can


def _redacted(check: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return {key: redactor.value(value) if key in _TEXTS else value for key, value in check.items()}

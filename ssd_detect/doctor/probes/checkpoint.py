"""The checkpoint that ships: there, whole, and the one that the manifest knows."""

import hashlib

from ssd_detect.doctor.facts import CheckpointFacts
from ssd_detect.hashing import feed
from ssd_detect.model.manifest import DEFAULT_CHECKPOINT, ManifestEntry, manifest


def shipped_checkpoint() -> CheckpointFacts:
    """Hashed, as far as it can be read.

    Raises:
        CheckpointError: the manifest is missing or damaged.
    """
    return checkpoint_facts(manifest()[DEFAULT_CHECKPOINT])


def checkpoint_facts(entry: ManifestEntry) -> CheckpointFacts:
    """Of the file that `entry` names."""
    digest = hashlib.sha256()
    try:
        size = feed(digest, entry.file)
    except OSError as error:
        reason = error.strerror or str(error)
        return CheckpointFacts(entry.name, str(entry.file), wanted_sha256=entry.sha256, error=reason)
    return CheckpointFacts(entry.name, str(entry.file), size, digest.hexdigest(), entry.sha256)

"""What `--engine auto` has measured earlier on this machine, so that it need not measure now."""

from ssd_detect.conventions import EngineName
from ssd_detect.engines.condition import condition
from ssd_detect.engines.converted import entry_of
from ssd_detect.engines.packages import is_installed
from ssd_detect.engines.support import candidates
from ssd_detect.model.checkpoint import load_checkpoint
from ssd_detect.settings import CheckpointSettings, SessionSettings


def note_choice(settings: SessionSettings, engine: EngineName) -> None:
    """Let `auto` take `engine` for the checkpoint that ships."""
    entry = entry_of(load_checkpoint(CheckpointSettings("ssd_300_vgg_voc")))
    able = [one for one in candidates(settings) if is_installed(one)]
    entry.note("choices", condition(settings, able), {"engine": engine.value})

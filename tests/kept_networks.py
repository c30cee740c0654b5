"""The real networks, opened once for all runs in this process, that compute once what they are asked again and again.

For tests of what is done before and after the network: it is the same checkpoint and the same few pictures in each of
them, and opening the network and running it take most of the time of a run.
"""

import hashlib
from collections.abc import Callable

from ssd_detect.arrays import Floats
from ssd_detect.boxes.selection import Selected
from ssd_detect.conventions import EngineName
from ssd_detect.engines.network import Network
from ssd_detect.engines.open import open_network
from ssd_detect.errors import ClosedError
from ssd_detect.model.checkpoint import Checkpoint
from ssd_detect.model.runs_on import RunsOn
from ssd_detect.model.spec import ModelSpec
from ssd_detect.settings import SessionSettings

_Asked = tuple[tuple[int, ...], bytes]


class RememberingNetwork:
    """A network, and what it has computed: the same for the same pictures in the same batch, as its own tests check."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._outputs: dict[_Asked, tuple[Floats, Floats]] = {}
        self._selected: dict[tuple[_Asked, bytes], Selected] = {}

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        asked = _asked(resized)
        if asked not in self._outputs:
            self._outputs[asked] = self.network.run(resized)
        scores, offsets = self._outputs[asked]
        return scores.copy(), offsets.copy()

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        asked = (_asked(resized), limits.tobytes())
        if asked not in self._selected:
            self._selected[asked] = self.network.run_selected(resized, limits)
        return Selected(*(array.copy() for array in self._selected[asked]))


def _asked(resized: Floats) -> _Asked:
    return resized.shape, hashlib.sha256(resized.tobytes()).digest()


class LentNetwork:
    """What a `Detector` gets; closed to this borrower alone."""

    def __init__(self, network: RememberingNetwork) -> None:
        self._network: RememberingNetwork | None = network
        self.runs_on: RunsOn = network.network.runs_on

    def run(self, resized: Floats) -> tuple[Floats, Floats]:
        return self._lent.run(resized)

    def run_selected(self, resized: Floats, limits: Floats) -> Selected:
        return self._lent.run_selected(resized, limits)

    def close(self) -> None:
        self._network = None

    @property
    def _lent(self) -> RememberingNetwork:
        if self._network is None:
            raise ClosedError("this Detector is closed; make a new one")
        return self._network


class KeptNetworks:
    """Opens each of TensorFlow's networks once, and lends it from then on; those of other engines are not kept."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ModelSpec, SessionSettings], RememberingNetwork] = {}

    def open(
        self, checkpoint: Checkpoint, settings: SessionSettings, on_note: Callable[[str], None] = lambda line: None
    ) -> Network:
        """In the place of `open_network`."""
        if settings.engine is not EngineName.TENSORFLOW:
            return open_network(checkpoint, settings, on_note)
        key = (checkpoint.sha256, checkpoint.spec, settings)
        if key not in self._kept:
            self._kept[key] = RememberingNetwork(open_network(checkpoint, settings, on_note))
        return LentNetwork(self._kept[key])

    def close(self) -> None:
        for kept in self._kept.values():
            kept.network.close()

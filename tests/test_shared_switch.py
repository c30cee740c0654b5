"""A switch that many threads hold: each sees it as it asked, those who want the same at once, and nobody for ever."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssd_detect.model.shared_switch import SharedSwitch

SECONDS = 20.0


class Lamp:
    """What is switched."""

    def __init__(self, is_on: bool = True) -> None:
        self.is_on = is_on
        self.switch = SharedSwitch(lambda: self.is_on, self.turn)

    def turn(self, on: bool) -> None:
        self.is_on = on


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@settings(deadline=None, max_examples=40)
@given(
    before=st.booleans(),
    wanted=st.lists(st.lists(st.booleans(), max_size=5), max_size=6),
)
def test_each_sees_what_it_asked_for(before: bool, wanted: list[list[bool]]) -> None:
    lamp = Lamp(before)

    def work(positions: list[bool]) -> list[bool]:
        seen = []
        for position in positions:
            with lamp.switch.at(position):
                seen.append(lamp.is_on)
                time.sleep(0.0005)
                seen.append(lamp.is_on)
        return seen

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(work, positions) for positions in wanted]
        assert not wait(running, SECONDS).not_done  # nobody waits for ever
    assert [one.result() for one in running] == [[p for p in positions for _ in range(2)] for positions in wanted]
    assert lamp.is_on is before


@pytest.mark.parametrize("position", [True, False])
def test_those_who_want_the_same_hold_it_at_once(position: bool) -> None:
    lamp, all_inside = Lamp(), threading.Barrier(4)

    def work() -> None:
        with lamp.switch.at(position):
            all_inside.wait(SECONDS)

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(work) for _ in range(4)]:
            one.result()
    assert lamp.is_on


def test_who_waits_is_not_overtaken() -> None:
    """Else callers who take turns at one position would keep the others out for ever."""
    lamp, may_end, order = Lamp(), threading.Event(), []

    def work(name: str, position: bool) -> None:
        with lamp.switch.at(position):
            order.append(name)
            may_end.wait(SECONDS)

    with ThreadPoolExecutor(3) as pool:
        pool.submit(work, "first", True)
        until(lambda: order == ["first"])
        pool.submit(work, "other", False)
        until(lambda: len(lamp.switch._waiting) == 1)
        pool.submit(work, "late", True)
        until(lambda: len(lamp.switch._waiting) == 2)
        assert order == ["first"]
        may_end.set()
    assert order == ["first", "other", "late"]


def test_after_an_error_inside_it_is_free() -> None:
    lamp = Lamp(False)
    with pytest.raises(KeyError), lamp.switch.at(True):
        raise KeyError
    assert not lamp.is_on
    with lamp.switch.at(True):
        assert lamp.is_on


def test_one_that_is_interrupted_while_it_waits_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C."""
    lamp = Lamp()

    def interrupted(predicate: Callable[[], bool]) -> bool:
        raise KeyboardInterrupt

    with lamp.switch.at(True):
        with monkeypatch.context() as patch:
            patch.setattr(lamp.switch._changed, "wait_for", interrupted)
            with pytest.raises(KeyboardInterrupt), lamp.switch.at(False):
                pass
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lamp.switch.at(True).__enter__).result(SECONDS)


def test_a_switch_that_does_not_turn_is_held_by_nobody() -> None:
    def broken(on: bool) -> None:
        raise OSError("stuck")

    switch = SharedSwitch(lambda: True, broken)
    for _ in range(2):
        with pytest.raises(OSError, match="stuck"), switch.at(False):
            pass

"""The bounded threads: order, bounds, errors at each place, early ends; nothing may hang."""

import functools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from ssd_detect.media.pipeline import read_ahead, write_behind

HANG_SECONDS = 10.0


class OddError(Exception):
    pass


def in_time(test: Callable[..., None]) -> Callable[..., None]:
    """Fail a test that hangs."""

    @functools.wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        errors: list[BaseException] = []

        def work() -> None:
            try:
                test(*args, **kwargs)
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(HANG_SECONDS)
        assert not thread.is_alive(), "hangs"
        if errors:
            raise errors[0]

    return run


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert "ssd-detect pipeline" not in [thread.name for thread in threading.enumerate()]


class TestReadAhead:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
    @pytest.mark.parametrize("depth", [0, 1, 2, 8])
    @in_time
    def test_same_items_in_the_same_order(self, count: int, depth: int) -> None:
        with read_ahead(range(count), depth) as items:
            assert list(items) == list(range(count))
            assert next(items, "no more") == "no more"

    @pytest.mark.parametrize("depth", [1, 3])
    @in_time
    def test_no_more_than_depth_are_ahead(self, depth: int) -> None:
        taken, ahead = 0, []

        def source() -> Iterator[int]:
            nonlocal taken
            while taken < 30:
                taken += 1
                yield taken

        with read_ahead(source(), depth) as items:
            for used in items:
                time.sleep(0.005)
                ahead.append(taken - used)
        assert max(ahead) == depth + 1  # one more is in the reader's hand

    @in_time
    def test_it_does_read_ahead(self) -> None:
        third = threading.Event()

        def source() -> Iterator[int]:
            yield from range(2)
            third.set()
            yield 2

        with read_ahead(source(), 2) as items:
            assert third.wait(HANG_SECONDS / 2)
            assert list(items) == [0, 1, 2]

    @pytest.mark.parametrize("place", [0, 1, 5])
    @pytest.mark.parametrize("error", [OddError("odd"), KeyboardInterrupt()])
    @in_time
    def test_an_error_is_raised_at_its_place(self, place: int, error: BaseException) -> None:
        seen = []
        source = (seen_or_raise(n, place, error) for n in range(9))
        with pytest.raises(type(error)) as caught, read_ahead(source, 2) as items:
            for item in items:
                seen.append(item)
        assert caught.value is error
        assert seen == list(range(place))

    @in_time
    def test_something_that_cannot_be_iterated(self) -> None:
        number: Iterable[int] = 5  # type: ignore[assignment]
        with pytest.raises(TypeError, match="not iterable"), read_ahead(number, 2) as items:
            next(items)

    @pytest.mark.parametrize("used", [0, 1, 4])
    @in_time
    def test_leaving_early_closes_the_source(self, used: int) -> None:
        closed_in = []

        def source() -> Iterator[int]:
            try:
                yield from range(1_000_000_000)
            finally:
                closed_in.append(threading.current_thread().name)

        with read_ahead(source(), 3) as items:
            assert [next(items) for _ in range(used)] == list(range(used))
        assert closed_in == ["ssd-detect pipeline"]
        assert list(items) == []

    @pytest.mark.parametrize("error", [OddError("odd"), KeyboardInterrupt()])
    @in_time
    def test_an_error_of_the_block_ends_the_thread(self, error: BaseException) -> None:
        def fail() -> None:
            with read_ahead(iter(int, 1), 3) as items:
                next(items)
                raise error

        with pytest.raises(type(error)) as caught:
            fail()
        assert caught.value is error

    @in_time
    def test_one_inside_the_other(self) -> None:
        with read_ahead(range(50), 2) as inner, read_ahead((n * n for n in inner), 3) as squares:
            assert list(squares) == [n * n for n in range(50)]


def seen_or_raise(number: int, place: int, error: BaseException) -> int:
    if number == place:
        raise error
    return number


class TestWriteBehind:
    @pytest.mark.parametrize("count", [0, 1, 2, 100])
    @pytest.mark.parametrize("depth", [0, 1, 8])
    @in_time
    def test_all_items_in_order(self, count: int, depth: int) -> None:
        written: list[int] = []
        with write_behind(written.append, depth) as writer:
            for number in range(count):
                writer.put(number)
        assert written == list(range(count))

    @pytest.mark.parametrize("depth", [1, 3])
    @in_time
    def test_no_more_than_depth_wait(self, depth: int) -> None:
        done, waiting = 0, []

        def slow(_: int) -> None:
            nonlocal done
            time.sleep(0.005)
            done += 1

        with write_behind(slow, depth) as writer:
            for number in range(30):
                writer.put(number)
                waiting.append(number + 1 - done)
        assert max(waiting) == depth + 1  # one more is being written
        assert done == 30

    @pytest.mark.parametrize("place", [0, 1, 5])
    @pytest.mark.parametrize("error", [OddError("odd"), KeyboardInterrupt()])
    @in_time
    def test_the_first_error_is_raised_by_a_later_put(self, place: int, error: BaseException) -> None:
        written, put = [], 0

        def write(number: int) -> None:
            written.append(seen_or_raise(number, place, error))

        with pytest.raises(type(error)) as caught, write_behind(write, 2) as writer:
            for put in range(1_000_000):
                writer.put(put)
        assert caught.value is error
        assert written == list(range(place))
        assert put < place + 5

    @in_time
    def test_an_error_at_the_last_item_is_raised_at_the_end(self) -> None:
        def fail(_: int) -> None:
            raise OddError("odd")

        with pytest.raises(OddError, match="odd"), write_behind(fail, 2) as writer:
            writer.put(1)

    @in_time
    def test_an_error_that_the_block_swallows_is_raised_at_the_end(self) -> None:
        def fail(_: int) -> None:
            raise OddError("odd")

        def swallow() -> None:
            with write_behind(fail, 1) as writer:
                for number in range(5):
                    try:
                        writer.put(number)
                    except OddError:
                        return

        with pytest.raises(OddError):
            swallow()

    @pytest.mark.parametrize("error", [OddError("odd"), KeyboardInterrupt()])
    @in_time
    def test_an_error_of_the_block_drops_what_waits(self, error: BaseException) -> None:
        started, go_on, written = threading.Event(), threading.Event(), []

        def write(number: int) -> None:
            started.set()
            go_on.wait(HANG_SECONDS / 2)
            written.append(number)

        def fail() -> None:
            with write_behind(write, 5) as writer:
                for number in range(4):
                    writer.put(number)
                started.wait(HANG_SECONDS / 2)
                threading.Timer(0.05, go_on.set).start()
                raise error

        with pytest.raises(type(error)) as caught:
            fail()
        assert caught.value is error
        assert written == [0]

    @in_time
    def test_both_together(self) -> None:
        written: list[int] = []
        with write_behind(written.append, 2) as writer, read_ahead(range(500), 2) as items:
            for item in items:
                writer.put(item)
        assert written == list(range(500))

    @in_time
    def test_a_failing_writer_stops_an_endless_reader(self) -> None:
        def fail(_: int) -> None:
            raise OddError("disk full")

        with (
            pytest.raises(OddError, match="disk full"),
            write_behind(fail, 1) as writer,
            read_ahead(iter(int, 1), 1) as items,
        ):
            for item in items:
                writer.put(item)


INTERRUPTED = """
import os, signal, threading, time
from ssd_detect.media.pipeline import read_ahead, write_behind
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

def slow_items():
    while True:
        time.sleep({read})
        yield 1

try:
    with write_behind(lambda item: time.sleep({write}), 1) as writer, read_ahead(slow_items(), 1) as items:
        for item in items:
            writer.put(item)
except KeyboardInterrupt:
    print("interrupted", [t.name for t in threading.enumerate() if "pipeline" in t.name])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to oneself there")
@pytest.mark.parametrize(("read", "write"), [(0.4, 0.0), (0.0, 0.4), (0.0, 0.0)])
def test_ctrl_c_while_waiting_at_either_end(read: float, write: float) -> None:
    code = INTERRUPTED.format(read=read, write=write)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("interrupted []\n", "")

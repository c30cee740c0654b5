"""Pictures through a detector: read ahead, in batches, with a limit on what is in memory. Knows callables only."""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ssd_detect.arrays import Pixels
from ssd_detect.detections import Detections
from ssd_detect.errors import SsdDetectError
from ssd_detect.media.pictures import Picture

T = TypeVar("T")

BATCH_PIXELS = 32_000_000
"""A batch takes no further picture beyond this; a larger picture is a batch of its own."""

PIXELS_IN_FLIGHT = 4 * BATCH_PIXELS
"""What may be in memory between reading and writing (about three bytes each, and as much again while encoding).

What the network gets of a picture (1 MB for SSD300) comes on top, for no more than three batches at once.
"""


@dataclass
class ReadItem(Generic[T]):
    """An input with its picture and, later, detections; or why it has none.

    What is `prepared` for the network goes as soon as that has had it.
    """

    source: T
    picture: Picture | None = None
    sha256: str | None = None
    error: SsdDetectError | None = None
    prepared: Any = None
    detections: Detections | None = None

    @property
    def num_pixels(self) -> int:
        """Pixels that it keeps in memory."""
        return 0 if self.picture is None else self.picture.pixels.shape[0] * self.picture.pixels.shape[1]


@dataclass
class Batch(Generic[T]):
    """Items that go through the network together."""

    items: list[ReadItem[T]] = field(default_factory=list)

    @property
    def num_pixels(self) -> int:
        """Of all its pictures."""
        return sum(item.num_pixels for item in self.items)

    def prepare(self, prepare: Callable[[Pixels], Any]) -> None:
        """Make what the network gets of each picture."""
        for item in self.items:
            if item.picture is not None:
                item.prepared = prepare(item.picture.pixels)

    def detect(self, detect: Callable[[list[Any]], list[Detections]]) -> None:
        """Fill in the detections of all pictures, which are prepared."""
        pictures = [item for item in self.items if item.picture is not None]
        if pictures:
            found = detect([item.prepared for item in pictures])
            for item, detections in zip(pictures, found, strict=True):
                item.prepared, item.detections = None, detections


class PixelBudget:
    """Lets the reader wait until earlier pictures are written. A single picture always passes."""

    def __init__(self, limit: int = PIXELS_IN_FLIGHT) -> None:
        self._limit = limit
        self._in_flight = 0
        self._closed = False
        self._changed = threading.Condition()

    def take(self, num_pixels: int) -> None:
        """Wait until this many fit, or nothing else is in flight."""
        with self._changed:
            while self._in_flight > 0 and self._in_flight + num_pixels > self._limit and not self._closed:
                self._changed.wait()
            self._in_flight += num_pixels

    def give_back(self, num_pixels: int) -> None:
        """They are written."""
        with self._changed:
            self._in_flight -= num_pixels
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody writes any more: let the reader go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def read_batches(
    sources: Iterable[T], read: Callable[[T], tuple[Picture, str | None]], batch_size: int, budget: PixelBudget
) -> Generator[Batch[T], None, None]:
    """Read pictures (and the SHA-256 of their files) into batches; what fails becomes an item with its error."""
    batch: Batch[T] = Batch()
    for item in _read_each(sources, read):
        if batch.items and batch.num_pixels + item.num_pixels > BATCH_PIXELS:
            yield from _handed_over(batch, budget)
            batch = Batch()
        batch.items.append(item)
        if len(batch.items) == batch_size:
            yield from _handed_over(batch, budget)
            batch = Batch()
    if batch.items:
        yield from _handed_over(batch, budget)


def _handed_over(batch: Batch[T], budget: PixelBudget) -> Iterator[Batch[T]]:
    budget.take(batch.num_pixels)
    yield batch


def _read_each(sources: Iterable[T], read: Callable[[T], tuple[Picture, str | None]]) -> Iterator[ReadItem[T]]:
    for source in sources:
        try:
            picture, sha256 = read(source)
            yield ReadItem(source, picture, sha256)
        except SsdDetectError as error:
            yield ReadItem(source, error=error)

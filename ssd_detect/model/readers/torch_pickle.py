"""Python's pickles as far as PyTorch's state dictionaries need them, and nothing that could run.

A pickle is a program for a stack machine. This machine knows the operations that build numbers, texts, lists and
dictionaries, and of all functions the few that PyTorch calls to rebuild a tensor, which here only describe it. No name
in a pickle is ever looked up. Sources: the opcodes' description in CPython's `pickletools`; PyTorch's `_utils.py` and
`serialization.py`.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from ssd_detect.model.readers.faults import DamagedError, RefusedError
from ssd_detect.model.readers.torch_rebuild import SAVE_ALONE, Name, allowed_name, called, pairs, refused_name, stored

MAX_OPERATIONS = 200_000
"""A tensor takes about forty; a thousand tensors with two optimiser slots each are below. Bounds the memory."""

_MAX_INTEGER_BYTES = 16


def unpickle(data: bytes, start: int = 0) -> tuple[Any, int]:
    """The value of the pickle that begins at `start`, and where it ends.

    Returns:
        None, bool, int, float, str, bytes, list, tuple, dict, and for tensors `TensorPlace`.

    Raises:
        DamagedError: this is no pickle, or not all of one.
        RefusedError: a pickle that names, or does, more than a state dictionary needs.
    """
    machine = _Machine(data, start)
    for _ in range(MAX_OPERATIONS):
        opcode = machine.take(1)[0]
        if opcode == ord("."):
            return machine.pop(), machine.at
        operation = _OPERATIONS.get(opcode)
        if operation is None:
            raise _refusal(machine, opcode)
        operation(machine)
    raise RefusedError(
        f"its pickle has more than {MAX_OPERATIONS:,} operations, expected a state dictionary; {SAVE_ALONE}"
    )


def _refusal(machine: "_Machine", opcode: int) -> Exception:
    if opcode == ord("i"):
        return refused_name(f"{machine.line()}.{machine.line()}")
    if opcode in _RUNNING:
        return RefusedError(f"holds the pickle operation {_RUNNING[opcode]}, which could run a program; refused")
    return DamagedError(f"operation {opcode:#04x} at {machine.at - 1} of its pickle")


_RUNNING = {
    ord("o"): "OBJ",
    0x81: "NEWOBJ",
    0x92: "NEWOBJ_EX",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
}


class _Machine:
    """The stack, the marks on it, and the values that are called again by number."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._copied = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > len(self._data) - self.at:
            raise DamagedError("its pickle ends too early")
        self.at += count
        return self._data[self.at - count : self.at]

    def line(self) -> str:
        """Text up to the end of its line."""
        end = self._data.find(b"\n", self.at, self.at + 1000)
        if end < 0:
            raise DamagedError("a name in its pickle does not end")
        text = self.take(end - self.at)
        self.at += 1
        return text.decode("utf-8", "replace")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise DamagedError("its pickle takes what is not there")
        return self._stack.pop()

    def top(self, kind: type) -> Any:
        """The uppermost value, which stays, and must be of this kind."""
        value = self.pop()
        if not isinstance(value, kind):
            raise DamagedError(f"its pickle takes a {type(value).__name__} for a {kind.__name__}")
        self.push(value)
        return value

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def pop_to_mark(self) -> list[Any]:
        """All values above the last mark, which goes."""
        if not self._marks:
            raise DamagedError("its pickle takes a mark that is not there")
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def pop_many(self, count: int) -> tuple[Any, ...]:
        return tuple(self.pop() for _ in range(count))[::-1]

    def remember(self, number: int) -> None:
        self._memo[number] = self.top(object)

    def remember_next(self) -> None:
        self.remember(len(self._memo))

    def recall(self, number: int) -> None:
        if number not in self._memo:
            raise DamagedError("its pickle calls for a value that it did not make")
        self.push(self._memo[number])

    def integer(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def long(self, size: int) -> None:
        if size > _MAX_INTEGER_BYTES:
            raise DamagedError("its pickle holds a whole number of more than 128 bits")
        self.push(self.integer(size, signed=True))

    def text(self, size: int, encoding: str) -> None:
        self.push(self.take(size).decode(encoding, "replace"))

    def frame(self) -> None:
        if self.integer(8) > len(self._data) - self.at:
            raise DamagedError("its pickle ends too early")

    def name(self, text: str) -> None:
        """A function or class: kept as a name if allowed."""
        self.push(allowed_name(text))

    def stacked_name(self) -> None:
        place, last = self.pop_many(2)
        if not (isinstance(place, str) and isinstance(last, str)):
            raise DamagedError("a name in its pickle is no text")
        self.name(f"{place}.{last}")

    def append(self, values: list[Any]) -> None:
        self.top(list).extend(values)

    def set_items(self, values: list[Any]) -> None:
        self.top(dict).update(pairs(values))

    def build(self) -> None:
        """A state for the object below: PyTorch gives its dictionaries one, `_metadata`, that we don't need."""
        state = self.pop()
        self.top(dict)
        if not isinstance(state, dict):
            raise RefusedError("holds an object with a state of its own, expected a state dictionary; " + SAVE_ALONE)

    def reduce(self) -> None:
        function, arguments = self.pop_many(2)
        if not (isinstance(function, Name) and isinstance(arguments, tuple)):
            raise DamagedError("its pickle calls what is no function")
        self._copied += sum(len(a) for a in arguments if isinstance(a, list))
        if self._copied > MAX_OPERATIONS:  # one list, made into many dictionaries
            raise DamagedError(f"its pickle copies more than {MAX_OPERATIONS:,} values")
        self.push(called(function.text, arguments))

    def storage(self) -> None:
        self.push(stored(self.pop()))


_OPERATIONS: Mapping[int, Callable[[_Machine], object]] = {
    0x80: lambda m: m.take(1),  # PROTO
    0x95: _Machine.frame,
    ord("("): _Machine.mark,
    ord("0"): _Machine.pop,
    ord("1"): _Machine.pop_to_mark,
    ord("2"): lambda m: m.push(m.top(object)),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("K"): lambda m: m.push(m.integer(1)),
    ord("M"): lambda m: m.push(m.integer(2)),
    ord("J"): lambda m: m.push(m.integer(4, signed=True)),
    0x8A: lambda m: m.long(m.integer(1)),
    0x8B: lambda m: m.long(m.integer(4)),
    ord("G"): lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
    ord("U"): lambda m: m.text(m.integer(1), "latin-1"),  # Python 2's texts
    ord("T"): lambda m: m.text(m.integer(4), "latin-1"),
    0x8C: lambda m: m.text(m.integer(1), "utf-8"),
    ord("X"): lambda m: m.text(m.integer(4), "utf-8"),
    0x8D: lambda m: m.text(m.integer(8), "utf-8"),
    ord("C"): lambda m: m.push(m.take(m.integer(1))),
    ord("B"): lambda m: m.push(m.take(m.integer(4))),
    ord("]"): lambda m: m.push([]),
    ord(")"): lambda m: m.push(()),
    ord("}"): lambda m: m.push({}),
    0x85: lambda m: m.push(m.pop_many(1)),
    0x86: lambda m: m.push(m.pop_many(2)),
    0x87: lambda m: m.push(m.pop_many(3)),
    ord("t"): lambda m: m.push(tuple(m.pop_to_mark())),
    ord("l"): lambda m: m.push(m.pop_to_mark()),
    ord("d"): lambda m: m.push(pairs(m.pop_to_mark())),
    ord("a"): lambda m: m.append([m.pop()]),
    ord("e"): lambda m: m.append(m.pop_to_mark()),
    ord("s"): lambda m: m.set_items(list(m.pop_many(2))),
    ord("u"): lambda m: m.set_items(m.pop_to_mark()),
    ord("q"): lambda m: m.remember(m.integer(1)),
    ord("r"): lambda m: m.remember(m.integer(4)),
    0x94: _Machine.remember_next,
    ord("h"): lambda m: m.recall(m.integer(1)),
    ord("j"): lambda m: m.recall(m.integer(4)),
    ord("c"): lambda m: m.name(f"{m.line()}.{m.line()}"),
    0x93: _Machine.stacked_name,
    ord("R"): _Machine.reduce,
    ord("b"): _Machine.build,
    ord("Q"): _Machine.storage,
}

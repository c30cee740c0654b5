"""`Record`: what every facts class can do, that is, come back from the plain values of JSON or TOML."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_R = TypeVar("_R", bound="Record")


class Record:
    """Base of the frozen dataclasses of facts; their fields are plain values, records, tuples and mappings of them."""

    @classmethod
    def from_json(cls: type[_R], value: Mapping[str, Any]) -> _R:
        """The inverse of `dataclasses.asdict`, after a way through JSON or TOML; a field left out takes its default.

        Raises:
            TypeError: a field is unknown, missing or of another type; the text begins with the way to it.
        """
        record: _R = _decode_record(cls, value, cls.__name__)
        return record


def _decode_record(cls: Any, value: Any, way: str) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(f"{way}: expected the fields of {cls.__name__}, got {value!r}")
    hints = _hints(cls)
    unknown, missing = sorted(value.keys() - hints.keys()), sorted(_required(cls) - value.keys())
    if unknown or missing:
        raise TypeError(f"{way}: {cls.__name__} has no field {unknown}" if unknown else f"{way}: {missing} missing")
    return cls(**{name: _decode(hints[name], content, f"{way}.{name}") for name, content in value.items()})


def _decode(hint: Any, value: Any, way: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _decode_union(inner, value, way)
    if is_dataclass(hint):
        return _decode_record(hint, value, way)
    if origin is tuple and isinstance(value, list | tuple):
        kinds = inner if inner[-1] is not Ellipsis else (inner[0],) * len(value)
        return tuple(
            _decode(kind, item, f"{way}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
        )
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _decode(inner[1], item, f"{way}.{key}") for key, item in value.items()}
    return _plain(hint, value, way)


def _plain(hint: Any, value: Any, way: str) -> Any:
    if get_origin(hint) is Literal:
        fits = value in get_args(hint)
    elif hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = type(value) is hint
    if not fits:
        raise TypeError(f"{way}: expected {hint}, got {value!r}")
    return value


def _decode_union(kinds: tuple[Any, ...], value: Any, way: str) -> Any:
    """`value` as the first kind that takes it; the error of the last kind that could have, where none does."""
    error = TypeError(f"{way}: got {value!r}")
    for kind in kinds:
        if (kind is NoneType) != (value is None):
            continue
        if value is None:
            return None
        try:
            return _decode(kind, value, way)
        except TypeError as reason:
            error = reason
    raise error


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


@cache
def _required(cls: Any) -> frozenset[str]:
    return frozenset(f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING)

"""Filled-in samples of wire structs, made from their type hints, so that a new class is covered without a new line here."""

import enum
import types
import typing
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, Union

import msgspec

StructType = TypeVar("StructType", bound=msgspec.Struct)

_PLAIN: dict[Any, Any] = {
    str: "text ✓ \u2028 </script>",
    int: 7,
    float: 0.25,
    bool: True,
    datetime: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    Any: "anything",
}


def sample(kind: Any, name: str = "") -> Any:
    """A value of the annotated type; strings of ids are named after their field."""
    if isinstance(kind, typing.NewType):
        return f"{kind.__name__}-{name}"
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        return sample(next(argument for argument in arguments if argument is not type(None)), name)
    if origin is list:
        return [sample(arguments[0], name)]
    if origin is dict:
        return {"key": sample(arguments[1], name)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return sample_struct(kind)
    raise TypeError(f"no sample for {kind!r}")


def sample_struct(kind: type[StructType], **given: Any) -> StructType:
    """An instance with every field filled, optional ones too; ``given`` wins."""
    hints = typing.get_type_hints(kind)
    fields = {field.name: hints[field.name] for field in msgspec.structs.fields(kind)}
    return kind(**{name: given[name] if name in given else sample(hint, name) for name, hint in fields.items()})

"""Attributes of the IR: facts that passes leave for other passes, converted to Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tvm import tirx

_T = TypeVar("_T")
_Holder = TypeVar("_Holder")


def unchanged(value: Any) -> Any:
    """Return a value that needs no conversion between the IR and Python."""
    return value


def plain(value: Any) -> Any:
    """Convert containers, strings and numbers of TVM to those of Python."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return [plain(inner) for inner in value]
    return int(value) if isinstance(value, tirx.IntImm) else value


def names(value: Sequence[str]) -> list[str]:
    """Return an array of strings as a list."""
    return [str(name) for name in value]


@dataclass(frozen=True, eq=False)
class Attribute(Generic[_T]):
    """An attribute of modules or functions.

    Passes and stages declare which attributes they read and write (`usmp.passes.ModulePass`,
    `usmp.planning.search.Stage`).

    Parameters
    ----------
    name
        the key in the IR.
    holder
        the kind of IR node that has the attribute, in words.
    meaning
        its meaning, in words. The table of CONTRIBUTING has the first sentence.
    decode
        converts the value in the IR to Python.
    encode
        converts the value in Python to the IR.
    """

    name: str
    holder: str
    meaning: str
    decode: Callable[[Any], _T] = unchanged
    encode: Callable[[_T], Any] = unchanged

    def __str__(self) -> str:
        """Return the name, for messages."""
        return self.name

    def read(self, values: Mapping[str, Any] | None) -> _T | None:
        """Return the value among the attributes of a holder; None if it is missing."""
        value = None if values is None else values.get(self.name)
        return None if value is None else self.decode(value)

    def entry(self, value: _T) -> dict[str, Any]:
        """Return the entry of this attribute in the attributes of a holder."""
        return {self.name: self.encode(value)}

    def of(self, holder: Any) -> _T | None:
        """Return the value of a module or function; None if it has none."""
        return self.read(holder.attrs)

    def get(self, holder: Any, default: _T) -> _T:
        """Return the value of a module, function or statement; `default` if it has none."""
        value = self.of(holder)
        return default if value is None else value

    def required(self, holder: Any) -> _T:
        """Return the value of a module or function that must have one.

        Raises
        ------
        KeyError
            the value is missing.
        """
        value = self.of(holder)
        if value is None:
            raise KeyError(self.name)
        return value

    def is_on(self, holder: Any) -> bool:
        """Return whether a module or function has a value."""
        attrs = holder.attrs
        return attrs is not None and self.name in attrs

    def put(self, holder: _Holder, value: _T) -> _Holder:
        """Return a module or function with this value."""
        held: _Holder = holder.with_attr(self.name, self.encode(value))  # type: ignore[attr-defined]
        return held

    def removed(self, holder: _Holder) -> _Holder:
        """Return a module or function without this attribute."""
        without: _Holder = (
            holder.without_attr(self.name)  # type: ignore[attr-defined]
            if self.is_on(holder)
            else holder
        )
        return without

    def moved(self, holder: _Holder, source: Any) -> _Holder:
        """Return `holder` with the value of `source`, both of them modules or functions."""
        held: _Holder = holder.with_attr(self.name, source.attrs[self.name])  # type: ignore[attr-defined]
        return held


class Annotation(Attribute[_T]):
    """An annotation of AllocBuffer statements."""

    def of(self, holder: tirx.AllocBuffer) -> _T | None:
        """Return the value of a statement; None if it has none."""
        return self.read(holder.annotations)

    def is_on(self, holder: tirx.AllocBuffer) -> bool:
        """Return whether a statement has a value."""
        return self.name in holder.annotations

    def put(self, holder: tirx.AllocBuffer, value: _T) -> tirx.AllocBuffer:
        """Return a statement with this value."""
        annotations = {**holder.annotations, **self.entry(value)}
        return tirx.AllocBuffer(holder.buffer, annotations, holder.span)

    def removed(self, holder: tirx.AllocBuffer) -> tirx.AllocBuffer:
        """Return a statement without this annotation."""
        kept = {name: value for name, value in holder.annotations.items() if name != self.name}
        return tirx.AllocBuffer(holder.buffer, kept, holder.span)


Attributes: TypeAlias = tuple[Attribute[Any], ...]


@dataclass(frozen=True)
class AttributeAccess:
    """The attributes that a pass or another component reads and writes.

    Parameters
    ----------
    name
        name of the component, in words.
    reads, writes
        the attributes.
    uses
        components that it calls, with their attributes.
    """

    name: str
    reads: Attributes = ()
    writes: Attributes = ()
    uses: tuple[AttributeAccess, ...] = ()

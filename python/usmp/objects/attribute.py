"""An attribute of the IR: what passes hand on to each other, with its one reader and one writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from tvm import tirx

_T = TypeVar("_T")
_Holder = TypeVar("_Holder")


def unchanged(value: Any) -> Any:
    """Return the value itself, which is the same in the IR and in Python."""
    return value


def plain(value: Any) -> Any:
    """Return containers, texts and numbers of TVM as those of Python."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return [plain(inner) for inner in value]
    return int(value) if isinstance(value, tirx.IntImm) else value


def names(value: Sequence[str]) -> list[str]:
    """Return the texts of an array."""
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
        what has it, in words.
    meaning
        what it says. The table of CONTRIBUTING has the first sentence.
    decode
        makes the value of Python from that of the IR.
    encode
        makes the value of the IR from that of Python.
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
        """Return the value among those of a holder; None if it is missing."""
        value = None if values is None else values.get(self.name)
        return None if value is None else self.decode(value)

    def entry(self, value: _T) -> dict[str, Any]:
        """Return key and value as a holder has them."""
        return {self.name: self.encode(value)}

    def of(self, holder: Any) -> _T | None:
        """Return the value of a module or function; None if it has none."""
        return self.read(holder.attrs)

    def get(self, holder: Any, default: _T) -> _T:
        """Return the value of a module, function or statement; another one if it has none."""
        value = self.of(holder)
        return default if value is None else value

    def required(self, holder: Any) -> _T:
        """Return the value of a module or function that has one.

        Raises
        ------
        KeyError
            it has none.
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
        """Return a module or function without a value."""
        without: _Holder = (
            holder.without_attr(self.name)  # type: ignore[attr-defined]
            if self.is_on(holder)
            else holder
        )
        return without

    def moved(self, holder: _Holder, source: Any) -> _Holder:
        """Return a module or function with the value that another one has, which nobody reads."""
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
        """Return a statement without a value."""
        kept = {name: value for name, value in holder.annotations.items() if name != self.name}
        return tirx.AllocBuffer(holder.buffer, kept, holder.span)


Attributes: TypeAlias = tuple[Attribute[Any], ...]


@dataclass(frozen=True)
class AttributeAccess:
    """The attributes that something reads and writes.

    Parameters
    ----------
    name
        of what does so, in words.
    reads, writes
        the attributes.
    uses
        what it calls, which reads and writes more.
    """

    name: str
    reads: Attributes = ()
    writes: Attributes = ()
    uses: tuple[AttributeAccess, ...] = ()

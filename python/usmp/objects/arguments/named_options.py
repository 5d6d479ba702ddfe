"""The base of `Executor` and `Runtime`: a name with options, as in TVM 0.18."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from usmp.tvm018 import OldName, find


class NamedOptions:
    """A name with options; two objects of one class, name and options are equal."""

    __slots__ = ()

    if TYPE_CHECKING:
        name: str
        options: dict[str, Any]

    def __contains__(self, option: str) -> bool:
        """Return whether an option has a value, which may be its default."""
        return option in self._all_options()

    def __getitem__(self, option: str) -> Any:
        """Return the value or the default of an option; raise `KeyError` if it has neither."""
        return self._all_options()[option]

    def __str__(self) -> str:
        """Return the name."""
        return str(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def _all_options(self) -> Mapping[str, Any]:
        return {str(name): value for name, value in self.options.items()}

    def _key(self) -> tuple[str, frozenset[tuple[str, Any]]]:
        return str(self.name), frozenset(self._all_options().items())


class GoneAttribute:
    """A removed attribute of TVM 0.18; reading it raises `AttributeError` with the reason."""

    def __init__(self, rows: tuple[OldName, ...]) -> None:
        self.rows = rows

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"{owner.__name__}.{name}"

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        row = find(self.rows, self.name)
        raise AttributeError(row.sentence() if row else self.name)

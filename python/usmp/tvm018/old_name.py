"""A name of TVM 0.18, and what this package does where a user writes it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning

ACCEPTED, MAPPED, REFUSED = "accepted", "mapped", "refused"

NO_VALUE, OPTIONAL_TRUTH, ONE_VALUE, VALUES = "no value", "optional truth", "one value", "values"
"""How many arguments follow a flag: none, maybe 0 or 1, one, or all up to the next flag."""

TRUE, FALSE = ("1", "true"), ("0", "false")
"""Values of switches, in lower case."""


@dataclass(frozen=True)
class OldName:
    """A name of TVM 0.18, and what this package does where a user writes it.

    Parameters
    ----------
    name
        as users of TVM 0.18 write it, such as "--opt-level" or "relay.FuseOps.max_depth"; "*" at
        its end stands for any text.
    verdict
        ACCEPTED: the name changes nothing. MAPPED: another name takes its place. REFUSED: an
        error.
    reason
        what the user reads, without a period at its end: why the name changes nothing, what takes
        its place, or why it is refused and what to do instead. "{value}" stands for the value.
    to
        the arguments or the name that take its place, with "{value}"; empty unless MAPPED.
    values
        the values that this row is for, in lower case; empty for all values that no row above has.
    changes_meaning
        whether the result differs from that of TVM 0.18, so that `--quiet` does not silence the
        note.
    arity
        how many arguments follow the name, if it is a flag.
    """

    name: str
    verdict: str
    reason: str
    to: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    changes_meaning: bool = False
    arity: str = ONE_VALUE

    def is_called(self, name: str) -> bool:
        """Return whether a user may write this name so."""
        if self.name.endswith("*") and name.startswith(self.name[:-1]):
            return True
        return self.name == name

    def sentence(self, value: str = "") -> str:
        """Return what the user reads about the name with this value, without a period."""
        written = f"{self.name}={value}" if value else self.name
        return f"{written}: {self.reason.replace('{value}', value)}"

    def replacement(self, value: str = "") -> list[str]:
        """Return the arguments or the name that take the place of the name with this value."""
        return [part.replace("{value}", value) for part in self.to]

    def tell(self, value: str = "", stacklevel: int = 2) -> None:
        """Tell the user about a name that is accepted or mapped.

        Parameters
        ----------
        value
            as the user wrote it.
        stacklevel
            of `warnings.warn`: 2 is the caller of this method.
        """
        category = CompatibilityWarning if self.changes_meaning else CompatibilityNote
        warnings.warn(self.sentence(value), category, stacklevel=stacklevel + 1)


def accepted(
    name: str,
    reason: str,
    *,
    values: tuple[str, ...] = (),
    changes_meaning: bool = False,
    arity: str = ONE_VALUE,
) -> OldName:
    """Return the row of a name that changes nothing."""
    return OldName(name, ACCEPTED, reason, (), values, changes_meaning, arity)


def mapped(
    name: str,
    to: str | tuple[str, ...],
    reason: str,
    *,
    values: tuple[str, ...] = (),
    changes_meaning: bool = False,
    arity: str = ONE_VALUE,
) -> OldName:
    """Return the row of a name that another one takes the place of."""
    to = (to,) if isinstance(to, str) else to
    return OldName(name, MAPPED, reason, to, values, changes_meaning, arity)


def refused(
    name: str, reason: str, *, values: tuple[str, ...] = (), arity: str = ONE_VALUE
) -> OldName:
    """Return the row of a name that is an error."""
    return OldName(name, REFUSED, reason, (), values, False, arity)


def find(rows: Iterable[OldName], name: str, value: str = "") -> OldName | None:
    """Return the first row for this name and this value, with the name as it was written."""
    for row in rows:
        if row.is_called(name) and (not row.values or value.lower() in row.values):
            return row if row.name == name else replace(row, name=name)
    return None

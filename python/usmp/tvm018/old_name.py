"""A name of TVM 0.18, and what this package does where a user writes it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning

ACCEPTED, MAPPED, REFUSED = "accepted", "mapped", "refused"

NO_VALUE, OPTIONAL_TRUTH, ONE_VALUE, VALUES = "no value", "optional truth", "one value", "values"
COMMA_LIST = "comma list"
"""How many arguments follow a flag: none, maybe 0 or 1, one, all up to the next flag, or one with
values between commas, each of which has a row."""

TRUE, FALSE = ("1", "true"), ("0", "false")
"""Values of switches, in lower case."""


@dataclass(frozen=True)
class OldName:
    """A name of TVM 0.18, and what this package does where a user writes it.

    Parameters
    ----------
    name
        as users of TVM 0.18 write it, such as "--opt-level" or "relay.FuseOps.max_depth"; with "*"
        at its end, all names that begin so.
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
    beside
        a pattern of the shell, in lower case: the row is only for command lines with an argument
        that matches it, or without one if the pattern begins with "!"; empty for all.
    """

    name: str
    verdict: str
    reason: str
    to: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    changes_meaning: bool = False
    arity: str = ONE_VALUE
    beside: str = ""

    def is_called(self, name: str) -> bool:
        """Return whether a user may write this name so."""
        if self.name.endswith("*") and name.startswith(self.name[:-1]):
            return True
        return self.name == name

    def is_beside(self, arguments: Collection[str]) -> bool:
        """Return whether the row is for a command line of these arguments."""
        pattern = self.beside.removeprefix("!")
        # The pattern of a file is not for the value of a flag, as in "--output=model.onnx".
        matches = any(
            fnmatchcase(argument.lower(), pattern)
            for argument in arguments
            if argument.startswith("-") == pattern.startswith("-")
        )
        return not pattern or matches != self.beside.startswith("!")

    def written(self, value: str = "") -> str:
        """Return the name with this value, as a user writes it."""
        if not value:
            return self.name
        is_letter = len(self.name) == 2 and self.name.startswith("-")
        return f"{self.name}{' ' if is_letter else '='}{value}"

    def reason_of(self, value: str = "") -> str:
        """Return the reason for this value."""
        return self.reason.replace("{value}", value)

    def sentence(self, value: str = "") -> str:
        """Return what the user reads about the name with this value, without a period."""
        return f"{self.written(value)}: {self.reason_of(value)}"

    def replacement(self, value: str = "") -> list[str]:
        """Return the arguments or the name that take the place of the name with this value."""
        return [part.replace("{value}", value) for part in self.to]

    def tell(self, value: str = "") -> None:
        """Warn about a name that is accepted or mapped, at the user's line that led here."""
        # Help comes sooner without.
        from usmp.support.user_code import stacklevel_of_user

        category = CompatibilityWarning if self.changes_meaning else CompatibilityNote
        warnings.warn(self.sentence(value), category, stacklevel=stacklevel_of_user())


def accepted(
    name: str,
    reason: str,
    *,
    values: tuple[str, ...] = (),
    changes_meaning: bool = False,
    arity: str = ONE_VALUE,
    beside: str = "",
) -> OldName:
    """Return the row of a name that changes nothing."""
    return OldName(name, ACCEPTED, reason, (), values, changes_meaning, arity, beside)


def mapped(
    name: str,
    to: str | tuple[str, ...],
    reason: str,
    *,
    values: tuple[str, ...] = (),
    changes_meaning: bool = False,
    arity: str = ONE_VALUE,
    beside: str = "",
) -> OldName:
    """Return the row of a name that another one takes the place of."""
    to = (to,) if isinstance(to, str) else to
    return OldName(name, MAPPED, reason, to, values, changes_meaning, arity, beside)


def refused(
    name: str,
    reason: str,
    *,
    values: tuple[str, ...] = (),
    arity: str = ONE_VALUE,
    beside: str = "",
) -> OldName:
    """Return the row of a name that is an error."""
    return OldName(name, REFUSED, reason, (), values, False, arity, beside)


def find(
    rows: Iterable[OldName], name: str, value: str = "", arguments: Collection[str] = ()
) -> OldName | None:
    """Return the first row for this name and this value, in a command line of these arguments,
    with the name as it was written."""
    for row in rows:
        has_value = not row.values or value.lower() in row.values
        if row.is_called(name) and has_value and row.is_beside(arguments):
            return row if row.name == name else replace(row, name=name)
    return None

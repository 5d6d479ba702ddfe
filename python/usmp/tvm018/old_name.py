"""A name of TVM 0.18, and what this package does where a user writes it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial

from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning

ACCEPTED, MAPPED, REFUSED = "accepted", "mapped", "refused"

NO_VALUE = "no value"
"""The arity of a flag that no argument follows."""
OPTIONAL_TRUTH = "optional truth"
"""The arity of a flag that an argument follows if that is a value of a switch."""
ONE_VALUE = "one value"
"""The arity of a flag that one argument follows."""
VALUES = "values"
"""The arity of a flag that all arguments follow up to the next flag."""
COMMA_LIST = "comma list"
"""The arity of a flag that one argument follows, a list between commas whose parts have rows."""

TRUE, FALSE = ("1", "true"), ("0", "false")
"""Values of switches, in lower case."""


def parse_truth(text: str) -> bool | None:
    """Return what a switch is set to, or None if the text is no value of a switch."""
    return text.lower() in TRUE if text.lower() in TRUE + FALSE else None


@dataclass(frozen=True)
class OldName:
    """A name of TVM 0.18, and what this package does where a user writes it.

    Parameters
    ----------
    name
        as users of TVM 0.18 write it, such as "--opt-level" or "relay.FuseOps.max_depth"; with "*"
        at its end, all names that begin so.
    reason
        what the user reads, without a period at its end: why the name changes nothing, what takes
        its place, or why it is refused and what to do instead. "{value}" stands for the value.
    verdict
        ACCEPTED: the name changes nothing. MAPPED: another name takes its place. REFUSED: an
        error.
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
    reason: str
    verdict: str
    to: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    changes_meaning: bool = False
    arity: str = ONE_VALUE
    beside: str = ""

    def is_called(self, name: str) -> bool:
        """Return whether the row is for a name that a user writes."""
        if self.name.endswith("*") and name.startswith(self.name[:-1]):
            return True
        return self.name == name

    def is_beside(self, arguments: Collection[str]) -> bool:
        """Return whether the row is for a command line with these arguments."""
        pattern = self.beside.removeprefix("!")
        # The pattern of a file is not for the value of a flag, as in "--output=model.onnx".
        matches = any(
            fnmatchcase(argument.lower(), pattern)
            for argument in arguments
            if argument.startswith("-") == pattern.startswith("-")
        )
        return not pattern or matches != self.beside.startswith("!")

    def written(self, value: str = "") -> str:
        """Return the name and its value as a user writes them, such as "--opt-level=3"."""
        if not value:
            return self.name
        is_letter = len(self.name) == 2 and self.name.startswith("-")
        return f"{self.name}{' ' if is_letter else '='}{value}"

    def reason_of(self, value: str = "") -> str:
        """Return the reason, with the value in the place of "{value}"."""
        return self.reason.replace("{value}", value)

    def sentence(self, value: str = "") -> str:
        """Return the message to the user: the name, its value and the reason, without a period."""
        return f"{self.written(value)}: {self.reason_of(value)}"

    def replacement(self, value: str = "") -> list[str]:
        """Return the arguments or the name that replace this name and its value."""
        return [part.replace("{value}", value) for part in self.to]

    def tell(self, value: str = "") -> None:
        """Warn that a name is accepted or mapped, at the line of the user's code that led here."""
        # Imported here, so that help starts without it.
        from usmp.support.user_code import stacklevel_of_user

        category = CompatibilityWarning if self.changes_meaning else CompatibilityNote
        warnings.warn(self.sentence(value), category, stacklevel=stacklevel_of_user())


@dataclass(frozen=True)
class WrittenName:
    """A name of TVM 0.18 as a user wrote it: its row, and its value as text."""

    row: OldName
    value: str = ""


def tell_all(names: Iterable[WrittenName]) -> None:
    """Warn about each name as `OldName.tell` does."""
    for name in names:
        name.row.tell(name.value)


accepted = partial(OldName, verdict=ACCEPTED)
"""Make the row of a name that is accepted, and changes nothing."""

refused = partial(OldName, verdict=REFUSED)
"""Make the row of a name that raises an error."""


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
    """Return the row of a name that another name replaces."""
    to = (to,) if isinstance(to, str) else to
    return OldName(name, reason, MAPPED, to, values, changes_meaning, arity, beside)


def find(
    rows: Iterable[OldName], name: str, value: str = "", arguments: Collection[str] = ()
) -> OldName | None:
    """Find the first row for a name and its value in a command line with these arguments.

    A row for all names with one prefix is returned for the name that was written.
    """
    for row in rows:
        has_value = not row.values or value.lower() in row.values
        if row.is_called(name) and has_value and row.is_beside(arguments):
            return row if row.name == name else replace(row, name=name)
    return None

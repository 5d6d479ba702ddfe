"""A name of TVM 0.18, and what this package does when a user writes it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial

from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning

ACCEPTED, MAPPED, REFUSED = "accepted", "mapped", "refused"

NO_VALUE = "no value"
"""The arity of a flag without arguments."""
OPTIONAL_TRUTH = "optional truth"
"""The arity of a switch whose value is optional."""
ONE_VALUE = "one value"
"""The arity of a flag with one argument."""
VALUES = "values"
"""The arity of a flag that takes all arguments up to the next flag."""
COMMA_LIST = "comma list"
"""The arity of a flag with a list separated by commas, whose elements have rows."""

TRUE, FALSE = ("1", "true"), ("0", "false")
"""Values of switches, in lower case."""


def parse_truth(text: str) -> bool | None:
    """Return the value of a switch, or None if the text is not one."""
    return text.lower() in TRUE if text.lower() in TRUE + FALSE else None


@dataclass(frozen=True)
class OldName:
    """A name of TVM 0.18, and what this package does when a user writes it.

    Parameters
    ----------
    name
        the name as users write it, as "--opt-level" or "relay.FuseOps.max_depth". A "*" at the end
        matches all names with this prefix.
    reason
        message to the user, without a period at its end: why the name has no effect, what replaces
        it, or why it is refused and what to do instead. "{value}" is replaced by the value.
    verdict
        ACCEPTED: the name has no effect. MAPPED: another name replaces it. REFUSED: it is an error.
    to
        arguments or name that replace it, with "{value}"; empty unless MAPPED.
    values
        values that this row matches, in lower case; empty for all that earlier rows do not match.
    changes_meaning
        whether the result differs from TVM 0.18's, so that `--quiet` does not silence the note.
    arity
        arguments that follow a flag.
    beside
        a shell pattern, in lower case: the row only matches command lines with a matching argument,
        or without such an argument if the pattern begins with "!"; empty for all command lines.
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
        """Return whether the row matches a name."""
        if self.name.endswith("*") and name.startswith(self.name[:-1]):
            return True
        return self.name == name

    def is_beside(self, arguments: Collection[str]) -> bool:
        """Return whether the row matches a command line with these arguments."""
        pattern = self.beside.removeprefix("!")
        # Patterns of files must not match values of flags, as in "--output=model.onnx".
        matches = any(
            fnmatchcase(argument.lower(), pattern)
            for argument in arguments
            if argument.startswith("-") == pattern.startswith("-")
        )
        return not pattern or matches != self.beside.startswith("!")

    def written(self, value: str = "") -> str:
        """Return the name and its value as a user writes them, as "--opt-level=3"."""
        if not value:
            return self.name
        is_letter = len(self.name) == 2 and self.name.startswith("-")
        return f"{self.name}{' ' if is_letter else '='}{value}"

    def reason_of(self, value: str = "") -> str:
        """Return the reason with "{value}" replaced."""
        return self.reason.replace("{value}", value)

    def sentence(self, value: str = "") -> str:
        """Return the message to the user: the name, its value and the reason, without a period."""
        return f"{self.written(value)}: {self.reason_of(value)}"

    def replacement(self, value: str = "") -> list[str]:
        """Return the arguments or the name that replace this name and its value."""
        return [part.replace("{value}", value) for part in self.to]

    def tell(self, value: str = "") -> None:
        """Warn that a name is accepted or mapped, at the calling line of the user's code."""
        # Imported here, so that `--help` starts faster.
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
"""Make the row of a name that is accepted without effect."""

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

    A row for a prefix is returned with the full name.
    """
    for row in rows:
        has_value = not row.values or value.lower() in row.values
        if row.is_called(name) and has_value and row.is_beside(arguments):
            return row if row.name == name else replace(row, name=name)
    return None

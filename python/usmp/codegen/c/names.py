"""Names of a model as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from usmp.codegen.c.core_macros import is_macro_of_a_core
from usmp.codegen.c.reserved_names import not_reserved
from usmp.support.unique_names import UniqueNames
from usmp.tir.math_functions import MATH_FUNCTIONS

_LONGEST_PART = 128
"""Characters of a name in C, so that names of files and lines of C stay short enough for all."""
_DIGEST_LENGTH = 16


def replace_forbidden(name: str) -> str:
    """`name` as a part of a C identifier or of a file's name: every other byte of its UTF-8 becomes
    an underscore.

    So did TVM 0.18, on which the names of members and macros in applications depend. What would be
    longer than 128 characters ends with a digest of all of them, so that it still differs from
    others that begin alike.
    """
    content = name.encode("utf-8", "surrogatepass")
    part = re.sub(rb"[^0-9A-Za-z]", b"_", content).decode()
    if len(part) <= _LONGEST_PART:
        return part
    digest = sha256(content).hexdigest()[:_DIGEST_LENGTH]
    return f"{part[: _LONGEST_PART - _DIGEST_LENGTH - 1]}_{digest}"


def symbol_prefix(module_name: str) -> str:
    """Of every external C symbol of a model."""
    return f"tvmgen_{replace_forbidden(module_name)}"


def sanitise(name: str) -> str:
    """Return `name` as a C identifier for a header, where macros of all other headers may be."""
    return not_a_macro(_identifier(name))


def not_a_macro(identifier: str) -> str:
    """Return the C identifier, changed if it is reserved, or a macro of a core or a device."""
    return f"{identifier}_" if is_macro_of_a_core(identifier) else not_reserved(identifier)


def _identifier(name: str) -> str:
    """Return `name` as a C identifier, which may be reserved."""
    identifier = replace_forbidden(name)
    return f"_{identifier}" if not identifier or identifier[0].isdigit() else identifier


def sanitise_all(names: Iterable[str], what: str) -> list[str]:
    """Sanitise names that must stay different from each other.

    Raises
    ------
    ValueError
        two names become the same C identifier.
    """
    origin: dict[str, str] = {}
    for name in names:
        identifier = sanitise(name)
        if identifier in origin:
            raise ValueError(
                f'{what} names "{origin[identifier]}" and "{name}" are both {identifier} in C; '
                "rename one of them in the model"
            )
        origin[identifier] = name
    return list(origin)


class Scope:
    """C identifiers in one function: each variable gets its own.

    Parameters
    ----------
    taken
        identifiers that must not be hidden, beside those of the mathematical functions.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._names = UniqueNames([*taken, *MATH_FUNCTIONS, "isnan"])

    def unique(self, name: str) -> str:
        """An identifier like `name` that nothing else in the function has."""
        return self._names.unique(not_reserved(_identifier(name)))

    def symbol(self, prefix: str, name: str) -> str:
        """The same for a name of file scope, which begins with the prefix of the model."""
        return self._names.unique(not_reserved(f"{prefix}_{replace_forbidden(name)}"))

"""Names of a model as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from usmp.codegen.c.core_macros import is_macro_of_a_core
from usmp.codegen.c.reserved_names import not_reserved
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.math_functions import MATH_FUNCTIONS

_LONGEST_PART = 128
"""Most characters of a name in C, because file systems and compilers limit names and lines."""
_DIGEST_LENGTH = 16


def replace_forbidden(name: str) -> str:
    """Return `name` as a part of a C identifier or file name, with an underscore for each byte of
    its UTF-8 that is no ASCII letter or digit.

    TVM 0.18 did this too, and applications use its names of members and macros. A result longer
    than 128 characters is cut and ends with a digest of the whole name, so that it stays unique.
    """
    content = name.encode("utf-8", "surrogatepass")
    part = re.sub(rb"[^0-9A-Za-z]", b"_", content).decode()
    if len(part) <= _LONGEST_PART:
        return part
    digest = sha256(content).hexdigest()[:_DIGEST_LENGTH]
    return f"{part[: _LONGEST_PART - _DIGEST_LENGTH - 1]}_{digest}"


def symbol_prefix(module_name: str) -> str:
    """Return the prefix of every external C symbol of a model."""
    return f"tvmgen_{replace_forbidden(module_name)}"


def sanitise(name: str) -> str:
    """Return `name` as a C identifier that no macro of another header replaces."""
    return not_a_macro(_identifier(name))


def not_a_macro(identifier: str) -> str:
    """Return the C identifier, changed if it is reserved or a macro of a core, board or device."""
    return f"{identifier}_" if is_macro_of_a_core(identifier) else not_reserved(identifier)


def _identifier(name: str) -> str:
    """Return `name` as a C identifier, which may be reserved."""
    identifier = replace_forbidden(name)
    return f"_{identifier}" if not identifier or identifier[0].isdigit() else identifier


def sanitise_all(names: Iterable[str], what: str) -> list[str]:
    """Return names as C identifiers, which must stay different from each other.

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
    """The unique C identifiers of one function.

    Parameters
    ----------
    taken
        identifiers that variables must not shadow, besides the functions of <math.h>.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._names = UniqueNames([*taken, *MATH_FUNCTIONS, "isnan"])

    def unique(self, name: str) -> str:
        """Return an identifier like `name` that is unique in the function."""
        return self._names.unique(not_reserved(_identifier(name)))

    def symbol(self, prefix: str, name: str) -> str:
        """Return a unique identifier of file scope, which begins with the prefix of the model."""
        return self._names.unique(not_reserved(f"{prefix}_{replace_forbidden(name)}"))

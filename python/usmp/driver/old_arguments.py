"""Arguments and names of TVM 0.18 in Python: accepted or refused, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from usmp.driver.errors import UsageError
from usmp.tvm018 import REFUSED, SECTIONS, find
from usmp.tvm018.tvmc_python import TVMC_NAMES


def check_old_arguments(function: str, arguments: Mapping[str, object]) -> None:
    """Tell the user of a function about arguments that only TVM 0.18 had; call it from there.

    Parameters
    ----------
    function
        of `usmp.driver.tvmc`.
    arguments
        that have no parameter. "No" in any spelling, as None or False, is what happens anyway.

    Raises
    ------
    UsageError
        an argument is refused.
    TypeError
        TVM 0.18 had no such argument either.
    """
    rows = SECTIONS[f"tvmc.{function}"]
    known = {row.name for row in rows}
    for name, value in arguments.items():
        if name not in known:
            raise TypeError(f"tvmc.{function}() got an unexpected keyword argument '{name}'")
        row = find(rows, name, str(value))
        if not value or row is None:
            continue
        if row.verdict == REFUSED:
            raise UsageError(f"tvmc.{function}: {name} is not supported: {row.reason}")
        row.tell(str(value))


def no_attribute(owner: str, name: str, prefix: str = "") -> AttributeError:
    """Return the error for an attribute that there is not, with the reason if TVM 0.18 had it.

    Parameters
    ----------
    owner
        what lacks it, as "module 'usmp.driver.tvmc'".
    name
        of the attribute.
    prefix
        what stands before the name in the table, as "TVMCModel.".
    """
    row = find(TVMC_NAMES, f"{prefix}{name}")
    reason = "" if row is None else f": {row.reason}"
    return AttributeError(f"{owner} has no attribute '{name}'{reason}")

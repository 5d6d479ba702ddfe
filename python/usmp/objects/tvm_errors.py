"""What TVM raises, as an error that says which operator it is about and why."""

from __future__ import annotations

import re
from collections.abc import Callable

from tvm import tirx
from tvm.ir import IRModule

from usmp.objects.errors import UnsupportedModelError

_LONGEST_REASON = 400
_CHECK = re.compile(r"^Check failed: .*? : ")
"""What TVM writes of its own source before what it has to say."""


def reason_of(error: Exception) -> str:
    """The first paragraph of the message, in one line; what follows it is about TVM's source."""
    text = " ".join(str(error).strip().split("\n\n")[0].split())
    return _CHECK.sub("", text)[:_LONGEST_REASON] or type(error).__name__


def apply_to_functions(
    apply: Callable[[IRModule], IRModule], mod: IRModule, what: str = "lower"
) -> IRModule:
    """What TVM's passes make of the PrimFuncs of `mod`.

    Parameters
    ----------
    apply: the passes; they look at one PrimFunc at a time.
    what: what cannot be done to an operator if they fail.

    Raises
    ------
    UnsupportedModelError: they fail; the message has the name of the PrimFunc and the reason.
    """
    try:
        return apply(mod)
    except UnsupportedModelError:
        raise
    except Exception as error:
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                try:
                    apply(IRModule({variable: func}))
                except Exception as own:
                    raise UnsupportedModelError(
                        f"TVM cannot {what} operator {variable.name_hint}: {reason_of(own)}"
                    ) from own
        raise UnsupportedModelError(f"TVM cannot {what} the model: {reason_of(error)}") from error

"""Conversion of errors of TVM and faults of usmp into errors with operator and reason."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tvm import tirx
from tvm.ir import IRModule

from usmp.support.errors import FaultError, OutOfMemoryError, UnsupportedModelError
from usmp.support.user_code import place_in_user_code

_LONGEST_REASON = 400
_CHECK = re.compile(r"^Check failed: (.*?)(?: is false:| : ) ?")
"""The prefix of a TVM message that quotes a failed check of its source."""


_PACKAGE = Path(__file__).resolve().parents[1]
_BAD_ALLOC = "std::bad_alloc"
"""The message of C++ for a failed allocation."""

_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)
"""Errors that Python itself raises for programming mistakes."""


@contextmanager
def report_faults(where: str) -> Iterator[None]:
    """Convert errors within this context into faults of usmp in the step `where`.

    Errors for the user stay: ValueError, OSError, and all errors from Python code of the user.

    Raises
    ------
    FaultError
        another error.
    OutOfMemoryError
        a failed allocation.
    """
    try:
        yield
    except (ValueError, OSError, FaultError, OutOfMemoryError):
        raise
    except MemoryError as error:
        raise OutOfMemoryError.at(where, error) from error
    except Exception as error:
        if place_in_user_code(error):
            raise
        raise fault(where, error) from error


@contextmanager
def lowering() -> Iterator[None]:
    """Convert errors of TVM's passes within this context into "cannot lower the model".

    Raises
    ------
    Exception
        the result of `cannot`.
    """
    try:
        yield
    except (ValueError, FaultError, OutOfMemoryError):
        raise
    except Exception as error:
        raise cannot("lower the model", error) from error


def fault(where: str, error: Exception) -> FaultError:
    """Return the error for a fault of usmp in a step."""
    kind, reason = type(error).__name__, reason_of(error)
    return FaultError(
        f"usmp fails {where}: {kind}{f': {reason}' * (reason != kind)}; "
        "this is a fault of usmp, please report it with the model"
    )


def cannot(what: str, error: Exception) -> Exception:
    """Return the error for an exception of a pass that should `what`, such as "lower the model".

    A failed allocation becomes an `OutOfMemoryError`, and a programming mistake in our code a fault
    of usmp. All other exceptions mean that TVM does not support the model.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, OutOfMemoryError):
        return error
    if isinstance(error, MemoryError) or _BAD_ALLOC in str(error):
        return OutOfMemoryError.at(f"to {what}", error)
    is_ours = bool(frames) and Path(frames[-1].filename).resolve().is_relative_to(_PACKAGE)
    if isinstance(error, FaultError):
        return error
    if is_ours and isinstance(error, _FAULTS):
        return fault(f"to {what}", error)
    return UnsupportedModelError(f"TVM cannot {what}: {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Return the first paragraph of a message in one line; later ones are about TVM's source."""
    text = " ".join(str(error).strip().split("\n\n")[0].split())
    check = _CHECK.match(text)
    if check is not None:
        text = text[check.end() :] or f"its check {check[1]} fails"
    return text[:_LONGEST_REASON] or type(error).__name__


def apply_to_functions(
    apply: Callable[[IRModule], IRModule], mod: IRModule, what: str = "lower"
) -> IRModule:
    """Apply TVM's passes to the PrimFuncs of `mod`.

    Parameters
    ----------
    apply
        passes that transform each PrimFunc by itself.
    what
        the verb for errors: what the passes do to an operator.

    Raises
    ------
    UnsupportedModelError
        a pass fails; the message has the name of the PrimFunc and the reason.
    OutOfMemoryError
        an allocation fails; the message has the name of the PrimFunc.
    """
    try:
        return apply(mod)
    except (UnsupportedModelError, OutOfMemoryError):
        raise
    except Exception as error:
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                try:
                    apply(IRModule({variable: func}))
                except Exception as own:
                    raise cannot(f"{what} operator {variable.name_hint}", own) from own
        raise cannot(f"{what} the model", error) from error

"""What TVM raises, or what fails in usmp itself, as an error that says which operator it is about
and why."""

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
"""What TVM writes of its own source before what it has to say, if it says anything."""


_PACKAGE = Path(__file__).resolve().parents[1]
_BAD_ALLOC = "std::bad_alloc"
"""What C++ says where an allocation fails."""

_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)
"""What Python raises of itself where a program is wrong."""


@contextmanager
def report_faults(where: str) -> Iterator[None]:
    """What fails in here that is not for the user says so; `where` is what usmp was at, as
    "to plan the memory".

    Errors for the user are ValueError and OSError, and whatever comes out of Python of the user.

    Raises
    ------
    FaultError
        it fails.
    OutOfMemoryError
        an allocation fails.
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
    """What TVM's own passes raise in here means that they cannot lower this model.

    Raises
    ------
    Exception
        see `cannot`.
    """
    try:
        yield
    except (ValueError, FaultError, OutOfMemoryError):
        raise
    except Exception as error:
        raise cannot("lower the model", error) from error


def fault(where: str, error: Exception) -> FaultError:
    """The error that says that usmp fails, and how."""
    kind, reason = type(error).__name__, reason_of(error)
    return FaultError(
        f"usmp fails {where}: {kind}{f': {reason}' * (reason != kind)}; "
        "this is a fault of usmp, please report it with the model"
    )


def cannot(what: str, error: Exception) -> Exception:
    """The error for what TVM's passes, or ours between them, raise when they `what`.

    A wrong program is a fault of ours if it is our code; what else they raise means that TVM cannot
    do it.
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
    """The first paragraph of the message, in one line; what follows it is about TVM's source."""
    text = " ".join(str(error).strip().split("\n\n")[0].split())
    check = _CHECK.match(text)
    if check is not None:
        text = text[check.end() :] or f"its check {check[1]} fails"
    return text[:_LONGEST_REASON] or type(error).__name__


def apply_to_functions(
    apply: Callable[[IRModule], IRModule], mod: IRModule, what: str = "lower"
) -> IRModule:
    """What TVM's passes make of the PrimFuncs of `mod`.

    Parameters
    ----------
    apply
        the passes; they look at one PrimFunc at a time.
    what
        what cannot be done to an operator if they fail.

    Raises
    ------
    UnsupportedModelError
        they fail; the message has the name of the PrimFunc and the reason.
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

"""The base of the passes: it keeps errors as they were raised, and the spans of calls in Relax."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext, Sequential

from usmp.objects.attributes.attribute import AttributeAccess, Attributes
from usmp.support.process.compiler_lock import compiler_lock
from usmp.tir.spans import functions_with_spans

_RAISED: ContextVar[list[BaseException] | None] = ContextVar("usmp_raised_in_passes", default=None)
"""Errors that passes raised, while `apply_passes` runs."""

Transform = Callable[[Any, IRModule, PassContext], IRModule]


class ModulePass:
    """The base of classes that `tvm.transform.module_pass` turns into passes; it declares to type
    checkers that they are passes.

    Attributes
    ----------
    reads, writes
        attributes of the IR that the pass itself reads and writes, without those of passes that it
        runs.
    uses
        other code that it calls, with the attributes of that code.
    """

    reads: ClassVar[Attributes] = ()
    writes: ClassVar[Attributes] = ()
    uses: ClassVar[tuple[AttributeAccess, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Wrap the pass, so that `apply_passes` finds its errors."""
        super().__init_subclass__()
        cls.transform_module = _remembering(cls.transform_module)  # type: ignore[assignment]

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Return the module after the pass."""
        raise NotImplementedError

    if TYPE_CHECKING:

        def __call__(self, mod: IRModule) -> IRModule:
            """Apply the pass to a module."""


class LockedSequential(Sequential):  # type: ignore[misc]
    """Passes, also of TVM, that run one after the other under the compiler lock."""

    def __call__(self, mod: IRModule) -> IRModule:
        """Apply the passes to a module."""
        with compiler_lock:
            return super().__call__(mod)


def _remembering(transform: Transform) -> Transform:
    @wraps(transform)
    def transform_module(self: Any, mod: IRModule, context: PassContext) -> IRModule:
        try:
            with compiler_lock:
                return functions_with_spans(mod, transform(self, mod, context))
        except BaseException as error:
            raised = _RAISED.get()
            if raised is not None and _original(error, raised) is None:
                raised.append(error)
            raise

    return transform_module


def _original(error: BaseException, raised: list[BaseException]) -> BaseException | None:
    """Return the raised error that `error` copies, or None. C++ passes on the text of an error, and
    its class if it is registered; to some texts it adds a paragraph with the name of the pass."""
    for original in reversed(raised):
        text, copied = str(original), str(error.args[0]) if len(error.args) == 1 else None
        if copied is not None and (copied == text or copied.startswith(f"{text}\n\n")):
            return original
    return None


def apply_passes(passes: tvm.transform.Pass, mod: IRModule) -> IRModule:
    """Return the module after `passes`.

    An error of a pass in Python is raised unchanged, with its class, its cause and its data. TVM's
    own `passes(mod)` raises a copy, which is a RuntimeError if C++ does not know the class.
    """
    raised: list[BaseException] = []
    token = _RAISED.set(raised)
    try:
        return passes(mod)
    except BaseException as error:
        original = _original(error, raised)
        if original is None:
            raise
    finally:
        _RAISED.reset(token)
    raise original


@tvm.transform.module_pass(opt_level=0, name="usmp.KeepSpans")
class KeepSpans(ModulePass):
    """A pass that runs a pass of TVM and keeps the spans of calls in Relax.

    Parameters
    ----------
    transform
        the pass.
    """

    def __init__(self, transform: tvm.transform.Pass) -> None:
        self.transform = transform

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Apply the pass."""
        return self.transform(mod)


def with_prim_funcs(mod: IRModule, change: Callable[[tirx.PrimFunc], tirx.PrimFunc]) -> IRModule:
    """Return `mod` with each PrimFunc changed, and the other functions as they are."""
    changed = IRModule(mod.functions, attrs=mod.attrs)
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            changed.update_func(variable, change(func))
    return changed

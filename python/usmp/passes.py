"""The base of the passes: errors come out as they were raised, and calls in Relax keep the spans of
what they were made from."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext, Sequential

from usmp.objects.attribute import AttributeAccess, Attributes
from usmp.support.compiler_lock import compiler_lock
from usmp.tir.spans import functions_with_spans

_RAISED: ContextVar[list[BaseException] | None] = ContextVar("usmp_raised_in_passes", default=None)
"""What passes raised, while `apply_passes` runs some."""

Transform = Callable[[Any, IRModule, PassContext], IRModule]


class ModulePass:
    """The base of what `tvm.transform.module_pass` makes a pass of; also declares to type checkers
    what that is.

    Attributes
    ----------
    reads, writes
        the attributes of the IR that it reads and writes itself, not in passes that it runs.
    uses
        what it calls that reads and writes more.
    """

    reads: ClassVar[Attributes] = ()
    writes: ClassVar[Attributes] = ()
    uses: ClassVar[tuple[AttributeAccess, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Remember what the pass raises, for `apply_passes`."""
        super().__init_subclass__()
        cls.transform_module = _remembering(cls.transform_module)  # type: ignore[assignment]

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """What the pass makes of `mod`."""
        raise NotImplementedError

    if TYPE_CHECKING:

        def __call__(self, mod: IRModule) -> IRModule:
            """Apply the pass to a module."""


class LockedSequential(Sequential):  # type: ignore[misc]
    """Passes that run one after the other under the compiler lock, those of TVM among them."""

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
    """What `error` is a copy of: C++ hands on the text of an error, and its class if that is known
    there; to some texts it adds a paragraph with the name of the pass."""
    for one in reversed(raised):
        text, copied = str(one), str(error.args[0]) if len(error.args) == 1 else None
        if copied is not None and (copied == text or copied.startswith(f"{text}\n\n")):
            return one
    return None


def apply_passes(passes: tvm.transform.Pass, mod: IRModule) -> IRModule:
    """What `passes` make of `mod`.

    An error of a pass in Python comes out as it was raised, with its class, its cause and its data.
    Out of TVM's own `passes(mod)` comes a copy, a RuntimeError if C++ does not know the class.
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
    """A pass of TVM, after which calls in Relax have the spans of what they were made from.

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
    """`mod`, each PrimFunc changed; the other functions stay as they are."""
    changed = IRModule(mod.functions, attrs=mod.attrs)
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            changed.update_func(variable, change(func))
    return changed

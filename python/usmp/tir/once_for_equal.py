"""A cache of the results of passes, for equal PrimFuncs in several modules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.tir.nodes import nodes_of
from usmp.tir.same_text import hash_of_text, is_same_text

_Made = dict[tuple[Hashable, int], list[tuple[tirx.PrimFunc, tirx.PrimFunc]]]

_MADE: ContextVar[_Made | None] = ContextVar("made_of_equal_functions", default=None)


@contextmanager
def shared_functions() -> Iterator[None]:
    """Share the results of passes between equal PrimFuncs within this context; nested contexts
    share the results of the outermost one."""
    if _MADE.get() is not None:
        yield
        return
    token = _MADE.set({})
    try:
        yield
    finally:
        _MADE.reset(token)


def once_for_equal(
    apply: Callable[[IRModule], IRModule],
    mod: IRModule,
    depends_on: Callable[[GlobalVar], Hashable],
) -> IRModule:
    """Apply passes to a module, except to PrimFuncs with a cached result.

    Parameters
    ----------
    apply
        passes that transform each PrimFunc by itself; also a cache key, so always the same object.
    depends_on
        returns a key for all that the result of `apply` depends on besides the PrimFunc.
    """
    cache = _MADE.get()
    if cache is None:
        return apply(mod)
    known: dict[GlobalVar, tirx.PrimFunc] = {}
    new: dict[GlobalVar, list[tuple[tirx.PrimFunc, tirx.PrimFunc]]] = {}
    for variable, func in mod.functions.items():
        # Skip PrimFuncs with calls, because they refer to functions of their own module.
        if not isinstance(func, tirx.PrimFunc) or nodes_of(func.body, GlobalVar):
            continue
        key = (apply, depends_on(variable)), hash_of_text(func)
        same = cache.setdefault(key, [])
        equal = (
            after for before, after in same if before.same_as(func) or is_same_text(before, func)
        )
        result = next(equal, None)
        if result is None:
            new[variable] = same
        else:
            known[variable] = result
    uncached = {v: func for v, func in mod.functions.items() if v not in known}
    changed = apply(IRModule(uncached, attrs=mod.attrs))
    for variable, same in new.items():
        same.append((mod[variable], changed[variable]))
    functions = {v: known[v] if v in known else changed[v] for v in mod.functions}
    return IRModule(functions, attrs=changed.attrs)

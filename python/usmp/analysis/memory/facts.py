"""Cached facts about PrimFuncs and their memory accesses, for all analyses.

The key of a PrimFunc consists of its name, parameters, body and result type, of the facts of its
callees, and of the stated accesses of functions outside of the module. Other attributes do not
matter. So facts hold in all modules where a PrimFunc has the same callees, and a changed callee
leads to new facts. Facts are immutable, and are kept as long as `shared_facts` lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TypeVar

from tvm import tirx
from tvm.ir import IRModule, PointerType

from usmp.analysis.memory.call_graph import CallGraph
from usmp.analysis.memory.calls import CallResolver, PossibleCall, possible_calls, prim_funcs
from usmp.analysis.memory.distances.kept_bytes import KeptBytes
from usmp.analysis.memory.distances.safe_distance import SafeOverlap
from usmp.analysis.memory.function_liveness import FunctionLiveness
from usmp.analysis.memory.liveness import fold_liveness
from usmp.analysis.memory.memory_trace import fold_trace
from usmp.analysis.memory.points_to import PointsTo, points_to
from usmp.analysis.memory.side_effects import Effect, effect_of
from usmp.analysis.memory.stated_kernel import StatedKernel
from usmp.analysis.memory.used_bytes import used_bytes
from usmp.analysis.memory.walk.event_walk import memory_events
from usmp.analysis.memory.walk.events import Event
from usmp.objects.extern_kernel import ExternKernel, kernels_of
from usmp.support.found import Found
from usmp.support.reachable import reachable
from usmp.support.tvm_errors import report_faults

_Found = TypeVar("_Found")


class FunctionFacts:
    """The facts of a PrimFunc, each computed on first use.

    Parameters
    ----------
    name
        name of its GlobalVar.
    calls
        resolver of its calls.
    callees
        the facts of its callees, by name.
    accessed
        a cache of the bytes of accesses.
    shared
        a cache of results that several PrimFuncs share.
    """

    def __init__(
        self,
        name: str,
        calls: CallResolver,
        callees: Mapping[str, FunctionFacts],
        accessed: KeptBytes,
        shared: Found,
    ) -> None:
        self.name = name
        self.func: tirx.PrimFunc = calls.functions[name]
        self.calls = calls
        self.callees = callees
        self.shared = shared
        self._accessed = accessed
        self._kept_events: Sequence[Event] | None = None
        self._liveness: FunctionLiveness | None = None
        self._overlap: SafeOverlap | None = None
        self._effect: Effect | None = None
        self._used_bytes = Found()
        self._found = Found()

    def once(self, what: Hashable, find: Callable[[FunctionFacts], _Found]) -> _Found:
        """Return the result of `find`, computed once for each key.

        Parameters
        ----------
        what
            the key of the result.
        """
        reported = report_faults(f"to analyze operator {self.name}")(find)
        return self._found.once(what, lambda: reported(self))

    @property
    def liveness(self) -> FunctionLiveness:
        """The liveness of its memories.

        Raises
        ------
        ValueError
            TIR that is not flat.
        """
        for facts in self._callees_first("_liveness"):
            callees = {name: callee.liveness for name, callee in facts.callees.items()}
            facts._liveness = fold_liveness(
                facts.name, facts._events(), facts.calls, facts.points_to, callees
            )
            facts._forget_events()
        assert self._liveness is not None
        return self._liveness

    @property
    def overlap(self) -> SafeOverlap:
        """The trace of its accesses, and the safe distances between its memories."""
        for facts in self._callees_first("_overlap"):
            callees = {name: callee.overlap for name, callee in facts.callees.items()}
            reach = {name: callee.reach for name, callee in callees.items()}
            points = facts.points_to
            trace = fold_trace(facts._events(), points, reach)
            called: dict[str, SafeOverlap | StatedKernel] = {**callees}
            called |= {kernel.key: kernel for kernel in facts.kernels.values()}
            facts._overlap = SafeOverlap(
                *(facts.name, facts.func, points, trace, called, facts._accessed, facts.shared)
            )
            facts._forget_events()
        assert self._overlap is not None
        return self._overlap

    def _events(self) -> Sequence[Event]:
        """Return its memory events, kept until `liveness` and `overlap` are computed."""
        if self._kept_events is None:
            self._kept_events = memory_events(
                self.name, self.func.body, self.calls.resolve, self.kernels
            )
        return self._kept_events

    def _forget_events(self) -> None:
        if self._liveness is not None and self._overlap is not None:
            self._kept_events = None

    @property
    def effect(self) -> Effect:
        """Its side effects besides reads and writes of memory."""
        for facts in self._callees_first("_effect"):
            facts._effect = effect_of(
                facts.func.body, facts.calls, facts._effects_of_callees, facts._stated
            )
        assert self._effect is not None
        return self._effect

    def effect_of_main_statement(self, stmt: tirx.Stmt | Sequence[tirx.Stmt]) -> Effect:
        """Return the side effects of one or several statements of this main function."""
        return effect_of(stmt, self.calls, self._effects_of_callees, self._stated, is_main=True)

    @cached_property
    def kernels(self) -> dict[str, StatedKernel]:
        """Its callees outside of the module with stated accesses, by symbol.

        Raises
        ------
        ValueError
            a callee is in the module.
        """
        stated = kernels_of(self.func)
        for symbol in stated:
            if symbol in self.calls.functions:
                raise ValueError(
                    f'extern kernel "{symbol}", which {self.name} states, is a PrimFunc of the '
                    "module, whose body says what it does; state nothing of it"
                )
        return {symbol: StatedKernel(kernel) for symbol, kernel in stated.items()}

    @property
    def _stated(self) -> dict[str, ExternKernel]:
        return {symbol: stated.kernel for symbol, stated in self.kernels.items()}

    @cached_property
    def points_to(self) -> PointsTo:
        """The memories that its variables point to."""
        return points_to(self.func)

    @cached_property
    def written(self) -> AbstractSet[tirx.Var]:
        """The pointers and buffers through which it or a callee may write, with their sources.

        Another view of written memory need not be in the set."""
        sources = self.points_to.sources
        return set(reachable(self.liveness.written, lambda pointer: sources.get(pointer, ())))

    @property
    def written_parameters(self) -> set[int]:
        """The indices of the pointer and buffer parameters through which it may write."""
        return {
            index
            for index, param in enumerate(self.func.params)
            if param in self.written
            and (tirx.is_buffer_var(param) or isinstance(param.ty, PointerType))
        }

    def used_bytes(self, index: int) -> int | None:
        """Return the used bytes of a parameter's memory (see the function `used_bytes`)."""
        param = self.func.params[index]
        return self._used_bytes.once(
            index, lambda: used_bytes(param, self.points_to, self.liveness)
        )

    @cached_property
    def _effects_of_callees(self) -> dict[str, Effect]:
        return {name: callee.effect for name, callee in self.callees.items()}

    def _callees_first(self, fact: str) -> Iterator[FunctionFacts]:
        """Yield those facts of this PrimFunc and of its callees at any depth whose attribute `fact`
        is None, callees first."""
        pending = [self]
        while pending:
            facts = pending[-1]
            missing = [c for c in facts.callees.values() if getattr(c, fact) is None]
            if getattr(facts, fact) is None and missing:
                pending += reversed(missing)
                continue
            pending.pop()
            if getattr(facts, fact) is None:
                yield facts


class FactStore:
    """A cache of the facts of PrimFuncs, for any number of modules."""

    def __init__(self) -> None:
        self._facts: dict[object, FunctionFacts] = {}
        self._calls = Found()
        self._accessed = KeptBytes()
        self._shared = Found()

    def possible_calls(self, body: tirx.Stmt) -> Sequence[PossibleCall]:
        """Return the possible calls in a body (see the function `possible_calls`)."""
        return self._calls.once(body, lambda: possible_calls(body))

    def facts_of(
        self, name: str, graph: CallGraph, callees: Mapping[str, FunctionFacts]
    ) -> FunctionFacts:
        """Return the facts of a PrimFunc of a module.

        Parameters
        ----------
        name
            name of the PrimFunc.
        graph
            call graph of the module.
        callees
            the facts of its callees, by name.
        """
        func = graph.functions[name]
        called = tuple(None if c is None else callees[c.callee] for c in graph.resolved(name))
        stated = tuple(kernels_of(func).values())
        key = name, func.body, tuple(func.params[:]), str(func.ret_type), called, stated
        if key not in self._facts:
            self._facts[key] = FunctionFacts(
                name, graph.calls, callees, self._accessed, self._shared
            )
        return self._facts[key]


class ModuleFacts:
    """The facts of the PrimFuncs of a module.

    Parameters
    ----------
    functions
        the PrimFuncs, by the names of their GlobalVars.
    store
        a cache of the facts.
    """

    def __init__(self, functions: Mapping[str, tirx.PrimFunc], store: FactStore) -> None:
        self.graph = CallGraph(functions, store.possible_calls)
        self._store = store
        self._found: dict[str, FunctionFacts] = {}

    def of(self, name: str) -> FunctionFacts:
        """Return the facts of a PrimFunc.

        Raises
        ------
        ValueError
            a PrimFunc that calls itself, directly or through others.
        """
        if name not in self._found:
            for function in self.graph.callees_first(name):
                if function not in self._found:
                    callees = {c: self._found[c] for c in self.graph.callees(function)}
                    self._found[function] = self._store.facts_of(function, self.graph, callees)
        return self._found[name]


_SHARED: ContextVar[FactStore | None] = ContextVar("shared_facts", default=None)


@contextmanager
def shared_facts() -> Iterator[None]:
    """Let all analyses share facts within this context; nested contexts share the outermost facts.

    PrimFuncs are kept alive until the context ends.
    """
    if _SHARED.get() is not None:
        yield
        return
    token = _SHARED.set(FactStore())
    try:
        yield
    finally:
        _SHARED.reset(token)


def module_facts(mod: IRModule) -> ModuleFacts:
    """Return the facts of a module, shared within `shared_facts`."""
    return facts_of_functions(prim_funcs(mod))


def facts_of_functions(functions: Mapping[str, tirx.PrimFunc]) -> ModuleFacts:
    """Return the facts of PrimFuncs, given by the names of their GlobalVars."""
    return ModuleFacts(functions, _SHARED.get() or FactStore())


def analyze_liveness(main: str, mod: IRModule) -> FunctionLiveness:
    """Return the liveness of `main` with its callees in `mod`, to any depth.

    Raises
    ------
    ValueError
        a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    return module_facts(mod).of(main).liveness


def safe_overlap(func: tirx.PrimFunc, mod: IRModule | None = None) -> SafeOverlap:
    """Return the safe distances between the memories of a PrimFunc.

    Parameters
    ----------
    func
        a PrimFunc in flat TIR.
    mod
        the module with `func` and its callees; without one, all callees are unknown functions.

    Raises
    ------
    ValueError
        recursion; TIR that is not flat.
    """
    name = "main"
    functions = {} if mod is None else dict(mod.functions.items())
    for variable, other in functions.items():
        if other.same_as(func):
            name = str(variable.name_hint)
            break
    else:
        mod = IRModule({name: func})
    assert mod is not None
    return module_facts(mod).of(name).overlap

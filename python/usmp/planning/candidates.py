"""Modules that could be built from one model: copies made or not, in one order or another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.main_statements import DECLARATIONS
from usmp.names import COPIES, ORDER
from usmp.objects.attributes import MAIN_FUNCTION_NAME
from usmp.objects.entries import ONLY_ENTRY, entries_of
from usmp.planning.main_function import with_main
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.least_peak import OperatorOrder, least_peak_order
from usmp.planning.operator_order.read_graph import operator_graph
from usmp.planning.options import PlanningOptions
from usmp.planning.session import Peaks, PlanningSession
from usmp.planning.streaming.lower_bound import least_need
from usmp.tir.nodes import sequence

_MOST_TRIALS = 8
"""Choices of copies that are planned."""

_FIRST_TRIALS = 3
"""The first of these: the default choice, all copies elided, none elided."""


@dataclass(frozen=True)
class OrderedModules:
    """A module, and what is known of the orders of its statements.

    Parameters
    ----------
    modules
        the module; and if an order with fewer live bytes is known, the same in that order.
    found
        the order; None if it is not wanted, if there is one order only, or if it is not known
        what the statements do.
    """

    modules: list[IRModule]
    found: OperatorOrder | None = None


def in_orders(session: PlanningSession, mod: IRModule, options: PlanningOptions) -> OrderedModules:
    """Find an order of `__tvm_main__` with the least peak of live bytes.

    Parameters
    ----------
    mod
        is not planned yet.
    options
        whether and how to.

    Raises
    ------
    ValueError
        the module is refused, see `PlanningSession.prepared` and `operator_graph`.
    """
    # The entries of a joint module were ordered one by one.
    if not (options.order_operators and options.shares_memory) or entries_of(mod) != [ONLY_ENTRY]:
        return OrderedModules([mod])
    prepared = session.prepared(mod, options)

    def find() -> OperatorOrder | None:
        if not session.has_time(ORDER):
            return None
        graph = _graph(session, prepared, options)
        return None if graph is None else least_peak_order(graph, deadline=session.deadline)

    # Inputs and outputs count if they are allocated; the statements stay the same.
    found = session.once(("order", options.preserve_inputs, options.overlap), prepared, find)
    if found is None or found.peak_bytes >= found.importer_peak_bytes:
        return OrderedModules([mod], found)
    order, main = found.order, mod[MAIN_FUNCTION_NAME]
    ordered = session.once(("in order", order), mod, lambda: with_order(main, order))
    return OrderedModules([mod, with_main(mod, ordered)], found)


def _graph(
    session: PlanningSession, prepared: IRModule, options: PlanningOptions
) -> OperatorGraph | None:
    """The calls with the bytes of the largest sizes; what one depends on it does at all sizes."""
    largest = session.at_largest_sizes(prepared)
    graph = operator_graph(largest, options.preserve_inputs, options.overlap)
    if graph is None or largest is prepared:
        return graph
    symbolic = operator_graph(prepared, options.preserve_inputs, overlap=False)
    if symbolic is None:
        return None
    calls = (
        replace(call, after=tuple(sorted({*call.after, *other.after})))
        for call, other in zip(graph.calls, symbolic.calls, strict=True)
    )
    return replace(graph, calls=tuple(calls))


def with_order(main: tirx.PrimFunc, order: Sequence[int]) -> tirx.PrimFunc:
    """All declarations of a main function, then the other statements in this order."""
    parts = tirx.stmt_list(main.body)
    declarations = [stmt for stmt in parts if isinstance(stmt, DECLARATIONS)]
    statements = [stmt for stmt in parts if not isinstance(stmt, DECLARATIONS)]
    body = sequence([*declarations, *(statements[index] for index in order)])
    return main.with_body(body, main.span)


@dataclass(frozen=True)
class Copies:
    """A choice of the copies of parts of tensors that are made.

    Parameters
    ----------
    mod
        the module with these copies.
    groups
        for each copy that could be made, by position, its group: copies of one group copy parts
        of the same tensors.
    elided
        the positions of those that are not made.
    """

    mod: IRModule
    groups: Sequence[int]
    elided: frozenset[int]


def fewest_bytes(
    session: PlanningSession,
    options: PlanningOptions,
    make: Callable[[Collection[int] | None], Copies],
) -> Copies:
    """Of some choices of copies, one with the smallest plan, and of these one with few copies.

    Not copying a part of a tensor lets it live as long as the whole. What this costs depends on
    what may overlap where, so some choices are planned, each in the orders of its operators that
    `OrderOperators` chooses from. Making all copies is one of them.

    Parameters
    ----------
    options
        how to plan.
    make
        copies to elide where that is possible, or None for those that let no more bytes live at
        once -> the choice.

    Raises
    ------
    ValueError
        a module is refused, see `PlanningSession.peaks`.
    """
    make = _known_choices(session, make)
    chosen = make(None)
    if not chosen.groups or least_need(session, chosen.mod, options) is not None:
        return chosen
    if session.deadline is None:
        return _fewest_bytes(session, options, make, chosen)
    # No time may remain for the search when the model is lowered again.
    elided = session.once_for_equal(
        ("copies", options),
        chosen.mod,
        lambda: _fewest_bytes(session, options, make, chosen).elided,
    )
    return make(elided)


def _known_choices(
    session: PlanningSession, make: Callable[[Collection[int] | None], Copies]
) -> Callable[[Collection[int] | None], Copies]:
    """Return `make`, with each module replaced by the equal one of the session."""

    def make_known(wanted: Collection[int] | None) -> Copies:
        choice = make(wanted)
        return replace(choice, mod=session.known(choice.mod))

    return make_known


def _fewest_bytes(
    session: PlanningSession,
    options: PlanningOptions,
    make: Callable[[Collection[int] | None], Copies],
    chosen: Copies,
) -> Copies:
    """Return the best choice of those that are planned before the deadline.

    Parameters
    ----------
    chosen
        the first choice.
    """
    search = _Search(session, options, chosen)
    first: set[Peaks | None] = set()
    for wanted in (None, range(len(chosen.groups)), ()):
        if session.has_time(COPIES):
            first.add(search.try_out(chosen if wanted is None else make(wanted)))
    if len(first) > 1 or None in first:
        for group in list(_groups(chosen.groups))[: _MOST_TRIALS - _FIRST_TRIALS]:
            best = search.best.elided
            if session.has_time(COPIES):
                search.try_out(make(best - group if group <= best else best | group))
    return search.best


class _Search:
    """The best choice of those that were tried out; the first one if none was."""

    def __init__(self, session: PlanningSession, options: PlanningOptions, first: Copies) -> None:
        self.session = session
        self.options = options
        self.tried: dict[frozenset[int], Peaks | None] = {}
        self.best = first
        self.least: Peaks | None = None

    def try_out(self, choice: Copies) -> Peaks | None:
        """The peaks of its plan; None if there is none, or a better one is known."""
        if choice.elided not in self.tried:
            peaks = self._peaks(choice)
            self.tried[choice.elided] = peaks
            if self._is_better(peaks, choice):
                self.best, self.least = choice, peaks
        return self.tried[choice.elided]

    def _peaks(self, choice: Copies) -> Peaks | None:
        least, limit = None, self.least
        for module in in_orders(self.session, choice.mod, self.options).modules:
            peaks = self.session.peaks(module, self.options, limit)
            if peaks is not None and (least is None or peaks < least):
                least = peaks
                limit = peaks if limit is None else min(limit, peaks)
        return least

    def _is_better(self, peaks: Peaks | None, choice: Copies) -> bool:
        if len(self.tried) == 1:
            return True
        if peaks is None or self.least is None or peaks != self.least:
            return peaks is not None and (self.least is None or peaks < self.least)
        return len(choice.elided) > len(self.best.elided)


def _groups(groups: Sequence[int]) -> Iterator[frozenset[int]]:
    """The positions of copies that belong together."""
    for number in dict.fromkeys(groups):
        yield frozenset(index for index, group in enumerate(groups) if group == number)

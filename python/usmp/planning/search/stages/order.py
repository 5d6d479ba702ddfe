"""The order of the statements of the main PrimFunc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.main_statements import DECLARATIONS
from usmp.names import ORDER
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME, STRIPS_ATTR
from usmp.objects.entries import entries_of
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.main_function import with_main
from usmp.planning.operator_order.graph import OperatorGraph
from usmp.planning.operator_order.least_peak import OperatorOrder, least_peak_order
from usmp.planning.operator_order.read_graph import operator_graph
from usmp.planning.options import PlanningOptions
from usmp.planning.search.choice import Choice
from usmp.planning.search.race import Race
from usmp.planning.search.stage import Stage
from usmp.planning.session import PlanningSession
from usmp.tir.nodes import sequence

_IMPORTED = Choice((), "as imported")


class OrderStage(Stage):
    """The choice between the importer's order and one with the least peak of live bytes.

    The value has the indices of the statements without declarations, in the new order, or is empty
    for the importer's order.
    """

    name = ORDER
    pass_name = "usmp.OrderOperators"
    reads = (STRIPS_ATTR,)

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the importer's order, and another order if its peak of live bytes is lower."""
        yield _IMPORTED
        # Entries of a joint module were ordered one by one before. Strips have an order already:
        # one strip after the other.
        options = race.options
        is_free = options.order_operators and options.shares_memory
        has_strips = bool((STRIPS_ATTR.of(mod) or {}).get("chains"))
        if not is_free or has_strips or entries_of(mod) != [ONLY_ENTRY] or race.is_hopeless:
            return
        order = least_order(race.session, mod, options)
        race.facts["order"] = order
        if order is not None and order.peak_bytes < order.importer_peak_bytes:
            yield Choice(tuple(order.order), "fewest live bytes", (1,))

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with its statements in the order."""
        order = choice.value
        assert isinstance(order, tuple)
        return with_main(mod, with_order(mod[MAIN_FUNCTION_NAME], order)) if order else mod

    def details(self, race: Race) -> dict[str, Any]:
        """Return the peaks of live bytes, and their lower bound."""
        order: OperatorOrder | None = race.facts.get("order")
        if order is None:
            return {}
        is_importers = race.taken == _IMPORTED
        live_bytes = order.importer_peak_bytes if is_importers else order.peak_bytes
        return {
            "importer_live_bytes": order.importer_peak_bytes,
            "live_bytes": live_bytes,
            "least_live_bytes": order.lower_bound_bytes,
        }


def least_order(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> OperatorOrder | None:
    """Return the order of `__tvm_main__` with the lowest peak of live bytes that is found.

    Parameters
    ----------
    mod
        a module without a plan, with one entry.

    Returns
    -------
    OperatorOrder | None
        None if there is only one order, if the effect of a statement is unknown, or if no time
        remains.

    Raises
    ------
    ValueError
        the module is refused, see `PlanningSession.prepared` and `operator_graph`.
    """
    prepared = session.prepared(mod, options)

    def find() -> OperatorOrder | None:
        if not session.has_time(ORDER):
            return None
        graph = _graph(session, prepared, options)
        return None if graph is None else least_peak_order(graph, deadline=session.deadline)

    # Use the prepared module, because its planned inputs and outputs are allocations.
    return session.once(("order", options.preserve_inputs, options.overlap), prepared, find)


def _graph(
    session: PlanningSession, prepared: IRModule, options: PlanningOptions
) -> OperatorGraph | None:
    """Return the graph of the calls, with bytes at the largest sizes, and dependencies that
    hold at all sizes."""
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
    """Return a main function with all declarations first, then its other statements in order."""
    parts = tirx.stmt_list(main.body)
    declarations = [stmt for stmt in parts if isinstance(stmt, DECLARATIONS)]
    statements = [stmt for stmt in parts if not isinstance(stmt, DECLARATIONS)]
    body = sequence([*declarations, *(statements[index] for index in order)])
    return main.with_body(body, main.span)

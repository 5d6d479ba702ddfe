"""An estimate of the peak of live bytes of a Relax `main`, before its operators are lowered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tvm import relax
from tvm.ir import IRModule, Var

from usmp.ops.views import ViewKind, names_of
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse
from usmp.planning.operator_order.least_peak import least_peak_order
from usmp.planning.options import PlanningOptions
from usmp.relax.states import states_of
from usmp.relax.static_shapes import main_function, size_bytes
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

_MOST_STEPS = 20_000
"""Most steps of the search for an order, which take some tenths of a second."""

_VIEWS = names_of(ViewKind.RESHAPE, ViewKind.SLICE)
"""Views of one tensor; `NormalizeCopies` rewrote splits to slices."""


def estimated_peak(mod: IRModule, options: PlanningOptions) -> int:
    """Estimate the peak of live bytes, in the best order of operators, or in the given order if
    `options` keep it.

    The estimate assumes that reshapes, slices and concats are views, and, if `options` allow
    overlaps, that each result overlaps the operands that die at its operator. It only tells which
    modules are worth planning.

    Parameters
    ----------
    mod
        a Relax `main` of static shapes.
    options
        planning options of the build.
    """
    search = least_peak_order(_graph(main_function(mod), options), _MOST_STEPS)
    return search.peak_bytes if options.order_operators else search.importer_peak_bytes


@dataclass
class _Tensors:
    """The tensors that variables are views of, and the calls that they depend on."""

    wholes: dict[Var, Var] = field(default_factory=dict)
    """Variable -> the variable that it is a part of."""
    makers: dict[Var, frozenset[int]] = field(default_factory=dict)
    """Variable -> the calls that it depends on directly."""

    def whole(self, var: Var) -> Var:
        """Return the variable of the allocated tensor that contains `var`."""
        while var in self.wholes:
            var = self.wholes[var]
        return var

    def made(self, read: list[Var]) -> frozenset[int]:
        """Return the calls that a reader of these variables depends on."""
        return frozenset().union(*(self.makers.get(var, frozenset()) for var in read))


def _graph(main: relax.Function, options: PlanningOptions) -> OperatorGraph:
    tensors = _Tensors()
    calls: list[tuple[Var, list[Var], frozenset[int]]] = []
    for var, value, read in _values(main):
        tensors.makers[var] = tensors.made(read)
        if _is_view(value):
            tensors.wholes[var] = read[0]
        elif op_name(value) == "relax.concat":
            for whole in {tensors.whole(part) for part in read}.difference(main.params):
                tensors.wholes[whole] = var
        else:
            calls.append((var, read, tensors.makers[var]))
            tensors.makers[var] = frozenset([len(calls) - 1])
    inputs, outputs = set(main.params), set(nodes_of(main.body.body, Var))
    inputs_and_outputs = inputs | {tensors.whole(var) for var in outputs}
    states = {state.name for state in states_of(main)}
    kept = {param for param in main.params if param.name in states}
    counted: dict[Var, int] = {}
    sizes: list[GraphTensor] = []
    graph_calls: list[GraphCall] = []
    for var, read, after in calls:
        used = list(dict.fromkeys(tensors.whole(v) for v in (*read, var)))
        for whole in used:
            is_io = whole in inputs_and_outputs
            if whole in counted or whole in kept or (is_io and not options.use_workspace_io):
                continue
            counted[whole] = len(sizes)
            is_input = whole in inputs
            at_exit = (is_io and not is_input) or (is_input and options.preserve_inputs)
            sizes.append(GraphTensor(size_bytes(whole.ty), is_input, at_exit))
        numbers = [counted[whole] for whole in used if whole in counted]
        result = counted.get(tensors.whole(var))
        shared = {
            (number, result): min(sizes[number].size_bytes, sizes[result].size_bytes)
            for number in numbers
            if result is not None and number != result and options.overlap
        }
        uses = tuple(map(TensorUse, numbers))
        graph_calls.append(GraphCall(uses, tuple(sorted(after)), shared))
    return OperatorGraph(tuple(sizes), tuple(graph_calls))


def _values(main: relax.Function) -> Iterator[tuple[Var, relax.Expr, list[Var]]]:
    """Yield each variable that `main` binds, its value, and the tensor variables in the value."""
    known = set(main.params)
    for block in main.body.blocks:
        for binding in block.bindings:
            read = dict.fromkeys(var for var in nodes_of(binding.value, Var) if var in known)
            known.add(binding.var)
            yield binding.var, binding.value, list(read)


def _is_view(value: relax.Expr) -> bool:
    return isinstance(value, relax.TupleGetItem | Var) or op_name(value) in _VIEWS

"""A `main` that takes only the new rows of its windows, and keeps the others as states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule, Var

from usmp.objects.attributes.module_attributes import STATES_ATTR, STATES_FLAG_ATTR
from usmp.objects.state_info import STATES_FLAG_NAME, StateInfo
from usmp.ops.emit import shape_of
from usmp.ops.form import Interval
from usmp.relax.replace_main import without_callees
from usmp.relax.states import states_of
from usmp.relax.static_shapes import flatten_types
from usmp.relax.windows.slides import Slides, computed_rows, kept_rows
from usmp.support.array_bytes import are_alike
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.model_operator import result_names
from usmp.tir.nodes import fields_of, nodes_of, variable_bindings
from usmp.tir.spans import AnySpan, with_span


def with_kept_windows(
    mod: IRModule,
    main: relax.Function,
    found: Slides,
    initial: Mapping[Var, np.ndarray],
    state_prefix: str = "",
) -> IRModule:
    """Return the module whose `main` computes only the rows that are new in each run.

    Parameters
    ----------
    found
        the sliding tensors of `main`.
    initial
        tensor with kept rows -> value of its rows before the first run, in the tensor's shape with
        one row.
    state_prefix
        beginning of the names of the states. If not empty, they have a flag of their own for the
        first run.
    """
    alone = without_callees(mod, found.operators.keys())
    del alone[alone.get_global_var("main")]
    rewriter = _Rewriter(alone, main, found, initial, state_prefix)
    rewritten = rewriter.rewritten()
    for simplify in (
        relax.transform.Normalize(),
        relax.transform.CanonicalizeBindings(),
        relax.transform.DeadCodeElimination(),
    ):
        rewritten = simplify(rewritten)
    return rewritten.with_attrs(mod.attrs) if mod.attrs else rewritten


def kept_tensors(found: Slides) -> list[Var]:
    """Return the tensors whose rows are kept from one run to the next."""
    ranges = ((var, *kept_rows(found, var)) for var in found.slides)
    return [var for var, begin, end in ranges if begin < end]


def tensor_name(found: Slides, var: Var) -> str:
    """Return the name of a sliding tensor in the model file, or of its variable if unknown."""
    operator = found.operators.get(var)
    names = [] if operator is None else result_names(operator.call.span)
    return names[0] if names else str(var.name)


def state_names(main: relax.Function, found: Slides, prefix: str = "") -> dict[Var, str]:
    """Return the name of the state of each tensor with kept rows.

    State layouts identify states by these names, so they depend on names in the model file only; a
    repeated name gets a number.
    """
    names = UniqueNames([*(str(p.name) for p in main.params), f"{prefix}{STATES_FLAG_NAME}"])
    kept = ((var, tensor_name(found, var)) for var in kept_tensors(found))
    return {var: names.unique(f"{prefix}{name}_window") for var, name in kept}


def _spans(main: relax.Function, found: Slides) -> dict[Var, AnySpan | None]:
    """Return for each sliding tensor the span of its operator; for an input, of its first reader,
    because no operator computes it."""
    spans: dict[Var, AnySpan | None] = {}
    for binding in variable_bindings(main):
        if isinstance(binding.value, Call):
            for var in nodes_of(binding.value, Var):
                if var in found.slides:
                    spans.setdefault(var, binding.value.span)
            spans[binding.var] = binding.value.span
    return spans


@dataclass(frozen=True, eq=False)
class _Window:
    """The rows of a tensor that are available in a run.

    Parameters
    ----------
    start
        the rows at the start, if they are computed in each run.
    tensor
        the rows from `begin` on, kept ones first. No row between `start` and these is read.
    """

    start: relax.Expr | None
    tensor: relax.Expr
    begin: int


class _Rewriter:
    """The builder of the new function."""

    def __init__(
        self,
        mod: IRModule,
        main: relax.Function,
        found: Slides,
        initial: Mapping[Var, np.ndarray],
        state_prefix: str,
    ) -> None:
        self.builder = relax.BlockBuilder(mod)
        self.main, self.found, self.initial = main, found, initial
        self.windows: dict[Var, _Window] = {}
        self.replaced: dict[Var, relax.Expr] = {}
        self.spans = _spans(main, found)
        self.states: dict[Var, relax.Var] = {}
        for var, name in state_names(main, found, state_prefix).items():
            begin, end = kept_rows(found, var)
            self.states[var] = relax.Var(name, self._type(var, end - begin))
        self.flag = f"{state_prefix}{STATES_FLAG_NAME}" if state_prefix else None

    def rewritten(self) -> IRModule:
        """Return the module with the new function."""
        windows = {
            param: relax.Var(str(param.name), self._type(param, self.found.slides[param].shift))
            for param in self.main.params
            if param in self.found.slides
        }
        params = [
            *(windows.get(param, param) for param in self.main.params),
            *self.states.values(),
        ]
        with self.builder.function("main", params):
            with self.builder.dataflow():
                for param, rows in windows.items():
                    self._join(param, [rows])
                for block in self.main.body.blocks:
                    for binding in block.bindings:
                        self._bind(binding)
                results = [self._substituted(result) for result in fields_of(self.main.body.body)]
                results += [self._after(var) for var in self.states]
                outputs = [self.builder.emit_output(result) for result in results]
            self.builder.emit_func_output(relax.Tuple(outputs))
        mod = self.builder.get()
        variable = mod.get_global_var("main")
        attrs = {**dict(self.main.attrs or {}), **STATES_ATTR.entry(self._infos())}
        if self.flag is not None:
            own = [str(state.name) for state in self.states.values()]
            flags = STATES_FLAG_ATTR.of(self.main) or {}
            attrs |= STATES_FLAG_ATTR.entry({**flags, self.flag: own})
        attrs.pop("global_symbol", None)
        if "num_input" in attrs:
            attrs["num_input"] = len(params)
        mod.update_func(variable, mod[variable].with_attrs(attrs))
        return mod

    def _type(self, var: Var, rows: int) -> relax.TensorType:
        shape = list(shape_of(var))
        shape[self.found.slides[var].axis] = rows
        return relax.TensorType(shape, str(var.ty.dtype))

    def _infos(self) -> list[StateInfo]:
        """Return the infos of all states."""
        count = len(flatten_types(self.main.body.body.ty))
        infos = states_of(self.main)
        for index, (var, state) in enumerate(self.states.items()):
            value = self.initial[var]
            if are_alike(value):
                value = value.reshape(-1)[0]
            else:
                value = np.ascontiguousarray(np.broadcast_to(value, shape_of(state)))
            infos.append(StateInfo(str(state.name), count + index, tvm.runtime.tensor(value)))
        return infos

    def _bind(self, binding: relax.VarBinding) -> None:
        operator = self.found.operators.get(binding.var)
        name = str(binding.var.name)
        if operator is None:
            value = self._substituted(binding.value)
            self.replaced[binding.var] = self.builder.emit(value, name)
            return
        parts = []
        for rows in computed_rows(self.found, binding.var):
            reads = operator.access.reads
            ranges = {
                index: reads[index].needed(rows, self.found.slides[var].rows)
                for index, var in operator.operands.items()
            }
            tensors = {
                index: self._rows(var, ranges[index]) for index, var in operator.operands.items()
            }
            computed = operator.emit(self.builder, rows, ranges, tensors)
            parts.append(self._emit(computed, binding.var, name))
        self._join(binding.var, parts)

    def _join(self, var: Var, computed: Sequence[relax.Expr]) -> None:
        """Record the window of a tensor: kept rows, then new rows."""
        *start, end = computed
        begin, _ = kept_rows(self.found, var)
        tensor = end
        if var in self.states:
            tensor = self._concat([self.states[var], end], var)
        self.windows[var] = _Window(start[0] if start else None, tensor, begin)
        if self.found.wholes[var]:
            self.replaced[var] = self._rows(var, (0, self.found.slides[var].rows))

    def _concat(self, parts: Sequence[relax.Expr], var: Var) -> relax.Expr:
        axis = self.found.slides[var].axis
        return self._emit(relax.op.concat(list(parts), axis), var, f"{var.name}_rows")

    def _rows(self, var: Var, rows: Interval) -> relax.Expr:
        """Return some rows of a window."""
        window, (begin, end) = self.windows[var], rows
        if begin >= window.begin or window.start is None:
            return self._part(var, window.tensor, (begin - window.begin, end - window.begin))
        border = self.found.slides[var].alike[0]
        start = self._part(var, window.start, (begin, min(end, border)))
        if end <= border:
            return start
        # All rows before the kept ones are in `start`.
        assert window.begin == border
        return self._concat([start, self._part(var, window.tensor, (0, end - border))], var)

    def _part(self, var: Var, tensor: relax.Expr, rows: Interval) -> relax.Expr:
        axis, (begin, end) = self.found.slides[var].axis, rows
        if (begin, end) == (0, shape_of(tensor)[axis]):
            return tensor
        return self._emit(relax.op.strided_slice(tensor, [axis], [begin], [end]), var)

    def _emit(self, value: relax.Expr, var: Var, name: str = "") -> relax.Var:
        """Emit a value for rows of a tensor, with the span of the operator of the tensor."""
        value = with_span(self.builder.normalize(value), self.spans.get(var))
        return self.builder.emit(value, name)

    def _after(self, var: Var) -> relax.Expr:
        """Return a state after the run: its rows, shifted by the number of new rows."""
        shift = self.found.slides[var].shift
        begin, end = kept_rows(self.found, var)
        return self._rows(var, (begin + shift, end + shift))

    def _substituted(self, expr: relax.Expr) -> relax.Expr:
        """Return a value with tensors replaced."""
        result: relax.Expr = tvm_ffi.structural_map(
            expr, (Var, lambda var: self.replaced.get(var, var))
        )
        return result

"""The builder of the AoT main function: allocations, calls and views."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial

import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, PointerType, PrimType, Var

from usmp.analysis.memory.buffer_size import size_bytes
from usmp.aot.elide_copies import Copy, elide_copies
from usmp.aot.in_place_operators import InPlaceOperators
from usmp.aot.main_bindings import shape_and_dtype
from usmp.aot.main_calls import MainCalls
from usmp.aot.main_sizes import tensor_info
from usmp.aot.main_values import (
    Value,
    flat_buffer,
    flatten,
)
from usmp.aot.state_windows import windows
from usmp.aot.states import (
    copy_to_states,
    flag_tensor,
    set_once,
    starts_as_zeros,
    write_state_in_place,
)
from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CONSTANT_DATA_ATTR,
    STATE_BYTES_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.placed_state import StateTensor, digest_of
from usmp.objects.state_info import StateInfo
from usmp.objects.tensor_info import TensorInfo
from usmp.ops.views import PARTS, part_offsets
from usmp.relax.static_shapes import flatten_types
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.model_operator import joined_span, result_names
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.op_names import op_name
from usmp.tir.size_expressions import Extent
from usmp.tir.spans import Absorbed, AnySpan, with_span


@dataclass
class MainBuilder:
    """A builder of the body of `__tvm_main__`, which maps Relax variables to buffers."""

    last_uses: dict[tirx.Var, int]
    sizes: dict[str, tirx.Var] = field(default_factory=dict)
    values: dict[tirx.Var, Value] = field(default_factory=dict)
    params: list[tirx.Var] = field(default_factory=list)
    declarations: list[tirx.Stmt] = field(default_factory=list)
    allocations: dict[tirx.Buffer, tirx.Stmt] = field(default_factory=dict)
    constants: dict[tuple[str, bytes], tirx.Buffer] = field(default_factory=dict)
    states: dict[tirx.Buffer, StateInfo] = field(default_factory=dict)
    updated: dict[tirx.Buffer, StateInfo] = field(default_factory=dict)
    """Inputs that the run updates in place."""
    in_place: InPlaceOperators | None = None
    calls: MainCalls = field(default_factory=MainCalls)
    names: UniqueNames = field(default_factory=UniqueNames)
    flags: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Names of flags of the first run -> the states that each marks."""
    kept_tensors: list[StateTensor] = field(default_factory=list)
    passed_on: Absorbed = field(default_factory=Absorbed)
    """Spans of operators without code, such as reshapes."""

    def version(self) -> MainBuilder:
        """Return a copy that can be changed independently."""
        return MainBuilder(
            self.last_uses,
            self.sizes,
            dict(self.values),
            list(self.params),
            list(self.declarations),
            dict(self.allocations),
            dict(self.constants),
            dict(self.states),
            dict(self.updated),
            self.in_place,
            self.calls.version(),
            deepcopy(self.names),
            self.flags,
            list(self.kept_tensors),
            self.passed_on,
        )

    def parameter(self, info: TensorInfo, ty: tvm.ir.Type) -> tirx.Buffer:
        """Add a typed pointer parameter and declare the tensor behind it."""
        shape, _ = shape_and_dtype(ty, info.name, self.sizes)
        buffer = flat_buffer(self.names.unique(info.name), shape, info.dtype)
        pointer = tirx.Var(f"{info.name}_ptr", PointerType(PrimType(info.dtype)))
        self.params.append(pointer)
        self.declarations.append(tirx.DeclBuffer(buffer, data=pointer))
        return buffer

    def state(self, name: str, ty: tvm.ir.Type, info: StateInfo) -> tirx.Buffer:
        """Allocate a state."""
        known = tensor_info(name, ty, ())
        digest = digest_of(info.initial_value.numpy(), known.shape)
        tensor = StateTensor(name, list(known.shape), str(known.dtype), digest)
        buffer = self.kept(tensor, info.alignment)
        self.states[buffer] = info
        return buffer

    def kept(self, tensor: StateTensor, alignment: int = 0) -> tirx.Buffer:
        name = str(tensor.name)
        buffer = flat_buffer(self.names.unique(name), list(tensor.shape), str(tensor.dtype))
        self.kept_tensors.append(tensor)
        annotations = STATE_TENSOR_ATTR.entry(name)
        if alignment:
            annotations |= ALIGNMENT_ATTR.entry(alignment)
        self.allocations[buffer] = tirx.AllocBuffer(buffer, annotations)
        return buffer

    def value_of(self, expr: tvm.ir.Expr, name: str = "constant") -> Value:
        """Return the buffers of an argument: a variable, a constant (called `name`), or a tuple of
        them."""
        if isinstance(expr, relax.Tuple):
            return tuple(
                self.value_of(element, f"{name}_{index}")
                for index, element in enumerate(expr.fields)
            )
        if isinstance(expr, relax.TupleGetItem):
            return self.value_of(expr.tuple_value)[expr.index]
        if isinstance(expr, GenericConst):
            return self.constant(name, expr.value)
        if expr in self.values:
            return self.values[expr]
        raise UnsupportedModelError(f"the model uses an expression that has no static C: {expr}")

    def constant(self, name: str, data: tvm.runtime.Tensor) -> tirx.Buffer:
        """Return the buffer of a constant; equal constants are stored once."""
        content = (str(data.dtype), data.numpy().tobytes())
        if content not in self.constants:
            buffer = flat_buffer(self.names.unique(name), data.shape, data.dtype)
            self.constants[content] = buffer
            self.allocations[buffer] = tirx.AllocBuffer(buffer, CONSTANT_DATA_ATTR.entry(data))
        return self.constants[content]

    def lower(self, expr: tvm.ir.Expr, var: tirx.Var, position: int) -> Value:
        """Append the computation of `expr`, bound to `var` at `position`, and return its
        buffers."""
        read = nodes_of(expr, Var)
        if not isinstance(expr, Call):
            self.passed_on.add(var, None, read)
            return self.value_of(expr)
        operator = op_name(expr) or getattr(expr.op, "name_hint", str(expr.op))
        if operator == "relax.reshape":
            # A reshape has no code, so its span goes to readers of the result.
            self.passed_on.add(var, expr.span, read)
            return self.value_of(expr.args[0])
        span = joined_span([*self.passed_on.of(read), expr.span])
        if operator in ("relax.call_tir", "relax.call_tir_inplace"):
            callee = expr.args[0]
            arguments = list(flatten(self.value_of(expr.args[1], f"{callee.name_hint}_constant")))
            if operator == "relax.call_tir_inplace":
                return self.call_in_place(callee, arguments, with_span(expr, span), var, position)
            result = self.named(self.allocate(callee.name_hint, var.ty), expr.span)
            self.calls.append(callee, [*arguments, *flatten(result)], flatten(result), span)
            return result
        if operator in PARTS:
            return self.named(self.copy(with_span(expr, span), var, position), expr.span)
        raise UnsupportedModelError(
            f"operator {operator} (result {var.name}: {var.ty}) cannot be lowered to static C"
        )

    def named(self, result: Value, span: AnySpan | None) -> Value:
        """Record the names that the model file gives the result of a call with this span."""
        buffers = list(flatten(result))
        names = result_names(span, len(buffers))
        self.calls.tensor_names |= dict(zip(buffers, names, strict=False))
        return result

    def give_back(self, results: Sequence[tirx.Var]) -> None:
        """Give the spans of final operators without code, such as a reshape of an output, to the
        call that writes the result."""
        for var in (result for result in results if result in self.values):
            spans, buffers = self.passed_on.of([var]), set(flatten(self.values[var]))
            writing = [c for c in self.calls.calls if not buffers.isdisjoint(c.written)]
            if spans and writing:
                writing[-1].span = joined_span([writing[-1].span, *spans])

    def copy(self, call: Call, var: tirx.Var, group: int) -> Value:
        """Split or join tensors by copies, which `elide_copies` can elide.

        Raises
        ------
        UnsupportedModelError
            the parts are not contiguous.
        """
        offsets = part_offsets(call)
        if offsets is None:
            raise UnsupportedModelError(
                f"operator {call.op.name} (result {var.name}: {var.ty}) moves parts with gaps; "
                "legalize it first"
            )
        name = call.op.name.removeprefix("relax.")
        source = self.value_of(call.args[0], f"{name}_constant")
        result = self.allocate(name, var.ty)
        joins = isinstance(source, tuple)
        parts = flatten(source if joins else result)
        (whole,) = flatten(result if joins else source)
        for part, offset in zip(parts, offsets, strict=True):
            place = self.calls.part(self.names.unique(f"{whole.name}_part"), whole, offset, part)
            copied, to = (part, place) if joins else (place, part)
            self.calls.copy(copied, to, group=group, span=call.span)
        return result

    def call_in_place(
        self,
        callee: GlobalVar,
        arguments: list[tirx.Buffer],
        call: Call,
        var: tirx.Var,
        position: int,
    ) -> Value:
        """Call an operator that overwrites some of its arguments.

        In Relax the call has no side effect, so an argument with another owner or later readers is
        copied first.
        """
        results: list[tirx.Buffer] = []
        fresh: list[tirx.Buffer] = []
        types = flatten_types(var.ty)
        for index, ty in zip(map(int, call.attrs.inplace_indices), types, strict=True):
            if index < 0:
                results.append(self.allocate_tensor(callee.name_hint, ty))
                fresh.append(results[-1])
                continue
            others = {other for i, other in enumerate(arguments) if i != index}
            if arguments[index] in others or not self.is_free(arguments[index], position):
                copied = self.allocate_tensor(f"{callee.name_hint}_copy", ty)
                self.calls.copy(arguments[index], copied, span=call.span)
                arguments[index] = copied
            results.append(arguments[index])
        self.calls.append(callee, [*arguments, *fresh], results, call.span)
        return tuple(results) if isinstance(var.ty, tvm.ir.TupleType) else results[0]

    def is_free(self, buffer: tirx.Buffer, position: int) -> bool:
        """Return whether the binding at `position` may overwrite `buffer`: it has no later use."""
        kept = self.states.get(buffer) or self.updated.get(buffer)
        if kept is None and (
            buffer not in self.allocations or buffer in set(self.constants.values())
        ):
            return False
        if kept is not None and kept.output < 0:
            return False  # The next run needs it.
        return not any(
            self.last_uses.get(var, -1) > position and buffer in set(flatten(value))
            for var, value in self.values.items()
        )

    def allocate(self, name: str, ty: tvm.ir.Type) -> Value:
        """Allocate the result of an operator: a tensor, or each tensor of a tuple."""
        if isinstance(ty, tvm.ir.TupleType):
            return tuple(
                self.allocate(f"{name}_{index}", element) for index, element in enumerate(ty.fields)
            )
        return self.allocate_tensor(name, ty)

    def allocate_tensor(self, name: str, ty: tvm.ir.Type) -> tirx.Buffer:
        return self.allocate_flat(name, *shape_and_dtype(ty, name, self.sizes))

    def allocate_flat(self, name: str, shape: list[Extent], dtype: str) -> tirx.Buffer:
        buffer = flat_buffer(self.names.unique(name), shape, dtype)
        self.allocations[buffer] = tirx.AllocBuffer(buffer)
        return buffer

    def own(self) -> set[tirx.Buffer]:
        """Return the tensors that operators write and that have no other owner."""
        others = {*self.constants.values(), *self.states, *windows(self.calls, self.states)}
        return set(self.allocations) - others

    def elide_copies(
        self,
        returned: list[tirx.Buffer],
        extended: dict[tirx.Buffer, tirx.Buffer],
        wanted: Collection[int] | None,
    ) -> list[Copy]:
        """Make tensors views of others; see `usmp.aot.elide_copies`."""
        before = list(self.calls.calls)
        copies = elide_copies(self.calls, self.own(), returned, extended, wanted)
        self.calls.pass_on_spans(before)
        for view in self.own() & self.calls.views.keys():
            del self.allocations[view]
        for state in [state for state in self.states if state in self.calls.views]:
            window, allocation = self.calls.views[state].whole, self.allocations.pop(state)
            notes = {**allocation.annotations, **STATE_BYTES_ATTR.entry(size_bytes(state))}
            self.allocations[window] = tirx.AllocBuffer(window, notes)
        return copies

    def finish(
        self,
        results: list[tirx.Buffer],
        outputs: list[tuple[TensorInfo, tvm.ir.Type]],
        new_values: dict[tirx.Buffer, tirx.Buffer],
        spans: Sequence[AnySpan | None],
    ) -> tirx.PrimFunc:
        """Write results to outputs and states, and return the finished function.

        A result that is an input, a constant, a view, or returned twice is copied, because its
        bytes have another owner.

        Parameters
        ----------
        results, outputs
            buffers that are returned, and the output tensors with their types.
        new_values
            buffer of a state -> buffer with its value after the run.
        spans
            for each result, the span of the operator of the model file that computes it, if known.
        """
        produced = self.own()
        setting = self.set_states()
        moved = write_state_in_place(
            self.calls, new_values, results, produced, self.in_place, self.updated
        )
        for buffer in moved:
            del self.allocations[buffer]
        copied: list[tuple[tirx.Buffer, tirx.Buffer, AnySpan | None]] = []
        for result, (info, ty), span in zip(results, outputs, spans, strict=True):
            output = self.parameter(info, ty)
            if result in produced and result not in moved:
                self.calls.rename(result, output)
                moved[result] = output
                del self.allocations[result]
            else:
                span = self.calls.spans_of_views.get(result, span)
                copied.append((moved.get(result, result), output, span))
        for result, output, span in copied:
            self.calls.copy(result, output, span=span)
        now_in = {state: moved.get(value, value) for state, value in new_values.items()}
        copy_to_states(self.calls, now_in, self.allocate_like)
        set_at_first = [b for b, state in self.states.items() if not starts_as_zeros(state)]
        views = self.calls.declarations(set_at_first)
        calls = self.calls.statements({*self.states, *self.updated})
        body = [*self.declarations, *self.allocations.values(), *views, *setting, *calls]
        return tirx.PrimFunc([*self.params, *self.sizes.values()], sequence(body))

    def set_states(self) -> list[tirx.Stmt]:
        """Return the statements that initialize the states."""
        statements: list[tirx.Stmt] = []
        for flag, names in self.flags.items():
            marked = {b: state for b, state in self.states.items() if str(state.name) in names}
            statements += set_once(
                self.calls,
                marked,
                lambda state, value: self.constant(f"{state.name}_initial", value),
                partial(self.kept, flag_tensor(flag, marked.values())),
            )
        return statements

    def allocate_like(self, buffer: tirx.Buffer) -> tirx.Buffer:
        (elements,) = buffer.shape
        shape = [int(elements) if isinstance(elements, tirx.IntImm) else elements]
        return self.allocate_flat(f"{buffer.name}_copy", shape, str(buffer.dtype))

"""The calls of `__tvm_main__`, in order, under construction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, PointerType, PrimType, Var

from usmp.support.text.unique_names import UniqueNames
from usmp.tir.dtypes import item_bytes
from usmp.tir.global_symbol import with_new_symbol
from usmp.tir.model_operator import joined_span, label_span
from usmp.tir.nodes import is_const_int, nodes_of
from usmp.tir.spans import AnySpan
from usmp.tir.tensor_intrin import tensor_intrin


@dataclass(frozen=True)
class View:
    """A view of the elements of another tensor from `offset` on."""

    whole: tirx.Buffer
    offset: int


@dataclass(eq=False)
class MainCall:
    """A call of an operator PrimFunc with flat tensors, some of which it writes.

    Parameters
    ----------
    operator
        the operator; None for a copy of the first argument to the second.
    group
        number of the group of a copy, whose calls copy parts of one tensor; None for operators.
    span
        span of the operators of the model that it computes.
    """

    operator: GlobalVar | None
    arguments: list[tirx.Buffer]
    written: set[tirx.Buffer]
    group: int | None = None
    span: AnySpan | None = None


@dataclass
class MainCalls:
    """A list of calls, and the PrimFuncs that it needs in addition to the operators.

    Parameters
    ----------
    views
        tensors that are views of others, which may be views themselves.
    functions
        PrimFuncs that the calls use in addition to operators, such as copies.
    sizes
        operator -> symbolic sizes that it takes after its tensors.
    spans_of_views
        destination of an elided copy that no remaining call uses -> span of the copy. A later copy
        of the destination to an output or a state gets this span.
    tensor_names
        tensors whose names in the model file are known -> the names.
    taken
        names that the PrimFuncs in `functions` must not have.
    """

    calls: list[MainCall] = field(default_factory=list)
    views: dict[tirx.Buffer, View] = field(default_factory=dict)
    functions: dict[GlobalVar, tirx.PrimFunc] = field(default_factory=dict)
    sizes: dict[GlobalVar, list[Var]] = field(default_factory=dict)
    spans_of_views: dict[tirx.Buffer, AnySpan] = field(default_factory=dict)
    tensor_names: dict[tirx.Buffer, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    _by_content: dict[tuple[object, ...], GlobalVar] = field(default_factory=dict)
    _made: dict[tuple[object, ...], tirx.PrimFunc] = field(default_factory=dict)
    """PrimFuncs of all versions, which share them."""

    def version(self) -> MainCalls:
        """Return a copy that can be changed independently; PrimFuncs that both add are shared."""
        calls = [
            replace(call, arguments=list(call.arguments), written=set(call.written))
            for call in self.calls
        ]
        return MainCalls(
            calls,
            dict(self.views),
            dict(self.functions),
            dict(self.sizes),
            dict(self.spans_of_views),
            dict(self.tensor_names),
            self.taken,
            dict(self._by_content),
            self._made,
        )

    def append(
        self,
        operator: GlobalVar,
        arguments: Iterable[tirx.Buffer],
        written: Iterable[tirx.Buffer],
        span: AnySpan | None = None,
    ) -> None:
        """Append a call of `operator`."""
        self.calls.append(MainCall(operator, list(arguments), set(written), span=span))

    def copy(
        self,
        source: tirx.Buffer,
        destination: tirx.Buffer,
        position: int | None = None,
        group: int | None = None,
        span: AnySpan | None = None,
    ) -> None:
        """Copy a tensor before the call at `position`, or at the end."""
        span = self.spans_of_views.get(source) if span is None else span
        call = MainCall(None, [source, destination], {destination}, group, span)
        self.calls.insert(len(self.calls) if position is None else position, call)

    def part(self, name: str, whole: tirx.Buffer, offset: int, like: tirx.Buffer) -> tirx.Buffer:
        """Add a view with the shape and element type of `like`."""
        view = tirx.decl_buffer(like.shape, str(like.dtype), name)
        self.views[view] = View(whole, offset)
        return view

    def root(self, buffer: tirx.Buffer) -> tuple[tirx.Buffer, int]:
        """Return the tensor that contains a view, and the offset in elements; a tensor that is no
        view contains itself."""
        offset = 0
        while buffer in self.views:
            view = self.views[buffer]
            buffer, offset = view.whole, offset + view.offset
        return buffer, offset

    def declarations(self, also: Iterable[tirx.Buffer] = ()) -> list[tirx.Stmt]:
        """Return declarations of the views that calls use, and of the views in `also`. They belong
        after the allocations."""
        used = {buffer for call in self.calls for buffer in call.arguments} | set(also)
        statements = []
        for buffer in self.views:
            if buffer in used:
                root, offset = self.root(buffer)
                address = tirx.address_of(tirx.BufferLoad(root, [offset]))
                statements.append(tirx.DeclBuffer(buffer, data=address))
        return statements

    def statements(self, kept: Collection[tirx.Buffer]) -> list[tirx.Stmt]:
        """Return the calls in TIR. Copies are labeled: with the tensor that they update if it is in
        `kept`, or else with the copied tensor."""
        statements = []
        for call in self.calls:
            operator, span = call.operator, call.span
            if operator is None:
                source, destination = call.arguments
                operator = self.copy_function(source)
                to = f"to {destination.name}" if destination in kept else f"of {self._name(source)}"
                span = joined_span([label_span(f"copy {to}"), span])
            sizes = self.sizes.get(operator, ())
            statements.append(call_statement(operator, call.arguments, sizes, span))
        return statements

    def _name(self, buffer: tirx.Buffer) -> str:
        """Return the name in the model file of a tensor or of the tensor that contains it."""
        root, _ = self.root(buffer)
        return self.tensor_names.get(buffer) or self.tensor_names.get(root) or str(root.name)

    def pass_on_spans(self, before: Sequence[MainCall]) -> None:
        """Join the span of each elided copy to the first call that uses its part: the call writes a
        part of a concat, or reads a slice.

        Parameters
        ----------
        before
            the calls before copies were elided.
        """
        remaining = {id(call) for call in self.calls}
        for call in before:
            if call.span is None or id(call) in remaining:
                continue
            users = (c for c in self.calls if not set(c.arguments).isdisjoint(call.arguments))
            first = next(users, None)
            if first is not None:
                first.span = joined_span([first.span, call.span])
            else:
                self.spans_of_views[call.arguments[1]] = call.span

    def mentions(self, buffer: tirx.Buffer) -> list[int]:
        """Return the positions of the calls that use the tensor or its views."""
        root, _ = self.root(buffer)
        return [
            position
            for position, call in enumerate(self.calls)
            if any(self.root(argument)[0].same_as(root) for argument in call.arguments)
        ]

    def first_mention(self, buffer: tirx.Buffer) -> int:
        """Return the position of the first call that uses the tensor."""
        return self.mentions(buffer)[0]

    def last_mention(self, buffer: tirx.Buffer) -> int:
        """Return the position of the last call that uses the tensor, or -1."""
        return max(self.mentions(buffer), default=-1)

    def last_write(self, buffer: tirx.Buffer) -> int:
        """Return the position of the last call that writes the tensor, or -1."""
        root, _ = self.root(buffer)
        return max(
            (
                position
                for position, call in enumerate(self.calls)
                if any(self.root(written)[0].same_as(root) for written in call.written)
            ),
            default=-1,
        )

    def rename(self, old: tirx.Buffer, new: tirx.Buffer) -> None:
        """Replace `old` by `new` in all calls."""
        for call in self.calls:
            call.arguments = [new if buffer.same_as(old) else buffer for buffer in call.arguments]
            call.written = {new if buffer.same_as(old) else buffer for buffer in call.written}
        for buffer, view in self.views.items():
            if view.whole.same_as(old):
                self.views[buffer] = View(new, view.offset)

    def copy_function(self, buffer: tirx.Buffer) -> GlobalVar:
        """Return a PrimFunc that copies a flat tensor like `buffer`."""
        (elements,), dtype = buffer.shape, str(buffer.dtype)
        key = ("copy", str(elements), dtype)
        if key not in self._by_content:
            sizes = list(dict.fromkeys(nodes_of(elements, Var)))
            own = {size: tirx.Var(size.name, "int32") for size in sizes}
            elements = tvm_ffi.structural_map(elements, (Var, lambda var: own[var]))
            source, destination = (tirx.decl_buffer((elements,), dtype, n) for n in ("from", "to"))
            index = tirx.Var("i", "int32")
            store = tirx.BufferStore(destination, source[index], [index])
            loop = tirx.For(index, 0, elements, tirx.ForKind.SERIAL, store)
            size_bytes = elements * item_bytes(dtype)
            arguments = [destination[0], source[0], size_bytes]
            is_empty = is_const_int(elements, 0)
            body = loop if is_empty else tensor_intrin("tvmgen_copy", arguments, loop)
            self._define(key, [source, destination], body, list(own.values()))
            self.sizes[self._by_content[key]] = sizes
        return self._by_content[key]

    def fill_function(self, buffer: tirx.Buffer, value: int | float | bool) -> GlobalVar:
        """Return a PrimFunc that sets all elements of a flat tensor like `buffer` to `value`."""
        elements, dtype = int(buffer.shape[0]), str(buffer.dtype)
        key = ("fill", elements, dtype, repr(value))
        if key not in self._by_content:
            destination = tirx.decl_buffer((elements,), dtype, "to")
            index = tirx.Var("i", "int32")
            store = tirx.BufferStore(destination, tirx.const(value, dtype), [index])
            loop = tirx.For(index, 0, elements, tirx.ForKind.SERIAL, store)
            self._define(key, [destination], loop)
        return self._by_content[key]

    def repeat_function(self, buffer: tirx.Buffer, elements: int) -> GlobalVar:
        """Return a PrimFunc that fills a flat tensor like `buffer` with copies of `elements`
        elements."""
        count, dtype = int(buffer.shape[0]) // elements, str(buffer.dtype)
        key = ("repeat", count, elements, dtype)
        if key not in self._by_content:
            source = tirx.decl_buffer((elements,), dtype, "from")
            destination = tirx.decl_buffer((count * elements,), dtype, "to")
            copy, index = tirx.Var("copy", "int32"), tirx.Var("i", "int32")
            store = tirx.BufferStore(destination, source[index], [copy * elements + index])
            loop = tirx.For(index, 0, elements, tirx.ForKind.SERIAL, store)
            body = tirx.For(copy, 0, count, tirx.ForKind.SERIAL, loop)
            self._define(key, [source, destination], body)
        return self._by_content[key]

    def add_function(self, operator: GlobalVar, func: tirx.PrimFunc) -> GlobalVar:
        """Add an in-place variant of an operator."""
        key = ("in_place", func)
        if key not in self._by_content:
            names = UniqueNames([*self.taken, *(str(f.name_hint) for f in self.functions)])
            name = names.unique(f"{operator.name_hint}_in_place")
            variable = self._by_content[key] = GlobalVar(name)
            self.functions[variable] = with_new_symbol(func, name)
        return self._by_content[key]

    def _define(
        self,
        key: tuple[object, ...],
        buffers: list[tirx.Buffer],
        body: tirx.Stmt,
        sizes: Sequence[Var] = (),
    ) -> None:
        """Add a PrimFunc that takes pointers to `buffers`, then `sizes`, and runs `body`."""
        dtype = PrimType(str(buffers[0].dtype))
        pointers = [tirx.Var(f"{buffer.name}_ptr", PointerType(dtype)) for buffer in buffers]
        declarations = [
            tirx.DeclBuffer(buffer, data=pointer)
            for buffer, pointer in zip(buffers, pointers, strict=True)
        ]
        func = tirx.PrimFunc([*pointers, *sizes], tirx.SeqStmt([*declarations, body]))
        used = {*self.taken, *(str(other.name_hint) for other in self.functions)}
        names = (f"usmp_{key[0]}_{number}" for number in count())
        variable = GlobalVar(next(name for name in names if name not in used))
        self._by_content[key] = variable
        self.functions[variable] = self._made.setdefault(key, func)


def elements(buffer: tirx.Buffer) -> int:
    """Return the number of elements of a tensor."""
    return prod(int(extent) for extent in buffer.shape)


def call_statement(
    operator: GlobalVar,
    tensors: Iterable[tirx.Buffer],
    sizes: Iterable[Var] = (),
    span: AnySpan | None = None,
) -> tirx.Stmt:
    """Return a call in TIR that passes tensors as pointers, then sizes."""
    arguments = [*(tensor.data for tensor in tensors), *sizes]
    return tirx.Evaluate(Call(operator, arguments, span=span, ret_ty=tvm.ir.TupleType([])))

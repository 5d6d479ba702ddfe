"""The calls of `__tvm_main__`, in order, while they are being put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, PointerType, PrimType


@dataclass
class OperatorCall:
    """A call of an operator PrimFunc with flat tensors, some of which it writes."""

    operator: GlobalVar
    arguments: list[tirx.Buffer]
    written: set[tirx.Buffer]

    def statement(self) -> tirx.Stmt:
        """The call in TIR; each tensor is passed as a pointer."""
        pointers = [buffer.data for buffer in self.arguments]
        return tirx.Evaluate(Call(self.operator, pointers, ret_ty=tvm.ir.TupleType([])))


@dataclass
class MainCalls:
    """A list of calls that can be looked into and changed, and the PrimFuncs that it adds."""

    calls: list[OperatorCall] = field(default_factory=list)
    functions: dict[GlobalVar, tirx.PrimFunc] = field(default_factory=dict)
    _by_content: dict[tuple[object, ...], GlobalVar] = field(default_factory=dict)

    def append(
        self,
        operator: GlobalVar,
        arguments: Iterable[tirx.Buffer],
        written: Iterable[tirx.Buffer],
    ) -> None:
        """Call `operator` after everything that is called so far."""
        self.calls.append(OperatorCall(operator, list(arguments), set(written)))

    def copy(
        self, source: tirx.Buffer, destination: tirx.Buffer, position: int | None = None
    ) -> None:
        """Copy a tensor before the call at `position`, or at the end."""
        call = OperatorCall(self.copy_function(source), [source, destination], {destination})
        self.calls.insert(len(self.calls) if position is None else position, call)

    def first_mention(self, buffer: tirx.Buffer) -> int:
        """The position of the first call that takes the tensor."""
        return next(i for i, call in enumerate(self.calls) if buffer in set(call.arguments))

    def last_mention(self, buffer: tirx.Buffer) -> int:
        """The position of the last call that takes the tensor, or -1."""
        return max(
            (i for i, call in enumerate(self.calls) if buffer in set(call.arguments)), default=-1
        )

    def last_write(self, buffer: tirx.Buffer) -> int:
        """The position of the last call that writes the tensor, or -1."""
        return max((i for i, call in enumerate(self.calls) if buffer in call.written), default=-1)

    def rename(self, old: tirx.Buffer, new: tirx.Buffer) -> None:
        """Let all calls take `new` in the place of `old`."""
        for call in self.calls:
            call.arguments = [new if buffer.same_as(old) else buffer for buffer in call.arguments]
            call.written = {new if buffer.same_as(old) else buffer for buffer in call.written}

    def copy_function(self, buffer: tirx.Buffer) -> GlobalVar:
        """A PrimFunc that copies a flat tensor like `buffer` to another one."""
        elements, dtype = int(buffer.shape[0]), str(buffer.dtype)
        key = ("copy", elements, dtype)
        if key not in self._by_content:
            source, destination = (tirx.decl_buffer((elements,), dtype, n) for n in ("from", "to"))
            index = tirx.Var("i", "int32")
            store = tirx.BufferStore(destination, source[index], [index])
            self._define(key, [source, destination], index, store)
        return self._by_content[key]

    def fill_function(self, buffer: tirx.Buffer, value: int | float | bool) -> GlobalVar:
        """A PrimFunc that sets all elements of a flat tensor like `buffer` to `value`."""
        elements, dtype = int(buffer.shape[0]), str(buffer.dtype)
        key = ("fill", elements, dtype, repr(value))
        if key not in self._by_content:
            destination = tirx.decl_buffer((elements,), dtype, "to")
            index = tirx.Var("i", "int32")
            store = tirx.BufferStore(destination, tirx.const(value, dtype), [index])
            self._define(key, [destination], index, store)
        return self._by_content[key]

    def _define(
        self,
        key: tuple[object, ...],
        buffers: list[tirx.Buffer],
        index: tirx.Var,
        body: tirx.Stmt,
    ) -> None:
        """Add a PrimFunc that takes pointers to `buffers` and runs `body` for each element."""
        dtype = PrimType(str(buffers[0].dtype))
        pointers = [tirx.Var(f"{buffer.name}_ptr", PointerType(dtype)) for buffer in buffers]
        declarations = [
            tirx.DeclBuffer(buffer, data=pointer)
            for buffer, pointer in zip(buffers, pointers, strict=True)
        ]
        loop = tirx.For(index, 0, buffers[0].shape[0], tirx.ForKind.SERIAL, body)
        number = sum(other[0] == key[0] for other in self._by_content)
        variable = GlobalVar(f"usmp_{key[0]}_{number}")
        self._by_content[key] = variable
        self.functions[variable] = tirx.PrimFunc(pointers, tirx.SeqStmt([*declarations, loop]))

"""Lower the Relax `main` function to the AoT `__tvm_main__` PrimFunc.

`__tvm_main__` takes a typed pointer to each input and then to each output, allocates every tensor
between operators and every constant with a flat AllocBuffer, and calls the operators in order.
Nothing has an address yet; that is the planner's work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, PointerType, PrimType

from usmp.objects.attributes import (
    CONSTANT_DATA_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)
from usmp.objects.errors import UnsupportedModelError
from usmp.objects.tensor_info import TensorInfo
from usmp.objects.unique_names import UniqueNames
from usmp.relax.check_static_shapes import flatten_types, has_static_shape

Value: TypeAlias = "tirx.Buffer | tuple[Value, ...]"
"""What a Relax variable stands for: the flat buffer of a tensor, or a tuple of such."""


def lower_main(mod: IRModule, output_names: list[str] | None = None) -> IRModule:
    """Replace the Relax `main` of `mod` with the AoT PrimFunc `__tvm_main__`.

    Parameters
    ----------
    mod: a Relax `main` that only calls PrimFuncs (`R.call_tir`) and reshapes, and these PrimFuncs,
        lowered to typed pointer parameters.
    output_names: names of the outputs, in order; "output" or "output0", "output1", ... by default.

    Raises
    ------
    UnsupportedModelError: a call that is not an operator PrimFunc, or a shape that is not static.
    """
    main = mod["main"]
    builder = _MainBuilder()
    inputs = [TensorInfo(p.name, *_shape_and_dtype(p.ty, p.name)) for p in main.params]
    for param, info in zip(main.params, inputs, strict=True):
        builder.values[param] = builder.parameter(info)
    for binding in _bindings(main):
        builder.values[binding.var] = builder.lower(binding.value, binding.var)
    results = list(_flatten(builder.value_of(main.body.body)))
    names = output_names or _default_output_names(len(results), {info.name for info in inputs})
    outputs = [
        TensorInfo(name, *_shape_and_dtype(ty, name))
        for name, ty in zip(names, flatten_types(main.body.body.ty), strict=True)
    ]
    func = builder.finish(results, outputs).with_attrs(
        {INPUT_TENSORS_ATTR: inputs, OUTPUT_TENSORS_ATTR: outputs}
    )
    functions = {var: f for var, f in mod.functions.items() if isinstance(f, tirx.PrimFunc)}
    functions[GlobalVar(MAIN_FUNCTION_NAME)] = func
    functions.update(builder.copies)
    return IRModule(functions, attrs=mod.attrs)


@dataclass
class _MainBuilder:
    """The body of `__tvm_main__` as it grows, and what each Relax variable is in it."""

    values: dict[tirx.Var, Value] = field(default_factory=dict)
    params: list[tirx.Var] = field(default_factory=list)
    declarations: list[tirx.Stmt] = field(default_factory=list)
    allocations: dict[tirx.Buffer, tirx.Stmt] = field(default_factory=dict)
    constants: dict[tuple[str, bytes], tirx.Buffer] = field(default_factory=dict)
    calls: list[tirx.Stmt] = field(default_factory=list)
    names: UniqueNames = field(default_factory=UniqueNames)
    copies: dict[GlobalVar, tirx.PrimFunc] = field(default_factory=dict)

    def parameter(self, info: TensorInfo) -> tirx.Buffer:
        """Add a typed pointer parameter and declare the tensor behind it."""
        buffer = _flat_buffer(self.names.unique(info.name), info.shape, info.dtype)
        pointer = tirx.Var(f"{info.name}_ptr", PointerType(PrimType(info.dtype)))
        self.params.append(pointer)
        self.declarations.append(tirx.DeclBuffer(buffer, data=pointer))
        return buffer

    def value_of(self, expr: tvm.ir.Expr, name: str = "constant") -> Value:
        """What an argument stands for: a variable, a constant (called `name`), a tuple of such."""
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
        """The buffer of a constant; equal constants are stored once."""
        content = (str(data.dtype), data.numpy().tobytes())
        if content not in self.constants:
            buffer = _flat_buffer(self.names.unique(name), data.shape, data.dtype)
            self.constants[content] = buffer
            self.allocations[buffer] = tirx.AllocBuffer(buffer, {CONSTANT_DATA_ATTR: data})
        return self.constants[content]

    def lower(self, expr: tvm.ir.Expr, var: tirx.Var) -> Value:
        """Append what computes `expr`, and return what the Relax variable `var` now stands for."""
        if not isinstance(expr, Call):
            return self.value_of(expr)
        operator = getattr(expr.op, "name", str(expr.op))
        if operator == "relax.call_tir":
            callee = expr.args[0]
            arguments = self.value_of(expr.args[1], f"{callee.name_hint}_constant")
            result = self.allocate(callee.name_hint, var.ty)
            self.call(callee, [*_flatten(arguments), *_flatten(result)])
            return result
        if operator == "relax.reshape":
            return self.value_of(expr.args[0])
        raise UnsupportedModelError(
            f"operator {operator} (result {var.name}: {var.ty}) cannot be lowered to static C"
        )

    def allocate(self, name: str, ty: tvm.ir.Type) -> Value:
        """Allocate the tensor, or each tensor of the tuple, that an operator writes."""
        if isinstance(ty, tvm.ir.TupleType):
            return tuple(
                self.allocate(f"{name}_{index}", element) for index, element in enumerate(ty.fields)
            )
        buffer = _flat_buffer(self.names.unique(name), *_shape_and_dtype(ty, name))
        self.allocations[buffer] = tirx.AllocBuffer(buffer)
        return buffer

    def call(self, operator: GlobalVar, arguments: list[tirx.Buffer]) -> None:
        pointers = [buffer.data for buffer in arguments]
        self.calls.append(tirx.Evaluate(Call(operator, pointers, ret_ty=tvm.ir.TupleType([]))))

    def finish(self, results: list[tirx.Buffer], outputs: list[TensorInfo]) -> tirx.PrimFunc:
        """Let the results be written where the caller wants them, and close the function.

        A result that is no operator's own tensor (an input, a constant, a view, or a tensor that
        is returned twice) is copied, because its bytes have another owner.
        """
        renamed: dict[tirx.Buffer, tirx.Buffer] = {}
        copied: list[tuple[tirx.Buffer, tirx.Buffer]] = []
        produced = set(self.allocations) - set(self.constants.values())
        for result, info in zip(results, outputs, strict=True):
            output = self.parameter(info)
            if result in produced and result not in renamed:
                renamed[result] = output
                del self.allocations[result]
            else:
                copied.append((result, output))
        for result, output in copied:
            self.call(self.copy_function(result.ty), [result, output])
        body = [*self.declarations, *self.allocations.values(), *self.calls]
        return _substitute_buffers(tirx.PrimFunc(self.params, tirx.SeqStmt(body)), renamed)

    def copy_function(self, ty: tirx.BufferType) -> GlobalVar:
        """A PrimFunc that copies a flat tensor."""
        name = f"usmp_copy_{len(self.copies)}"
        source, destination = (tirx.decl_buffer(ty.shape, ty.dtype, n) for n in ("from", "to"))
        pointers = [tirx.Var(f"{b.name}_ptr", PointerType(ty.dtype)) for b in (source, destination)]
        index = tirx.Var("i", "int32")
        loop = tirx.For(
            index,
            0,
            ty.shape[0],
            tirx.ForKind.SERIAL,
            tirx.BufferStore(destination, source[index], [index]),
        )
        declarations = [
            tirx.DeclBuffer(buffer, data=pointer)
            for buffer, pointer in zip((source, destination), pointers, strict=True)
        ]
        variable = GlobalVar(name)
        self.copies[variable] = tirx.PrimFunc(pointers, tirx.SeqStmt([*declarations, loop]))
        return variable


def _substitute_buffers(
    func: tirx.PrimFunc, renamed: dict[tirx.Buffer, tirx.Buffer]
) -> tirx.PrimFunc:
    body = tvm_ffi.structural_map(func.body, (tirx.Var, lambda var: renamed.get(var, var)))
    return tirx.PrimFunc(func.params, body, func.ret_type, func.attrs)


def _bindings(main: relax.Function) -> Iterator[relax.VarBinding]:
    for block in main.body.blocks:
        for binding in block.bindings:
            if not isinstance(binding, relax.VarBinding):
                raise UnsupportedModelError(
                    f"the model checks a shape at run time ({binding.var.name}); "
                    "only static shapes can be planned"
                )
            yield binding


def _flatten(value: Value) -> Iterator[tirx.Buffer]:
    if isinstance(value, tuple):
        for element in value:
            yield from _flatten(element)
    else:
        yield value


def _shape_and_dtype(ty: tvm.ir.Type, name: str) -> tuple[list[int], str]:
    if not isinstance(ty, relax.TensorType) or not has_static_shape(ty):
        raise UnsupportedModelError(
            f"tensor {name} has type {ty}; only tensors of static shape can be planned "
            "(give the model fixed input shapes and try again)"
        )
    return [int(extent) for extent in ty.shape], str(ty.dtype)


def _flat_buffer(name: str, shape: tuple[int, ...] | list[int], dtype: str) -> tirx.Buffer:
    """A one-dimensional buffer; a scalar has one element."""
    return tirx.decl_buffer((prod(shape),), str(dtype), name)


def _default_output_names(count: int, taken: set[str]) -> list[str]:
    """Names for the outputs that no input has."""
    stem = "output"
    while any(name.startswith(stem) for name in taken):
        stem += "_"
    return [stem] if count == 1 else [f"{stem}{index}" for index in range(count)]

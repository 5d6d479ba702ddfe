"""Quantized graphs in Relax, written as importers write them, and what their operators compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GenericConst, GlobalVar, IRModule
from tvm.script import relax as R

import usmp
from support.relax_vm import compiled, load_fixed_point_functions
from usmp.objects.attributes.module_attributes import FLOAT_OPERATORS_ATTR
from usmp.relax.transform.qdq import use_integer_operators
from usmp.runtime import HostModule

Shape = tuple[int, ...]


@dataclass
class Qdq:
    """A Relax `main` that grows operator by operator."""

    builder: relax.BlockBuilder

    def dequantize(self, x, scale=0.1, zero_point=-3, dtype="int8", axis=-1, zeros=None):
        """`x` as float32; an array becomes a constant."""
        data = relax.const(np.asarray(x, dtype)) if isinstance(x, np.ndarray) else x
        scales = relax.const(np.asarray(scale, np.float32))
        points = relax.const(np.asarray(zero_point, zeros or dtype))
        return self.emit(relax.op.dequantize(data, scales, points, axis))

    def quantize(self, x, scale=0.2, zero_point=4, dtype="int8", axis=-1):
        scales = relax.const(np.asarray(scale, np.float32))
        points = relax.const(np.asarray(zero_point, dtype))
        return self.emit(relax.op.quantize(x, scales, points, axis, dtype))

    def emit(self, expr):
        return self.builder.emit(expr)


def qdq_module(body: Callable, *inputs: tuple[Shape, str]) -> IRModule:
    """A module whose `main` takes x0, x1, ... and returns what `body(graph, x0, ...)` gives: a
    tensor, or a tuple of them."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{index}", R.Tensor(shape, dtype))
        for index, (shape, dtype) in enumerate(inputs)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = body(Qdq(builder), *params)
            result = relax.Tuple(list(result)) if isinstance(result, tuple) else result
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


ZERO_POINTS = {"int8": -3, "uint8": 120, "int16": 0}
"""Of the inputs that `between` dequantizes."""


def between(body: Callable, *shapes: Shape, dtype="int8", scale=0.1, out=(0.2, 4), out_dtype=None):
    """A module with `body(graph, x0, ...)` between R.dequantize of each input and R.quantize; there
    are several results if `out` is a list of scales and zero points."""
    return qdq_module(
        lambda graph, *params: parts_between(graph, body, params, dtype, scale, out, out_dtype),
        *((shape, dtype) for shape in shapes),
    )


def parts_between(graph: Qdq, body, params, dtype="int8", scale=0.1, out=(0.2, 4), out_dtype=None):
    """What `between` is a module of."""
    inputs = [graph.dequantize(p, scale, ZERO_POINTS[dtype], dtype) for p in params]
    result = graph.emit(body(graph, *inputs))
    if isinstance(out, list):
        return tuple(graph.quantize(result, *each, out_dtype or dtype) for each in out)
    return graph.quantize(result, *out, out_dtype or dtype)


def inputs_of(mod: IRModule, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs; integers of the whole type, each extreme at least once."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for param in mod["main"].params:
        shape, dtype = [int(extent) for extent in param.ty.shape], str(param.ty.dtype)
        if dtype == "float32":
            inputs[param.name] = generator.normal(size=shape).astype(dtype)
            continue
        limits = np.iinfo(dtype)
        value = generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
        value.flat[: 2 if value.size > 1 else 1] = [limits.max, limits.min][: value.size]
        inputs[param.name] = value
    return inputs


def float_outputs(mod: IRModule, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What TVM's own compiler makes of the module, operator by operator in float."""
    return compiled(mod)(*inputs.values())


def steps_apart(mod: IRModule) -> int:
    """The greatest difference of an integer that integer operators give from the float operators'.

    An output of floats must be the same, up to the last bits.
    """
    return max(steps_of_outputs(mod))


def steps_of_outputs(mod: IRModule) -> list[int]:
    """The same for each output."""
    inputs = inputs_of(mod)
    floats = mod["main"].with_attr("global_symbol", "floats")
    functions = integer_module(mod).functions
    load_fixed_point_functions()
    run = compiled(IRModule({**dict(functions.items()), GlobalVar("floats"): floats}))
    return _steps(run(*inputs.values()), run(*inputs.values(), name="floats"))


def steps_of_built(mod: IRModule) -> int:
    """As `steps_apart`, of the C that is built from the module."""
    inputs = inputs_of(mod)
    factory = usmp.build(mod)
    module = HostModule(factory.files(), factory.metadata["modules"]["default"], ["-O0"])
    return max(_steps([*module.run(inputs).values()], float_outputs(mod, inputs)))


def _steps(found: list[np.ndarray], expected: list[np.ndarray]) -> list[int]:
    steps = []
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if ours.dtype == np.float32:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        difference = np.abs(ours.astype(int) - theirs) if ours.dtype != np.float32 else np.zeros(1)
        steps.append(int(difference.max(initial=0)))
    return steps


def calls_of(mod: IRModule) -> list[str]:
    """The operators and PrimFuncs that `main` calls, in order, without changes of shape."""
    names: list[str] = []

    def on_binding(binding) -> None:
        call = binding.value
        if not isinstance(call, Call):
            return
        name = call.op.name.removeprefix("relax.").removeprefix("nn.")
        names.append(call.args[0].name_hint if name == "call_tir" else name)

    tvm_ffi.structural_walk(mod["main"].body, (relax.VarBinding, on_binding))
    return [name for name in names if name not in ("reshape", "squeeze", "expand_dims", "flatten")]


def raw_calls_of(mod: IRModule) -> list[Call]:
    """Every call in `main`, in order."""
    calls: list[Call] = []
    tvm_ffi.structural_walk(mod["main"].body, (Call, calls.append))
    return calls


def assert_between_quantizers(mod: IRModule, operators: Iterable[str]) -> None:
    """`main` calls these float operators and quantizers, whose scales and zero points are
    constant, and nothing else."""
    calls = raw_calls_of(mod)
    names = {call.op.name.removeprefix("relax.").removeprefix("nn.") for call in calls}
    assert names == {"quantize", "dequantize", *operators}
    for call in calls:
        if call.op.name in ("relax.quantize", "relax.dequantize"):
            assert all(isinstance(argument, GenericConst) for argument in call.args[1:])


@lru_cache(maxsize=1)
def integer_module(mod: IRModule) -> IRModule:
    """The module after `use_integer_operators`."""
    return use_integer_operators(mod)


def integer_calls(mod: IRModule) -> list[str]:
    """`calls_of` the module after `use_integer_operators`."""
    return calls_of(integer_module(mod))


def float_counts(mod: IRModule) -> dict[str, int]:
    """The attribute `float_operators` after `use_integer_operators`."""
    counted = (integer_module(mod).attrs or {}).get(FLOAT_OPERATORS_ATTR.name, {})
    return {str(name): int(count) for name, count in counted.items()}

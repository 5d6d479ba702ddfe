"""What the loops of kernels compute, which LLVM sees, beside what their operators do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, IRModule
from tvm.ir.transform import PassContext

from support.relax_vm import TARGET, load_fixed_point_functions, load_rescaling_functions
from usmp.objects.schedule import ROW_SCHEDULE_ATTR, faster_schedules
from usmp.objects.target.cores import CORES
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.constants.pack_constants import with_packed_constants
from usmp.ops.kernels.kernel import Kernel
from usmp.relax.transform import FuseOperators
from usmp.tir.nodes import nodes_of
from usmp.tir.tensor_intrin import without_intrinsics


def operator_call(
    make: Callable[..., relax.Expr], *shapes: tuple[int, ...], dtype: str = "int8"
) -> OperatorCall:
    """The one operator that a function of a BlockBuilder and tensors makes, as kernels get it."""
    return replace(with_packed_constants(plain_call(make, *shapes, dtype=dtype)), others=None)


def plain_call(
    make: Callable[..., relax.Expr], *shapes: tuple[int, ...], dtype: str = "int8"
) -> OperatorCall:
    """The one operator that a function makes, fused."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{index}", relax.TensorType(shape, dtype)) for index, shape in enumerate(shapes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *params))
        builder.emit_func_output(result)
    mod = FuseOperators()(builder.get())
    (call,) = (c for c in nodes_of(mod["main"].body, Call) if c.op.name == "relax.call_tir")
    constants = (a.value.numpy() if isinstance(a, GenericConst) else None for a in call.args[1])
    return OperatorCall(mod[call.args[0]], tuple(constants))


def output_of(func: tirx.PrimFunc, arguments: list[np.ndarray]) -> np.ndarray:
    """What a PrimFunc stores in its last parameter."""
    load_fixed_point_functions()
    load_rescaling_functions()
    func = func.without_attr("op_pattern").with_attr("global_symbol", "main")
    with PassContext(config={"tirx.disable_assert": True}):
        built = tvm.compile(IRModule({"main": func}), target=TARGET)
    buffer = func.params[-1]
    output = tvm.runtime.empty([int(extent) for extent in buffer.shape], str(buffer.dtype))
    built["main"](*map(tvm.runtime.tensor, arguments), output)
    return output.numpy()


def bodies_of(kernel: Kernel) -> list[tirx.PrimFunc]:
    """All ways to compute a kernel."""
    rows = ROW_SCHEDULE_ATTR.of(kernel.func)
    return [kernel.func, *faster_schedules(kernel.func), *([] if rows is None else [rows])]


def check_loops(call: OperatorCall, kernel: Kernel | None, seed: int = 0) -> np.ndarray:
    """Each way to compute a kernel stores what its operator does; return that."""
    assert kernel is not None
    generator = np.random.default_rng(seed)
    inputs: Mapping[int, np.ndarray] = {
        number: generator.integers(-128, 128, [int(e) for e in param.shape]).astype(np.int8)
        for number, param in enumerate(call.func.params[: len(call.constants)])
        if call.constants[number] is None
    }
    given = [inputs.get(n, constant) for n, constant in enumerate(call.constants)]
    expected = output_of(call.func, given)
    for body in bodies_of(kernel):
        taken = [given[a] if isinstance(a, int) else a for a in kernel.arguments]
        np.testing.assert_array_equal(output_of(without_intrinsics(body), taken), expected)
    return expected


M4, M55 = CORES["cortex-m4"], CORES["cortex-m55"]

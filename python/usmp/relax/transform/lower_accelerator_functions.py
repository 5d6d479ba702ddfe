"""LowerAcceleratorFunctions: functions for accelerators become PrimFuncs that call the user's C."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType

from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
)
from usmp.objects.extern_kernel import with_kernels
from usmp.objects.target.targets import accelerator_target
from usmp.ops.accelerator_function import AcceleratorFunction, AcceleratorParameter
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import OPAQUE, RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.relax.accelerators.describe import Partition, describe_partition
from usmp.relax.accelerators.kernels import (
    KernelFacts,
    extern_kernel,
    stated_facts,
    workspace_of,
)
from usmp.relax.accelerators.known import CODEGEN_ATTR
from usmp.relax.merge_equal_operators import merge_equal_operators
from usmp.relax.static_shapes import flatten_types, main_function

_READ, _WRITE = 1, 2
"""Access masks of `tvm_access_ptr`."""


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerAcceleratorFunctions")
class LowerAcceleratorFunctions(ModulePass):
    """Replace each Relax function with the attribute `Codegen` by a PrimFunc.

    The PrimFunc has the accelerator's target, so its buffers are placed only in pools that list it.
    It allocates the constants and the workspace of the function. It calls the C function
    `tvmgen_<module>_<accelerator>_main_<n>`, numbered in call order, as TVM's external code
    generators did. Equal operators that remain on the CPU are merged (see `merge_equal_operators`).

    Parameters
    ----------
    accelerators
        names of the targets that the model is built for.
    symbol_prefix
        prefix of C symbols, as "tvmgen_default".

    Raises
    ------
    ValueError
        a function is for a target that is not in `accelerators`.
    UnsupportedModelError
        a function only returns one of its inputs.
    """

    reads = (*RECORD_ATTRIBUTES, OPERATORS_ATTR, OPERATOR_STEPS_ATTR, CONTROL_FLOW_ATTR)
    writes = (
        *(CONSTANT_DATA_ATTR, OPERATORS_ATTR, OPERATOR_STEPS_ATTR, EXTERN_KERNELS_ATTR),
        ACCELERATOR_FUNCTION_ATTR,
    )

    def __init__(
        self, accelerators: Sequence[str] = (), symbol_prefix: str = "tvmgen_default"
    ) -> None:
        self.accelerators = tuple(accelerators)
        self.symbol_prefix = symbol_prefix

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Lower the functions, and their calls in `main`."""
        return _lower_accelerator_functions(mod, self.accelerators, self.symbol_prefix)


def _lower_accelerator_functions(
    mod: IRModule, accelerators: Sequence[str], symbol_prefix: str
) -> IRModule:
    offloaded = {
        variable: function
        for variable, function in mod.functions.items()
        if isinstance(function, relax.Function) and CODEGEN_ATTR in (function.attrs or {})
    }
    if not offloaded:
        return merge_equal_operators(mod)
    main, main_variable = main_function(mod), mod.get_global_var("main")
    kept = {v: f for v, f in mod.functions.items() if v not in offloaded}
    builder = relax.BlockBuilder(IRModule(kept, attrs=mod.attrs))
    prim_funcs: dict[GlobalVar, GlobalVar] = {}
    counts: Counter[str] = Counter()

    def lower(variable: GlobalVar) -> GlobalVar:
        if variable not in prim_funcs:
            function = offloaded[variable]
            accelerator = str(function.attrs[CODEGEN_ATTR])
            _check_named(accelerator, accelerators, variable)
            name = f"{accelerator.replace('-', '_')}_main_{counts[accelerator]}"
            counts[accelerator] += 1
            symbol = f"{symbol_prefix}_{name}"
            partition = describe_partition(function, mod)
            facts = stated_facts(partition, symbol)
            tensors = {str(parameter.name): parameter for parameter in partition.parameters}
            partition.workspace_bytes += workspace_of(facts, tensors, symbol)
            index = counts[accelerator] - 1
            lowered = _prim_func(partition, accelerator, symbol, facts, index)
            prim_funcs[variable] = builder.add_func(lowered, f"call_{name}")
        return prim_funcs[variable]

    def on_call(call: Call) -> Call:
        if not isinstance(call.op, GlobalVar) or call.op not in offloaded:
            return call
        return relax.call_tir(
            lower(call.op), relax.Tuple(_tensors(call.args)), flatten_types(call.ty)
        )

    body = tvm_ffi.structural_map(main.body, (Call, on_call))
    rewritten = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    result = builder.get()
    result.update_func(result.get_global_var(str(main_variable.name_hint)), rewritten)
    result = result.with_attrs(mod.attrs) if mod.attrs else result
    return merge_equal_operators(relax.transform.Normalize()(result))


def _check_named(accelerator: str, accelerators: Sequence[str], variable: GlobalVar) -> None:
    if accelerator not in accelerators:
        raise ValueError(
            f'function {variable.name_hint} is for target "{accelerator}", which is not among the '
            f'targets; name it too, as in "{accelerator},c"'
        )


def _tensors(arguments: Sequence[tvm.ir.Expr]) -> list[tvm.ir.Expr]:
    """Return the arguments of a call, with tuples flattened."""
    tensors: list[tvm.ir.Expr] = []
    for argument in arguments:
        if isinstance(argument, relax.Tuple):
            tensors += _tensors(argument.fields)
        elif isinstance(argument.ty, tvm.ir.TupleType):
            count = len(argument.ty.fields)
            tensors += _tensors([relax.TupleGetItem(argument, i) for i in range(count)])
        else:
            tensors.append(argument)
    return tensors


def _prim_func(
    partition: Partition, accelerator: str, symbol: str, facts: KernelFacts, index: int
) -> tirx.PrimFunc:
    """Return a PrimFunc that takes inputs and outputs, and allocates constants and workspace."""
    params: list[tirx.Var] = []
    allocations: list[tirx.Stmt] = []
    arguments: list[tirx.Expr] = []
    for parameter in partition.parameters:
        if parameter.role in ("input", "output"):
            data = tirx.Var(parameter.name, PointerType(PrimType(parameter.dtype)))
            params.append(data)
        else:
            constant = partition.constants.get(parameter.name)
            annotations = {}
            if constant is not None:
                annotations = CONSTANT_DATA_ATTR.entry(tvm.runtime.tensor(constant))
            buffer = tirx.decl_buffer((_elements(parameter),), parameter.dtype, parameter.name)
            allocations.append(tirx.AllocBuffer(buffer, annotations))
            data = buffer.data
        arguments.append(_access(parameter, data))
    function = AcceleratorFunction(
        symbol,
        accelerator,
        " + ".join(partition.composites),
        partition.parameters,
        partition.operators,
        facts.can_fail,
        index,
    )
    if facts.can_fail:
        call = tirx.Return(tirx.call_extern("int32", symbol, *arguments))
    else:
        call = tirx.Evaluate(tirx.call_extern("void", symbol, *arguments))
    body = tirx.SeqStmt([*allocations, call]) if allocations else call
    result = PrimType("int32") if facts.can_fail else None
    kernel = extern_kernel(facts, partition.parameters, symbol)
    func = tirx.PrimFunc(params, body, result)
    return (func if kernel is None else with_kernels(func, kernel)).with_attrs(
        {
            "target": accelerator_target(accelerator),
            "op_pattern": OPAQUE,
            **ACCELERATOR_FUNCTION_ATTR.entry(function),
            **OPERATOR_STEPS_ATTR.entry(partition.steps),
        }
    )


def _access(parameter: AcceleratorParameter, data: tirx.Expr) -> tirx.Expr:
    """Return a pointer with the access mask of its parameter."""
    mask = _READ if parameter.is_read_only else _WRITE
    if parameter.role == "workspace":
        mask = _READ | _WRITE
    return tirx.call_intrin(
        PointerType(PrimType(parameter.dtype)),
        "tirx.tvm_access_ptr",
        tirx.type_annotation(parameter.dtype),
        data,
        0,
        _elements(parameter),
        mask,
    )


def _elements(parameter: AcceleratorParameter) -> int:
    return prod(parameter.shape)

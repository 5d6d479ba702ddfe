"""Inputs and outputs become allocations of the main PrimFunc."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.infer_io import IOParameter, check_declared_io, infer_io
from usmp.objects.attributes.annotations import (
    INPUT_TENSOR_ATTR,
    LIVE_THROUGHOUT_ATTR,
    OUTPUT_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)
from usmp.objects.streamed_io import streamed_parameters
from usmp.objects.tensor_info import place_names
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import sequence


def allocate_io(mod: IRModule, name: str = MAIN_FUNCTION_NAME) -> tirx.PrimFunc:
    """Return the function of an entry after `usmp.transform.CreateAllocatesForIO`.

    Raises
    ------
    ValueError
        see `CreateAllocatesForIO`.
    """
    main = mod[name]
    declared = [a for a in (INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR) if a.is_on(main)]
    if len(declared) == 1:
        raise ValueError(
            f"{name} has the attribute {declared[0]} only; both "
            f"{INPUT_TENSORS_ATTR} and {OUTPUT_TENSORS_ATTR} are needed, or neither"
        )
    if declared:
        io = _declared_io(main, name)
        check_declared_io(name, mod, io)
    else:
        io = infer_io(name, mod)
    return _allocate(main, io)


def _declared_io(main: tirx.PrimFunc, name: str) -> list[IOParameter]:
    inputs, outputs = INPUT_TENSORS_ATTR.required(main), OUTPUT_TENSORS_ATTR.required(main)
    tensors = [*inputs, *outputs]
    if len(tensors) > len(main.params):
        raise ValueError(
            f"{name} has {len(main.params)} parameters, but {len(tensors)} inputs and outputs"
        )
    return [
        IOParameter(index, tensor, is_input=index < len(inputs), is_certain=True)
        for index, tensor in enumerate(tensors)
    ]


def _allocate(main: tirx.PrimFunc, io: list[IOParameter]) -> tirx.PrimFunc:
    """Turn the parameters `io`, except those that are streamed, into allocations."""
    streamed = streamed_parameters(main)
    allocations: list[tirx.Stmt] = []
    addresses: dict[tirx.Var, tirx.Expr] = {}
    inputs = [parameter.tensor for parameter in io if parameter.is_input]
    outputs = [parameter.tensor for parameter in io if not parameter.is_input]
    names = place_names(inputs, outputs)
    names_of_inputs, names_of_outputs = iter(names[: len(inputs)]), iter(names[len(inputs) :])
    for parameter in io:
        name = next(names_of_inputs if parameter.is_input else names_of_outputs)
        if parameter.index in streamed:
            continue
        param, tensor = main.params[parameter.index], parameter.tensor
        buffer = param
        if not tirx.is_buffer_var(param):
            size = tensor.size_bytes // item_bytes(tensor.dtype)
            buffer = tirx.decl_buffer((size,), tensor.dtype, name)
            addresses[param] = buffer.data
        role = INPUT_TENSOR_ATTR if parameter.is_input else OUTPUT_TENSOR_ATTR
        annotations = role.entry(name)
        if tensor.is_updated or not parameter.is_certain:
            annotations |= LIVE_THROUGHOUT_ATTR.entry(True)
        allocations.append(tirx.AllocBuffer(buffer, annotations))
    body = tvm_ffi.structural_map(main.body, (tirx.Var, lambda var: addresses.get(var, var)))
    allocated = {parameter.index for parameter in io} - streamed
    params = [param for index, param in enumerate(main.params) if index not in allocated]
    func = tirx.PrimFunc(
        params,
        sequence([*allocations, *tirx.stmt_list(body)]),
        main.ret_type,
        main.attrs,
        main.span,
    )
    return func.with_attrs(INPUT_TENSORS_ATTR.entry(inputs) | OUTPUT_TENSORS_ATTR.entry(outputs))

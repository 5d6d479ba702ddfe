"""Quantization of a model's inputs and outputs, for its callers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax
from tvm.ir import Call, IRModule

from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    INPUT_QUANTIZATION_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_QUANTIZATION_ATTR,
    OUTPUT_TENSORS_ATTR,
)
from usmp.ops.quantized import Quantization
from usmp.relax.states import states_of
from usmp.relax.static_shapes import flatten_types
from usmp.relax.transform.qdq.graph import Graph
from usmp.support.renamed import warn_renamed
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name

Parameters = tuple[float, int] | None
"""Scale and zero point of a tensor; None if it is not quantized, or has scales along an axis."""


@dataclass(frozen=True)
class IOQuantization:
    """The quantization of a model's inputs, by name, and of its outputs, in order."""

    inputs: dict[str, Parameters]
    outputs: list[Parameters]


def parameters_of(quantization: Quantization | None) -> Parameters:
    """Return scale and zero point of a per-tensor quantization, or None."""
    if quantization is None or not quantization.is_per_tensor or quantization.scale <= 0:
        return None
    return quantization.scale, quantization.zero_point


def io_quantization(main: relax.Function) -> IOQuantization:
    """Read the quantization of inputs and outputs from the attributes `input_quantization` and
    `output_quantization` of `main`, or else from its R.dequantize and R.quantize.

    Raises
    ------
    ValueError
        an attribute is malformed.
    """
    attrs = _with_new_names(main.attrs or {})
    graph = Graph(relax.BlockBuilder(), _bound(main).get, lambda *_: None)
    inputs, outputs = _dequantized(main, graph), _quantized(main, graph)
    of_inputs = INPUT_QUANTIZATION_ATTR.read(attrs) or {}
    if not isinstance(of_inputs, Mapping):
        raise ValueError(f'the attribute "{INPUT_QUANTIZATION_ATTR}" of main must be a dictionary')
    for name, stated in of_inputs.items():
        inputs[str(name)] = _read(stated, f'{INPUT_QUANTIZATION_ATTR}"["{name}"]')
    of_outputs = OUTPUT_QUANTIZATION_ATTR.read(attrs)
    if of_outputs is not None:
        if not isinstance(of_outputs, Sequence) or len(of_outputs) != len(outputs):
            raise ValueError(
                f'the attribute "{OUTPUT_QUANTIZATION_ATTR}" of main must be a list with an '
                f"element for each of its {len(outputs)} outputs"
            )
        outputs = [_read(stated, f'{OUTPUT_QUANTIZATION_ATTR}"') for stated in of_outputs]
    return IOQuantization(inputs, outputs)


def with_io_quantization(main: relax.Function, quantization: IOQuantization) -> relax.Function:
    """Return `main` with the quantization as attributes."""
    return main.with_attrs(
        INPUT_QUANTIZATION_ATTR.entry({n: _listed(p) for n, p in quantization.inputs.items()})
        | OUTPUT_QUANTIZATION_ATTR.entry([_listed(p) for p in quantization.outputs])
    )


def _listed(parameters: Parameters) -> list[float | int]:
    """Return parameters in the form of the attributes."""
    return [] if parameters is None else [float(parameters[0]), int(parameters[1])]


def _with_new_names(attrs: Mapping[str, object]) -> dict[str, Any]:
    """Return the attributes under their current names."""
    named = dict(attrs.items())
    for new in (INPUT_QUANTIZATION_ATTR.name, OUTPUT_QUANTIZATION_ATTR.name):
        old = new.replace("quantization", "quantisation")
        if old in named:
            warn_renamed(f'the attribute "{old}" of main', f'"{new}"')
            named.setdefault(new, named.pop(old))
    return named


def attach_quantization(mod: IRModule, quantization: IOQuantization) -> IRModule:
    """Enter the quantization in the `TensorInfo`s of `__tvm_main__`."""
    main = mod[MAIN_FUNCTION_NAME]
    inputs = [
        _with_quantization(t, quantization.inputs.get(str(t.name)))
        for t in INPUT_TENSORS_ATTR.required(main)
    ]
    pairs = zip(OUTPUT_TENSORS_ATTR.required(main), quantization.outputs, strict=True)
    outputs = [_with_quantization(tensor, parameters) for tensor, parameters in pairs]
    result = IRModule(mod.functions, attrs=mod.attrs)
    result.update_func(
        mod.get_global_var(MAIN_FUNCTION_NAME),
        main.with_attrs(INPUT_TENSORS_ATTR.entry(inputs) | OUTPUT_TENSORS_ATTR.entry(outputs)),
    )
    return result


def _with_quantization(tensor: TensorInfo, parameters: Parameters) -> TensorInfo:
    if parameters is None or str(tensor.dtype).startswith("float"):
        return tensor
    kept = tensor.symbolic_shape, tensor.is_updated
    return TensorInfo(tensor.name, tensor.shape, tensor.dtype, *parameters, *kept)


def _read(stated: object, attribute: str) -> Parameters:
    """Read `[scale, zero_point]` or `[]`."""
    parameters = list(stated) if isinstance(stated, Sequence) else [None]
    if not parameters:
        return None
    match parameters:
        case [float(scale), int(zero_point)] if 0 < scale < math.inf:
            return scale, zero_point
    raise ValueError(
        f'the attribute "{attribute} of main must be [scale, zero_point] or [], not {stated}'
    )


def _bound(main: relax.Function) -> dict[relax.Var, relax.Expr]:
    return {binding.var: binding.value for binding in nodes_of(main.body, relax.VarBinding)}


def _dequantized(main: relax.Function, graph: Graph) -> dict[str, Parameters]:
    """Return the quantization of each parameter on which all its R.dequantize agree."""
    stated: dict[relax.Var, set[Parameters]] = {param: set() for param in main.params}
    for call in nodes_of(main.body, Call):
        if op_name(call) == "relax.dequantize":
            source = graph.resolve(call.args[0])
            if source in stated:
                quantization = graph.quantization(call, str(source.ty.dtype))
                stated[source].add(parameters_of(quantization))
    agreed = {param: parameters for param, parameters in stated.items() if len(parameters) == 1}
    return {str(param.name): next(iter(parameters)) for param, parameters in agreed.items()}


def _quantized(main: relax.Function, graph: Graph) -> list[Parameters]:
    """Return the quantization of each output that is no state, from the R.quantize that computes
    it."""
    results = _flatten(graph, main.body.body)
    kept = {int(state.output) for state in states_of(main)}
    if len(results) != len(flatten_types(main.body.body.ty)):
        results = [None] * len(flatten_types(main.body.body.ty))
    return [_quantizer(graph, r) for index, r in enumerate(results) if index not in kept]


def _quantizer(graph: Graph, result: relax.Expr | None) -> Parameters:
    call = None if result is None else graph.call(result, "relax.quantize")
    if call is None:
        return None
    return parameters_of(graph.quantization(call, str(call.attrs.out_dtype)))


def _flatten(graph: Graph, expr: relax.Expr) -> list[relax.Expr | None]:
    resolved = graph.resolve(expr)
    if isinstance(resolved, relax.Tuple):
        return [leaf for element in resolved.fields for leaf in _flatten(graph, element)]
    return [resolved]

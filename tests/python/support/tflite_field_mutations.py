"""Changes of single fields of a TFLite model, as its tables' objects: what a converter never wrote.

Each takes the model and a generator, changes the model in place and tells what it did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import tflite

from support.lazy import lazy
from usmp.frontend.tflite.converters import CONVERTERS

schema = lazy("ai_edge_litert.schema_py_generated")

_EXTENTS = (0, 1, 2, 3, 5, 8, 127, 2**16, 2**31 - 1, -1, -5, -(2**31))
_NUMBERS = (-(2**31), -128, -3, -2, -1, 0, 1, 2, 3, 4, 7, 9, 100, 2**16, 2**31 - 1)
_SCALES = (0.0, -0.5, math.nan, math.inf, 1e-45, 1e-38, 1e-12, 1e-3, 0.25, 1.0, 3.0, 1e6, 3e38)
_ZERO_POINTS = (-(2**63), -(2**31), -129, -128, -1, 0, 1, 127, 128, 255, 256, 2**31, 2**63 - 1)
_TYPES = tuple(range(19))
_USUAL_TYPES = tuple(
    getattr(tflite.TensorType, name)
    for name in ("FLOAT32", "INT32", "UINT8", "INT64", "BOOL", "INT16", "INT8", "INT4")
)
_CODES = tuple(
    getattr(tflite.BuiltinOperator, name) for name in sorted(CONVERTERS) if name.isidentifier()
)


def _graph(model: Any, generator: Random) -> Any:
    """Most often the first subgraph."""
    return model.subgraphs[0] if generator.random() < 0.9 else generator.choice(model.subgraphs)


def _tensor(model: Any, generator: Random) -> tuple[int, Any]:
    tensors = _graph(model, generator).tensors
    index = generator.randrange(len(tensors)) if tensors else 0
    return index, tensors[index] if tensors else schema.TensorT()


def _operator(model: Any, generator: Random) -> tuple[int, Any]:
    operators = _graph(model, generator).operators
    index = generator.randrange(len(operators)) if operators else 0
    return index, operators[index] if operators else schema.OperatorT()


def _list(values: Any) -> list[Any]:
    """A vector of numbers, which may not be there."""
    return [] if values is None else [value.item() for value in np.asarray(values)]


def _edited(values: list[Any], choices: tuple[Any, ...], generator: Random) -> list[Any]:
    """One number another, one more, one less, in another order, or none."""
    kind = generator.choice(
        ["set", "set", "set", "set", "add", "drop", "shuffle", "repeat", "none"]
    )
    values = list(values)
    at = generator.randrange(len(values)) if values else 0
    if kind == "add" or not values:
        values.insert(at, generator.choice(choices))
    elif kind == "set":
        values[at] = generator.choice(choices)
    elif kind == "drop":
        del values[at]
    elif kind == "shuffle":
        generator.shuffle(values)
    elif kind == "repeat":
        values.insert(at, values[at])
    else:
        values = []
    return values


def shape(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    before = _list(tensor.shape)
    near = tuple(extent + step for extent in before for step in (-1, 1))
    after = _edited(before, (*_EXTENTS, *near, *near), generator)
    tensor.shape = np.array(after, np.int64).astype(np.int32)
    return f"tensor {index}: {before} -> {after}"


def signature(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    after = _edited(_list(tensor.shape), _EXTENTS, generator)
    tensor.shapeSignature = np.array(after, np.int64).astype(np.int32)
    return f"tensor {index}: {after}"


def element_type(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    before = tensor.type
    tensor.type = generator.choice((*_TYPES, *_USUAL_TYPES, *_USUAL_TYPES))
    return f"tensor {index}: {before} -> {tensor.type}"


def all_types(model: Any, generator: Random) -> str:
    """Every tensor of one type that has no content has another."""
    before, after = generator.choice(_USUAL_TYPES), generator.choice(_USUAL_TYPES)
    for tensor in model.subgraphs[0].tensors:
        if tensor.type == before and not _has_content(model, tensor):
            tensor.type = after
    return f"{before} -> {after}"


def _has_content(model: Any, tensor: Any) -> bool:
    inside = 0 <= tensor.buffer < len(model.buffers)
    return inside and model.buffers[tensor.buffer].data is not None


def quantization(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    if tensor.quantization is None or generator.random() < 0.3:
        other = generator.choice(model.subgraphs[0].tensors)
        tensor.quantization = other.quantization if generator.random() < 0.5 else None
        return f"tensor {index}: that of another, or none"
    table = schema.QuantizationParametersT()
    for name, value in vars(tensor.quantization).items():
        setattr(table, name, value)  # tensors may share a table
    tensor.quantization = table
    kind = generator.choice(["scale", "scale", "zero point", "zero point", "count", "dimension"])
    scales, zero_points = _list(table.scale), _list(table.zeroPoint)
    if kind == "scale":
        near = tuple(scale * factor for scale in scales[:1] for factor in (0.5, 0.99, 1.01, 2.0))
        scales = _edited(scales, (*_SCALES, *near, *near), generator)
    elif kind == "zero point":
        zero_points = _edited(zero_points, _ZERO_POINTS, generator)
    elif kind == "count":
        count = generator.choice([1, 2, 3, 4, 100])
        scales, zero_points = scales[:1] * count, zero_points[:1] * generator.choice([1, count])
    else:
        table.quantizedDimension = generator.choice(_NUMBERS)
    table.scale, table.zeroPoint = np.array(scales, np.float32), np.array(zero_points, np.int64)
    return f"tensor {index}, {kind}: {scales[:4]} {zero_points[:4]} {table.quantizedDimension}"


def buffer(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    before = tensor.buffer
    count = len(model.buffers)
    tensor.buffer = generator.choice([0, 0, count, 2**31, *range(count)])
    return f"tensor {index}: {before} -> {tensor.buffer}"


def variable(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    tensor.isVariable = not tensor.isVariable
    return f"tensor {index}: {tensor.isVariable}"


def sparse(model: Any, generator: Random) -> str:
    index, tensor = _tensor(model, generator)
    tensor.sparsity = schema.SparsityParametersT()
    return f"tensor {index}"


def content(model: Any, generator: Random) -> str:
    """A number of a constant of int32, such as axes, or bytes of another."""
    constants = [t for t in model.subgraphs[0].tensors if _has_content(model, t)]
    if not constants:
        return "none"
    tensor = generator.choice(constants)
    data = model.buffers[tensor.buffer].data = np.array(model.buffers[tensor.buffer].data, np.uint8)
    if tensor.type == schema.TensorType.INT32 and data.size and data.size % 4 == 0:
        numbers = data.view(np.int32)
        at = generator.randrange(len(numbers))
        numbers[at] = generator.choice([*_NUMBERS, int(numbers[at]) ^ 1])
        return f"{tensor.name}[{at}] = {numbers[at]}"
    if generator.random() < 0.3:
        model.buffers[tensor.buffer].data = data[: generator.randrange(len(data) + 1)]
        return f"{tensor.name} cut"
    for _ in range(8 * bool(data.size)):
        data[generator.randrange(data.size)] = generator.choice([0, 1, 127, 128, 255])
    return f"{tensor.name} other bytes"


def arguments(model: Any, generator: Random) -> str:
    index, operator = _operator(model, generator)
    name = generator.choice(["inputs", "inputs", "inputs", "outputs", "intermediates"])
    before = _list(getattr(operator, name))
    count = len(model.subgraphs[0].tensors)
    after = _edited(before, (-1, -1, -2, count, *range(count)), generator)
    setattr(operator, name, np.array(after, np.int32))
    return f"operator {index} {name}: {before} -> {after}"


def interface(model: Any, generator: Random) -> str:
    graph = _graph(model, generator)
    name = generator.choice(["inputs", "outputs"])
    before = _list(getattr(graph, name))
    count = len(graph.tensors or ())
    after = _edited(before, (-1, count, *range(count)), generator)
    setattr(graph, name, np.array(after, np.int32))
    return f"{name}: {before} -> {after}"


def option(model: Any, generator: Random) -> str:
    index, operator = _operator(model, generator)
    fields = sorted(vars(operator.builtinOptions)) if operator.builtinOptions else []
    kind = generator.choice(["field"] * 8 + ["none", "type"])
    if kind == "field" and fields:
        name = generator.choice(fields)
        before = getattr(operator.builtinOptions, name)
        if isinstance(before, float):
            after: Any = generator.choice(_SCALES)
        elif isinstance(before, bool):
            after = not before
        elif isinstance(before, int):
            after = generator.choice([number for number in _NUMBERS if -128 <= number < 128])
        else:
            after = None
        setattr(operator.builtinOptions, name, after)
        return f"operator {index} {name}: {before} -> {after}"
    if kind == "type":
        # The table is read as another one: written so by hand, for packing goes by the type.
        operator.builtinOptionsType = generator.randrange(1, 120)
    else:
        operator.builtinOptionsType, operator.builtinOptions = 0, None
    return f"operator {index} {kind}: {operator.builtinOptionsType}"


def operator_code(model: Any, generator: Random) -> str:
    index = generator.randrange(len(model.operatorCodes))
    code = model.operatorCodes[index]
    before = code.builtinCode
    number = generator.choice(_CODES) if generator.random() < 0.7 else generator.randrange(209)
    code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
    if number == schema.BuiltinOperator.CUSTOM:
        code.customCode = "Mine"
    return f"{before} -> {number}"


def version(model: Any, generator: Random) -> str:
    code = generator.choice(model.operatorCodes)
    code.version = generator.choice(_NUMBERS)
    return f"{code.builtinCode}: {code.version}"


def order(model: Any, generator: Random) -> str:
    """Operators left out, repeated or exchanged; subgraphs left out."""
    operators = model.subgraphs[0].operators
    kind = generator.choice(["drop", "repeat", "shuffle", "drop subgraph"])
    if kind == "drop subgraph":
        model.subgraphs = model.subgraphs[:1]
    elif kind == "shuffle":
        generator.shuffle(operators)
    elif operators:
        at = generator.randrange(len(operators))
        operators[at : at + 1] = [operators[at]] * (2 if kind == "repeat" else 0)
    return kind


FIELD_MUTATIONS: list[Callable[[Any, Random], str]] = [
    *[shape] * 4,
    signature,
    *[element_type] * 3,
    all_types,
    *[quantization] * 5,
    *[buffer] * 2,
    variable,
    sparse,
    *[content] * 4,
    *[arguments] * 4,
    *[interface] * 2,
    *[option] * 5,
    *[operator_code] * 3,
    version,
    order,
]

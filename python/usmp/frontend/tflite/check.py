"""Checks of a TFLite file before it is imported, so that damage is reported as damage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from math import prod

import tflite

from usmp.frontend.input_shapes import GIVE_SHAPE
from usmp.frontend.tflite.file.read import (
    READER_ERRORS,
    builtin_code,
    called_once,
    is_readable,
    operator_name,
    tensor_name,
    vector,
)
from usmp.frontend.tflite.file.signatures import Signature, inputs_of, outputs_of, signatures_of
from usmp.frontend.tflite.file.subgraphs import check_subgraphs
from usmp.frontend.tflite.file.unknown_operators import CUSTOM, reason_against
from usmp.relax.limits import DEFAULT_LIMITS, Limits
from usmp.support.errors import UnsupportedModelError

_IDENTIFIER = b"TFL3"
_OFFSET_BYTES = 4
_MISSING = -1
"""The index of an optional operator input that is not given."""

_LARGEST_BYTES = 2**31 - 1
"""Most bytes of a tensor, because the emitted C counts elements in 32 bits."""

_ITEM_BYTES = {
    tflite.TensorType.FLOAT32: 4,
    tflite.TensorType.FLOAT16: 2,
    tflite.TensorType.INT32: 4,
    tflite.TensorType.UINT8: 1,
    tflite.TensorType.INT64: 8,
    tflite.TensorType.BOOL: 1,
    tflite.TensorType.INT16: 2,
    tflite.TensorType.INT8: 1,
    tflite.TensorType.FLOAT64: 8,
    tflite.TensorType.UINT64: 8,
    tflite.TensorType.UINT32: 4,
    tflite.TensorType.UINT16: 2,
    tflite.TensorType.COMPLEX64: 8,
}
"""Bytes per element, for the types whose constants are stored as plain arrays."""


def check_tflite(content: bytes, limits: Limits = DEFAULT_LIMITS) -> tflite.Model:
    """Check that a file can be imported, and return its model.

    Every index is in range, every dense constant has the bytes of its shape, tensors (except
    variables and empty tensors) are written before they are read, and inputs have fixed shapes (a
    dynamic batch becomes the batch that the file stores). Tensors stay within `limits`. The
    subgraphs of the signatures (see `signatures_of`) may run others by CALL_ONCE (see
    `called_once`), and by control flow without recursion (see `check_subgraphs`).

    Raises
    ------
    UnsupportedModelError
        one of these checks fails; the message says which.
    """
    if content[4:8] != _IDENTIFIER:
        raise UnsupportedModelError(
            f"not a TFLite model: bytes 4 to 7 are {content[4:8]!r}, not {_IDENTIFIER!r}"
        )
    try:
        model = tflite.Model.GetRootAsModel(content, 0)
        _check_counts(model, len(content))
        limits.check_operators("the model has", model.SignatureDefsLength(), "signatures")
        signatures = signatures_of(model)
        _check_repetition(model, signatures, len(content), limits)
        for signature in signatures:
            _check_parts(model, signature)
        for number in range(model.SubgraphsLength()):
            graph, where = model.Subgraphs(number), _of_subgraph(number)
            for index in range(graph.TensorsLength()):
                _check_tensor(model, graph, index, where, limits)
            _check_operators(model, graph, where)
        for signature in signatures:
            inputs_of(model, signature)
            outputs_of(model, signature)
        entries = sorted({signature.graph for signature in signatures})
        _check_calls(model, entries)
        check_subgraphs(model, entries, limits)
    except UnsupportedModelError:
        raise
    except READER_ERRORS as error:
        raise UnsupportedModelError(
            f"the file is damaged or truncated: an offset in it points outside its "
            f"{len(content)} bytes; convert or copy the model again"
        ) from error
    return model


def _check_counts(model: tflite.Model, size: int) -> None:
    """Check that a file of `size` bytes is large enough for the tables that it claims to have."""
    graphs = model.SubgraphsLength()
    if graphs == 0:
        raise UnsupportedModelError("the model has no subgraphs")
    counts = {
        "subgraphs": graphs,
        "buffers": model.BuffersLength(),
        "operator codes": model.OperatorCodesLength(),
        "tensors": 0,
        "operators": 0,
        "inputs": 0,
        "outputs": 0,
        "signatures": model.SignatureDefsLength(),
    }
    _check_possible(counts, size)
    for number in range(graphs):
        graph = model.Subgraphs(number)
        counts["tensors"] += graph.TensorsLength()
        counts["operators"] += graph.OperatorsLength()
        counts["inputs"] += graph.InputsLength()
        counts["outputs"] += graph.OutputsLength()
        _check_possible(counts, size)
    for number in range(model.SignatureDefsLength()):
        signature = model.SignatureDefs(number)
        counts["inputs"] += signature.InputsLength()
        counts["outputs"] += signature.OutputsLength()
        _check_possible(counts, size)


def _check_repetition(
    model: tflite.Model, signatures: Sequence[Signature], size: int, limits: Limits
) -> None:
    """Check the operators, inputs and outputs of all signatures together, because each signature
    gets a copy of its subgraph, and few bytes can name one subgraph many times."""
    if len(signatures) == 1:
        return
    graphs = [model.Subgraphs(signature.graph) for signature in signatures]
    operators = sum(graph.OperatorsLength() for graph in graphs)
    limits.check_operators("in all its signatures together the model has", operators)
    tensors = sum(graph.InputsLength() + graph.OutputsLength() for graph in graphs)
    _check_possible({"inputs and outputs of signatures": tensors}, size)


def _check_possible(counts: dict[str, int], size: int) -> None:
    for label, count in counts.items():
        if count * _OFFSET_BYTES > size:
            raise UnsupportedModelError(f"the file is damaged: {count} {label} in {size} bytes")


def _check_parts(model: tflite.Model, signature: Signature) -> None:
    """Check that a signature has outputs, and inputs of known shapes.

    One of several signatures may have no inputs, and no outputs if it changes variables.
    """
    graph = model.Subgraphs(signature.graph)
    for kind in () if signature.prefix else ("Inputs", "Outputs"):
        if getattr(graph, f"{kind}Length")() == 0:
            raise UnsupportedModelError(f"{signature.prefix}the model has no {kind.lower()}")
    tensors = graph.TensorsLength()
    for index in vector(graph, "Inputs"):
        _check_index(index, tensors, "the graph's input", "tensor")
        shape = vector(graph.Tensors(index), "Shape")
        declared = vector(graph.Tensors(index), "ShapeSignature")
        is_open = any(extent < 0 for extent in (*declared[1:], *shape))
        if is_open or (0 in shape and any(extent < 0 for extent in declared)):
            has_example = len(declared) == len(shape) and min(shape, default=1) > 0
            offer = f"{GIVE_SHAPE}, or " if has_example else ""
            raise UnsupportedModelError(
                f'{signature.prefix}input "{tensor_name(graph, index)}" has a dynamic shape, '
                f"{declared or shape}; memory is planned at compile time: {offer}convert the model "
                "with fixed input shapes"
            )


def _check_tensor(
    model: tflite.Model, graph: tflite.SubGraph, index: int, where: str, limits: Limits
) -> None:
    tensor = graph.Tensors(index)
    label = f'tensor {index}{where} ("{tensor_name(graph, index)}")'
    try:
        (tensor.Name() or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsupportedModelError(
            f"the file is damaged: the name of tensor {index}{where} is not text"
        ) from error
    _check_index(tensor.Buffer(), model.BuffersLength(), label, "buffer")
    shape = vector(tensor, "Shape")
    if any(extent < 0 for extent in shape):
        raise UnsupportedModelError(f"the file is damaged: {label} has shape {shape}")
    stored = model.Buffers(tensor.Buffer()).DataLength()
    if stored and tensor.Type() == tflite.TensorType.RESOURCE:
        raise UnsupportedModelError(
            f"the file is damaged: {label} is the handle of a resource, but has {stored} bytes"
        )
    item_bytes = _ITEM_BYTES.get(tensor.Type(), 1)
    needed = prod(shape) * item_bytes
    if needed > _LARGEST_BYTES:
        raise UnsupportedModelError(
            f"{label} of shape {shape} takes {needed} bytes; at most {_LARGEST_BYTES} are supported"
        )
    limits.check_tensor(label, shape, item_bytes)
    if tensor.Type() == tflite.TensorType.INT4:
        needed = (needed + 1) // 2
    elif tensor.Type() not in _ITEM_BYTES:
        needed = stored
    if stored and tensor.Sparsity() is None:
        model.Buffers(tensor.Buffer()).DataAsNumpy()
        if stored != needed:
            raise UnsupportedModelError(
                f"the file is damaged: {label} of shape {shape} takes {needed} bytes, "
                f"but {stored} are stored"
            )
    _check_quantization(tensor, label)


def _check_quantization(tensor: tflite.Tensor, label: str) -> None:
    quantization = tensor.Quantization()
    if not is_readable(tensor) or (quantization is not None and not is_readable(quantization)):
        raise UnsupportedModelError(
            f"the file is damaged: a field of {label} points outside the file"
        )
    if quantization is None:
        return
    scales = vector(quantization, "Scale")
    for scale in scales:
        if not (math.isfinite(scale) and scale >= 0):
            raise UnsupportedModelError(
                f"the file is damaged: {label} has the quantization scale {scale}"
            )
    zero_points = vector(quantization, "ZeroPoint")
    if len(zero_points) not in (0, 1, len(scales)):
        raise UnsupportedModelError(
            f"the file is damaged: {label} has {len(scales)} quantization scales "
            f"and {len(zero_points)} zero points"
        )


def _check_operators(model: tflite.Model, graph: tflite.SubGraph, where: str) -> None:
    """Check the indices of a subgraph's operators, and that tensors are written once, then read."""
    tensors = graph.TensorsLength()
    written: set[int] = set()
    settled: set[int] = set()
    for index in range(tensors):
        tensor = graph.Tensors(index)
        if model.Buffers(tensor.Buffer()).DataLength() > 0:
            settled.add(index)
        if tensor.IsVariable() or 0 in vector(tensor, "Shape"):
            written.add(index)
    for index in vector(graph, "Inputs"):
        _check_index(index, tensors, f"the graph's input{where}", "tensor")
        _settle(graph, index, settled, f"the graph's input{where}")
    written |= settled
    for position in range(graph.OperatorsLength()):
        operator = graph.Operators(position)
        label = f"operator {position}{where}"
        codes = model.OperatorCodesLength()
        _check_index(operator.OpcodeIndex(), codes, label, "operator code")
        name = operator_name(model, operator)  # fails if the code's table is damaged
        if not is_readable(operator):
            raise UnsupportedModelError(
                f"the file is damaged: a field of {label} points outside the file"
            )
        for index in vector(operator, "Intermediates"):
            if index != _MISSING:
                _check_index(index, tensors, label, "tensor")
        for index in vector(operator, "Inputs"):
            if index != _MISSING:
                _check_index(index, tensors, label, "tensor")
                if name.startswith(CUSTOM) and index not in written:
                    # Refuse compiled operators, which list scratch tensors that nothing writes.
                    raise UnsupportedModelError(f"{label} ({name}): {reason_against(name)}")
                _check_written(graph, index, written, label)
        for index in vector(operator, "Outputs"):
            _check_index(index, tensors, label, "tensor")
            _settle(graph, index, settled, label)
            written.add(index)
    for index in vector(graph, "Outputs"):
        _check_index(index, tensors, f"the graph's output{where}", "tensor")
        _check_written(graph, index, written, f"the graph's output{where}")


def _check_calls(model: tflite.Model, entries: Iterable[int]) -> None:
    """Check that each CALL_ONCE in these subgraphs has no inputs and outputs, and runs another
    subgraph, which has no inputs and no CALL_ONCE."""
    once: set[int] = set()
    for entry in entries:
        for position, operator in _operators(model, entry):
            label = f"operator {position}{_of_subgraph(entry)}"
            if builtin_code(model, operator) != tflite.BuiltinOperator.CALL_ONCE:
                continue
            if operator.InputsLength() or operator.OutputsLength():
                raise UnsupportedModelError(f"{label} (CALL_ONCE) has inputs or outputs")
            number = called_once(operator)
            _check_index(number, model.SubgraphsLength(), label, "subgraph")
            if number == entry:
                raise UnsupportedModelError(
                    f"{label} (CALL_ONCE) runs the subgraph that it stands in"
                )
            once.add(number)
    for number in sorted(once):
        if model.Subgraphs(number).InputsLength():
            raise UnsupportedModelError(f"subgraph {number}, which CALL_ONCE runs, has inputs")
        for position, operator in _operators(model, number):
            label = f"operator {position} of subgraph {number}"
            if builtin_code(model, operator) == tflite.BuiltinOperator.CALL_ONCE:
                raise UnsupportedModelError(
                    f"{label} is CALL_ONCE, and so is what runs this subgraph; an initialization "
                    "that runs another one is not supported"
                )


def _of_subgraph(number: int) -> str:
    """Return the words " of subgraph N" for messages, or "" for the main graph."""
    return f" of subgraph {number}" if number else ""


def _operators(model: tflite.Model, number: int) -> Iterator[tuple[int, tflite.Operator]]:
    graph = model.Subgraphs(number)
    for position in range(graph.OperatorsLength()):
        yield position, graph.Operators(position)


def _check_index(index: int, count: int, label: str, kind: str) -> None:
    if not 0 <= index < count:
        raise UnsupportedModelError(
            f"the file is damaged: {label} refers to {kind} {index}, and there are {count}"
        )


def _check_written(graph: tflite.SubGraph, index: int, written: set[int], label: str) -> None:
    if index not in written:
        raise UnsupportedModelError(
            f'the file is damaged: {label} reads tensor "{tensor_name(graph, index)}", '
            "which has no content and nothing before writes it"
        )


def _settle(graph: tflite.SubGraph, index: int, settled: set[int], label: str) -> None:
    """Record that the tensor gets its content at this position.

    Raises
    ------
    UnsupportedModelError
        the tensor has its content already.
    """
    if index in settled:
        raise UnsupportedModelError(
            f'the file is damaged: {label} writes tensor "{tensor_name(graph, index)}", '
            "which is a constant, an input, or written before"
        )
    settled.add(index)

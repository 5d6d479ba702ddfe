"""The conversion of a TFLite graph to Relax: each operator is checked, then converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tvm import relax

from usmp.frontend.tflite.converters import (
    CONVERTERS,
    MOVES,
    UNQUANTIZED,
    WITH_STORED_WEIGHT,
    Context,
    TfliteOperator,
    TfliteTensor,
    takes_stored_weight,
)
from usmp.frontend.tflite.file.unknown_operators import reason_against
from usmp.frontend.tflite.shapes.known_values import known_results
from usmp.frontend.tflite.shapes.open_shapes import find_open_shape
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.one_line import one_line

_INTEGER_ACTIVATIONS = ("int8", "uint8", "int16", "int4")

_NOT_COMPUTABLE = {
    "int4": "constants",
    "resource": "results of VAR_HANDLE",
    "complex64": "results of RFFT2D, of which COMPLEX_ABS, REAL or IMAG makes real numbers",
}
"""Element types that operators do not compute with -> the tensors that may have them."""

_COMPLEX = ("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG", "RESHAPE", "SQUEEZE", "EXPAND_DIMS")
"""Operators that may read or write complex numbers."""


def convert_graph(
    context: Context,
    operators: Sequence[TfliteOperator],
    outputs: Sequence[TfliteTensor],
) -> list[relax.Expr]:
    """Append the operators of a graph whose inputs are in `context`, and return its outputs.

    Raises
    ------
    UnsupportedModelError
        an operator cannot be converted; the message names it.
    """
    context.readers = _readers(operators, outputs)
    context.convert_graph = convert_graph
    for operator in operators:
        _convert(context, operator)
    context.folded.end(outputs, context.values)
    return [context.value(tensor) for tensor in outputs]


def _readers(operators: Sequence[TfliteOperator], outputs: Sequence[TfliteTensor]) -> Counter[int]:
    read = [t.index for operator in operators for t in operator.inputs if t is not None]
    return Counter([*read, *(tensor.index for tensor in outputs)])


def check_is_computable(tensor: TfliteTensor) -> None:
    """Check that operators can compute with the element type of a tensor.

    Raises
    ------
    UnsupportedModelError
        only some tensors may have the element type (`_NOT_COMPUTABLE`).
    """
    if tensor.dtype in _NOT_COMPUTABLE:
        raise UnsupportedModelError(
            f'tensor "{tensor.name}" is of type {tensor.dtype}; '
            f"supported only for {_NOT_COMPUTABLE[tensor.dtype]}"
        )


def _check_is_not_hybrid(operator: TfliteOperator) -> None:
    """Check that the operator does not multiply floats by integer weights.

    Variable tensors are not data here, because the recurrent converters check their types.

    Raises
    ------
    UnsupportedModelError
        the operator has float data and an integer weight.
    """
    inputs = [tensor for tensor in operator.inputs if tensor is not None]
    weights = [t for t in inputs if t.dtype in _INTEGER_ACTIVATIONS and t.data is not None]
    data = [
        t for t in inputs if t.dtype == "float32" and t.data is None and not t.table.IsVariable()
    ]
    if operator.name not in MOVES and weights and data:
        raise operator.unsupported(
            f'data "{data[0].name}" of float32 with weight "{weights[0].name}" of '
            f'{weights[0].dtype} ("dynamic range" quantization) is not supported; quantize the '
            "data too (full integer quantization), or nothing"
        )


def _check_computes_no_float16(operator: TfliteOperator) -> None:
    """Check that the operator does not compute in float16: TFLite only moves and converts it.

    Raises
    ------
    UnsupportedModelError
        the operator computes, and has an input or output of float16.
    """
    if operator.name in MOVES or operator.name == "DEQUANTIZE":
        return
    for tensor in (*operator.inputs, *operator.outputs):
        if tensor is not None and tensor.dtype == "float16":
            raise operator.unsupported(
                f'tensor "{tensor.name}" is of type float16, which is moved and converted, but not '
                "computed with; convert the model to float32, or CAST or DEQUANTIZE the tensor to "
                "float32 first"
            )


def _check_takes_complex(operator: TfliteOperator) -> None:
    """Check that only operators in `_COMPLEX` read complex numbers.

    Raises
    ------
    UnsupportedModelError
        another operator reads them.
    """
    for tensor in operator.inputs if operator.name not in _COMPLEX else ():
        if tensor is not None and tensor.dtype == "complex64":
            raise operator.unsupported(
                f'tensor "{tensor.name}" is of type complex64; supported only in '
                f"{', '.join(_COMPLEX)}"
            )


def _convert(context: Context, operator: TfliteOperator) -> None:
    """Append one operator.

    Raises
    ------
    UnsupportedModelError
        the operator cannot be converted; the message names it.
    """
    appended = context.builder.operators
    try:
        find_open_shape(operator)
        span = operator.described_in_full(context.graph).as_span()
        context.builder.begin_operator(span, lambda: context.folded.take(operator.inputs))
        if operator.name not in CONVERTERS.keys() | UNQUANTIZED:
            raise operator.unsupported(reason_against(operator.name))
        tensors = [*operator.inputs, *operator.outputs]
        for tensor in operator.outputs if operator.name != "VAR_HANDLE" else ():
            if tensor.dtype != "complex64" or operator.name not in _COMPLEX:
                check_is_computable(tensor)
        _check_computes_no_float16(operator)
        _check_takes_complex(operator)
        is_integer = any(t is not None and t.dtype in _INTEGER_ACTIVATIONS for t in tensors)
        known = known_results(operator)
        is_weighted = known is None and takes_stored_weight(context, operator)
        for read in () if is_weighted or known is not None else operator.inputs:
            if read is not None and read.index in context.stored:
                context.value(read)
        if known is not None:
            for tensor, value in zip(operator.outputs, known, strict=True):
                context.set_known(operator, value, tensor)
        elif is_weighted:
            WITH_STORED_WEIGHT[operator.name](context, operator)
        elif operator.name in MOVES or (is_integer and operator.name in CONVERTERS):
            _check_is_not_hybrid(operator)
            CONVERTERS[operator.name](context, operator)
        elif is_integer:
            raise operator.unsupported(
                "not supported on integers of 8 or 16 bits; compute it in float32, replace it, or "
                "end the model before it"
            )
        elif operator.name in UNQUANTIZED:
            UNQUANTIZED[operator.name](context, operator)
        else:
            raise operator.unsupported(reason_against(operator.name))
        if context.builder.operators == appended:
            context.folded.add(operator, span, context.values)
            context.builder.count()
    except UnsupportedModelError as error:
        if operator.described in str(error):
            raise
        raise operator.unsupported(str(error)) from error
    except Exception as error:
        # Converters refuse models with UnsupportedModelError: anything else is a bug.
        raise operator.unsupported(
            f"its conversion failed, a fault in usmp, please report it: {one_line(error)}"
        ) from error
    finally:
        context.builder.span = None

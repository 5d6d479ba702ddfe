"""TFLite flatbuffers to Relax.

An operator that reads or writes 8-bit or 16-bit integers is converted here, in integer arithmetic,
and so is one that only moves elements, or that TVM's importer gets wrong; any other one by TVM's
importer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import tflite
import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.tflite.check import check_tflite
from usmp.frontend.tflite.converters import (
    CONVERTERS,
    IMPORTED,
    MOVES,
    UNQUANTIZED,
    WITH_STORED_WEIGHT,
    Context,
    ImportedOperators,
    TfliteOperator,
    TfliteTensor,
    operators_of,
    takes_stored_weight,
)
from usmp.frontend.tflite.folded import FoldedOperators
from usmp.frontend.tflite.given_shapes import with_given_shapes
from usmp.frontend.tflite.initializations import called_once_by, enter_variables
from usmp.frontend.tflite.known_values import known_results
from usmp.frontend.tflite.open_shapes import find_open_shape
from usmp.frontend.tflite.signatures import Signature, inputs_of, outputs_of, signatures_of
from usmp.frontend.tflite.states import KeptTensors
from usmp.frontend.tflite.unknown_operators import reason_against
from usmp.objects.attributes import (
    ENTRIES_ATTR,
    INPUT_QUANTIZATION_ATTR,
    OUTPUT_NAMES_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    STATES_ATTR,
)
from usmp.objects.state_info import StateInfo
from usmp.relax.limits import DEFAULT_LIMITS, LimitedBuilder, Limits
from usmp.relax.transform.qdq.io_quantization import parameters_of
from usmp.support.errors import UnsupportedModelError
from usmp.support.one_line import one_line
from usmp.support.plain_text import printable
from usmp.support.unique_names import names_apart
from usmp.tir.model_operator import joined_span
from usmp.tir.spans import AnySpan, with_function_span

_UNCHANGED = -1
"""The output of a state that a function only reads."""

_INTEGER_ACTIVATIONS = ("int8", "uint8", "int16", "int4")

_NOT_COMPUTABLE = {
    "int4": "constants",
    "resource": "results of VAR_HANDLE",
    "complex64": "results of RFFT2D, of which COMPLEX_ABS, REAL or IMAG makes real numbers",
}
"""Element types that inputs and outputs may not have -> what may."""

_COMPLEX = ("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG", "RESHAPE", "SQUEEZE", "EXPAND_DIMS")
"""Operators that take or give complex numbers."""


def import_tflite(
    content: bytes, limits: Limits = DEFAULT_LIMITS, asked: AskedSizes | None = None
) -> IRModule:
    """Import a `.tflite` file.

    Parameters
    ----------
    asked
        the shapes that its inputs shall have.

    Raises
    ------
    UnsupportedModelError
        the content is damaged or not TFLite, an input has a dynamic shape, an
        operator cannot be imported, or the model asks for more than it may.
    ValueError
        an input that is asked for is none of the model, or cannot have the shape.
    """
    try:
        return _import(content, limits, asked or AskedSizes())
    except UnsupportedModelError as error:
        # Names in the file may hold anything.
        if str(error).isprintable():
            raise
        raise UnsupportedModelError(printable(str(error))) from error


def _import(content: bytes, limits: Limits, asked: AskedSizes) -> IRModule:
    model = check_tflite(with_given_shapes(content, asked), limits)
    signatures = signatures_of(model)
    operators = {s.graph: operators_of(model, model.Subgraphs(s.graph)) for s in signatures}
    for number in {n for listed in operators.values() for n in called_once_by(listed)}:
        operators.setdefault(number, operators_of(model, model.Subgraphs(number)))
    kept = KeptTensors(len(signatures), limits)
    for signature in signatures:
        kept.taken.update(names_apart(name for name, _ in inputs_of(model, signature)))
    handles = enter_variables(kept, signatures, operators)
    builder = LimitedBuilder(limits)
    attributes: dict[str, dict[str, object]] = {}
    folded: dict[str, FoldedOperators] = {}
    spans: dict[str, AnySpan | None] = {}
    for signature in signatures:
        graph = signature.graph
        context = Context(builder, graph=graph, kept=kept, handles=handles[graph])
        try:
            attributes[signature.name] = _add_function(model, signature, operators[graph], context)
            folded[signature.name] = context.folded
            spans[signature.name] = _span_of(operators, graph)
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{signature.prefix}{error}") from error
    # Where an operator has the name of a function, `finalize` gives it another one.
    mod = builder.get() if len(signatures) == 1 else builder.finalize()
    for name, attrs in attributes.items():
        function = with_function_span(folded[name].give_back(mod[name]), spans[name])
        mod.update_func(mod.get_global_var(name), function.with_attrs(attrs))
    return mod if len(signatures) == 1 else mod.with_attr(ENTRIES_ATTR, list(attributes))


def _add_function(
    model: tflite.Model,
    signature: Signature,
    operators: list[TfliteOperator],
    context: Context,
) -> dict[str, object]:
    """Append the function of a signature, and return its attributes."""
    builder, graph = context.builder, model.Subgraphs(signature.graph)
    named_inputs, named_outputs = inputs_of(model, signature), outputs_of(model, signature)
    inputs, outputs = (
        [TfliteTensor(model, graph, index) for _, index in named]
        for named in (named_inputs, named_outputs)
    )
    for tensor in (*inputs, *outputs):
        _check_is_computable(tensor)
    context.readers = _readers(operators, outputs)
    imported = ImportedOperators(model, graph, context)
    names = names_apart(name for name, _ in named_inputs)
    with _function(builder, signature.name):
        params = [
            relax.Var(name, relax.TensorType(t.shape, t.dtype))
            for name, t in zip(names, inputs, strict=True)
        ]
        context.values.update(zip((t.index for t in inputs), params, strict=True))
        with builder.dataflow():
            for operator in operators:
                _convert(context, imported, operator)
            context.folded.end(outputs, context.values)
            results = [context.value(tensor) for tensor in outputs]
            set_by = {v.kept: span for v, span in context.kept.set_by[signature.graph].items()}
            states = []
            for state in context.states.values():
                is_changed = not state.after.same_as(state.before)
                place = len(results) if is_changed else _UNCHANGED
                initial = tvm.runtime.tensor(state.kept.initial)
                states.append(
                    StateInfo(state.kept.name, place, initial, set_by=set_by.get(state.kept))
                )
                results += [state.after] if is_changed else []
            if not results:
                raise UnsupportedModelError("it has no outputs and changes no variables")
            result = builder.emit_output(results[0] if len(results) == 1 else relax.Tuple(results))
        builder.emit_func_output(result, [*params, *(s.before for s in context.states.values())])
    return {
        OUTPUT_NAMES_ATTR: [name for name, _ in named_outputs],
        INPUT_QUANTIZATION_ATTR: dict(zip(names, map(_quantization, inputs), strict=True)),
        OUTPUT_QUANTIZATION_ATTR: [_quantization(t) for t in outputs],
        STATES_ATTR: states,
        "num_input": len(inputs),
    }


def _span_of(operators: Mapping[int, list[TfliteOperator]], graph: int) -> AnySpan | None:
    """All operators of a subgraph, and of those that it runs once."""
    graphs = [graph, *called_once_by(operators[graph])]
    return joined_span(o.described_in_full(g).as_span() for g in graphs for o in operators[g])


def _quantization(tensor: TfliteTensor) -> list[float | int]:
    """Scale and zero point of the whole tensor, if it has them.

    TFLite takes a tensor with a scale and no zero point as not quantized.
    """
    try:
        return list(parameters_of(tensor.quantization) or ())
    except UnsupportedModelError:
        return []


@contextmanager
def _function(builder: relax.BlockBuilder, name: str) -> Iterator[None]:
    """Build a function in here; what leaves it half-way leaves no open blocks: C++ reports them."""
    with builder.function(name):
        try:
            yield
        except BaseException:
            builder.emit_func_output(relax.Tuple([]), [])
            raise


def _readers(operators: list[TfliteOperator], outputs: list[TfliteTensor]) -> Counter[int]:
    read = [t.index for operator in operators for t in operator.inputs if t is not None]
    return Counter([*read, *(tensor.index for tensor in outputs)])


def _check_is_computable(tensor: TfliteTensor) -> None:
    """Check that inputs, outputs and results of operators may have the tensor's element type.

    Raises
    ------
    UnsupportedModelError
        only constants and handles of variables may have it.
    """
    if tensor.dtype in _NOT_COMPUTABLE:
        raise UnsupportedModelError(
            f'tensor "{tensor.name}" is of type {tensor.dtype}; '
            f"supported only for {_NOT_COMPUTABLE[tensor.dtype]}"
        )


def _check_is_not_hybrid(operator: TfliteOperator) -> None:
    """Return unless real numbers are multiplied by integer weights.

    A state (a variable tensor) is no data: its converter names it if its type is wrong.

    Raises
    ------
    UnsupportedModelError
        they are.
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
    """Return unless the operator computes with float16, which TFLite only moves and converts.

    Raises
    ------
    UnsupportedModelError
        it does.
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
    """Return unless the operator reads complex numbers that it does not know.

    Raises
    ------
    UnsupportedModelError
        it does.
    """
    for tensor in operator.inputs if operator.name not in _COMPLEX else ():
        if tensor is not None and tensor.dtype == "complex64":
            raise operator.unsupported(
                f'tensor "{tensor.name}" is of type complex64; supported only in '
                f"{', '.join(_COMPLEX)}"
            )


def _convert(context: Context, imported: ImportedOperators, operator: TfliteOperator) -> None:
    """Append one operator.

    Raises
    ------
    UnsupportedModelError
        that is not possible; the message names the operator.
    """
    appended = context.builder.operators
    try:
        find_open_shape(operator)
        span = operator.described_in_full(context.graph).as_span()
        context.builder.begin_operator(span, lambda: context.folded.take(operator.inputs))
        if not any(operator.name in known for known in (CONVERTERS, UNQUANTIZED, IMPORTED)):
            raise operator.unsupported(reason_against(operator.name))
        tensors = [*operator.inputs, *operator.outputs]
        for tensor in operator.outputs if operator.name != "VAR_HANDLE" else ():
            if tensor.dtype != "complex64" or operator.name not in _COMPLEX:
                _check_is_computable(tensor)
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
            imported.convert(operator)
        if context.builder.operators == appended:
            context.folded.add(operator, span, context.values)
            context.builder.count()
    except UnsupportedModelError as error:
        if operator.described in str(error):
            raise
        raise operator.unsupported(str(error)) from error
    except Exception as error:
        # Converters say what they refuse; whatever else they raise, they did not foresee.
        raise operator.unsupported(
            f"its conversion failed, a fault in usmp, please report it: {one_line(error)}"
        ) from error
    finally:
        context.builder.span = None

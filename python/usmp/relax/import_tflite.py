"""TFLite flatbuffers to Relax.

An operator that reads or writes 8-bit or 16-bit integers is converted here, in integer arithmetic,
and so is one that only moves elements, or a transposed convolution; any other one by TVM's
importer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import tflite
import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.frontend.tflite.tflite_frontend import (
    ExprTable,
    OperatorConverter,
    get_tensor_name,
)

from usmp.objects.attributes import (
    INPUT_QUANTISATION_ATTR,
    OUTPUT_NAMES_ATTR,
    OUTPUT_QUANTISATION_ATTR,
    STATES_ATTR,
)
from usmp.objects.errors import UnsupportedModelError
from usmp.objects.state_info import StateInfo
from usmp.objects.unique_names import names_apart
from usmp.plain_text import printable
from usmp.relax.check_tflite import check_tflite
from usmp.relax.io_quantisation import parameters_of
from usmp.relax.one_line import one_line
from usmp.relax.read_tflite import vector
from usmp.relax.tflite import (
    CONVERTERS,
    MOVES,
    Context,
    TfliteOperator,
    TfliteTensor,
    operators_of,
)

_TVM_NAMES = {'CUSTOM "TFLite_Detection_PostProcess"': "DETECTION_POSTPROCESS"}
"""What TVM's importer calls operators that it names otherwise."""

_INTEGER_ACTIVATIONS = ("int8", "uint8", "int16", "int4")


def import_tflite(content: bytes) -> IRModule:
    """Import a `.tflite` file.

    Raises
    ------
    UnsupportedModelError: the content is damaged or not TFLite, an input has a dynamic shape, or
        an operator cannot be imported.
    """
    try:
        return _import(content)
    except UnsupportedModelError as error:
        # Names in the file may hold anything.
        if str(error).isprintable():
            raise
        raise UnsupportedModelError(printable(str(error))) from error


def _import(content: bytes) -> IRModule:
    model = check_tflite(content)
    graph = model.Subgraphs(0)
    inputs = [TfliteTensor(model, graph, index) for index in vector(graph, "Inputs")]
    outputs = [TfliteTensor(model, graph, index) for index in vector(graph, "Outputs")]
    for tensor in (*inputs, *outputs):
        _check_is_computable(tensor)
    operators = operators_of(model, graph)
    builder = relax.BlockBuilder()
    context = Context(builder, readers=_readers(operators, outputs))
    context.variables.handles = context.variables.find(operators)
    floats = _FloatConverter(model, graph, context)
    names = names_apart(t.name for t in inputs)
    with _main_function(builder):
        params = [
            relax.Var(name, relax.TensorType(t.shape, t.dtype))
            for name, t in zip(names, inputs, strict=True)
        ]
        context.values.update(zip((t.index for t in inputs), params, strict=True))
        with builder.dataflow():
            for operator in operators:
                _convert(context, floats, operator)
            results = [context.value(tensor) for tensor in outputs]
            results += [state.after for state in context.states]
            result = builder.emit_output(results[0] if len(results) == 1 else relax.Tuple(results))
        builder.emit_func_output(result, [*params, *(state.before for state in context.states)])
    mod = builder.get()
    states = [
        StateInfo(str(s.before.name), len(outputs) + index, tvm.runtime.tensor(s.initial))
        for index, s in enumerate(context.states)
    ]
    main = mod["main"].with_attrs(
        {
            OUTPUT_NAMES_ATTR: [t.name for t in outputs],
            INPUT_QUANTISATION_ATTR: dict(zip(names, map(_quantisation, inputs), strict=True)),
            OUTPUT_QUANTISATION_ATTR: [_quantisation(t) for t in outputs],
            STATES_ATTR: states,
            "num_input": len(inputs),
        }
    )
    mod.update_func(mod.get_global_var("main"), main)
    return mod


def _quantisation(tensor: TfliteTensor) -> list[float | int]:
    """Scale and zero point of the whole tensor, if it has them.

    TFLite takes a tensor with a scale and no zero point as not quantised.
    """
    try:
        return list(parameters_of(tensor.quantisation) or ())
    except UnsupportedModelError:
        return []


@contextmanager
def _main_function(builder: relax.BlockBuilder) -> Iterator[None]:
    """Build "main" in here; what leaves it half-way leaves no open blocks, which C++ reports."""
    with builder.function("main"):
        try:
            yield
        except BaseException:
            builder.emit_func_output(relax.Tuple([]), [])
            raise


def _readers(operators: list[TfliteOperator], outputs: list[TfliteTensor]) -> Counter[int]:
    read = [t.index for operator in operators for t in operator.inputs if t is not None]
    return Counter([*read, *(tensor.index for tensor in outputs)])


def _check_is_computable(tensor: TfliteTensor) -> None:
    """Return if inputs, outputs and results of operators may have the tensor's element type.

    Raises
    ------
    UnsupportedModelError: only constants and handles of variables may have it.
    """
    if tensor.dtype in ("int4", "resource"):
        kinds = {"int4": "constants", "resource": "results of VAR_HANDLE"}
        raise UnsupportedModelError(
            f'tensor "{tensor.name}" is of type {tensor.dtype}; '
            f"supported only for {kinds[tensor.dtype]}"
        )


def _check_is_not_hybrid(operator: TfliteOperator) -> None:
    """Return unless real numbers are multiplied by integer weights.

    A state (a variable tensor) is no data: its converter names it if its type is wrong.

    Raises
    ------
    UnsupportedModelError: they are.
    """
    inputs = [tensor for tensor in operator.inputs if tensor is not None]
    weights = [t for t in inputs if t.dtype in _INTEGER_ACTIVATIONS and t.data is not None]
    data = [
        t for t in inputs if t.dtype == "float32" and t.data is None and not t.table.IsVariable()
    ]
    if operator.name not in MOVES and weights and data:
        raise operator.unsupported(
            f'data "{data[0].name}" of float32 with weight "{weights[0].name}" of '
            f'{weights[0].dtype} ("dynamic range" quantisation) is not supported; quantise the '
            "data too (full integer quantisation), or nothing"
        )


def _convert(context: Context, floats: _FloatConverter, operator: TfliteOperator) -> None:
    """Append one operator.

    Raises
    ------
    UnsupportedModelError: that is not possible; the message names the operator.
    """
    try:
        tensors = [*operator.inputs, *operator.outputs]
        for tensor in operator.outputs if operator.name != "VAR_HANDLE" else ():
            _check_is_computable(tensor)
        is_integer = any(t is not None and t.dtype in _INTEGER_ACTIVATIONS for t in tensors)
        if operator.name in MOVES or (is_integer and operator.name in CONVERTERS):
            _check_is_not_hybrid(operator)
            CONVERTERS[operator.name](context, operator)
        elif not is_integer:
            floats.convert(operator)
        else:
            known = ", ".join(sorted(CONVERTERS))
            raise operator.unsupported(f"not supported on integers; supported: {known}")
    except UnsupportedModelError as error:
        if operator.described in str(error):
            raise
        raise operator.unsupported(str(error)) from error
    except Exception as error:
        # Converters say what they refuse; whatever else they raise, they did not foresee.
        raise operator.unsupported(
            f"its conversion failed, a fault in usmp, please report it: {one_line(error)}"
        ) from error


def _check_constants(operator: TfliteOperator) -> None:
    """Return if the operator reads no constant as something else than it is.

    Raises
    ------
    UnsupportedModelError: it does.
    """
    for tensor in operator.inputs:
        if tensor is None or operator.name == "DENSIFY":
            continue
        if tensor.table.Sparsity() is not None:
            raise operator.unsupported(
                f'tensor "{tensor.name}" is sparse, and read by another operator than DENSIFY; '
                "convert the model without sparsity"
            )
        is_read = operator.name == "DEQUANTIZE" and tensor.data is not None
        if tensor.dtype == "float16" and not is_read:
            raise operator.unsupported(
                f'tensor "{tensor.name}" is of type float16; supported only for constants that '
                "DEQUANTIZE reads"
            )


class _FloatConverter(OperatorConverter):  # type: ignore[misc]
    """TVM's converter of single operators, on tensors that are known by their index."""

    def __init__(self, model: tflite.Model, graph: tflite.SubGraph, context: Context) -> None:
        super().__init__(model, graph, ExprTable(), context.builder)
        self.context = context

    def convert(self, operator: TfliteOperator) -> None:
        """Append one operator.

        Raises
        ------
        UnsupportedModelError: TVM's importer does not know it, or fails.
        """
        convert = self.convert_map.get(_TVM_NAMES.get(operator.name, operator.name))
        if convert is None:
            raise operator.unsupported("TVM's TFLite importer does not support it")
        _check_constants(operator)
        self.exp_tab.exprs.clear()
        try:
            result = convert(op=operator.table)
            result = None if result is None else self.bb.normalize(result)
        except Exception as error:
            # It raises many kinds of exceptions; each means that it cannot import this.
            raise operator.unsupported(f"TVM's importer failed: {one_line(error)}") from error
        if result is None:
            self._take_named_outputs(operator)
            return
        if len(operator.outputs) == 1:
            self.context.set_moved(operator, result)
            return
        for index, tensor in enumerate(operator.outputs):
            self.context.set_moved(operator, result[index], tensor)

    def _take_named_outputs(self, operator: TfliteOperator) -> None:
        """Some converters return nothing and enter their outputs by name."""
        for tensor in operator.outputs:
            name = get_tensor_name(self.subgraph, tensor.index)
            if self.exp_tab.has_expr(name):
                self.context.set_moved(operator, self.exp_tab.get_expr(name), tensor)

    def has_expr(self, input_tensor_idx: int) -> bool:
        """Whether the tensor is computed."""
        return input_tensor_idx in self.context.values

    def get_expr(self, input_tensor_idx: int) -> relax.Expr:
        """The computed tensor."""
        return self.context.values[input_tensor_idx]

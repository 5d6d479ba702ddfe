"""The importer of TFLite files: flatbuffers to Relax.

An operator on 8-bit or 16-bit integers becomes integer arithmetic. Any other operator keeps the
element types of its tensors.
"""

from __future__ import annotations

from collections.abc import Mapping

import tflite
import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.tflite.check import check_tflite
from usmp.frontend.tflite.convert_graph import check_is_computable, convert_graph
from usmp.frontend.tflite.converters import Context, TfliteOperator, TfliteTensor, operators_of
from usmp.frontend.tflite.file.signatures import Signature, inputs_of, outputs_of, signatures_of
from usmp.frontend.tflite.folded import FoldedOperators
from usmp.frontend.tflite.initializations import called_once_by, enter_variables
from usmp.frontend.tflite.shapes.given_shapes import with_given_shapes
from usmp.frontend.tflite.states import KeptTensors
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    INPUT_QUANTIZATION_ATTR,
    NAMES_OUTPUTS_ATTR,
    OUTPUT_NAMES_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    STATES_ATTR,
)
from usmp.objects.state_info import StateInfo
from usmp.relax.limits import DEFAULT_LIMITS, LimitedBuilder, Limits
from usmp.relax.open_function import open_function
from usmp.relax.transform.qdq.io_quantization import parameters_of
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import printable
from usmp.support.text.unique_names import names_apart
from usmp.tir.model_operator import joined_span
from usmp.tir.spans import AnySpan, with_function_span

_UNCHANGED = -1
"""The output index of a state that a function only reads."""


def import_tflite(
    content: bytes, limits: Limits = DEFAULT_LIMITS, asked: AskedSizes | None = None
) -> IRModule:
    """Import a `.tflite` file.

    Parameters
    ----------
    asked
        shapes for the inputs, in place of those in the file.

    Raises
    ------
    UnsupportedModelError
        the content is damaged or not TFLite, an input has a dynamic shape, an
        operator cannot be imported, or the model exceeds `limits`.
    ValueError
        `asked` names no input of the model, or a shape that the input cannot have.
    """
    try:
        return _import(content, limits, asked or AskedSizes())
    except UnsupportedModelError as error:
        # Names in the file may contain control characters, which messages must not.
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
    # `finalize` renames a PrimFunc that has the name of one of several functions.
    mod = builder.get() if len(signatures) == 1 else builder.finalize()
    for name, attrs in attributes.items():
        function = with_function_span(folded[name].give_back(mod[name]), spans[name])
        mod.update_func(mod.get_global_var(name), function.with_attrs(attrs))
    return mod if len(signatures) == 1 else ENTRIES_ATTR.put(mod, list(attributes))


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
        check_is_computable(tensor)
    names = names_apart(name for name, _ in named_inputs)
    with open_function(builder, signature.name):
        params = [
            relax.Var(name, relax.TensorType(t.shape, t.dtype))
            for name, t in zip(names, inputs, strict=True)
        ]
        context.values.update(zip((t.index for t in inputs), params, strict=True))
        with builder.dataflow():
            results = convert_graph(context, operators, outputs)
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
        **OUTPUT_NAMES_ATTR.entry([name for name, _ in named_outputs]),
        **NAMES_OUTPUTS_ATTR.entry(True),
        **INPUT_QUANTIZATION_ATTR.entry(dict(zip(names, map(_quantization, inputs), strict=True))),
        **OUTPUT_QUANTIZATION_ATTR.entry([_quantization(t) for t in outputs]),
        **STATES_ATTR.entry(states),
        "num_input": len(inputs),
    }


def _span_of(operators: Mapping[int, list[TfliteOperator]], graph: int) -> AnySpan | None:
    """Return the joined span of a subgraph's operators and of the subgraphs that it runs once."""
    graphs = [graph, *called_once_by(operators[graph])]
    return joined_span(o.described_in_full(g).as_span() for g in graphs for o in operators[g])


def _quantization(tensor: TfliteTensor) -> list[float | int]:
    """Return the scale and zero point of the tensor, or [] if it is not quantized per tensor.

    TFLite treats a tensor with a scale and no zero point as not quantized.
    """
    try:
        return list(parameters_of(tensor.quantization) or ())
    except UnsupportedModelError:
        return []

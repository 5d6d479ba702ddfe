"""A trial of one ONNX node, with onnxruntime or, where that has no kernel, ONNX's own evaluator as
the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np

from support.lazy import lazy
from support.onnx_sessions import session_of
from support.operator_trials.trial import CLOSE, Inputs, NoReferenceError, Tolerance, Trial

onnx = lazy("onnx")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")
ReferenceEvaluator = lazy("onnx.reference:ReferenceEvaluator")
opsets = lazy("usmp.frontend.onnx.graph.opsets")

MICROSOFT = "com.microsoft"
RUNS = 3

Sampler = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Varied:
    """An operand that is an input of the model, with other values in each run."""

    sample: Sampler


Operand = Varied | np.ndarray | None
"""A constant is an array; an operand that is left out is None."""


def node_trial(
    random: Random,
    operator: str,
    operands: Sequence[Operand],
    opset: int,
    outputs: int = 1,
    domain: str = "",
    tolerance: Tolerance = CLOSE,
    output_types: Sequence[str] = (),
    by_evaluator: bool = False,
    **attributes: Any,
) -> Trial:
    """A model of one node.

    Attributes of None are left out.
    `output_types` are needed where ONNX does not infer them. `by_evaluator` takes ONNX's own
    evaluator as the reference though onnxruntime has a kernel.
    """
    names = [f"y{index}" for index in range(outputs)]
    attributes = {name: value for name, value in attributes.items() if value is not None}
    node = helper.make_node(operator, input_names(operands), names, domain=domain, **attributes)
    described = ", ".join(f"{name}={_shown(value)}" for name, value in attributes.items())
    return graph_trial(
        random,
        f"{domain}.{operator}".lstrip("."),
        [node],
        operands,
        names,
        opset,
        described,
        tolerance,
        output_types,
        by_evaluator,
    )


def input_names(operands: Sequence[Operand]) -> list[str]:
    """The names of the operands of the first node."""
    return ["" if operand is None else f"x{index}" for index, operand in enumerate(operands)]


def graph_trial(
    random: Random,
    operator: str,
    nodes: Sequence[onnx.NodeProto],
    operands: Sequence[Operand],
    outputs: Sequence[str],
    opset: int,
    described: str = "",
    tolerance: Tolerance = CLOSE,
    output_types: Sequence[str] = (),
    by_evaluator: bool = False,
) -> Trial:
    """A model of several nodes, whose operands are called `x0`, `x1` and so on."""
    generator = np.random.default_rng(random.getrandbits(64))
    runs: list[dict[str, np.ndarray]] = [{} for _ in range(RUNS)]
    inputs, constants, shapes = [], [], []
    for name, operand in zip(input_names(operands), operands, strict=True):
        if isinstance(operand, Varied):
            for run in runs:
                run[name] = operand.sample(generator)
            value = runs[0][name]
            element = helper.np_dtype_to_tensor_dtype(value.dtype)
            inputs.append(helper.make_tensor_value_info(name, element, value.shape))
            shapes.append(f"{value.dtype}{list(value.shape)}")
        elif operand is not None:
            constants.append(numpy_helper.from_array(operand, name))
            text = str(operand.tolist()) if operand.size <= 12 else str(list(operand.shape))
            shapes.append(f"constant {operand.dtype}{text}")
        else:
            shapes.append("-")
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    for result, dtype in zip(results, output_types, strict=False):
        result.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(nodes, "graph", inputs, results, initializer=constants)
    versions = [helper.make_opsetid("", opset)]
    if any(node.domain for node in nodes):
        versions.append(helper.make_opsetid(MICROSOFT, 1))
    model = helper.make_model(graph, opset_imports=versions, ir_version=10)
    content = _with_output_types(model).SerializeToString()
    return Trial(
        "onnx",
        operator,
        f"opset {opset}, {'; '.join(shapes)}; {described}",
        content,
        runs,
        _Reference(content, by_evaluator).run,
        tolerance,
    )


def _with_output_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """With those that ONNX infers; that of the first input for operators of other domains."""
    first = model.graph.input[0].type.tensor_type.elem_type if model.graph.input else 1
    model = onnx.shape_inference.infer_shapes(model)
    for output in model.graph.output:
        if not output.type.tensor_type.elem_type:
            output.type.tensor_type.elem_type = first
    return model


class _Reference:
    """Made when it is first asked, as making it takes longer than making the model."""

    def __init__(self, content: bytes, by_evaluator: bool) -> None:
        self._content = content
        self._by_evaluator = by_evaluator
        self._run: Callable[[Inputs], list[Any]] | None = None

    def run(self, inputs: Inputs) -> list[np.ndarray]:
        if self._run is None:
            self._run = self._find(inputs)
        return [np.asarray(value) for value in self._run(inputs)]

    def _find(self, inputs: Inputs) -> Callable[[Inputs], list[Any]]:
        try:
            if self._by_evaluator:
                raise NoReferenceError("not asked")
            session = session_of(self._content)
            session.run(None, dict(inputs))
            return lambda given: session.run(None, dict(given))
        except Exception as error:
            refusal = str(error)
        try:
            evaluator = ReferenceEvaluator(self._content)
            evaluator.run(None, dict(inputs))
            return lambda given: evaluator.run(None, dict(given))
        except Exception as error:
            text = f"onnxruntime: {refusal}; ONNX's evaluator: {type(error).__name__}: {error}"
            raise NoReferenceError(text) from error


def _shown(value: Any) -> str:
    return (
        f"tensor {numpy_helper.to_array(value).tolist()}"
        if isinstance(value, onnx.TensorProto)
        else repr(value)
    )


@cache
def versions(operator: str) -> tuple[int, ...]:
    """The opsets in which an operator of ONNX changed."""
    schemas = onnx.defs.get_all_schemas_with_history()
    return tuple(sorted(s.since_version for s in schemas if s.name == operator and not s.domain))


def opset_of(random: Random, operator: str, oldest: int = 0) -> int:
    """One in which the operator exists: any version of it as likely as any other."""
    since = [version for version in versions(operator) if version <= opsets.NEWEST_OPSET]
    chosen = random.randrange(len(since))
    end = since[chosen + 1] if chosen + 1 < len(since) else opsets.NEWEST_OPSET + 1
    first = max(since[chosen], oldest or opsets.OLDEST_OPSET)
    return random.randrange(first, end) if end > first else opset_of(random, operator, oldest)


def has_attribute(operator: str, opset: int, name: str) -> bool:
    """Whether the operator has the attribute in that opset."""
    return name in onnx.defs.get_schema(operator, opset, "").attributes


def types_of(operator: str, opset: int, position: int = 0) -> list[str]:
    """The element types of numbers that an input may have, by their names in numpy."""
    schema = onnx.defs.get_schema(operator, opset, "")
    kind = schema.inputs[min(position, len(schema.inputs) - 1)].type_str
    allowed = next(
        (list(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == kind),
        [kind],
    )
    known = {f"tensor({onnx_name})": name for onnx_name, name in _TYPES.items()}
    return sorted({known[name] for name in allowed if name in known})


_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_TYPES = {"float": "float32", "double": "float64", "bool": "bool", **{i: i for i in _INTEGERS}}

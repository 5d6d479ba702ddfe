"""Description of a model file without compiling it: inputs, outputs, operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from usmp.frontend.dynamic_sizes import AskedSizes, DynamicSize
from usmp.frontend.model_file import import_with_sizes, read_model_file
from usmp.relax.limits import MODEL_BYTES, OPERATORS, Limits


@dataclass(frozen=True)
class DescribedTensor:
    """An input or output.

    Parameters
    ----------
    shape
        extents, outermost first: numbers, names of dynamic sizes, or expressions of them; None
        for an extent that the file does not have.
    scale, zero_point
        real = scale * (integer - zero_point); None unless they hold for the whole tensor.
    updated
        whether the tensor is an input that the model updates in place.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]
    scale: float | None = None
    zero_point: int | None = None
    updated: bool = False


@dataclass(frozen=True)
class DescribedState:
    """A tensor that is kept between runs.

    Parameters
    ----------
    bytes
        its size in bytes.
    changed
        whether the entry writes the state; other entries only read it.
    """

    name: str
    bytes: int
    changed: bool


@dataclass(frozen=True)
class DescribedSize:
    """A dynamic size of the input shapes.

    Parameters
    ----------
    name
        the key in `max_sizes`.
    lower_bound, upper_bound
        the smallest and largest value, both inclusive; None without an upper bound.
    taken_as
        the value that replaces the size: from a given input shape, or 1 for a batch without a
        given bound.
    """

    name: str
    lower_bound: int
    upper_bound: int | None
    taken_as: int | None = None


States: TypeAlias = "list[DescribedState] | None"
"""The states; None if they are unknown because the model cannot be imported."""


@dataclass(frozen=True)
class DescribedEntry:
    """One of several functions that an application calls.

    Parameters
    ----------
    entry
        the name of the function.
    inputs, outputs
        in the order of the function's arguments.
    states
        the tensors kept between runs that the function reads or writes.
    """

    entry: str
    inputs: list[DescribedTensor]
    outputs: list[DescribedTensor]
    states: States


@dataclass(frozen=True)
class ModelDescription:
    """The inputs, outputs, states and operators of a model file.

    Parameters
    ----------
    format
        the file format, in words.
    inputs, outputs
        in the order of the model; empty if it has several entries.
    states
        the tensors kept between runs; empty if it has several entries.
    operators
        the format's name of each operator -> number of occurrences, most frequent first.
    signatures
        the names of the file's signatures, if the format has signatures.
    entries
        the entries, if there are several.
    sizes
        the dynamic sizes of the input shapes.
    """

    format: str
    inputs: list[DescribedTensor]
    outputs: list[DescribedTensor]
    states: States
    operators: dict[str, int]
    signatures: list[str] = field(default_factory=list)
    entries: list[DescribedEntry] = field(default_factory=list)
    sizes: list[DescribedSize] = field(default_factory=list)


def describe_model(path: str | Path, **options: Any) -> ModelDescription:
    """Read a model file as far as needed to describe it, with the options of `import_model`.

    The listed operators are not necessarily supported.

    Raises
    ------
    UnsupportedModelError
        the file is missing, empty, damaged or of an unknown format, or is a TFLite model with an
        input of a dynamic shape.
    ValueError
        the model does not have a size that the user names, or contradicts its value.
    """
    asked = AskedSizes(
        options.pop("max_sizes", None) or {},
        requires_bounds=False,
        input_shapes=options.pop("input_shapes", None) or {},
    )
    if Path(path).suffix.lower() == ".pt2":
        mod = import_with_sizes(path, asked, **options)
        return _describe_relax(mod, "program of torch.export", asked.resolved)
    limits = Limits(
        options.get("max_model_bytes", MODEL_BYTES), options.get("max_operators", OPERATORS)
    )
    readers = {
        ".tflite": partial(_describe_tflite, limits=limits, asked=asked),
        ".onnx": partial(_describe_onnx, limits=limits, asked=asked),
    }
    return read_model_file(path, readers)


def _describe_tflite(
    content: bytes, folder: Path, limits: Limits, asked: AskedSizes
) -> ModelDescription:
    from usmp.frontend.tflite.check import check_tflite
    from usmp.frontend.tflite.file.model import TfliteTensor
    from usmp.frontend.tflite.file.read import operator_name
    from usmp.frontend.tflite.file.signatures import inputs_of, outputs_of, signatures_of
    from usmp.frontend.tflite.shapes.given_shapes import with_given_shapes

    content = with_given_shapes(content, asked)
    model = check_tflite(content, limits)
    entries = []
    mod = _imported_state(model, content, limits)
    for signature in signatures_of(model):
        graph = model.Subgraphs(signature.graph)
        inputs, outputs = (
            [_tflite_tensor(TfliteTensor(model, graph, index), name) for name, index in named]
            for named in (inputs_of(model, signature), outputs_of(model, signature))
        )
        states = None if mod is None else _states(mod, signature.name)
        entries.append(DescribedEntry(signature.name, inputs, outputs, states))
    only = entries[0] if len(entries) == 1 else None
    names = [
        operator_name(model, model.Subgraphs(number).Operators(index))
        for number in range(model.SubgraphsLength())
        for index in range(model.Subgraphs(number).OperatorsLength())
    ]
    keys = [model.SignatureDefs(i).SignatureKey() for i in range(model.SignatureDefsLength())]
    signatures = [key.decode(errors="replace") for key in keys if key]
    return ModelDescription(
        "TFLite model",
        only.inputs if only else [],
        only.outputs if only else [],
        only.states if only else [],
        _counted(names),
        signatures,
        [] if only else entries,
    )


def _imported_state(model: Any, content: bytes, limits: Limits) -> Any:
    """Import a TFLite model that may have states. Return an empty module if it has none, and None
    if it cannot be imported."""
    from tvm.ir import IRModule

    from usmp.frontend.tflite.file.read import operator_name
    from usmp.frontend.tflite.importer import import_tflite
    from usmp.support.errors import UnsupportedModelError

    graphs = [model.Subgraphs(number) for number in range(model.SubgraphsLength())]
    has_state = any(
        any(graph.Tensors(index).IsVariable() for index in range(graph.TensorsLength()))
        or any(
            operator_name(model, graph.Operators(index)) == "VAR_HANDLE"
            for index in range(graph.OperatorsLength())
        )
        for graph in graphs
    )
    if not has_state:
        return IRModule()
    try:
        return import_tflite(content, limits)
    except UnsupportedModelError:
        return None


def _states(mod: Any, entry: str) -> list[DescribedState]:
    """Return the states of an entry; none if the module does not have the entry."""
    from usmp.objects.attributes.module_attributes import STATES_ATTR
    from usmp.relax.static_shapes import size_bytes

    functions = {str(variable.name_hint): func for variable, func in mod.functions.items()}
    if entry not in functions:
        return []
    func = functions[entry]
    types = {str(param.name): param.ty for param in func.params}
    return [
        DescribedState(str(s.name), size_bytes(types[str(s.name)]), int(s.output) >= 0)
        for s in STATES_ATTR.of(func) or ()
        if not s.is_input
    ]


def _tflite_tensor(tensor: Any, name: str) -> DescribedTensor:
    from usmp.relax.transform.qdq.io_quantization import parameters_of
    from usmp.support.errors import UnsupportedModelError

    try:
        parameters = parameters_of(tensor.quantization)
    except UnsupportedModelError:
        parameters = None  # TFLite ignores a scale without a zero point.
    return DescribedTensor(name, tensor.dtype, tensor.shape, *(parameters or (None, None)))


def _describe_onnx(
    content: bytes, folder: Path, limits: Limits, asked: AskedSizes
) -> ModelDescription:
    from usmp.frontend.onnx.checks.check import read_onnx

    model, sizes = read_onnx(content, folder, limits, asked)
    initialized = {tensor.name for tensor in model.graph.initializer}
    names = _names_of(sizes)
    return ModelDescription(
        "ONNX model",
        [_onnx_tensor(i, names) for i in model.graph.input if i.name not in initialized],
        [_onnx_tensor(output, names) for output in model.graph.output],
        [],
        _counted([f"{n.domain}.{n.op_type}".lstrip(".") for n in model.graph.node]),
        sizes=_described_sizes(sizes),
    )


def _onnx_tensor(value: Any, names: Mapping[str, str]) -> DescribedTensor:
    import onnx

    tensor = value.type.tensor_type
    name = onnx.TensorProto.DataType.Name(tensor.elem_type)
    dtype = {"FLOAT": "float32", "DOUBLE": "float64"}.get(name, name.lower())
    dims = [
        d.dim_value if d.HasField("dim_value") else names.get(d.dim_param) for d in tensor.shape.dim
    ]
    return DescribedTensor(value.name, dtype, tuple(dims))


def _names_of(sizes: Sequence[DynamicSize]) -> dict[str, str]:
    """Return shape variable -> the user's name of the size."""
    return {size.symbol: size.name for size in sizes if size.number is None}


def _described_sizes(sizes: Sequence[DynamicSize]) -> list[DescribedSize]:
    return [DescribedSize(s.name, s.lower_bound, s.upper_bound, s.number) for s in sizes]


def _describe_relax(mod: Any, file_format: str, sizes: Sequence[DynamicSize]) -> ModelDescription:
    from tvm import relax
    from tvm.ir import Op

    from usmp.objects.attributes.module_attributes import OUTPUT_NAMES_ATTR, STATES_ATTR
    from usmp.relax.states import input_params
    from usmp.relax.static_shapes import flatten_types

    main = mod["main"]
    names: list[str] = []

    def on_expression(expr: Any) -> None:
        if isinstance(expr, relax.Call) and isinstance(expr.op, Op):
            names.append(str(expr.op.name).removeprefix("relax."))

    relax.analysis.post_order_visit(main, on_expression)
    updated = {str(state.name) for state in STATES_ATTR.of(main) or () if state.is_input}
    inputs = [(str(param.name), param.ty) for param in input_params(main)]
    outputs = zip(OUTPUT_NAMES_ATTR.required(main), flatten_types(main.body.body.ty), strict=False)
    calls = _names_of(sizes)
    return ModelDescription(
        file_format,
        [_relax_tensor(name, ty, calls, name in updated) for name, ty in inputs],
        [_relax_tensor(str(name), ty, calls) for name, ty in outputs],
        _states(mod, "main"),
        _counted(names),
        sizes=_described_sizes(sizes),
    )


def _relax_tensor(
    name: str, ty: Any, calls: Mapping[str, str], updated: bool = False
) -> DescribedTensor:
    from tvm.tirx import IntImm

    from usmp.relax.symbolic_sizes import shown_extent

    shape = [
        int(extent) if isinstance(extent, IntImm) else calls.get(str(extent), shown_extent(extent))
        for extent in ty.shape
    ]
    return DescribedTensor(name, str(ty.dtype), tuple(shape), updated=updated)


def _counted(names: list[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))

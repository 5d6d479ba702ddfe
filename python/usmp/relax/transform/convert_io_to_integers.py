"""ConvertIOToIntegers: float inputs and outputs that a model quantizes become integers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule

from usmp.names import FLOAT, INT8, IO_TYPES, QUANTIZED
from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    INPUT_QUANTIZATION_ATTR,
    IO_TYPES_ATTR,
    OUTPUT_NAMES_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    STATES_ATTR,
)
from usmp.ops.quantization import Quantization
from usmp.ops.records import operator_of
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.relax.entries import join_functions, relax_entries, split_entries
from usmp.relax.states import input_params, states_of
from usmp.relax.static_shapes import flatten_types, main_function
from usmp.relax.transform.make_parameter_names_unique import MakeParameterNamesUnique
from usmp.relax.transform.qdq.float_operators import operator_name
from usmp.relax.transform.qdq.graph import INTEGER_TYPES, Graph
from usmp.relax.transform.qdq.io_quantization import (
    IOQuantization,
    io_quantization,
    parameters_of,
    with_io_quantization,
)
from usmp.support.text.known_names import unknown_name
from usmp.tir.nodes import nodes_of


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertIOToIntegers")
class ConvertIOToIntegers(ModulePass):
    """Remove the quantization of float inputs, and the dequantization of float outputs, of each
    entry.

        main(x: float32) = R.dequantize(relu(R.quantize(x)))  ->  main(x: int8) = relu(x)

    The caller then passes and receives integers. Their scales and zero points become the attributes
    `input_quantization` and `output_quantization` of the entry. PrimFuncs with records of quantize
    and dequantize are removed like `R.quantize` and `R.dequantize`. An input stays float if
    anything else reads it, or if it is quantized in two ways or along an axis. An output that is
    computed in float stays float. All states stay as they are. The attribute `io_types` of the
    module lists converted inputs and outputs with their types ("integers"), and float ones with the
    reason ("float").

    Parameters
    ----------
    io_type
        "quantized": convert to the type that each tensor is quantized to; "int8": require this type
        to be int8; "float": change nothing.

    Raises
    ------
    UnsupportedModelError
        there is no entry.
    ValueError
        `io_type` is unknown; it is "int8" and an input or output is quantized to another type; or
        the model quantizes no input or output.
    """

    reads = (
        *(ENTRIES_ATTR, CONCURRENT_ATTR, OUTPUT_NAMES_ATTR, INPUT_QUANTIZATION_ATTR),
        *(OUTPUT_QUANTIZATION_ATTR, STATES_ATTR, OPERATOR_ATTR),
    )
    writes = (INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, IO_TYPES_ATTR)

    def __init__(self, io_type: str = QUANTIZED) -> None:
        if io_type not in IO_TYPES:
            problem = f'unknown io_type "{io_type}"'
            raise ValueError(unknown_name(problem, io_type, IO_TYPES, "Types"))
        self.io_type = io_type

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite all entries."""
        if self.io_type == FLOAT:
            return mod
        names = relax_entries(mod)
        if ONLY_ENTRY in names:
            main_function(mod)
        entries = {
            name: _entry(alone, "" if names == [ONLY_ENTRY] else f' of entry "{name}"')
            for name, alone in split_entries(mod, names).items()
        }
        ends = [end for entry in entries.values() for end in entry.ends]
        if self.io_type == INT8:
            _check_int8(ends)
        integers = {end.name: end.becomes.dtype for end in ends if end.becomes}
        floats = {end.name: end.reason for end in ends if end.reason}
        if floats and not integers and not any(end.dtype in INTEGER_TYPES for end in ends):
            reasons = "; ".join(f"{name} {reason}" for name, reason in floats.items())
            raise ValueError(
                f'io_type "{self.io_type}": the model quantizes none of its inputs and outputs: '
                f"{reasons}"
            )
        changed = {name: _converted(entry) for name, entry in entries.items() if entry.changes}
        if changed:
            mod = relax.transform.DeadCodeElimination(names)(join_functions(mod, changed))
        return IO_TYPES_ATTR.put(mod, {"integers": integers, "float": floats})


@dataclass(frozen=True)
class _End:
    """An input or output of an entry.

    Parameters
    ----------
    name
        title in messages, as 'input "x"'.
    dtype
        element type in the model.
    becomes
        quantization of the integers that replace it; None if it stays.
    reason
        reason why it stays float, for messages.
    is_quantized
        whether it is quantized integers in the model already.
    """

    name: str
    dtype: str
    becomes: Quantization | None = None
    reason: str = ""
    is_quantized: bool = False

    @property
    def integer_type(self) -> str | None:
        """The type of the quantized integers that callers see, or None."""
        if self.becomes is not None:
            return self.becomes.dtype
        return self.dtype if self.is_quantized else None


@dataclass(frozen=True)
class _Entry:
    """The inputs of an entry by parameter, and its outputs by position among the results of `main`;
    states are left out."""

    main: _Main
    inputs: Mapping[relax.Var, _End]
    outputs: Mapping[int, _End]

    @property
    def ends(self) -> list[_End]:
        return [*self.inputs.values(), *self.outputs.values()]

    @property
    def changes(self) -> bool:
        return any(end.becomes is not None for end in self.ends)


def _check_int8(ends: list[_End]) -> None:
    for end in ends:
        if end.integer_type not in (None, INT8):
            raise ValueError(
                f'io_type "{INT8}": {end.name} is quantized to {end.integer_type}; '
                f'"{QUANTIZED}" takes each input and output in its own type'
            )


def _entry(mod: IRModule, where: str) -> _Entry:
    """Decide which inputs and outputs of `main` become integers.

    `where` is the suffix of their titles.
    """
    main = _Main(_simplified(mod))
    quantization, states = io_quantization(main.function), states_of(main.function)
    updated = {str(state.name) for state in states if state.is_input}
    inputs = {
        param: main.input(
            param,
            f'input "{param.name}"{where}',
            quantization.inputs.get(str(param.name)) is not None,
            str(param.name) in updated,
        )
        for param in input_params(main.function)
    }
    kept = {int(state.output) for state in states}
    places = [place for place in range(len(main.results)) if place not in kept]
    outputs = {
        place: main.output(place, f'output "{name}"{where}', parameters is not None)
        for place, name, parameters in zip(
            places, _output_names(main.function, len(places)), quantization.outputs, strict=True
        )
    }
    return _Entry(main, inputs, outputs)


def _simplified(mod: IRModule) -> IRModule:
    """Return the module without dead code, which could read an input, and without variables that
    only rename others."""
    for simplify in (
        MakeParameterNamesUnique(),
        relax.transform.Normalize(),
        relax.transform.CanonicalizeBindings(),
        relax.transform.DeadCodeElimination([ONLY_ENTRY]),
    ):
        mod = simplify(mod)
    return mod


class _Main:
    """A Relax `main`, with the readers of its inputs and the operators of its outputs."""

    def __init__(self, mod: IRModule) -> None:
        self.mod, self.function = mod, main_function(mod)
        values = relax.analysis.get_var2val(self.function)
        self.graph = Graph(relax.BlockBuilder(), values.get, lambda *_: None)
        self.results = list(_leaves(self.graph, self.function.body.body))
        self.readers: dict[relax.Var, list[relax.Expr]] = defaultdict(list)
        for value in values.values():
            for var in nodes_of(value, tvm.ir.Var):
                self.readers[var].append(value)

    def input(
        self, param: relax.Var, name: str, is_quantized: bool, is_updated: bool = False
    ) -> _End:
        """Decide whether an input becomes integers."""
        dtype = _dtype(param.ty)
        if not dtype.startswith("float"):
            return _End(name, dtype, is_quantized=is_quantized)
        if is_updated:
            return _End(name, dtype, reason="is updated in place by the run")
        if any(self.graph.resolve(result).same_as(param) for result, _ in self.results):
            return _End(name, dtype, reason="is an output, too")
        readers = self.readers[param]
        others = [reader for reader in readers if self.conversion(reader, "quantize") is None]
        if others or not readers:
            reason = f"is read by {_operators(others)}" if others else "is not read"
            return _End(name, dtype, reason=reason)
        quantizations = {self.conversion(reader, "quantize") for reader in readers}
        if len(quantizations) > 1:
            return _End(name, dtype, reason=f"is quantized in {len(quantizations)} ways")
        return _float_end(name, dtype, *quantizations)

    def output(self, place: int, name: str, is_quantized: bool) -> _End:
        """Decide whether the output at this position among the results becomes integers."""
        result, ty = self.results[place]
        dtype, value = _dtype(ty), self.graph.resolve(result)
        if not dtype.startswith("float"):
            return _End(name, dtype, is_quantized=is_quantized)
        quantization = self.conversion(value, "dequantize")
        if quantization is None:
            is_computed = isinstance(value, Call)
            reason = f"is computed by {_operators([value])}" if is_computed else "is not computed"
            return _End(name, dtype, reason=reason)
        return _float_end(name, dtype, quantization)

    def conversion(self, expr: relax.Expr, kind: str) -> Quantization | None:
        """Return the quantization of the integers that `expr` writes (`kind` is "quantize") or
        reads ("dequantize"); None for other expressions and for scales that are no constants."""
        call = self.graph.call(expr, f"relax.{kind}", "relax.call_tir")
        if call is None:
            return None
        if call.op.name == "relax.call_tir":
            record = operator_of(self.mod[call.args[0]])
            if record is None or record.kind != kind:
                return None
            return (record.outputs if kind == "quantize" else record.inputs)[0]
        integers = call if kind == "quantize" else call.args[0]
        return self.graph.quantization(call, _dtype(integers.ty))


def _float_end(name: str, dtype: str, quantization: Quantization | None) -> _End:
    """Return a float input or output that becomes integers of this quantization, or that stays
    float with a reason if callers do not support the quantization."""
    if quantization is None or parameters_of(quantization) is None:
        return _End(name, dtype, reason="is quantized along an axis")
    if quantization.dtype not in INTEGER_TYPES:
        return _End(name, dtype, reason=f"is quantized to {quantization.dtype}")
    return _End(name, dtype, quantization)


def _converted(entry: _Entry) -> IRModule:
    """Return the module of an entry with converted inputs and outputs."""
    main, function = entry.main, entry.main.function
    params = {
        param: relax.Var(param.name, relax.TensorType(param.ty.shape, end.becomes.dtype))
        for param, end in entry.inputs.items()
        if end.becomes
    }
    quantized = {call: new for param, new in params.items() for call in main.readers[param]}
    blocks = _Blocks(function.body.blocks)
    integers: dict[int, relax.Var] = {}
    for place, end in entry.outputs.items():
        if end.becomes:
            call = main.graph.resolve(main.results[place][0])
            integers[place] = blocks.bind_beside(call, _data(call))
    result = function.body.body
    if integers:
        value = main.graph.resolve(result)
        result = _with_integers(main.graph, result, iter(range(len(main.results))), integers)
        if isinstance(result, relax.Tuple) and not value.same_as(function.body.body):
            result = blocks.bind_beside(value, result)
    body = tvm_ffi.structural_map(
        relax.SeqExpr(blocks.blocks, result), (Call, lambda call: quantized.get(call, call))
    )
    changed = main.mod.clone()
    variable = changed.get_global_var(ONLY_ENTRY)
    changed.update_func(
        variable,
        relax.Function(
            [params.get(param, param) for param in function.params],
            body,
            result.ty,
            function.is_pure,
            function.attrs,
        ),
    )
    changed = _simplified(changed)
    changed.update_func(variable, _with_quantization(main_function(changed), entry))
    return changed


class _Blocks:
    """The blocks of a function, with bindings that are added."""

    def __init__(self, blocks: Iterable[relax.BindingBlock]) -> None:
        self.blocks = list(blocks)

    def bind_beside(self, known: relax.Expr, value: relax.Expr) -> relax.Var:
        """Bind `value` to a new variable at the end of the block that binds `known`. The variable
        is visible outside of the block."""
        var = relax.Var("gv", _type(value))
        for index, block in enumerate(self.blocks):
            if any(
                isinstance(binding, relax.VarBinding) and binding.value.same_as(known)
                for binding in block.bindings
            ):
                bindings = [*block.bindings, relax.VarBinding(var, value)]
                self.blocks[index] = type(block)(bindings)
        return var


def _with_integers(
    graph: Graph, result: relax.Expr, places: Iterator[int], integers: Mapping[int, relax.Var]
) -> relax.Expr:
    """Return `result` with some of its tensors replaced by integers."""
    resolved = graph.resolve(result)
    if isinstance(resolved, relax.Tuple):
        fields = [_with_integers(graph, field, places, integers) for field in resolved.fields]
        return relax.Tuple(fields)
    (first, *_) = [next(places) for _ in flatten_types(result.ty)]
    return integers.get(first, result)


def _with_quantization(function: relax.Function, entry: _Entry) -> relax.Function:
    """Return the function with the quantization of its new integers as attributes."""
    stated = io_quantization(function)
    inputs = {
        str(param.name): parameters_of(end.becomes)
        for param, end in entry.inputs.items()
        if end.becomes
    }
    outputs = [
        parameters_of(end.becomes) if end.becomes else known
        for end, known in zip(entry.outputs.values(), stated.outputs, strict=True)
    ]
    return with_io_quantization(function, IOQuantization({**stated.inputs, **inputs}, outputs))


def _leaves(graph: Graph, expr: relax.Expr) -> Iterator[tuple[relax.Expr, tvm.ir.Type]]:
    """Yield the tensors of a result with their types; for each tensor of an operator with a tuple
    result, yield the tuple."""
    resolved = graph.resolve(expr)
    if isinstance(resolved, relax.Tuple):
        for field in resolved.fields:
            yield from _leaves(graph, field)
    else:
        yield from ((expr, ty) for ty in flatten_types(expr.ty))


def _data(call: Call) -> relax.Expr:
    """Return the tensor that R.dequantize, or a PrimFunc in its place, reads."""
    return call.args[1].fields[0] if call.op.name == "relax.call_tir" else call.args[0]


def _type(expr: relax.Expr) -> tvm.ir.Type:
    if isinstance(expr, relax.Tuple):
        return tvm.ir.TupleType([_type(field) for field in expr.fields])
    return expr.ty


def _dtype(ty: tvm.ir.Type) -> str:
    """Return the element type of a tensor, or "" for anything else."""
    return str(ty.dtype) if isinstance(ty, relax.TensorType) else ""


def _operators(values: Iterable[relax.Expr]) -> str:
    """List the distinct names of operators, for messages."""
    names = [operator_name(v) if isinstance(v, Call) else "a tuple" for v in values]
    return ", ".join(dict.fromkeys(names))


def _output_names(function: relax.Function, count: int) -> list[str]:
    """Return the names of outputs in the model, or else those of `LowerMain`."""
    names = list(OUTPUT_NAMES_ATTR.of(function) or ())
    if len(names) == count:
        return names
    return ["output"] if count == 1 else [f"output{index}" for index in range(count)]

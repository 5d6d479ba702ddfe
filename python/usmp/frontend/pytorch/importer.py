"""PyTorch programs that `torch.export.save` wrote, to Relax, through TVM's importer."""

from __future__ import annotations

import io
import logging
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of PT2E
import tvm
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree
from tvm import relax, tirx
from tvm.ir import Expr, IRModule
from tvm.relax.frontend.torch import exported_program_translator

from usmp.frontend.pytorch.converters import CONVERTERS, Missing, Operator, described, known_value
from usmp.frontend.pytorch.converters.operator import dtype_of, name_of
from usmp.frontend.pytorch.pt2 import Trace, check_arithmetic, checked_archive
from usmp.frontend.pytorch.pt2.archive import damaged
from usmp.frontend.pytorch.quantizers import quantizer_converters
from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.ops.emit import shape_of
from usmp.relax.limits import DEFAULT_LIMITS, LimitedBuilder, LimitError, Limits
from usmp.support.errors import UnsupportedModelError
from usmp.support.one_line import one_line
from usmp.support.unique_names import UniqueNames

_KEPT = (torch.ops.aten.upsample_bicubic2d.vec,)
_QUANTIZERS = ("quantize_per_", "dequantize_per_")


def import_pytorch(
    content: bytes, trust: bool = False, limits: Limits = DEFAULT_LIMITS
) -> IRModule:
    """Import a `.pt2` file; `output_names` says what its outputs are called.

    With `trust`, whatever code is in the file may run; without, see `checked_archive`.

    Raises
    ------
    UnsupportedModelError
        the content is damaged or no exported program, or has something that may
        run code and is not trusted, an input has a dynamic shape beyond the batch, the model
        changes its buffers, an operator cannot be imported, or the model asks for more than it
        may.
    """
    program = _load(content if trust else checked_archive(content))
    if not trust:
        check_arithmetic(program)
    _check_sizes(program, limits)
    _check_inputs_and_outputs(program)
    importer = None
    trace = Trace(limits)
    with quiet():
        try:
            names = output_names(program)
            with trace.limited():
                program = program.run_decompositions(_decompositions())
            _check_keeps_nothing(program)
            importer = _Importer(quantizer_converters(_constants(program)), _buffers(program))
            importer.limits = limits
            mod = importer.from_exported_program(program, False, True, False, None)
        except Exception as error:
            if trace.refused:
                # PyTorch adds to the message, or makes another error of it.
                raise UnsupportedModelError(trace.refused) from error
            node = importer.node if importer is not None else None
            if isinstance(error, LimitError) and node is not None:
                raise UnsupportedModelError(f"{described(node)}: {error}") from error
            if isinstance(error, UnsupportedModelError):
                raise
            # PyTorch and TVM raise many kinds of exceptions; each means that they cannot import
            # this.
            where = (
                f"{described(node)} cannot be imported"
                if node is not None
                else ("the program cannot be imported")
            )
            raise UnsupportedModelError(f"{where}: {one_line(error)}") from error
    main = mod["main"].with_attr(OUTPUT_NAMES_ATTR, names)
    mod.update_func(mod.get_global_var("main"), main)
    return mod


def output_names(program: Any) -> list[str]:
    """The names of the outputs, in order; all differ, from the names of the inputs too.

    They are the keys of the dictionary that the model returns, or else the names of the nodes that
    compute them, without those that only quantize and dequantize.
    """
    signature = program.graph_signature
    names = UniqueNames(signature.user_inputs)
    nodes = {node.name: node for node in program.graph.nodes}
    outputs = pytree.tree_unflatten(list(signature.user_outputs), program.call_spec.out_spec)
    paths = [path for path, _ in pytree.tree_flatten_with_path(outputs)[0]]
    if all(path and isinstance(path[0], pytree.MappingKey) for path in paths):
        return [names.unique(".".join(map(_key, path))) for path in paths]
    return [names.unique(_computing(nodes[name])) for name in signature.user_outputs]


def _key(entry: Any) -> str:
    """A key of a dictionary, or an index of a list."""
    return str(getattr(entry, "key", getattr(entry, "idx", entry)))


def _computing(node: Any) -> str:
    while node.op == "call_function" and node.target.__name__.startswith(_QUANTIZERS):
        node = node.args[0]
    return str(node.name)


def _load(content: bytes) -> Any:
    try:
        with quiet():
            return torch.export.load(io.BytesIO(content))
    except Exception as error:
        raise damaged(one_line(error)) from error


def _check_inputs_and_outputs(program: Any) -> None:
    signature = program.graph_signature
    for spec in signature.input_specs:
        if spec.kind == InputKind.USER_INPUT and not _is_tensor(spec.arg):
            raise UnsupportedModelError(
                f'input "{spec.arg.name}" is not a tensor; export the model with tensors only'
            )
    if not signature.user_inputs:
        raise UnsupportedModelError("the model has no inputs")
    for spec in signature.output_specs:
        if spec.kind == OutputKind.USER_OUTPUT and not _is_tensor(spec.arg):
            raise UnsupportedModelError("an output of the model is not a tensor")


def _check_sizes(program: Any, limits: Limits) -> None:
    """Before anything is computed of the inputs, or of the values that the program holds."""
    tensors = {**program.state_dict, **program.constants}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            tensors[node.name] = node.meta.get("val")
    for name, tensor in tensors.items():
        if isinstance(tensor, torch.Tensor) and all(type(n) is int for n in tensor.shape):
            limits.check_tensor(f'tensor "{name}"', tensor.shape, tensor.element_size())
    limits.check_operators("the program has", len(program.graph.nodes))


def _check_keeps_nothing(program: Any) -> None:
    """Only a decomposed program lists the buffers that it changes."""
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.BUFFER_MUTATION:
            raise UnsupportedModelError(
                f'the model changes its buffer "{spec.target}" when it runs; call eval() before '
                "the export, and make what it remembers an input and an output"
            )


def _is_tensor(argument: Any) -> bool:
    return type(argument).__name__ == "TensorArgument"


def _constants(program: Any) -> dict[str, np.ndarray]:
    """The tensors that the program holds, by the names of their nodes."""
    held = {**program.state_dict, **program.constants}
    return {
        spec.arg.name: held[spec.target].detach().numpy()
        for spec in program.graph_signature.input_specs
        if spec.target in held and isinstance(held[spec.target], torch.Tensor)
    }


def _buffers(program: Any) -> dict[str, torch.Tensor]:
    """The tensors that the program holds, but for its parameters, by the names of their nodes."""
    held = {**program.state_dict, **program.constants}
    return {
        spec.arg.name: held[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.kind in (InputKind.BUFFER, InputKind.CONSTANT_TENSOR) and spec.target in held
    }


def _decompositions() -> Any:
    """PyTorch's own, but for what has a converter."""
    table = torch.export.default_decompositions()
    for kept in _KEPT:
        table.pop(kept, None)
    return table


class _Importer(exported_program_translator.ExportedProgramImporter):  # type: ignore[misc]
    """TVM's importer with converters of our own, which also knows the node that it is at.

    Parameters
    ----------
    quantizers
        converters of the operators of PT2E, by their names.
    values
        of the tensors that the program holds, but for its parameters, by their names.
    """

    node: Any = None
    limits: Limits = DEFAULT_LIMITS

    @property
    def block_builder(self) -> LimitedBuilder:
        """What the importer appends to."""
        return self._builder

    @block_builder.setter
    def block_builder(self, _: Any) -> None:
        self._builder = LimitedBuilder(self.limits)

    def __init__(
        self, quantizers: Mapping[str, Callable[..., Expr]], values: Mapping[str, torch.Tensor]
    ) -> None:
        super().__init__()
        self._quantizers = quantizers
        self._tensors = values
        self._values: dict[Any, Any] = {}

    def create_input_vars(self, exported_program: Any) -> Any:
        parameters, inputs, constraints = super().create_input_vars(exported_program)
        return parameters, _with_batch_of_one(inputs), constraints

    def _check_unsupported_func_type(self, nodes: Any) -> None:
        for node in nodes:
            if node.op == "call_function" and node.target is torch.ops.higher_order.cond:
                raise UnsupportedModelError(
                    f"{described(node)} is not supported: which branch runs must be known at "
                    "compile time"
                )

    def _translate_fx_graph(
        self, graph_module: Any, nodes: Any, inputs: Mapping[str, Expr], *_: Any
    ) -> Any:
        for self.node in nodes:
            if self.node.op == "placeholder":
                self.env[self.node] = inputs[self.node.name]
                if self.node.name in self._tensors:
                    self._values[self.node] = self._tensors[self.node.name]
            elif self.node.op == "call_function":
                self._convert(self.node)
            elif self.node.op == "output":
                results = self._flatten_output_args(self._argument(self.node.args[0]))
        self.node = None
        return results

    def _convert(self, node: Any) -> None:
        # What nothing reads checks the model; what is wrong with it is not checked here.
        if not node.users:
            return
        value = self._value(node)
        if value is not None:
            self._values[node] = value
            self.env[node] = _constant(value)
        elif node.target is operator.getitem:
            self.env[node] = self._argument(node.args[0])[node.args[1]]
        elif node.target.__name__ in self._quantizers:
            self.env[node] = self._quantizers[node.target.__name__](node, self)
        else:
            self.env[node] = self._converted(node)

    def _value(self, node: Any) -> Any:
        if node.target is torch.ops.aten.sym_size.int:
            source, axis = node.args
            return shape_of(self._argument(source))[axis]
        return known_value(node, self._values)

    def _converted(self, node: Any) -> Any:
        name, namespace = node.target.__name__, getattr(node.target, "namespace", None)
        if namespace != "aten" or name not in CONVERTERS:
            raise UnsupportedModelError(
                f"{described(node)} is not supported; compute it before or after the model, or "
                "write it with other operators"
            )
        result = CONVERTERS[name](Operator(node, self.block_builder, self._argument))
        if isinstance(result, Expr):
            return self._checked(node, result, node.meta["val"])
        return [
            each if isinstance(each, Missing) else self._checked(node, each, value)
            for each, value in zip(result, node.meta["val"], strict=True)
        ]

    def _checked(self, node: Any, result: Expr, expected: torch.Tensor) -> Expr:
        """The result, bound to a variable, if it has the type and shape that PyTorch gives it."""
        bound = result if isinstance(result, tvm.ir.Var) else self.block_builder.emit(result)
        shape = [extent if isinstance(extent, int) else None for extent in expected.shape]
        own = [None if e is None else o for o, e in zip(shape_of(bound), shape, strict=False)]
        if dtype_of(bound) != name_of(expected.dtype) or own != shape:
            raise UnsupportedModelError(
                f"{described(node)} is not supported: it becomes {dtype_of(bound)} "
                f"{list(shape_of(bound))}; in PyTorch it is {name_of(expected.dtype)} {shape}"
            )
        return bound

    def _argument(self, argument: Any) -> Any:
        """What a node's argument is here."""
        if isinstance(argument, torch.fx.Node):
            value = self.env[argument]
            if isinstance(value, Missing):
                source = argument.args[0] if argument.target is operator.getitem else argument
                raise UnsupportedModelError(f"{described(source)} {value.reason}")
            return value
        if isinstance(argument, tuple | list):
            return [self._argument(each) for each in argument]
        return argument


def _constant(value: Any) -> Any:
    """A known value in Relax; numbers stay numbers."""
    if isinstance(value, torch.Tensor):
        return relax.const(value.detach().contiguous().numpy())
    if isinstance(value, tuple | list):
        return [_constant(each) for each in value]
    return value


def _with_batch_of_one(inputs: Mapping[str, relax.Var]) -> dict[str, relax.Var]:
    """The inputs, with 1 for the symbols that are the first extent of one."""
    leading = [var.ty.shape[0] for var in inputs.values() if len(var.ty.shape)]
    batch = [extent for extent in leading if isinstance(extent, tirx.Var)]
    return {
        name: relax.Var(name, relax.TensorType(_extents(name, var, batch), var.ty.dtype))
        for name, var in inputs.items()
    }


def _extents(name: str, var: relax.Var, batch: Sequence[tirx.Var]) -> list[int]:
    extents = [
        1 if any(extent.same_as(symbol) for symbol in batch) else extent for extent in var.ty.shape
    ]
    if not all(isinstance(extent, int | tirx.IntImm) for extent in extents):
        shape = ", ".join(str(getattr(extent, "value", extent)) for extent in extents)
        raise UnsupportedModelError(
            f'input "{name}" has a dynamic shape, [{shape}]; memory is planned at compile time: '
            "export the model with fixed input shapes"
        )
    return [int(extent) for extent in extents]


@contextmanager
def quiet() -> Iterator[None]:
    """PyTorch warns and logs about its own internals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)

"""PyTorch programs that `torch.export.save` wrote, to Relax, through TVM's importer."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of PT2E
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree
from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.relax.frontend.torch import exported_program_translator

from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.objects.errors import UnsupportedModelError
from usmp.objects.unique_names import UniqueNames
from usmp.relax.one_line import one_line
from usmp.relax.pytorch_quantisers import quantiser_converters

_QUANTISERS = ("quantize_per_", "dequantize_per_")
_REFUSE_PICKLES = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


def import_pytorch(content: bytes) -> IRModule:
    """Import a `.pt2` file; `output_names` says what its outputs are called.

    Raises
    ------
    UnsupportedModelError: the content is damaged or no exported program, an input has a dynamic
        shape beyond the batch, the model changes its buffers, or an operator cannot be imported.
    """
    program = _load(content)
    _check_inputs_and_outputs(program)
    importer = _Importer()
    with _quiet():
        try:
            names = output_names(program)
            program = program.run_decompositions()
            _check_keeps_nothing(program)
            mod = importer.from_exported_program(
                program, False, True, False, quantiser_converters(_constants(program))
            )
        except UnsupportedModelError:
            raise
        except Exception as error:
            # TVM's importer raises many kinds of exceptions; each means that it cannot import this.
            where = f" at {_described(importer.node)}" if importer.node is not None else ""
            raise UnsupportedModelError(
                f"TVM's PyTorch importer failed{where}: {one_line(error)}"
            ) from error
    main = _with_batch_of_one(mod["main"])
    mod.update_func(mod.get_global_var("main"), main.with_attr(OUTPUT_NAMES_ATTR, names))
    return mod


def output_names(program: Any) -> list[str]:
    """The names of the outputs, in order; all differ, from the names of the inputs too.

    They are the keys of the dictionary that the model returns, or else the names of the nodes that
    compute them, without those that only quantise and dequantise.
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
    while node.op == "call_function" and node.target.__name__.startswith(_QUANTISERS):
        node = node.args[0]
    return str(node.name)


def _load(content: bytes) -> Any:
    try:
        with _quiet(), _without_pickles():
            return torch.export.load(io.BytesIO(content))
    except Exception as error:
        raise UnsupportedModelError(
            f"not a program that torch.export.save wrote, or a damaged one: {one_line(error)}"
        ) from error


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


class _Importer(exported_program_translator.ExportedProgramImporter):  # type: ignore[misc]
    """TVM's importer, which also tells the node that it is at."""

    node: Any = None

    def _check_unsupported_func_type(self, nodes: Any) -> None:
        for node in nodes:
            if node.op != "call_function":
                continue
            if node.target is torch.ops.higher_order.cond:
                raise UnsupportedModelError(
                    f"{_described(node)} is not supported: which branch runs must be known at "
                    "compile time"
                )
            if node.target.__name__ not in self.convert_map:
                raise UnsupportedModelError(
                    f"{_described(node)} is not supported by TVM's PyTorch importer"
                )

    def _translate_fx_graph(self, graph_module: Any, nodes: Any, *arguments: Any) -> Any:
        return super()._translate_fx_graph(graph_module, self._followed(nodes), *arguments)

    def _followed(self, nodes: Any) -> Iterator[Any]:
        for self.node in nodes:
            yield self.node
        self.node = None


def _described(node: Any) -> str:
    return f"operator {node.target} (node {node.name})"


def _with_batch_of_one(main: relax.Function) -> relax.Function:
    """Take 1 for the symbols that are the first extent of an input."""
    leading = [param.ty.shape[0] for param in main.params if len(param.ty.shape)]
    batch = {extent: 1 for extent in leading if isinstance(extent, tirx.Var)}
    if batch:
        main = main.bind_symbolic_vars(batch)
    for param in main.params:
        if not all(isinstance(extent, tirx.IntImm) for extent in param.ty.shape):
            shape = ", ".join(str(getattr(e, "value", e)) for e in param.ty.shape)
            raise UnsupportedModelError(
                f'input "{param.name}" has a dynamic shape, [{shape}]; memory is planned at '
                "compile time: export the model with fixed input shapes"
            )
    return main


@contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch warns and logs about its own internals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


@contextmanager
def _without_pickles() -> Iterator[None]:
    """A pickled weight could run any code; PyTorch then loads none."""
    before = os.environ.get(_REFUSE_PICKLES)
    os.environ[_REFUSE_PICKLES] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_REFUSE_PICKLES]
        else:
            os.environ[_REFUSE_PICKLES] = before

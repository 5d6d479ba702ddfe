"""Reading and decomposition of files of `torch.export.save`, by PyTorch."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of PT2E
from torch._subclasses.fake_tensor import UnsupportedOperatorException
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from usmp.frontend.pytorch.converters.recurrent import layers_in_loops
from usmp.frontend.pytorch.pt2 import Trace, check_arithmetic, checked_archive
from usmp.frontend.pytorch.pt2.archive import damaged
from usmp.frontend.pytorch.refused import refusal_of
from usmp.frontend.pytorch.states import changed_tensors, updated_inputs
from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.one_line import one_line
from usmp.support.text.unique_names import UniqueNames

_KEPT = (
    torch.ops.aten.upsample_linear1d.vec,
    torch.ops.aten.upsample_trilinear3d.vec,
    torch.ops.aten.upsample_bicubic2d.vec,
)
"""Operators that are not decomposed: the decomposition differs from the kernel, or is slower."""

_QUANTIZERS = ("quantize_per_", "dequantize_per_")


@dataclass(frozen=True)
class Program:
    """A program that can be imported.

    Parameters
    ----------
    exported
        the `torch.export.ExportedProgram`, decomposed.
    output_names
        unique names in order, which no input has.
    """

    exported: Any
    output_names: list[str]


def read_program(content: bytes, trust: bool, limits: Limits) -> Program:
    """Read a `.pt2` file.

    With `trust`, any code in the file may run; otherwise none, see `checked_archive`.

    Raises
    ------
    UnsupportedModelError
        the content is damaged, no exported program, or may run code and is not trusted; or an
        input or output is no tensor, or the model exceeds `limits`.
    """
    program = _load(content if trust else checked_archive(content))
    if not trust:
        check_arithmetic(program)
    _check_sizes(program, limits)
    _check_inputs_and_outputs(program)
    with quiet():
        try:
            return Program(_decomposed(program, limits), output_names(program))
        except UnsupportedModelError:
            raise
        except UnsupportedOperatorException as error:
            reason = refusal_of(error.func.__name__, error.func.namespace)
            raise UnsupportedModelError(
                f"operator {error.func} is not supported: {reason}"
            ) from error
        except Exception as error:
            # PyTorch raises many kinds of exceptions; each means that the import failed.
            message = f"the program cannot be imported: {one_line(error)}"
            raise UnsupportedModelError(message) from error


def output_names(program: Any) -> list[str]:
    """Return unique names of the outputs, in order, which no input has.

    They are the keys of the dictionary that the model returns, or else the names of the nodes that
    compute the outputs, before quantizers.
    """
    signature = program.graph_signature
    if _returns_nothing(signature.user_outputs):
        return []
    names = UniqueNames(signature.user_inputs)
    nodes = {node.name: node for node in program.graph.nodes}
    outputs = pytree.tree_unflatten(list(signature.user_outputs), program.call_spec.out_spec)
    paths = [path for path, _ in pytree.tree_flatten_with_path(outputs)[0]]
    if all(path and isinstance(path[0], pytree.MappingKey) for path in paths):
        return [names.unique(".".join(map(_key, path))) for path in paths]
    return [names.unique(_name_before_quantizers(nodes[name])) for name in signature.user_outputs]


def _key(entry: Any) -> str:
    """Return the text of a dictionary key or a list index."""
    return str(getattr(entry, "key", getattr(entry, "idx", entry)))


def _name_before_quantizers(node: Any) -> str:
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
    outputs = [s.arg for s in signature.output_specs if s.kind == OutputKind.USER_OUTPUT]
    if not _returns_nothing(outputs) and not all(map(_is_tensor, outputs)):
        raise UnsupportedModelError("an output of the model is not a tensor")


def _returns_nothing(outputs: Sequence[Any]) -> bool:
    """Return whether the method has no `return`, such as one that only changes buffers."""
    return len(outputs) == 1 and getattr(outputs[0], "value", outputs[0]) is None


def _check_sizes(program: Any, limits: Limits) -> None:
    """Check the sizes of inputs and constants, and the number of nodes, before any computation."""
    tensors = {**program.state_dict, **program.constants}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            tensors[node.name] = node.meta.get("val")
    for name, tensor in tensors.items():
        if isinstance(tensor, torch.Tensor) and all(type(n) is int for n in tensor.shape):
            limits.check_tensor(f'tensor "{name}"', tensor.shape, tensor.element_size())
    limits.check_operators("the program has", len(program.graph.nodes))


def _is_tensor(argument: Any) -> bool:
    return type(argument).__name__ == "TensorArgument"


def _decomposed(program: Any, limits: Limits) -> Any:
    """Decompose a program into core operators and operators that have a converter."""
    decomposed = _within_limits(program, _decompositions(program), limits)
    if not changed_tensors(decomposed) and not updated_inputs(decomposed):
        return decomposed
    # Only a decomposed program shows that it changes tensors. For those, decompose again:
    # PyTorch's table would rewrite whole tensors, and copy all keys and values of attention.
    table = _decompositions(program)
    table.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
    table[torch.ops.aten.select_scatter.default] = _select_scatter
    return _within_limits(program, table, limits)


def _decompositions(program: Any) -> Any:
    """Return PyTorch's decompositions, except of operators that have a converter."""
    table = torch.export.default_decompositions()
    for operator in (*_KEPT, *layers_in_loops(program)):
        table.pop(operator, None)
    return table


def _select_scatter(data: torch.Tensor, src: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    """Decompose `select_scatter` to `slice_scatter` of a slice of extent 1."""
    begin = index % data.shape[dim]
    return torch.slice_scatter(data, src.unsqueeze(dim), dim, begin, begin + 1)


def _within_limits(program: Any, table: Any, limits: Limits) -> Any:
    trace = Trace(limits)
    try:
        with trace.limited():
            return program.run_decompositions(table)
    except Exception as error:
        if trace.refused:
            # PyTorch may have changed the message or the type of the error.
            raise UnsupportedModelError(trace.refused) from error
        raise


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress PyTorch's warnings and logs about its internals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(max(before, logging.WARNING))
        try:
            yield
        finally:
            logging.disable(before)

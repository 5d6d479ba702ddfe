"""The functions that an application calls in a TFLite file: its signatures, or one subgraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tflite

from usmp.codegen.c.names import replace_forbidden
from usmp.frontend.tflite.file.read import tensor_name, vector
from usmp.objects.entries import check_entries
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.support.errors import UnsupportedModelError

NamedTensor = tuple[str, int]
"""A name, and the index of a tensor in the subgraph."""


@dataclass(frozen=True)
class Signature:
    """A subgraph that an application calls.

    Parameters
    ----------
    name
        the function's name: the signature's key as a name in C, or "main" if there is only one.
    graph
        the number of the subgraph.
    number
        the number of the signature; None if the file has at most one.
    key
        its name in the file, if there are several.
    """

    name: str
    graph: int
    number: int | None = None
    key: str = ""

    @property
    def prefix(self) -> str:
        """The beginning of messages, which names the signature if there are several."""
        return "" if self.number is None else f'signature "{self.key}": '


def signatures_of(model: tflite.Model) -> list[Signature]:
    """Return the functions of the file, in its order.

    A file of several signatures has a function for each, with the signature's names of inputs and
    outputs. A file of one, or none, has `main`: the subgraph of that signature, or the first one.
    Its inputs and outputs have the names of their tensors.

    Raises
    ------
    UnsupportedModelError
        a signature has no name or no subgraph in the file, or two become the same name in C.
    """
    count = model.SignatureDefsLength()
    graphs = [_graph_of(model, number) for number in range(count)]
    if count <= 1:
        return [Signature(ONLY_ENTRY, graph) for graph in graphs or [0]]
    keys = [_key(model, number) for number in range(count)]
    names = [_entry_name(key) for key in keys]
    _check_names(keys, names)
    return [
        Signature(name, graph, number, key)
        for number, (name, graph, key) in enumerate(zip(names, graphs, keys, strict=True))
    ]


def inputs_of(model: tflite.Model, signature: Signature) -> list[NamedTensor]:
    """Return the inputs, each with its name.

    Raises
    ------
    UnsupportedModelError
        the signature lists other tensors than the inputs of its subgraph, or a name twice.
    """
    graph = model.Subgraphs(signature.graph)
    needed = vector(graph, "Inputs")
    if signature.number is None:
        return _by_tensor_names(graph, needed)
    table = model.SignatureDefs(signature.number)
    inputs = _named(graph, signature, "input", table.InputsLength(), table.Inputs, needed)
    counts = Counter(index for _, index in inputs)
    for index in needed:
        if counts[index] != 1:
            raise UnsupportedModelError(
                f'{signature.prefix}input "{tensor_name(graph, index)}" of its subgraph must be '
                f"one of its inputs, but {counts[index]} of them are this tensor"
            )
    return inputs


def outputs_of(model: tflite.Model, signature: Signature) -> list[NamedTensor]:
    """Return the outputs, each with its name; several may be one tensor.

    Raises
    ------
    UnsupportedModelError
        the signature lists a tensor that is no output of its subgraph, or a name twice.
    """
    graph = model.Subgraphs(signature.graph)
    computed = vector(graph, "Outputs")
    if signature.number is None:
        return _by_tensor_names(graph, computed)
    table = model.SignatureDefs(signature.number)
    return _named(graph, signature, "output", table.OutputsLength(), table.Outputs, computed)


def _by_tensor_names(graph: tflite.SubGraph, indices: Iterable[int]) -> list[NamedTensor]:
    return [(tensor_name(graph, index), index) for index in indices]


def _named(
    graph: tflite.SubGraph,
    signature: Signature,
    kind: str,
    count: int,
    read: Callable[[int], Any],
    of_graph: Sequence[int],
) -> list[NamedTensor]:
    """Return the signature's tensors with their names, after checks against its subgraph."""
    known, tensors = set(of_graph), dict[str, int]()
    for number in range(count):
        index = int(read(number).TensorIndex())
        name = _text(read(number).Name(), f'{kind} {number} of signature "{signature.key}"')
        if not name:
            raise UnsupportedModelError(f"{signature.prefix}{kind} {number} has no name")
        if index not in known:
            raise UnsupportedModelError(
                f'{signature.prefix}{kind} "{name}" is tensor {index}, which is no {kind} of '
                "its subgraph"
            )
        if name in tensors:
            raise UnsupportedModelError(f'{signature.prefix}two {kind}s are called "{name}"')
        tensors[name] = index
    return list(tensors.items())


def _entry_name(key: str) -> str:
    """Return the key as a part of names in C; keys of TensorFlow may begin with underscores."""
    return replace_forbidden(key).lstrip("_")


def _check_names(keys: Sequence[str], names: Sequence[str]) -> None:
    """Check that the names, which are made from the keys, are valid and distinct."""
    origin: dict[str, str] = {}
    for key, name in zip(keys, names, strict=True):
        try:
            check_entries([name])
        except ValueError as error:
            raise UnsupportedModelError(f'signature "{key}": {error}') from error
        # Macros have upper-case names, so that names must differ in more than case.
        macros = name.upper()
        if macros in origin:
            raise UnsupportedModelError(
                f'signatures "{origin[macros]}" and "{key}" would have the same names in C, of '
                f"functions {name} or of macros {macros}; rename one of them in the model"
            )
        origin[macros] = key


def _key(model: tflite.Model, number: int) -> str:
    key = _text(model.SignatureDefs(number).SignatureKey(), f"signature {number}")
    if not key:
        raise UnsupportedModelError(
            f"signature {number} of {model.SignatureDefsLength()} has no name; each of several "
            "becomes a function, which is called by the name of its signature"
        )
    return key


def _graph_of(model: tflite.Model, number: int) -> int:
    graph = int(model.SignatureDefs(number).SubgraphIndex())
    if graph >= model.SubgraphsLength():
        raise UnsupportedModelError(
            f"the file is damaged: signature {number} refers to subgraph {graph}, and there are "
            f"{model.SubgraphsLength()}"
        )
    return graph


def _text(value: bytes | None, owner: str) -> str:
    try:
        return (value or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsupportedModelError(
            f"the file is damaged: the name of {owner} is not text"
        ) from error

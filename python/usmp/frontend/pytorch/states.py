"""Tensors that a PyTorch program changes: buffers (kept between runs), and inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from usmp.frontend.pytorch.converters.operator import name_of
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.support.text.unique_names import UniqueNames

_TYPES = """float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8
bool""".split()
_HELD = (InputKind.BUFFER, InputKind.PARAMETER, InputKind.CONSTANT_TENSOR)
_CHANGES = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


@dataclass(frozen=True, eq=False)
class KeptTensor:
    """A tensor that a program keeps between runs.

    Parameters
    ----------
    target
        its fully qualified name in the module, as "layers.0.cache".
    node
        the name of its placeholder node in the program.
    value
        the value before the first run.
    after
        the name of the node that computes the value after a run, or None if the program only
        reads the tensor.
    """

    target: str
    node: str
    value: torch.Tensor
    after: str | None


def check_type(name: str, dtype: torch.dtype, others: Sequence[str] = ()) -> None:
    """Check that a tensor is of a type that numpy has, or one of the others.

    Raises
    ------
    UnsupportedModelError
        the type is not supported.
    """
    supported = [*_TYPES, *others]
    if name_of(dtype) not in supported:
        raise UnsupportedModelError(
            f'tensor "{shown(name)}" is of type {name_of(dtype)}; supported: {", ".join(supported)}'
        )


def held_tensors(program: Any) -> Iterator[tuple[Any, torch.Tensor]]:
    """Yield the buffers, parameters and constants of a program: input specification and value.

    Parameters
    ----------
    program
        a `torch.export.ExportedProgram`.

    Raises
    ------
    UnsupportedModelError
        a tensor is of a type that is not supported.
    """
    held = {**program.state_dict, **program.constants}
    for spec in program.graph_signature.input_specs:
        value = held.get(spec.target)
        if spec.kind in _HELD and isinstance(value, torch.Tensor):
            check_type(spec.target, value.dtype)
            yield spec, value


def changed_tensors(program: Any) -> dict[str, str]:
    """Return qualified name of a changed tensor -> node that computes its new value. Only a
    decomposed program lists its changes."""
    return {
        spec.target: spec.arg.name
        for spec in program.graph_signature.output_specs
        if spec.kind in _CHANGES
    }


def updated_inputs(program: Any) -> dict[str, str]:
    """Return node of an input that a decomposed program changes -> node of its new value.

    Raises
    ------
    UnsupportedModelError
        the program names an input that it does not have.
    """
    signature = program.graph_signature
    updated = {
        spec.target: spec.arg.name
        for spec in signature.output_specs
        if spec.kind == OutputKind.USER_INPUT_MUTATION
    }
    for name in updated:
        if name not in signature.user_inputs:
            raise UnsupportedModelError(f'the program changes "{shown(name)}", which is no input')
    return updated


def kept_tensors(program: Any, kept: Collection[str]) -> list[KeptTensor]:
    """Return those tensors, among the qualified names `kept`, that the program reads or changes."""
    after = changed_tensors(program)
    read = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    return [
        KeptTensor(spec.target, spec.arg.name, value, after.get(spec.target))
        for spec, value in held_tensors(program)
        if spec.target in kept and (spec.target in after or spec.arg.name in read)
    ]


def state_names(programs: Iterable[Any], targets: Iterable[str]) -> dict[str, str]:
    """Return fully qualified name of a state -> name in Relax: the same name, with a number
    appended if an input of a program has this name."""
    inputs = [str(name) for program in programs for name in program.graph_signature.user_inputs]
    names = UniqueNames(inputs)
    return {target: names.unique(target) for target in targets}


def check_equal(kept: Mapping[str, Sequence[KeptTensor]]) -> None:
    """Check that methods agree on the type, shape and initial value of tensors that they share.

    Parameters
    ----------
    kept
        name of a method -> kept tensors.

    Raises
    ------
    UnsupportedModelError
        a shape, type or initial value differs between two methods, which the message names.
    """
    first: dict[str, tuple[str, KeptTensor]] = {}
    for method, tensors in kept.items():
        for tensor in tensors:
            other, first_tensor = first.setdefault(tensor.target, (method, tensor))
            differences = _difference(first_tensor.value, tensor.value)
            if differences is not None:
                raise UnsupportedModelError(
                    f'buffer "{shown(tensor.target)}" is kept between runs, but '
                    f'{differences[0]} in method "{other}" and {differences[1]} in method '
                    f'"{method}"; export all methods from one module, before any of them runs'
                )


def _difference(one: torch.Tensor, other: torch.Tensor) -> tuple[str, str] | None:
    """Return the difference of two tensors as two phrases; None if they are equal."""
    types = [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in (one, other)]
    if types[0] != types[1]:
        return f"is {types[0]}", types[1]
    # Compare bytes, because NaN differs from itself as a float.
    if one.detach().contiguous().numpy().tobytes() != other.detach().contiguous().numpy().tobytes():
        return "has one initial value", "another"
    return None

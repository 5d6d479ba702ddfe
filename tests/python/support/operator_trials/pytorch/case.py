"""A PyTorch function with random arguments and inputs, and the trial that it makes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from support.operator_trials.trial import Inputs, NoReferenceError, Tolerance, Trial
from usmp.frontend.pytorch.read_program import quiet

FLOAT = torch.float32
CLOSE = Tolerance()
INTEGERS = (torch.int32, torch.int64, torch.int8, torch.uint8)
TYPES = (FLOAT, FLOAT, *INTEGERS, torch.int16, torch.float64, torch.bool)
"""float32 twice, so that it comes more often."""


@dataclass(frozen=True, eq=False)
class Case:
    """What becomes a program.

    Parameters
    ----------
    function
        of the inputs, to a tensor or several.
    description
        the arguments, as a person reads them.
    """

    function: Callable[..., Any]
    inputs: Sequence[torch.Tensor]
    description: str = ""
    tolerance: Tolerance = CLOSE


CaseGenerator = Callable[[Random], Case]
CASES: dict[str, CaseGenerator] = {}
"""By the name of the operator after PyTorch's decompositions, or of what is made of several."""


def makes(*names: str) -> Callable[[CaseGenerator], CaseGenerator]:
    """Register what makes cases of these operators."""

    def register(generator: CaseGenerator) -> CaseGenerator:
        CASES.update(dict.fromkeys(names, generator))
        return generator

    return register


class Program(nn.Module):
    """Cases that run one after the other, each on inputs of its own."""

    def __init__(self, cases: Sequence[Case]) -> None:
        super().__init__()
        self.cases = cases
        self.modules_of_cases = nn.ModuleList(
            case.function for case in cases if isinstance(case.function, nn.Module)
        )

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """The outputs of the cases in one list."""
        remaining = iter(inputs)
        results = [case.function(*(next(remaining) for _ in case.inputs)) for case in self.cases]
        # An output that is an input, or another output, would not be computed.
        return [_own(each) for result in results for each in pytree.tree_leaves(result)]


def _own(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone()


def trial_of_cases(operator: str, cases: Sequence[Case]) -> Trial:
    """The trial of a program of one case, or of many that are compared at once."""
    program = Program(cases).eval()
    inputs = [tensor.clone() for case in cases for tensor in case.inputs]
    names = [f"inputs_{i}" for i in range(len(inputs))]

    def reference(values: Inputs) -> list[np.ndarray]:
        with torch.no_grad(), quiet():
            try:
                outputs = program(*(torch.from_numpy(values[name].copy()) for name in names))
            except (RuntimeError, NotImplementedError, IndexError) as error:
                raise NoReferenceError(str(error)) from error
        return [output.contiguous().numpy() for output in outputs]

    return Trial(
        "pytorch",
        operator,
        "; ".join(_described(case) for case in cases),
        exported(program, inputs),
        [{name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}],
        reference,
        max((case.tolerance for case in cases), key=lambda t: (t.relative, t.absolute)),
    )


def exported(program: nn.Module, inputs: Sequence[torch.Tensor], **options: Any) -> bytes:
    """The content of a `.pt2` file; empty if PyTorch itself refuses the program."""
    file = io.BytesIO()
    with quiet():
        try:
            result = torch.export.export(program, tuple(inputs), **options)
        except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError):
            return b""
        torch.export.save(result, file)
    return file.getvalue()


def operators_of(case: Case) -> set[str]:
    """The names of the operators that the case's program consists of when it is imported."""
    with quiet():
        program = torch.export.export(Program([case]).eval(), tuple(case.inputs))
        decomposed = program.run_decompositions()
    nodes: Iterator[Any] = iter(decomposed.graph.nodes)
    return {node.target.__name__ for node in nodes if node.op == "call_function"}


def _described(case: Case) -> str:
    shapes = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in case.inputs)
    return f"{case.description} of {shapes}"


def shape_of_rank(random: Random, rank: int, largest: int = 5) -> list[int]:
    """Random extents."""
    return [random.randint(1, largest) for _ in range(rank)]


def any_shape(random: Random, least: int = 0, most: int = 4) -> list[int]:
    """Random extents of so many axes."""
    return shape_of_rank(random, random.randint(least, most))


def tensor(
    random: Random,
    shape: Sequence[int],
    dtype: torch.dtype = FLOAT,
    low: float | None = None,
    high: float | None = None,
    special: bool = False,
) -> torch.Tensor:
    """Random elements, among them zeros, halves and equal ones.

    Parameters
    ----------
    special
        infinities and what is not a number are among floats.
    """
    generator = torch.Generator().manual_seed(random.getrandbits(32))
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator, dtype=torch.bool)
    if not dtype.is_floating_point:
        least, most = _limits(dtype)
        least, most = (
            (int(low) if low is not None else least),
            (int(high) if high is not None else most),
        )
        return torch.randint(least, most + 1, shape, generator=generator).to(dtype)
    values = torch.randn(shape, generator=generator, dtype=dtype) * 3
    halves = torch.rand(shape, generator=generator) < 0.3
    values = torch.where(halves, torch.round(values * 2) / 2, values)
    if low is not None and high is not None:
        uniform = torch.rand(shape, generator=generator, dtype=dtype) * (high - low) + low
        values = torch.where((values < low) | (values > high), uniform, values)
    if special:
        for value in (float("nan"), float("inf"), -float("inf")):
            places = torch.rand(shape, generator=generator) < 0.1
            values = torch.where(places, value, values)
    return values


def _limits(dtype: torch.dtype) -> tuple[int, int]:
    """Of random integers: all of the small types; sums and products of others stay in range."""
    if dtype.itemsize == 1:
        limits = torch.iinfo(dtype)
        return limits.min, limits.max
    return -1000, 1000


def positive(values: torch.Tensor) -> torch.Tensor:
    """The same without 0 and negative numbers."""
    return torch.where(values <= 0, torch.ones_like(values), values)


def broadcast_pair(random: Random) -> tuple[list[int], list[int]]:
    """Two shapes that can be broadcast to one."""
    shape = any_shape(random, 1)
    other = [extent if random.random() < 0.7 else 1 for extent in shape]
    if random.random() < 0.3:
        other = other[random.randrange(len(other)) :]
    return (shape, other) if random.random() < 0.7 else (other, shape)


def described(arguments: Mapping[str, Any]) -> str:
    """Arguments in a description."""
    return ", ".join(f"{name}={value}" for name, value in arguments.items())

"""The states of a TFLite model: variables, and tensors of recurrent operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.relax.limits import DEFAULT_LIMITS, Limits
from usmp.tir.spans import AnySpan


@dataclass(frozen=True, eq=False)
class KeptTensor:
    """A tensor that is kept between runs, shared by all functions that use it.

    Parameters
    ----------
    initial
        its value before the first run.
    """

    name: str
    initial: np.ndarray


@dataclass
class State:
    """A kept tensor as one function uses it.

    Parameters
    ----------
    before
        its value before the run, a parameter of the function.
    after
        its value so far in this run.
    """

    kept: KeptTensor
    before: relax.Var
    after: relax.Expr


@dataclass(eq=False)
class Variable:
    """A resource variable, which VAR_HANDLE operators name.

    Parameters
    ----------
    default
        the byte that fills the variable if nothing initializes it.
    initial
        the value before the first run, if CALL_ONCE sets it.
    changes
        whether a function assigns to it, or uses it before CALL_ONCE does; else it is a constant.
    kept
        the variable's tensor; None as long as no function uses it.
    """

    name: str
    default: int | None = None
    initial: np.ndarray | None = None
    changes: bool = False
    kept: KeptTensor | None = None


@dataclass(frozen=True)
class Assignment:
    """The value that an operator assigns to a variable before the first run, and its span."""

    value: np.ndarray
    span: AnySpan


@dataclass
class KeptTensors:
    """The tensors that the functions of a model keep between runs.

    Parameters
    ----------
    functions
        the number of functions.
    limits
        limits on the bytes of all states together.
    taken
        names that no state may have.
    variables
        the resource variables, which all functions share, by shared name and container.
    initializations
        the assignments of each subgraph that CALL_ONCE runs, by the subgraph's number.
    set_by
        the spans of the operators that initialize variables, by the number of the subgraph.
    of_graphs
        variable tensors, by the number of their subgraph and their index in it.
    of_results
        states that operators keep for their outputs, by the numbers of subgraph and output tensor.
    """

    functions: int = 1
    limits: Limits = DEFAULT_LIMITS
    taken: set[str] = field(default_factory=set)
    variables: dict[str, dict[str, Variable]] = field(default_factory=dict)
    initializations: dict[int, dict[Variable, Assignment]] = field(default_factory=dict)
    set_by: dict[int, dict[Variable, AnySpan]] = field(default_factory=dict)
    of_graphs: dict[tuple[int, int], KeptTensor] = field(default_factory=dict)
    of_results: dict[tuple[int, int], KeptTensor] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, name: str, initial: np.ndarray) -> KeptTensor:
        """Add a tensor that starts as `initial`, with a name made from `name`.

        Raises
        ------
        LimitError
            with the new tensor, the states exceed `limits`.
        """
        self._bytes += initial.nbytes
        self.limits.check_states(self._bytes)
        number = next(i for i in count() if f"{name}_state{i or ''}" not in self.taken)
        kept = KeptTensor(f"{name}_state{number or ''}", initial)
        self.taken.add(kept.name)
        return kept

    def find(self, operators: Iterable[TfliteOperator], runs_once: bool) -> dict[int, Variable]:
        """Record the variables of these operators, and return them by the tensor index of their
        handles.

        The default of a variable is the zero point of the first value that is assigned to it.

        Parameters
        ----------
        runs_once
            whether the operators are those of an initialization.
        """
        handles: dict[int, Variable] = {}
        for operator in operators:
            if operator.name == "VAR_HANDLE":
                handles[operator.output.index] = self._named(operator)
            elif operator.name == "ASSIGN_VARIABLE":
                variable = variable_of(operator, handles)
                variable.changes |= not runs_once
                quantization = operator.input(1).quantization
                if variable.default is None:
                    variable.default = quantization.zero_points[0] % 256 if quantization else 0
        return handles

    def _named(self, operator: TfliteOperator) -> Variable:
        """Return the variable that a VAR_HANDLE names; an omitted container means the first."""
        options = operator.options(tflite.VarHandleOptions)
        container, name = _text(options.Container()), _text(options.SharedName())
        by_container = self.variables.setdefault(name, {})
        if not container and by_container:
            return next(iter(by_container.values()))
        return by_container.setdefault(container, Variable(name or "variable"))


def variable_of(operator: TfliteOperator, handles: Mapping[int, Variable]) -> Variable:
    """Return the variable that the operator's first input refers to.

    Raises
    ------
    UnsupportedModelError
        no VAR_HANDLE wrote the input.
    """
    handle = operator.input(0)
    if handle.index not in handles:
        raise operator.unsupported(f'"{handle.name}" is not the result of a VAR_HANDLE')
    return handles[handle.index]


def _text(value: bytes | None) -> str:
    return value.decode("utf-8", errors="replace") if value else ""

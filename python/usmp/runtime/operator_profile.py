"""The profile of a run: the cost of each operator in time, instructions or clock cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from usmp.plain.entry_names import ONLY_ENTRY, chosen_entry
from usmp.runtime.archived.read_metadata import (
    DamagedMetadata,
    is_count,
    is_list_of,
    is_text,
    read_value,
)
from usmp.support.text.plain_text import shown


class NotProfiled(ValueError):
    """The code of an archive has no hooks around its operators."""


@dataclass(frozen=True)
class OperatorTensor:
    """An input or output of an operator: element type and shape."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return self.dtype + str(list(self.shape)).replace(" ", "")


@dataclass(frozen=True)
class OperatorProfile:
    """An operator and its cost.

    Parameters
    ----------
    index
        index of the operator, which hooks receive.
    entry
        name of the entry that calls it.
    functions
        names of the PrimFuncs that compute it, without the C prefix of the module; several only in
        a branch or a loop.
    kinds
        kinds of its computations in order, such as "conv2d 3x3 s2".
    inputs, outputs
        its tensors, without constants.
    macs
        multiply-accumulates; None if unknown.
    cost
        cost in the unit of the profile.
    model_operators
        its operators in the model file, quantizers last, with "index", "type", and "graph" unless
        it is 0; empty if unknown.
    """

    index: int
    entry: str
    functions: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[OperatorTensor, ...]
    outputs: tuple[OperatorTensor, ...]
    macs: int | None
    cost: float
    model_operators: tuple[Mapping[str, Any], ...] = ()

    @property
    def cost_per_mac(self) -> float | None:
        """The cost per multiply-accumulate; None without any."""
        return self.cost / self.macs if self.macs else None

    def as_json(self) -> dict[str, Any]:
        """Return all fields by name, with tensors as {"dtype": ..., "shape": [...]}."""
        return {
            **vars(self),
            "functions": list(self.functions),
            "kinds": list(self.kinds),
            "inputs": [{"dtype": t.dtype, "shape": list(t.shape)} for t in self.inputs],
            "outputs": [{"dtype": t.dtype, "shape": list(t.shape)} for t in self.outputs],
            "model_operators": list(self.model_operators),
        }


@dataclass(frozen=True)
class Profile:
    """The costs of the operators of an entry.

    Parameters
    ----------
    module, entry
        names of the module and the entry.
    unit
        unit of costs: "ns", "instructions" or "cycles".
    runs
        number of measured runs, whose medians are the costs.
    operators
        operators in execution order.
    """

    module: str
    entry: str
    unit: str
    runs: int
    operators: tuple[OperatorProfile, ...]

    @property
    def cost(self) -> float:
        """The total cost of all operators."""
        return sum(operator.cost for operator in self.operators)

    @property
    def macs(self) -> int:
        """The total of the known multiply-accumulates."""
        return sum(operator.macs or 0 for operator in self.operators)

    def as_json(self) -> dict[str, Any]:
        """Return all fields and totals by name."""
        operators = [operator.as_json() for operator in self.operators]
        return {**vars(self), "cost": self.cost, "macs": self.macs, "operators": operators}


def check_has_hooks(metadata: Mapping[str, Any]) -> None:
    """Check that the C of a module calls hooks around its operators.

    Raises
    ------
    NotProfiled
        it has no hooks.
    DamagedMetadata
        the hooks belong to another module, or the operators are malformed.
    """
    if "operator_hooks" not in metadata:
        raise NotProfiled(
            "the archive's C does not say when its operators begin and end; compile the model with "
            "--profile (in Python under PassContext(config={'tir.usmp.debug': ['profile']}))"
        )
    hooks = [f"{metadata['c_prefix']}_operator_{when}" for when in ("begin", "end")]
    read_value(metadata, "operator_hooks", lambda value: value == hooks, _where(metadata))
    described_operators(metadata)


def described_operators(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the operators of a module in metadata.json, or raise DamagedMetadata."""
    operators: list[dict[str, Any]] = read_value(
        metadata, "operators", is_list_of(_is_operator), _where(metadata)
    )
    return operators


def _where(metadata: Mapping[str, Any]) -> str:
    return f'module "{shown(str(metadata["model_name"]))}"'


def profile_of(
    metadata: Mapping[str, Any], entry: str | None, unit: str, costs: Sequence[float], runs: int
) -> Profile:
    """Construct a profile from measured costs.

    Parameters
    ----------
    metadata
        parsed metadata of a module.
    entry
        name of the entry that ran; optional if there is only one.
    unit
        unit of costs.
    costs
        costs of all operators of the module, including those of other entries.
    runs
        number of measured runs.

    Raises
    ------
    ValueError
        the entry is unknown, or there are several and none is named.
    DamagedMetadata
        the operators are malformed, or differ in number from the costs.
    """
    name = str(metadata["model_name"])
    entries = [
        str(main.get("entry", ONLY_ENTRY)) for main in metadata["memory"]["functions"]["main"]
    ]
    entry = chosen_entry(name, entries, entry)
    described = described_operators(metadata)
    if len(described) != len(costs):
        raise DamagedMetadata(f'{_where(metadata)} has other "operators" than its code')
    table = metadata.get("model_operators", ())
    operators = tuple(
        _operator(index, operator, cost, table)
        for index, (operator, cost) in enumerate(zip(described, costs, strict=True))
        if operator["entry"] == entry
    )
    return Profile(name, entry, unit, runs, operators)


def _operator(
    index: int, described: Mapping[str, Any], cost: float, table: Sequence[Mapping[str, Any]]
) -> OperatorProfile:
    of_model = [table[place] for place in described.get("model_operators", ())]
    return OperatorProfile(
        index,
        described["entry"],
        tuple(described["functions"]),
        tuple(_kind(step) for step in described["steps"]),
        tuple(OperatorTensor(t["dtype"], tuple(t["shape"])) for t in described["inputs"]),
        tuple(OperatorTensor(t["dtype"], tuple(t["shape"])) for t in described["outputs"]),
        described.get("macs"),
        cost,
        tuple({key: o[key] for key in ("index", "type", "graph") if key in o} for o in of_model),
    )


def _kind(step: Mapping[str, Any]) -> str:
    """Return the kind and the kernel window of a step, with strides and dilations unless 1."""
    parts = [step["kind"]]
    for sign, name in (("", "kernel"), ("s", "strides"), ("d", "dilations")):
        values = step.get(name, [])
        if sign and set(values) <= {1}:
            continue
        # Write equal strides as one number, but always both extents of a kernel window.
        shown = values[:1] if sign and len(set(values)) == 1 else values
        parts.append(sign + "x".join(map(str, shown)))
    return " ".join(part for part in parts if part)


def _is_operator(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and is_text(value.get("entry"))
        and is_list_of(is_text)(value.get("functions"))
        and is_list_of(_is_step)(value.get("steps"))
        and is_list_of(_is_tensor)(value.get("inputs"))
        and is_list_of(_is_tensor)(value.get("outputs"))
        and is_count(value.get("macs", 0))
    )


def _is_step(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and is_text(value.get("kind"))
        and all(
            is_list_of(is_count)(value.get(name, [])) for name in ("kernel", "strides", "dilations")
        )
    )


def _is_tensor(value: Any) -> bool:
    is_typed = isinstance(value, dict) and is_text(value.get("dtype"))
    return is_typed and is_list_of(is_count)(value.get("shape"))

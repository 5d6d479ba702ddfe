"""What each operator of a model takes of a run: time, or instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from usmp.plain.entry_names import ONLY_ENTRY, chosen_entry
from usmp.runtime.read_metadata import DamagedMetadata, is_count, is_list_of, is_text, read_value
from usmp.support.plain_text import shown


class NotProfiled(ValueError):
    """The code of an archive does not say when operators begin and end."""


@dataclass(frozen=True)
class OperatorTensor:
    """A tensor that an operator takes or gives: element type and shape."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return self.dtype + str(list(self.shape)).replace(" ", "")


@dataclass(frozen=True)
class OperatorProfile:
    """An operator, and what it takes.

    Parameters
    ----------
    index
        the number that hooks get.
    entry
        the entry that calls it.
    functions
        the PrimFuncs that compute it, which is one but in a branch or a loop; in C their names
        follow the prefix of the module.
    kinds
        what they compute, one after the other, as "conv2d 3x3 s2".
    inputs, outputs
        its tensors, without constants.
    macs
        its multiply-accumulates; None if they are not known.
    cost
        what it takes, in the unit of the profile.
    """

    index: int
    entry: str
    functions: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[OperatorTensor, ...]
    outputs: tuple[OperatorTensor, ...]
    macs: int | None
    cost: float

    @property
    def cost_per_mac(self) -> float | None:
        """Its cost for a multiply-accumulate; None without any."""
        return self.cost / self.macs if self.macs else None

    def as_json(self) -> dict[str, Any]:
        """All of it by name; tensors as {"dtype": ..., "shape": [...]}."""
        return {
            **vars(self),
            "functions": list(self.functions),
            "kinds": list(self.kinds),
            "inputs": [{"dtype": t.dtype, "shape": list(t.shape)} for t in self.inputs],
            "outputs": [{"dtype": t.dtype, "shape": list(t.shape)} for t in self.outputs],
        }


@dataclass(frozen=True)
class Profile:
    """What the operators of an entry take.

    Parameters
    ----------
    module, entry
        names of both.
    unit
        of costs: "ns", "instructions" or "cycles".
    runs
        how many runs were measured; costs are medians of them.
    operators
        in the order of the run.
    """

    module: str
    entry: str
    unit: str
    runs: int
    operators: tuple[OperatorProfile, ...]

    @property
    def cost(self) -> float:
        """Of all operators together."""
        return sum(operator.cost for operator in self.operators)

    @property
    def macs(self) -> int:
        """The multiply-accumulates of all operators of which they are known."""
        return sum(operator.macs or 0 for operator in self.operators)

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        operators = [operator.as_json() for operator in self.operators]
        return {**vars(self), "cost": self.cost, "macs": self.macs, "operators": operators}


def check_has_hooks(metadata: Mapping[str, Any]) -> None:
    """Check that the C of a module calls hooks around its operators.

    Raises
    ------
    NotProfiled
        it does not.
    DamagedMetadata
        they are not those of the module, or its operators are not described.
    """
    if "operator_hooks" not in metadata:
        raise NotProfiled(
            "the archive's C does not say when its operators begin and end; compile the model with "
            "--profile (in Python under PassContext(config={'tir.usmp.profile': True}))"
        )
    hooks = [f"{metadata['c_prefix']}_operator_{when}" for when in ("begin", "end")]
    read_value(metadata, "operator_hooks", lambda value: value == hooks, _where(metadata))
    described_operators(metadata)


def described_operators(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What metadata.json says of the operators of a module.

    Raises
    ------
    DamagedMetadata
        it does not describe them.
    """
    operators: list[dict[str, Any]] = read_value(
        metadata, "operators", is_list_of(_is_operator), _where(metadata)
    )
    return operators


def _where(metadata: Mapping[str, Any]) -> str:
    return f'module "{shown(str(metadata["model_name"]))}"'


def profile_of(
    metadata: Mapping[str, Any], entry: str | None, unit: str, costs: Sequence[float], runs: int
) -> Profile:
    """A profile of what was measured.

    Parameters
    ----------
    metadata
        the parsed metadata of a module.
    entry
        name of the entry that ran; the only one by default.
    unit
        of costs.
    costs
        of all operators of the module, those of other entries too.
    runs
        how many runs were measured.

    Raises
    ------
    ValueError
        there is no such entry, or several and no name.
    DamagedMetadata
        the metadata does not describe the operators, or other ones.
    """
    name = str(metadata["model_name"])
    entries = [
        str(main.get("entry", ONLY_ENTRY)) for main in metadata["memory"]["functions"]["main"]
    ]
    entry = chosen_entry(name, entries, entry)
    described = described_operators(metadata)
    if len(described) != len(costs):
        raise DamagedMetadata(f'{_where(metadata)} has other "operators" than its code')
    operators = tuple(
        _operator(index, operator, cost)
        for index, (operator, cost) in enumerate(zip(described, costs, strict=True))
        if operator["entry"] == entry
    )
    return Profile(name, entry, unit, runs, operators)


def _operator(index: int, described: Mapping[str, Any], cost: float) -> OperatorProfile:
    return OperatorProfile(
        index,
        described["entry"],
        tuple(described["functions"]),
        tuple(_kind(step) for step in described["steps"]),
        tuple(OperatorTensor(t["dtype"], tuple(t["shape"])) for t in described["inputs"]),
        tuple(OperatorTensor(t["dtype"], tuple(t["shape"])) for t in described["outputs"]),
        described.get("macs"),
        cost,
    )


def _kind(step: Mapping[str, Any]) -> str:
    """Kind and window; strides and dilations only if they are not 1."""
    parts = [step["kind"]]
    for sign, name in (("", "kernel"), ("s", "strides"), ("d", "dilations")):
        values = step.get(name, [])
        if sign and set(values) <= {1}:
            continue
        # Both equal strides are one number; a kernel has always two.
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

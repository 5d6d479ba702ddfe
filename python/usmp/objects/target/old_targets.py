"""Translation of targets of TVM 0.18 into current options, with notes for users."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm.target import Target

from usmp.names import CORES, GENERIC_CORE, TARGET_OPTIONS
from usmp.objects.target.described_target import DescribedTarget, option_text, unknown_option
from usmp.tvm018 import MAPPED, REFUSED, TARGET_NAMES, TARGET_OPTION_ROWS, OldName, find
from usmp.tvm018.old_name import WrittenName, parse_truth
from usmp.tvm018.targets import CMSIS_NN

_CURRENT_NAMES = {row.name: row.to[0] for row in TARGET_NAMES if row.verdict == MAPPED}
_EXECUTOR_OPTION = "--executor-aot-"
_CORE_OPTION = "-mcpu="

_MAX_DIGITS = 19
"""Numbers with fewer digits are below 2**63."""

_LIKE_A_CORE = re.compile(r"c[a-z]*[-_ ]?m[-_ ]?\d|cortex-m|m\d{1,2}(plus)?\b", re.IGNORECASE)
"""Names that look like a misspelled Cortex-M."""


@dataclass
class CurrentTarget:
    """The current options of a target.

    Parameters
    ----------
    target
        options of the target, by name.
    executor
        options of the executor, by name.
    notes
        notes about option names of TVM 0.18.
    """

    target: dict[str, object] = field(default_factory=dict)
    executor: dict[str, object] = field(default_factory=dict)
    notes: list[WrittenName] = field(default_factory=list)


def current_name(name: str) -> str:
    """Return the current name of a target that a memory pool lists."""
    return _CURRENT_NAMES.get(name, name)


def current_target(given: DescribedTarget) -> CurrentTarget:
    """Return the current options of a target of kind "c", "llvm" or "cmsis-nn".

    Raises
    ------
    ValueError
        an unknown option, or refused options, which the message lists.
    """
    current = CurrentTarget()
    implied: dict[str, str] = {}
    refused: list[str] = []
    for name, value in given.options.items():
        row = _row(given, name, option_text(value))
        if row is None:
            current.target[name] = value
            continue
        if row.verdict == REFUSED:
            refused.append(row.sentence(option_text(value)))
            continue
        current.notes.append(WrittenName(row, option_text(value)))
        for replacement in row.replacement(option_text(value)):
            if replacement.startswith(_EXECUTOR_OPTION):
                option, _, text = replacement.removeprefix(_EXECUTOR_OPTION).partition("=")
                current.executor[option] = _typed(text)
            else:
                implied[name] = replacement.removeprefix(_CORE_OPTION)
    if refused:
        raise ValueError(f'target "{given.text}": ' + ";\n".join(refused))
    # In this order, because -model may imply a more specific core than -march.
    for name in ("mcpu", "model", "march"):
        if name in implied and (name == "mcpu" or "mcpu" not in given.options):
            current.target.setdefault("mcpu", implied[name])
    if given.is_complete and given.kind in TARGET_OPTIONS:
        _leave_out_defaults(given, current)
    return current


def with_cmsis_nn(
    described: Sequence[DescribedTarget],
) -> tuple[list[DescribedTarget], list[WrittenName]]:
    """Return the targets with "cmsis-nn" replaced by "c", and notes about the replacement.

    Raises
    ------
    ValueError
        "llvm" beside "cmsis-nn", different cores, or an unknown option of "cmsis-nn".
    """
    cmsis_nn = [target for target in described if target.kind == CMSIS_NN]
    if not cmsis_nn:
        return list(described), []
    if "llvm" in [target.kind for target in described]:
        raise ValueError(
            f'targets "{CMSIS_NN}" and "llvm": "c" takes the place of "{CMSIS_NN}", and main runs '
            'on one CPU; write "c" or "llvm"'
        )
    row = find(TARGET_NAMES, CMSIS_NN)
    notes = [] if row is None else [WrittenName(row)]
    is_c = [target.kind == "c" for target in described]
    main = described[is_c.index(True)] if any(is_c) else DescribedTarget("c", {}, "c")
    core = option_text(main.options.get("mcpu", ""))
    for target in cmsis_nn:
        current = current_target(target)
        notes += current.notes
        features = option_text(target.options.get("mattr", "")).replace(",", "")
        core = _joined(core, option_text(target.options.get("mcpu", "")), features)
    others = [target for target in described if target.kind != CMSIS_NN and target is not main]
    options = {**main.options, "mcpu": core} if core else main.options
    merged = DescribedTarget("c", options, main.text, main.is_complete)
    return [*others, merged], notes


def _row(target: DescribedTarget, name: str, value: str) -> OldName | None:
    """Return the row of an option of TVM 0.18, or None for a current option.

    Raises
    ------
    ValueError
        the option is unknown.
    """
    known = TARGET_OPTIONS.get(target.kind, ())
    row = find(TARGET_OPTION_ROWS[target.kind], f"-{name}", value)
    if name not in known:
        if row is None and not _is_of_tvm(target, name):
            raise unknown_option(target.kind, f"-{name}={value}", target.text)
        return row
    if row is not None and not row.values and not _is_other_cpu(value):
        return None
    return row


def _is_of_tvm(target: DescribedTarget, name: str) -> bool:
    """Return whether TVM derives the option from other options when it prints a target."""
    return target.is_complete and name.startswith("feature.")


def _is_other_cpu(mcpu: str) -> bool:
    """Return whether -mcpu names a CPU without kernels in C, and does not misspell a Cortex-M."""
    name = mcpu.partition("+")[0]
    return name not in (*CORES, GENERIC_CORE) and bool(name) and not _LIKE_A_CORE.match(name)


def _joined(core: str, other: str, features: str) -> str:
    """Return the common core of two targets, without any feature that one of them turns off."""
    name, _, lacking = core.partition("+")
    other_name, _, other_lacking = f"{other}{features}".partition("+")
    if name and other_name and name != other_name:
        raise ValueError(
            f'targets "{CMSIS_NN}" and "c" are for different cores, -mcpu={other} and '
            f'-mcpu={core}; write "c" alone, with its core'
        )
    all_lacking = dict.fromkeys(filter(None, [*lacking.split("+"), *other_lacking.split("+")]))
    if all_lacking and not (name or other_name):
        raise ValueError(f'target "{CMSIS_NN}": -mattr={features} needs -mcpu')
    return "+".join([name or other_name, *all_lacking])


def _leave_out_defaults(target: DescribedTarget, current: CurrentTarget) -> None:
    """Remove options, and notes about values, that TVM adds to each target that it prints."""
    current.target = {n: v for n, v in current.target.items() if n in TARGET_OPTIONS[target.kind]}
    try:
        usual = json.loads(str(Target({"kind": target.kind, **current.target})))
    except Exception:
        # The caller reports the error when it creates the target.
        return
    current.notes = [
        note
        for note in current.notes
        if note.value != option_text(usual.get(note.row.name.removeprefix("-"), ""))
    ]


def _typed(text: str) -> object:
    """Return the value of an executor option as an integer or bool if possible."""
    if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS:
        return int(text)
    truth = parse_truth(text)
    return text if truth is None else truth

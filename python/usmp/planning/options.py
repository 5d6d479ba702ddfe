"""The options `tir.usmp.*` of planning: read and checked here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm.ir.transform import PassContext

from usmp.algorithms import Algorithm, get_algorithm, get_custom_algorithm
from usmp.algorithms.placement import check_placement
from usmp.algorithms.registry import check_takes_no_time
from usmp.names import (
    ARENA,
    BALANCED,
    BOUND,
    CODE,
    DEBUG,
    DEFAULT_ALGORITHM,
    DYNAMIC,
    EXPRESSION,
    NO_SHARING,
    OPTIMIZE,
    ORDER_OPERATORS,
    OVERLAP_INPUTS_AND_OUTPUTS,
    PREFERENCE,
    RAM,
    STREAM_OPERATORS,
    WORKSPACE_FUNCTIONS,
)
from usmp.planning.stream_inputs import split_stream_inputs
from usmp.support.deadline import Deadline, deadline_after
from usmp.support.text.durations import parse_duration
from usmp.support.text.known_names import unknown_name
from usmp.support.text.percentages import parse_percentage
from usmp.tvm018.current_options import current_options

_PREFIX = "tir.usmp."

_PASSES = {
    "overlap": OVERLAP_INPUTS_AND_OUTPUTS,
    "order_operators": ORDER_OPERATORS,
    "streaming": STREAM_OPERATORS,
}
"""Field of `PlanningOptions` -> the pass whose name in `disabled_pass` makes it false."""


@dataclass(frozen=True)
class PlanningOptions:
    """The options of planning; fields have the names of the options, or are in `_PASSES`.

    Parameters
    ----------
    algorithm
        name of a built-in algorithm.
    custom_algorithm
        name of a registered algorithm, which takes precedence.
    placement
        how pools are chosen: by preference or by cost, see `usmp.algorithms.placement`.
    time_budget
        a duration, such as "10s", after which all searches end, see `deadline`.
    use_workspace_io
        whether inputs and outputs are planned too.
    preserve_inputs
        whether planned inputs are intact when a run ends.
    overlap
        whether an output may overwrite bytes that its operator has read of a dying input.
    order_operators
        whether the order of the operators may change.
    streaming
        whether operators may run row by row, see `usmp.transform.StreamOperators`.
    stream_inputs, stream_outputs
        names of the inputs that the application writes row by row, and of the outputs that it reads
        row by row, see `usmp.transform.StreamIO`; `entry.name` if several entries have one.
        `name:hop=2` is an input that is a window: the application writes its 2 new rows, see
        `usmp.aot.transform.ConvertWindowsToStates`.
    max_extra_macs
        most multiply-accumulates that strips may compute again, in percent of the model's, see
        `usmp.relax.transform.SplitIntoStrips`.
    optimize
        the goal of the choice of schedules, see `usmp.transform.ChooseSchedules`.
    dynamic
        words about sizes that are known at run time only. The offsets are constants, for the upper
        bounds of the sizes, or expressions of the sizes, see `usmp.planning.offset_expressions`.
        The allocator of buffers without an upper bound is an arena, unless it is named, see
        `usmp.transform.LowerDynamicAllocations`.
    code
        which operators that differ in sizes only share their code, see
        `usmp.transform.MergeSimilarFunctions`.
    debug
        words of `usmp.names.DEBUG`, see `usmp.transform.CallOperatorHooks`,
        `usmp.transform.PoisonDeadBytes` and `usmp.aot.transform.SelectKernels`.

    Raises
    ------
    ValueError
        an unknown algorithm, placement, goal, kind of code or word; contradictory words; a budget
        that is no duration, or that the algorithm does not take; a hop that is no number of rows;
        an invalid percentage; streamed inputs or outputs together with an option that materializes
        them.
    """

    algorithm: str = DEFAULT_ALGORITHM
    custom_algorithm: str | None = None
    placement: str = PREFERENCE
    time_budget: str | None = None
    use_workspace_io: bool = False
    preserve_inputs: bool = False
    overlap: bool = True
    order_operators: bool = True
    streaming: bool = True
    stream_inputs: tuple[str, ...] = ()
    stream_outputs: tuple[str, ...] = ()
    max_extra_macs: float = 0.0
    optimize: str = RAM
    dynamic: tuple[str, ...] = (BOUND,)
    code: str = BALANCED
    debug: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_placement(self.placement)
        for field, kind, known, heading in (
            ("optimize", "goal", OPTIMIZE, "Goals"),
            ("code", "kind of code", CODE, "Kinds"),
            ("dynamic", "word", DYNAMIC, "Words"),
            ("debug", "word", DEBUG, "Words"),
        ):
            value = getattr(self, field)
            for word in (value,) if isinstance(value, str) else value:
                if word not in known:
                    problem = f'unknown {kind} "{word}" in {_PREFIX}{field}'
                    raise ValueError(unknown_name(problem, word, known, heading))
        if {BOUND, EXPRESSION} <= {*self.dynamic}:
            raise ValueError(
                f"{_PREFIX}dynamic={','.join(self.dynamic)}: offsets are either {BOUND} or "
                f"{EXPRESSION}. Leave out one of them"
            )
        self.find_algorithm()
        self._check_rows()

    @property
    def row_inputs(self) -> tuple[str, ...]:
        """The inputs that the application writes row by row."""
        return split_stream_inputs(self.stream_inputs)[0]

    @property
    def hops(self) -> dict[str, int]:
        """The inputs that are windows, with the number of rows that are new in each run."""
        return split_stream_inputs(self.stream_inputs)[1]

    @property
    def streams_io(self) -> bool:
        """Whether the application writes inputs or reads outputs row by row."""
        return bool(self.row_inputs or self.stream_outputs)

    @property
    def computes_offsets(self) -> bool:
        """Whether offsets are expressions of the symbolic sizes."""
        return EXPRESSION in self.dynamic

    @property
    def dynamic_allocator(self) -> str:
        """The allocator of buffers whose size has no upper bound."""
        return WORKSPACE_FUNCTIONS if WORKSPACE_FUNCTIONS in self.dynamic else ARENA

    @property
    def algorithm_name(self) -> str:
        """The name of the algorithm that plans."""
        return self.algorithm if self.custom_algorithm is None else self.custom_algorithm

    @property
    def shares_memory(self) -> bool:
        """Whether buffers may share bytes at all."""
        return self.algorithm_name != NO_SHARING

    @property
    def streams_operators(self) -> bool:
        """Whether operators may run row by row in buffers that share memory."""
        return self.streaming and self.shares_memory

    def find_algorithm(self, deadline: Deadline | None = None) -> Algorithm:
        """Return the algorithm that plans, and ends at the deadline if it searches."""
        seconds = self._time_budget_seconds()
        if self.custom_algorithm is not None:
            check_takes_no_time(f"a custom algorithm, {self.custom_algorithm}", seconds)
            return get_custom_algorithm(self.custom_algorithm)
        return get_algorithm(self.algorithm, seconds, deadline)

    def deadline(self, start_seconds: float | None = None) -> Deadline | None:
        """Return the deadline of the time budget; None if there is no budget.

        Parameters
        ----------
        start_seconds
            on the clock `time.monotonic`, when the call that plans began; now by default.
        """
        return deadline_after(self.time_budget, start_seconds)

    def without_time(self) -> PlanningOptions:
        """Return the options of plans that are compared: `auto` with a fixed amount of work
        replaces searches that end only by time or by a proof."""
        if self.custom_algorithm is not None:
            return self
        algorithm = DEFAULT_ALGORITHM if self.algorithm == "exact" else self.algorithm
        return replace(self, algorithm=algorithm, time_budget=None)

    def config(self) -> dict[str, Any]:
        """Return the fields as options of a PassContext, without those in `_PASSES`."""
        return {
            _PREFIX + name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if value is not None and name not in _PASSES
        }

    def _check_rows(self) -> None:
        """Refuse options that would materialize a tensor that is streamed row by row."""
        rows, hops = self.row_inputs, self.hops
        if hops and self.preserve_inputs:
            raise ValueError(
                f"tir.usmp.stream_inputs gives new rows of {', '.join(hops)} to each run, so that "
                "there is nothing to preserve for the next one; leave out the hop, or "
                "tir.usmp.preserve_inputs"
            )
        if not self.streams_io:
            return
        tensors = {"stream_inputs": rows, "stream_outputs": self.stream_outputs}
        options = [name for name in tensors if tensors[name]]
        subject = " and ".join(f"{_PREFIX}{name} ({', '.join(tensors[name])})" for name in options)
        if not self.streaming:
            raise ValueError(
                f"{subject} {_needs(options)} operators that run row by row, which "
                f"--disabled-pass={STREAM_OPERATORS} and tir.usmp.enable=0 forbid; leave one of "
                "the two out"
            )
        if not self.shares_memory:
            raise ValueError(
                f"{subject} {_needs(options)} operators that run row by row and buffers that share "
                f"memory, but every buffer has bytes of its own (tir.usmp.algorithm={NO_SHARING}); "
                "leave one of the two out"
            )
        if rows and self.preserve_inputs:
            raise ValueError(
                f"tir.usmp.stream_inputs ({', '.join(rows)}) gives inputs row by "
                "row, so that nothing is left of them to preserve; leave it out, or "
                "tir.usmp.preserve_inputs"
            )

    def _time_budget_seconds(self) -> float | None:
        if self.time_budget is None:
            return None
        try:
            return parse_duration(self.time_budget)
        except ValueError as error:
            raise ValueError(f"tir.usmp.time_budget: {error}") from error


def _needs(options: Sequence[str]) -> str:
    return "need" if len(options) > 1 else "needs"


def _value(name: str, value: Any, default: object) -> object:
    """Return the value of an option in the type of its default."""
    if isinstance(default, bool):
        return bool(value)
    if isinstance(default, float):
        try:
            return parse_percentage(value)
        except ValueError as error:
            raise ValueError(f"{_PREFIX}{name}: {error}") from error
    if isinstance(default, tuple):
        return tuple(dict.fromkeys(str(name) for name in value))
    return str(value)


OPTION_NAMES = tuple(_PREFIX + name for name in vars(PlanningOptions()) if name not in _PASSES)
"""The names of the options in a PassContext."""


_READ_BY_PASSES = (f"{_PREFIX}debug",)

PLANNING_OPTION_NAMES = frozenset({*OPTION_NAMES, *map("usmp.{}".format, _PASSES.values())}) - {
    *_READ_BY_PASSES
}
"""Options, and passes in `disabled_pass`, that no pass reads before there is a main PrimFunc.
Exceptions are passes that search, and hops in `stream_inputs`."""


def planning_options(
    context: PassContext | None = None, workspace_io: bool = False
) -> PlanningOptions:
    """Return the planning options of a PassContext.

    With `tir.usmp.enable` false, they are the options closest to TVM 0.18 without USMP.

    Parameters
    ----------
    context
        the PassContext; by default the current one.
    workspace_io
        the value of `tir.usmp.use_workspace_io` if the PassContext does not set it.

    Raises
    ------
    ValueError
        see `PlanningOptions`.
    """
    context = PassContext.current() if context is None else context
    current = current_options(context.config)
    disabled = {n.removeprefix("usmp.") for n in (*context.disabled_pass, *current.disabled_pass)}
    known: dict[str, Any] = {name: pass_ not in disabled for name, pass_ in _PASSES.items()}
    known["use_workspace_io"] = workspace_io
    for name, default in vars(PlanningOptions()).items():
        if _PREFIX + name in current.options:
            known[name] = _value(name, current.options[_PREFIX + name], default)
    return PlanningOptions(**known)


def use_workspace_io_is_enabled() -> bool:
    """Return whether the current PassContext places inputs and outputs in the workspace.

    Raises
    ------
    ValueError
        the PassContext has invalid options, see `PlanningOptions`.
    """
    return planning_options().use_workspace_io

"""What a PrimFunc does that matters to memory: one stream of events, in the order of the text.

Every analysis of memory is a fold over this stream (RFC 0032). An evaluation is one moment: C
leaves open in which order it loads, calls and passes pointers, but a store comes last. What stands
between `Enter` and `Leave` runs as often, and beside what else, as the statement says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tvm import tirx
from tvm.ir import Call, PrimType

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.calls import PrimFuncCall
from usmp.analysis.memory.stated_kernel import StatedKernel

Condition: TypeAlias = tuple[tirx.Expr, bool]
"""A guard, and whether it is true or false."""


class Load(NamedTuple):
    """An element of a buffer is read.

    Parameters
    ----------
    conditions
        under which it happens.
    value
        the type of what is read.
    """

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    conditions: tuple[Condition, ...]
    value: PrimType


class Store(NamedTuple):
    """An element of a buffer is written, after all else in the evaluation."""

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    value: PrimType


class Pass(NamedTuple):
    """A pointer is given to something that is not followed, which does `access` with it."""

    pointer: tirx.Var
    access: Access


class Keep(NamedTuple):
    """What these variables point to may be accessed at any time from now on."""

    pointers: tuple[tirx.Var, ...]


class Define(NamedTuple):
    """A variable of a `Bind` or `Let`."""

    var: tirx.Var
    value: tirx.Expr


class Operate(NamedTuple):
    """An operator, or a function outside of the module, does more than to compute a value."""

    call: Call


class CallFunction(NamedTuple):
    """A PrimFunc of the module is called.

    Parameters
    ----------
    call
        the PrimFunc, and its arguments.
    node
        the expression.
    computed
        what is read to compute the arguments.
    """

    call: PrimFuncCall
    node: Call
    computed: Evaluation


class CallKernel(NamedTuple):
    """A function outside of the module is called that states what it does.

    Parameters
    ----------
    computed
        what is read to compute the arguments that it states.
    rest
        what is done to compute the other ones.
    """

    kernel: StatedKernel
    node: Call
    computed: Evaluation
    rest: Evaluation


@dataclass(eq=False)
class Evaluation:
    """Expressions are evaluated.

    Parameters
    ----------
    exprs
        the expressions.
    conditions
        under which the statement runs.
    parts
        what is done to evaluate them.
    store
        what is written then.
    """

    exprs: tuple[tirx.Expr, ...]
    conditions: tuple[Condition, ...]
    parts: list[EvaluationPart] = field(default_factory=list)
    store: Store | None = None

    @property
    def is_call(self) -> bool:
        """Whether it is one call of a PrimFunc or kernel and nothing else."""
        if len(self.parts) != 1 or len(self.exprs) != 1 or self.store is not None:
            return False
        (part,) = self.parts
        return isinstance(part, CallFunction | CallKernel) and part.node.same_as(self.exprs[0])


EvaluationPart: TypeAlias = Load | Pass | Keep | Define | Operate | CallFunction | CallKernel


class Outermost(NamedTuple):
    """A statement begins that stands in no other one."""

    stmt: tirx.Stmt


class Declare(NamedTuple):
    """A buffer or pointer has an address from here on, which has been computed."""

    stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind


class CallIntrinsic(NamedTuple):
    """A tensor intrinsic is called; the statements of its body follow, which say what it does."""

    call: Call
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Region:
    """The body of a statement, which may run more than once, or beside something else.

    Parameters
    ----------
    stmt
        the statement.
    repeats
        whether the body may run several times.
    concurrent
        whether several runs of the body may hold memory at one time.
    asynchronous
        whether the body may go on after the statement.
    """

    stmt: tirx.For | tirx.While | tirx.AttrStmt
    repeats: bool = False
    concurrent: bool = False
    asynchronous: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the body runs once, where it stands."""
        return not (self.repeats or self.concurrent or self.asynchronous)


class Enter(NamedTuple):
    """A region begins.

    Parameters
    ----------
    region
        the region.
    head
        what is evaluated before each run of the body: the bounds of a `For`, which are evaluated
        before the loop, too, and the condition of a `While`.
    """

    region: Region
    head: Evaluation


class Leave(NamedTuple):
    """A region ends."""

    region: Region


Event: TypeAlias = Outermost | Declare | Define | Evaluation | CallIntrinsic | Enter | Leave

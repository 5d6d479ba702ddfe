"""Memory events of a PrimFunc: one stream, in program order.

Every analysis of memory is a fold over this stream (RFC 0032). The loads, calls and pointers of an
evaluation have no order, because C leaves their order open; only the store comes last. Events
between `Enter` and `Leave` may repeat or run concurrently, as their `Region` says.
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
"""A guard, and the value that it must have."""


class Load(NamedTuple):
    """A load of an element of a buffer.

    Parameters
    ----------
    conditions
        the guards of the load.
    value
        the type of the loaded value.
    """

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    conditions: tuple[Condition, ...]
    value: PrimType


class Store(NamedTuple):
    """A store to an element of a buffer, after all other parts of the evaluation."""

    buffer: tirx.Var
    indices: tuple[tirx.Expr, ...]
    value: PrimType


class Pass(NamedTuple):
    """A variable used other than by loads and stores. If it is a pointer, opaque code may access
    its memory as `access` says."""

    pointer: tirx.Var
    access: Access


class Keep(NamedTuple):
    """Pointers whose memory may be accessed at any time from now on."""

    pointers: tuple[tirx.Var, ...]


class Define(NamedTuple):
    """The definition of a variable by a `Bind` or `Let`."""

    var: tirx.Var
    value: tirx.Expr


class Operate(NamedTuple):
    """A side effect of an operator, or of a function outside of the module."""

    call: Call


class CallFunction(NamedTuple):
    """A call of a PrimFunc of the module.

    Parameters
    ----------
    call
        the PrimFunc and its arguments.
    node
        the call expression.
    computed
        the evaluation of the arguments.
    """

    call: PrimFuncCall
    node: Call
    computed: Evaluation


class CallKernel(NamedTuple):
    """A call of a function outside of the module with stated accesses.

    Parameters
    ----------
    computed
        the evaluation of the arguments with stated accesses.
    rest
        the evaluation of the other arguments.
    """

    kernel: StatedKernel
    node: Call
    computed: Evaluation
    rest: Evaluation


@dataclass(eq=False)
class Evaluation:
    """An evaluation of expressions.

    Parameters
    ----------
    exprs
        the expressions.
    conditions
        the guards of the statement.
    parts
        the loads, calls and other effects of the evaluation.
    store
        the store after the evaluation, if any.
    """

    exprs: tuple[tirx.Expr, ...]
    conditions: tuple[Condition, ...]
    parts: list[EvaluationPart] = field(default_factory=list)
    store: Store | None = None

    @property
    def is_call(self) -> bool:
        """Whether the evaluation is only one call of a PrimFunc or kernel."""
        if len(self.parts) != 1 or len(self.exprs) != 1 or self.store is not None:
            return False
        (part,) = self.parts
        return isinstance(part, CallFunction | CallKernel) and part.node.same_as(self.exprs[0])


EvaluationPart: TypeAlias = Load | Pass | Keep | Define | Operate | CallFunction | CallKernel


class Outermost(NamedTuple):
    """The start of a top-level statement."""

    stmt: tirx.Stmt


class Declare(NamedTuple):
    """The declaration of a buffer or pointer, after its address has been computed."""

    stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind


class CallIntrinsic(NamedTuple):
    """A call of a tensor intrinsic; events of the body that it replaces follow."""

    call: Call
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Region:
    """The body of a statement, which may run repeatedly or concurrently.

    Parameters
    ----------
    stmt
        the statement.
    repeats
        whether the body may run several times.
    concurrent
        whether several runs of the body may use memory at the same time.
    asynchronous
        whether the body may go on after the statement.
    """

    stmt: tirx.For | tirx.While | tirx.AttrStmt
    repeats: bool = False
    concurrent: bool = False
    asynchronous: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the body runs once, in program order."""
        return not (self.repeats or self.concurrent or self.asynchronous)


class Enter(NamedTuple):
    """The start of a region.

    Parameters
    ----------
    region
        the region.
    head
        the evaluation before each run of the body: the condition of a `While`, or the bounds of a
        `For`, which are evaluated before the loop, too; empty for an `AttrStmt`.
    """

    region: Region
    head: Evaluation


class Leave(NamedTuple):
    """The end of a region."""

    region: Region


Event: TypeAlias = Outermost | Declare | Define | Evaluation | CallIntrinsic | Enter | Leave

"""What a planner knows of a Relax function: the tensors that it allocates, when they are live, and
the PrimFuncs that get them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule

from usmp.analysis.memory.access import item_bytes
from usmp.tir.nodes import nodes_of


@dataclass
class ManagedTensor:
    """A tensor that a function allocates, each time at the same place.

    Parameters
    ----------
    name
        of the function and of the variable.
    shape
        what it is allocated with.
    ndim, dtype
        of the tensor.
    is_output
        the function may return it.
    start, stop
        half-open range of positions in which it is live.
    is_in_branch
        whether the function allocates it depends on its inputs.
    is_expected
        its shape follows from those of the parameters.
    device_index, scope
        of the memory that it is in.
    first_use
        the first position after its allocation at which it is used; -1 if there is none.
    is_given_away
        something beside PrimFuncs gets it, or a part of it.
    """

    name: str
    shape: relax.Expr
    ndim: int
    dtype: str
    start: int
    stop: int
    is_output: bool = False
    is_in_branch: bool = False
    is_expected: bool = False
    device_index: int = 0
    scope: str = "global"
    first_use: int = -1
    is_given_away: bool = False


@dataclass(frozen=True)
class TensorArgument:
    """What a PrimFunc gets in the place of a parameter.

    Parameters
    ----------
    refers
        numbers of the tensors of which it may be a view.
    whole
        the number of the tensor that it is, or a reshaped view of all of it; None for anything
        else.
    """

    refers: frozenset[int]
    whole: int | None = None


@dataclass(frozen=True, eq=False)
class CallSite:
    """A call of a PrimFunc of the module.

    Parameters
    ----------
    position
        in the function.
    variable
        of its binding.
    callee
        the name of the PrimFunc.
    arguments
        by its parameters, without numbers that follow them.
    """

    position: int
    variable: relax.Var
    callee: str
    arguments: tuple[TensorArgument, ...]


@dataclass
class FunctionMemory:
    """What a planner knows of one function.

    Parameters
    ----------
    tensors
        in the order of their allocation.
    numbers
        variable to number of the tensor that it is bound to.
    calls
        of PrimFuncs, in the order of their positions.
    killed_after
        variable of a binding to those that are used there for the last time.
    num_unmanaged
        values that the function has from elsewhere: results of functions that allocate them
        themselves, and allocations that are left to TVM.
    num_borrowed
        values that are others: views, tuples, what is taken out of tuples, results of branches.
    num_scalars
        shapes and numbers.
    """

    tensors: list[ManagedTensor] = field(default_factory=list)
    numbers: dict[relax.Var, int] = field(default_factory=dict)
    calls: list[CallSite] = field(default_factory=list)
    killed_after: dict[relax.Var, list[relax.Var]] = field(default_factory=dict)
    num_unmanaged: int = 0
    num_borrowed: int = 0
    num_scalars: int = 0

    @property
    def expected(self) -> list[int]:
        """Numbers of the tensors whose sizes are known when the function begins."""
        return [number for number, each in enumerate(self.tensors) if each.is_expected]


def managed_functions(mod: IRModule) -> list[str]:
    """Names of the Relax functions that no other one calls: only they may be running once."""
    called = {
        str(each.name_hint)
        for func in mod.functions.values()
        if isinstance(func, relax.Function)
        for each in nodes_of(func.body, GlobalVar)
    }
    names = [str(v.name_hint) for v, func in mod.functions.items() if _is_relax(func)]
    return [name for name in names if name not in called]


def is_in_host_memory(allocation: Call) -> bool:
    """Whether an `R.builtin.alloc_tensor` is in the flat memory of the first device."""
    return device_index_of(allocation) == 0 and scope_of(allocation) == "global"


def device_index_of(allocation: Call) -> int:
    """The index of the device of an `R.builtin.alloc_tensor`; -1 if it is no constant."""
    return int(getattr(allocation.args[2], "value", -1))


def scope_of(allocation: Call) -> str:
    """Its memory scope."""
    return str(getattr(allocation.args[3], "value", ""))


def bytes_of(tensor: ManagedTensor) -> tirx.Expr:
    """The size of an expected tensor, in bytes, as an expression of the parameters' shapes."""
    size = tirx.IntImm("int64", item_bytes(tensor.dtype))
    for extent in tensor.shape.values:
        size = size * extent
    return size


def _is_relax(func: object) -> bool:
    return isinstance(func, relax.Function)

"""The memory of a Relax function: the tensors that it allocates, their live ranges, and the
PrimFuncs that receive them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule

from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of


@dataclass
class ManagedTensor:
    """A tensor that a function allocates, each time at the same address.

    Parameters
    ----------
    name
        names of the function and of the variable.
    shape
        the shape of the allocation.
    ndim, dtype
        number of axes and element type of the tensor.
    is_output
        whether the function may return the tensor.
    start, stop
        half-open live range, in positions.
    is_in_branch
        whether the allocation stands in a branch, so that it depends on the inputs.
    is_expected
        whether the shape follows from the shapes of the parameters.
    device_index, scope
        device and memory scope of the tensor.
    first_use
        the first position after the allocation that uses the tensor; -1 if there is none.
    is_given_away
        whether a callee besides PrimFuncs gets the tensor or a view of it.
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
    """An argument of a call of a PrimFunc.

    Parameters
    ----------
    refers
        numbers of the tensors that the argument may be a view of.
    whole
        number of the tensor if the argument is this tensor or a reshaped view of it; else None.
    """

    refers: frozenset[int]
    whole: int | None = None


@dataclass(frozen=True, eq=False)
class CallSite:
    """A call of a PrimFunc of the module.

    Parameters
    ----------
    position
        position of the call in the function.
    variable
        the variable that the call is bound to.
    callee
        the name of the PrimFunc.
    arguments
        arguments in the order of the parameters, without trailing numbers.
    """

    position: int
    variable: relax.Var
    callee: str
    arguments: tuple[TensorArgument, ...]


@dataclass
class FunctionMemory:
    """The tensors and calls of one function.

    Parameters
    ----------
    tensors
        the tensors, in the order of their allocation.
    numbers
        number of the tensor that each variable is bound to.
    calls
        calls of PrimFuncs, in the order of their positions.
    killed_after
        by the variable of a binding: the variables whose last use is in this binding.
    num_unmanaged
        number of values that are allocated elsewhere: results of functions that allocate, and
        allocations that are left to TVM.
    num_borrowed
        number of aliases: views, tuples, elements of tuples, results of branches.
    num_scalars
        number of shapes and scalars.
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
        return [number for number, tensor in enumerate(self.tensors) if tensor.is_expected]


def managed_functions(mod: IRModule) -> list[str]:
    """Return the names of the Relax functions without callers, which never run twice at once."""
    called = {
        str(variable.name_hint)
        for func in mod.functions.values()
        if isinstance(func, relax.Function)
        for variable in nodes_of(func.body, GlobalVar)
    }
    names = [str(v.name_hint) for v, func in mod.functions.items() if _is_relax(func)]
    return [name for name in names if name not in called]


def is_in_host_memory(allocation: Call) -> bool:
    """Return whether an `R.builtin.alloc_tensor` is in the flat memory of the first device."""
    return device_index_of(allocation) == 0 and scope_of(allocation) == "global"


def device_index_of(allocation: Call) -> int:
    """Return the device index of an `R.builtin.alloc_tensor`; -1 if it is not a constant."""
    return int(getattr(allocation.args[2], "value", -1))


def scope_of(allocation: Call) -> str:
    """Return the memory scope of an `R.builtin.alloc_tensor`."""
    return str(getattr(allocation.args[3], "value", ""))


def bytes_of(tensor: ManagedTensor) -> tirx.Expr:
    """Return the bytes of an expected tensor, as an expression of the parameters' shapes."""
    size = tirx.IntImm("int64", item_bytes(tensor.dtype))
    for extent in tensor.shape.values:
        size = size * extent
    return size


def _is_relax(func: object) -> bool:
    return isinstance(func, relax.Function)

"""Calls of functions outside of the module whose accesses to arguments are stated."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx
from tvm.ir import Call, PointerType, PrimType, StringImm

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.memories import UNBOUNDED, Memory
from usmp.objects.extern_kernel import ExternKernel, KernelArgument
from usmp.tir.op_names import is_op


class StatedKernel:
    """The stated safe distances of a kernel, with the interface of `SafeOverlap`.

    Parameters
    ----------
    kernel
        the kernel with its statements.
    """

    height = 0
    """The length of its chain of calls: a kernel calls no PrimFunc."""

    def __init__(self, kernel: ExternKernel) -> None:
        self.kernel = kernel
        self.params: list[Memory] = [
            tirx.Var(str(argument.name), PointerType(PrimType("uint8")))
            for argument in kernel.arguments
        ]
        self._distances = {
            (int(stated.input), int(stated.output)): int(stated.size_bytes)
            for stated in kernel.safe_distances
        }

    @property
    def key(self) -> str:
        """The `TracedStatement.callee` of its calls, which is not the name of any PrimFunc."""
        return f"extern {self.kernel.symbol}"

    def relative_distance(self, dying: Memory, written: Memory) -> int:
        """Return the fewest bytes by which `written` must start below `dying`; `UNBOUNDED` if they
        are the same argument."""
        if dying.same_as(written):
            return UNBOUNDED
        indices = self._index(dying), self._index(written)
        # Without a stated distance, share no byte: `written` may be written before `dying` is read.
        apart = int(self.kernel.arguments[indices[1]].size_bytes)
        return self._distances.get(indices, apart)

    def _index(self, param: Memory) -> int:
        return next(i for i, own in enumerate(self.params) if own.same_as(param))


def stated_access(argument: KernelArgument) -> Access:
    """Return the stated access of a kernel to the memory of an argument."""
    if argument.writes:
        return Access.UNKNOWN if argument.reads else Access.WRITE
    return Access.READ


def stated_kernel(
    expr: tirx.Expr, kernels: Mapping[str, StatedKernel], where: str
) -> tuple[StatedKernel, Call] | None:
    """Return the kernel that an expression calls, and the call; None for other expressions.

    Parameters
    ----------
    kernels
        the kernels, by symbol.
    where
        the name of the PrimFunc, for errors.

    Raises
    ------
    ValueError
        the kernel states more arguments than it is called with.
    """
    if not kernels or not is_op(expr, "tirx.call_extern"):
        return None
    symbol, *arguments = expr.args[:]
    kernel = kernels.get(str(symbol.value)) if isinstance(symbol, StringImm) else None
    if kernel is None:
        return None
    if len(arguments) < len(kernel.params):
        raise ValueError(
            f'extern kernel "{kernel.kernel.symbol}" states {len(kernel.params)} arguments; '
            f"{where} calls it with {len(arguments)}"
        )
    return kernel, expr

"""Compile Relax modules so that a `MemoryPlanner` allocates their tensors."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Call, IRModule, TupleType
from tvm.relax.backend.cpu_generic import pipeline as cpu
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.op.vm import kill_object

from usmp.analysis.relax_functions.function_memory import (
    FunctionMemory,
    bytes_of,
    is_in_host_memory,
    managed_functions,
)
from usmp.analysis.relax_functions.read_function import read_function
from usmp.objects.target.targets import parse_targets
from usmp.support.not_copied import NotCopied
from usmp.support.process.compiler_lock import one_at_a_time

_ALLOCATE = "usmp.runtime.alloc_tensor"
_EXPECT = "usmp.runtime.expect_sizes"


@dataclass(frozen=True, eq=False)
class ManagedModule(NotCopied):
    """A compiled Relax module whose tensors a `MemoryPlanner` allocates; see `compile_managed`.

    Several planners may run one module on different threads.

    Parameters
    ----------
    library
        module for the Relax virtual machine.
    functions
        facts of each function that a planner can run, by name.
    tokens
        numbers that identify the code of each function to its planner, by name.
    """

    _owns = "code that is loaded into this process"
    _instead = "share it, or compile the Relax module again: compile_managed(mod)"

    library: Any
    functions: Mapping[str, FunctionMemory]
    tokens: Mapping[str, int]

    def __copy__(self) -> ManagedModule:
        """Return the module itself, because it is immutable."""
        return self


@one_at_a_time
def compile_managed(mod: IRModule, target: str | tvm.target.Target = "llvm") -> ManagedModule:
    """Compile a Relax module so that the planner that runs it allocates its tensors.

    The passes are those of `tvm.compile` for hosts. The caller may apply other passes before,
    such as fusion. Functions that other functions call keep TVM's allocator.

    Parameters
    ----------
    mod
        Relax functions, with or without symbolic shapes.
    target
        target of the host, such as "llvm" or "llvm -mcpu=native".

    Raises
    ------
    ValueError
        The target is no host, or there is no Relax function to run.
    """
    if isinstance(target, str):
        is_kind = target in tvm.target.Target.list_kinds()
        target = tvm.target.Target(target) if is_kind else parse_targets(target).cpu
    if "cpu" not in target.keys:
        raise ValueError(f"MemoryPlanner is for hosts, not for the target {target.kind.name}")
    with target:
        mod = tvm.transform.Sequential(
            [
                *cpu.library_dispatch_passes(target),
                relax.transform.LegalizeOps(),
                *cpu.dataflow_lower_passes(target),
                relax.transform.CanonicalizeBindings(),
            ]
        )(mod)
        mod = mod.clone()  # The passes may have returned the caller's module.
        functions = {
            name: read_function(mod, name, is_in_host_memory) for name in managed_functions(mod)
        }
        if not functions:
            raise ValueError("MemoryPlanner: the module has no Relax function that nothing calls")
        tokens = {name: _token_of(memory) for name, memory in functions.items()}
        for name, memory in functions.items():
            mod.update_func(mod.get_global_var(name), rewrite(mod[name], memory, tokens[name]))
        mod = tvm.transform.Sequential(
            # Omit StaticPlanBlockMemory, because it would reuse the remaining tensors wrongly in
            # functions with branches.
            [
                relax.transform.LowerAllocTensor(),
                relax.transform.KillAfterLastUse(),
                relax.transform.LowerRuntimeBuiltin(),
                relax.transform.ComputePrimValue(),
                relax.transform.VMShapeLower(),
                relax.transform.AttachGlobalSymbol(),
            ]
        )(mod)
    executable = relax.build(mod, target, relax_pipeline=None)
    return ManagedModule(executable.jit(), functions, tokens)


def rewrite(function: relax.Function, memory: FunctionMemory, token: int) -> relax.Function:
    """Rewrite the allocations of a function into calls of the planner.

    ::

        alloc = R.builtin.alloc_tensor(R.shape([n, 16]), R.dtype("float32"), 0, R.str("global"))
        # becomes
        alloc = R.call_packed("usmp.runtime.alloc_tensor", token, 0, R.shape([n, 16]))

    A call at the start of the function announces the known sizes. References to tensors are
    killed after their last use, also after branches, where TVM's own pass does not kill them.
    """
    rewritten = _Rewriter(memory, token).visit_expr(function)
    sizes = relax.ShapeExpr([bytes_of(memory.tensors[number]) for number in memory.expected])
    no_type = TupleType([])
    call = Call(relax.ExternFunc(_EXPECT), [relax.prim_value(token), sizes], ty_args=[no_type])
    call = relax.BlockBuilder().normalize(call)
    first = relax.BindingBlock([relax.VarBinding(relax.Var("_", no_type), call)])
    body = relax.SeqExpr([first, *rewritten.body.blocks], rewritten.body.body)
    return relax.Function(
        rewritten.params,
        body,
        rewritten.ret_ty,
        rewritten.is_pure,
        rewritten.attrs,
    )


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    def __init__(self, memory: FunctionMemory, token: int) -> None:
        super().__init__()
        self.memory = memory
        self.token = token

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        number = self.memory.numbers.get(binding.var)
        if number is not None:
            arguments = [
                relax.prim_value(self.token),
                relax.prim_value(number),
                binding.value.args[0],
            ]
            extern = relax.ExternFunc(_ALLOCATE)
            call = Call(extern, arguments, ty_args=[binding.var.ty])
            binding = relax.VarBinding(binding.var, call)
        super().visit_var_binding_(binding)
        self.kill_after(binding)

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        super().visit_match_cast_(binding)
        self.kill_after(binding)

    def kill_after(self, binding: relax.Binding) -> None:
        for variable in self.memory.killed_after.get(binding.var, ()):
            self.builder_.emit(kill_object(self.visit_expr(variable)), "_")


def _token_of(memory: FunctionMemory) -> int:
    """Return a number that depends only on the tensors, so that compilation is deterministic."""
    return zlib.crc32("\n".join(map(str, memory.tensors)).encode())

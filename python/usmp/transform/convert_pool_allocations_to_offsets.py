"""ConvertPoolAllocationsToOffsets: the plan becomes code."""

from __future__ import annotations

from collections.abc import Mapping

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType

from usmp.analysis.extract_buffer_info import size_bytes
from usmp.objects import (
    AllocatedPoolInfo,
    ConstantInfo,
    ConstantPoolInfo,
    PoolAllocation,
    PoolInfo,
)
from usmp.objects.attributes import (
    CONSTANT_DATA_ATTR,
    INPUT_TENSOR_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    OUTPUT_TENSOR_ATTR,
    POOL_ARGS_ATTR,
)

_POOL_ALIGNMENT = 16


def convert_pool_allocations_to_offsets(
    pool_allocations: Mapping[tirx.AllocBuffer, PoolAllocation],
) -> tvm.transform.Pass:
    """Rewrite each planned AllocBuffer into a view of a pool parameter at its offset.

    Every PrimFunc gets a `uint8` pointer parameter for each pool that it or a PrimFunc that it
    calls uses, after its own parameters and in the order of the pools' names; calls pass them on.
    The attribute `pool_args` lists them as `AllocatedPoolInfo`s, on each PrimFunc and, all of
    them, on the module; `allocated_size` is the pool's peak in bytes. Constant pools carry their
    content as `ConstantInfo`s. Inputs and outputs that were planned are listed in the module's
    `io_tensor_pool_allocations`. RFC 0009, "Step 5".

    Parameters
    ----------
    pool_allocations: for each AllocBuffer to place its pool and byte offset.
    """

    @tvm.transform.module_pass(opt_level=0, name="tir.usmp.ConvertPoolAllocationsToOffsets")
    def convert(mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        return _Converter(mod, pool_allocations).run()

    return convert


class _Converter:
    def __init__(self, mod: IRModule, plan: Mapping[tirx.AllocBuffer, PoolAllocation]) -> None:
        self.mod = mod
        self.plan = plan
        self.functions = {
            variable.name_hint: func
            for variable, func in mod.functions.items()
            if isinstance(func, tirx.PrimFunc)
        }
        pools = {
            allocation.pool_info.pool_name: allocation.pool_info for allocation in plan.values()
        }
        self.pools: list[PoolInfo] = [pools[name] for name in sorted(pools)]
        self.used: dict[str, set[str]] = {}

    def run(self) -> IRModule:
        for name in self.functions:
            self._pools_used_by(name)
        allocated = {
            pool.pool_name: AllocatedPoolInfo(self._with_content(pool), self._peak(pool), index)
            for index, pool in enumerate(self.pools)
        }
        converted = IRModule(self.mod.functions, attrs=self.mod.attrs)
        for name, func in self.functions.items():
            variable = self.mod.get_global_var(name)
            converted.update_func(variable, self._convert(name, func, allocated))
        return converted.with_attrs(
            {
                POOL_ARGS_ATTR: list(allocated.values()),
                IO_TENSOR_POOL_ALLOCATIONS_ATTR: self._io_tensors(),
            }
        )

    def _pools_used_by(self, name: str) -> set[str]:
        """Names of the pools that the PrimFunc needs for itself and for those that it calls."""
        if name in self.used:
            return self.used[name]
        used: set[str] = set()
        self.used[name] = used

        def on_allocation(stmt: tirx.AllocBuffer) -> None:
            if stmt in self.plan:
                used.add(self.plan[stmt].pool_info.pool_name)

        def on_call(call: Call) -> None:
            callee = self._callee(call)
            if callee is not None:
                used.update(self._pools_used_by(callee))

        body = self.functions[name].body
        tvm_ffi.structural_walk(body, [(tirx.AllocBuffer, on_allocation), (Call, on_call)])
        return used

    def _callee(self, call: Call) -> str | None:
        if isinstance(call.op, GlobalVar) and call.op.name_hint in self.functions:
            return str(call.op.name_hint)
        return None

    def _convert(
        self, name: str, func: tirx.PrimFunc, allocated: dict[str, AllocatedPoolInfo]
    ) -> tirx.PrimFunc:
        pool_args = [allocated[pool] for pool in sorted(self.used[name])]
        pointers = {
            arg.pool_info.pool_name: tirx.Var(
                f"{arg.pool_info.pool_name}_{arg.pool_var_idx}_var", PointerType(PrimType("uint8"))
            )
            for arg in pool_args
        }
        buffers = {
            arg.pool_info.pool_name: tirx.decl_buffer(
                (arg.allocated_size,),
                "uint8",
                f"{arg.pool_info.pool_name}_{arg.pool_var_idx}_buffer_var",
                data_alignment=_POOL_ALIGNMENT,
            )
            for arg in pool_args
        }

        def place(stmt: tirx.AllocBuffer) -> tirx.Stmt:
            if stmt not in self.plan:
                return stmt
            allocation = self.plan[stmt]
            pool = buffers[allocation.pool_info.pool_name]
            address = tirx.address_of(pool[allocation.byte_offset])
            return tirx.DeclBuffer(stmt.buffer, data=address, span=stmt.span)

        def pass_pools(call: Call) -> Call:
            callee = self._callee(call)
            if callee is None:
                return call
            arguments = [*call.args, *(pointers[pool] for pool in sorted(self.used[callee]))]
            return Call(call.op, arguments, call.attrs, call.ty_args, call.span, call.ty)

        body = tvm_ffi.structural_map(func.body, [(tirx.AllocBuffer, place), (Call, pass_pools)])
        declarations = [tirx.DeclBuffer(buffers[p], data=pointers[p]) for p in pointers]
        statements = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
        return tirx.PrimFunc(
            [*func.params, *pointers.values()],
            tirx.SeqStmt([*declarations, *statements]) if declarations else body,
            func.ret_type,
            func.attrs,
        ).with_attr(POOL_ARGS_ATTR, pool_args)

    def _peak(self, pool: PoolInfo) -> int:
        """Highest end address in the pool, in bytes."""
        return max(
            allocation.byte_offset + size_bytes(stmt.buffer)
            for stmt, allocation in self.plan.items()
            if allocation.pool_info.pool_name == pool.pool_name
        )

    def _with_content(self, pool: PoolInfo) -> PoolInfo:
        """The pool; a constant pool together with the constants that were placed in it."""
        if not isinstance(pool, ConstantPoolInfo):
            return pool
        constants = [
            ConstantInfo(
                stmt.buffer.name, allocation.byte_offset, stmt.annotations[CONSTANT_DATA_ATTR]
            )
            for stmt, allocation in self.plan.items()
            if allocation.pool_info.pool_name == pool.pool_name
        ]
        constants.sort(key=lambda constant: int(constant.byte_offset))
        return pool.with_constants(constants)

    def _io_tensors(self) -> dict[str, PoolAllocation]:
        return {
            str(stmt.annotations[attribute]): allocation
            for stmt, allocation in self.plan.items()
            for attribute in (INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR)
            if attribute in stmt.annotations
        }

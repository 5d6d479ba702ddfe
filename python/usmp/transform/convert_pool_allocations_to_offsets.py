"""ConvertPoolAllocationsToOffsets: rewrite allocations into views of pools, by a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import lcm
from operator import itemgetter

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, IRModule, PointerType, PrimType

from usmp.analysis.buffer_extraction import annotated_pools, byte_alignment
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.symbolic.all_sizes import largest_bytes_of
from usmp.objects import AllocatedPoolInfo, ConstantInfo, ConstantPoolInfo, PoolAllocation, PoolInfo
from usmp.objects.arguments.executor import DEFAULT_BYTE_ALIGNMENT, executor_of
from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    INPUT_TENSOR_ATTR,
    OUTPUT_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    POOL_ARGS_ATTR,
    SYMBOLIC_SIZES_ATTR,
    WORKSPACE_SIZE_FUNCTIONS_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.pool_places import has_place, line_bytes, rounded_up
from usmp.objects.schedule import FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR
from usmp.passes import ModulePass
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.offset_expressions import OffsetExpressions
from usmp.support.reachable import reachable
from usmp.tir.global_symbol import GLOBAL_SYMBOL_ATTR, global_symbol
from usmp.tir.nodes import nodes_of
from usmp.transform.computed_offsets import ComputedOffsets


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertPoolAllocationsToOffsets")
class ConvertPoolAllocationsToOffsets(ModulePass):
    """Rewrite each planned AllocBuffer into a view of a pool parameter at its offset.

    Every PrimFunc gets a `uint8` pointer parameter for each pool that it or its callees use, after
    its own parameters and sorted by the pools' names; calls pass these on. A PrimFunc loses
    `tirx.noalias`, because its parameters may share bytes now.
    The attribute `pool_args` of each PrimFunc lists its pools as `AllocatedPoolInfo`s; that of the
    module lists all of them. `allocated_size` is the pool's peak in bytes, rounded up to its
    alignment; `alignment` is the required alignment of the address of offset 0. Constant pools
    carry their content as `ConstantInfo`s. The attribute `io_tensor_pool_allocations` lists planned
    inputs and outputs. It is an attribute of the module or, with several entries, of each entry's
    PrimFunc. TVM's RFC 0009, "Step 5".

    Parameters
    ----------
    pool_allocations
        pool and byte offset of each AllocBuffer to place.
    offset_expressions
        offsets in workspace pools that depend on symbolic sizes. With them, `__tvm_main__` first
        computes these offsets, PrimFuncs that allocate take them as `int32`, and the attribute
        `workspace_size_functions` of the module names, by pool, a PrimFunc that returns the bytes
        that the pool needs at given sizes.
    emit_tvmscript_printable
        whether to leave out all attributes but `global_symbol`, and the candidate pools of
        allocations without a place, so that the text of the module can be parsed again.

    Raises
    ------
    ValueError
        two constants of different content share bytes, or two inputs or outputs have one
        name.
    """

    reads = (
        *(EXECUTOR_ATTR, ENTRIES_ATTR, SYMBOLIC_SIZES_ATTR, CANDIDATE_POOLS_ATTR),
        *(CONSTANT_DATA_ATTR, ALIGNMENT_ATTR, INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR),
        *(FASTER_SCHEDULES_ATTR, ROW_SCHEDULE_ATTR),
    )
    writes = (POOL_ARGS_ATTR, IO_TENSOR_POOL_ALLOCATIONS_ATTR, WORKSPACE_SIZE_FUNCTIONS_ATTR)

    def __init__(
        self,
        pool_allocations: Mapping[tirx.AllocBuffer, PoolAllocation],
        emit_tvmscript_printable: bool = False,
        offset_expressions: OffsetExpressions | None = None,
    ) -> None:
        self.pool_allocations = dict(pool_allocations)
        self.offset_expressions = offset_expressions
        self.emit_tvmscript_printable = emit_tvmscript_printable

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite every PrimFunc."""
        converted = _Converter(mod, self.pool_allocations, self.offset_expressions).run()
        return _without_attributes(converted) if self.emit_tvmscript_printable else converted


def _without_attributes(mod: IRModule) -> IRModule:
    functions = {}
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            body = tvm_ffi.structural_map(func.body, (tirx.AllocBuffer, _without_pools))
            symbol = global_symbol(func)
            func = tirx.PrimFunc(func.params, body, func.ret_type)
            func = func.with_attr(GLOBAL_SYMBOL_ATTR, symbol) if symbol else func
        functions[variable] = func
    return IRModule(functions)


def _without_pools(stmt: tirx.AllocBuffer) -> tirx.AllocBuffer:
    return CANDIDATE_POOLS_ATTR.removed(stmt)


class _Converter:
    def __init__(
        self,
        mod: IRModule,
        plan: Mapping[tirx.AllocBuffer, PoolAllocation],
        expressions: OffsetExpressions | None,
    ) -> None:
        self.mod = mod
        self.plan = plan
        self.computed = ComputedOffsets(module_facts(mod).graph, expressions)
        self.executor = executor_of(mod)
        self.graph = module_facts(mod).graph
        self.functions = self.graph.functions
        pools = {
            allocation.pool_info.pool_name: allocation.pool_info for allocation in plan.values()
        }
        self.pools: list[PoolInfo] = [pools[name] for name in sorted(pools)]
        self.used = self._used_pools()

    def run(self) -> IRModule:
        allocated = {
            pool.pool_name: AllocatedPoolInfo(
                self._with_content(pool), self._peak(pool), index, self._alignment(pool)
            )
            for index, pool in enumerate(self.pools)
        }
        converted = IRModule(self.mod.functions, attrs=self.mod.attrs)
        for name, func in self.functions.items():
            variable = self.mod.get_global_var(name)
            converted.update_func(variable, self._convert(name, func, allocated))
        converted = POOL_ARGS_ATTR.put(converted, list(allocated.values()))
        converted = self.computed.with_size_functions(converted)
        entries = entries_of(self.mod)
        if entries == [ONLY_ENTRY]:
            places = self._io_tensors(self.plan)
            return IO_TENSOR_POOL_ALLOCATIONS_ATTR.put(converted, places)
        for name in map(entry_function_name, entries):
            places = self._io_tensors(nodes_of(self.functions[name].body, tirx.AllocBuffer))
            func = IO_TENSOR_POOL_ALLOCATIONS_ATTR.put(converted[name], places)
            converted.update_func(self.mod.get_global_var(name), func)
        return converted

    def _used_pools(self) -> dict[str, set[str]]:
        """Return the names of the pools that each PrimFunc and its callees use."""
        own = {
            name: {
                str(self.plan[stmt].pool_info.pool_name)
                for stmt in nodes_of(func.body, tirx.AllocBuffer)
                if stmt in self.plan
            }
            for name, func in self.functions.items()
        }
        return {
            name: set().union(*(own[other] for other in reachable([name], self.graph.callees)))
            for name in own
        }

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
                data_alignment=arg.alignment,
            )
            for arg in pool_args
        }

        offsets = self.computed.of(name)

        def place(stmt: tirx.AllocBuffer) -> tirx.Stmt:
            if stmt not in self.plan:
                return stmt
            allocation = self.plan[stmt]
            pool = buffers[allocation.pool_info.pool_name]
            address = tirx.address_of(pool[offsets.offset(stmt, allocation.byte_offset)])
            return tirx.DeclBuffer(stmt.buffer, data=address, span=stmt.span)

        def pass_pools(call: Call) -> Call:
            emitted_call = self.graph.calls.resolve(call)
            if emitted_call is None:
                return call
            pools = [pointers[pool] for pool in sorted(self.used[emitted_call.callee])]
            # A resource handle that is passed by name comes after all parameters.
            end = emitted_call.first_argument + len(self.functions[emitted_call.callee].params)
            passed = [*offsets.passed_to(emitted_call.callee), *pools]
            arguments = [*call.args[:end], *passed, *call.args[end:]]
            return Call(call.op, arguments, call.attrs, call.ty_args, call.span, call.ty)

        body = tvm_ffi.structural_map(func.body, [(tirx.AllocBuffer, place), (Call, pass_pools)])
        declarations: list[tirx.Stmt] = [
            *offsets.binds,
            *(tirx.DeclBuffer(buffers[p], data=pointers[p]) for p in pointers),
        ]
        planned = tirx.PrimFunc(
            [*func.params, *offsets.parameters, *pointers.values()],
            tirx.SeqStmt([*declarations, *tirx.stmt_list(body)]) if declarations else body,
            func.ret_type,
            func.attrs,
        )
        # Buffers may share bytes now, and no schedule remains to be chosen.
        planned = planned.without_attr("tirx.noalias")
        planned = ROW_SCHEDULE_ATTR.removed(FASTER_SCHEDULES_ATTR.removed(planned))
        return POOL_ARGS_ATTR.put(planned, pool_args)

    @cached_property
    def _placed(self) -> dict[str, list[tuple[tirx.AllocBuffer, int]]]:
        """Allocations of each pool with their offsets, sorted by offset."""
        placed: dict[str, list[tuple[tirx.AllocBuffer, int]]] = {}
        for stmt, allocation in self.plan.items():
            name = str(allocation.pool_info.pool_name)
            placed.setdefault(name, []).append((stmt, int(allocation.byte_offset)))
        return {name: sorted(places, key=itemgetter(1)) for name, places in placed.items()}

    def _peak(self, pool: PoolInfo) -> int:
        """Return the highest end address in a pool, in bytes."""
        places = self._placed[pool.pool_name]
        most = self.computed.most_bytes(str(pool.pool_name))
        if most is None:
            most = max(offset + self._size_bytes(stmt) for stmt, offset in places)
        return rounded_up(most, line_bytes([pool]))

    def _size_bytes(self, stmt: tirx.AllocBuffer) -> int:
        """Return the bytes of an allocation at the largest sizes."""
        size = self._largest[stmt] if stmt in self._largest else size_bytes(stmt.buffer)
        return rounded_up(size, line_bytes(annotated_pools(stmt, "")))

    @cached_property
    def _largest(self) -> dict[tirx.AllocBuffer, int]:
        return largest_bytes_of(self.mod)

    def _alignment(self, pool: PoolInfo) -> int:
        """Return an alignment for all allocations in a pool, at least the default, in bytes.

        If the user gives the pool a place, it suits all allocations that may lie in the pool, too,
        because the plan begins at this place; see `usmp.objects.pool_places`.
        """
        name = str(pool.pool_name)
        stmts = [stmt for stmt, _ in self._placed[name]]
        if has_place(pool):
            stmts += [
                stmt
                for stmt in self.plan
                if any(str(other.pool_name) == name for other in annotated_pools(stmt, ""))
            ]
        alignments = (byte_alignment(stmt, self.executor) for stmt in stmts)
        return lcm(DEFAULT_BYTE_ALIGNMENT, line_bytes([pool]), *alignments)

    def _with_content(self, pool: PoolInfo) -> PoolInfo:
        """Return the pool; a constant pool with the constants that were placed in it.

        Identical constants in the same bytes are listed once.
        """
        if not isinstance(pool, ConstantPoolInfo):
            return pool
        constants: list[ConstantInfo] = []
        last, last_end = None, 0  # the last constant that has bytes, and its end
        for stmt, offset in self._placed[pool.pool_name]:
            constant = ConstantInfo(stmt.buffer.name, offset, CONSTANT_DATA_ATTR.required(stmt))
            size = size_bytes(stmt.buffer)
            if size and last is not None and offset < last_end:
                if not _is_identical(constant, last):
                    raise ValueError(
                        f'constants "{last.name_hint}" at byte {last.byte_offset} and '
                        f'"{constant.name_hint}" at byte {offset} of pool "{pool.pool_name}" share '
                        "bytes, but their content differs"
                    )
                continue
            constants.append(constant)
            if size:
                last, last_end = constant, offset + size
        return pool.with_constants(constants)

    def _io_tensors(self, stmts: Iterable[tirx.AllocBuffer]) -> dict[str, PoolAllocation]:
        places: dict[str, PoolAllocation] = {}
        for stmt in stmts:
            for annotation in (INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR):
                name = annotation.of(stmt)
                if name is None:
                    continue
                if name in places:
                    raise ValueError(
                        f'two inputs or outputs are called "{name}", so they cannot have places in '
                        "the workspace under that name; rename one of them"
                    )
                places[name] = self.plan[stmt]
        return places


def _is_identical(a: ConstantInfo, b: ConstantInfo) -> bool:
    """Return whether two constants have the same bytes, element type and offset."""
    return a.byte_offset == b.byte_offset and _content(a.data) == _content(b.data)


def _content(data: tvm.runtime.Tensor) -> tuple[str, bytes]:
    """Return element type and bytes, without the shape because a pool is flat."""
    return str(data.dtype), data.numpy().tobytes()

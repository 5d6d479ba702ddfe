"""ScheduleOperators: operators need almost no scratch memory.

A legalized operator materializes tensors between its stages: a padded input, the accumulators of a
convolution, their sum with the bias. Here element-wise stages (padding included) are inlined, and
reductions are computed at their consumers, so an accumulator is one element instead of a tensor.
The order of floating-point operations does not change, so results stay bit-identical.

A reduction of all rows of an image gets a second schedule, for operators that run interleaved: it
reads row by row, and has an accumulator for each output element.
"""

from __future__ import annotations

from contextlib import suppress
from inspect import unwrap
from typing import TypeAlias

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, IRModule, TensorLoad
from tvm.s_tir.schedule import LoopRV, SBlockRV, ScheduleError
from tvm.sym import Analyzer

from usmp.objects.schedule import ROW_SCHEDULE_ATTR, with_row_schedule
from usmp.passes import ModulePass, with_prim_funcs
from usmp.tir.nodes import is_const_int, nodes_of
from usmp.tir.op_names import is_op

Count: TypeAlias = "int | tirx.Expr"

# Unwrapped, because TVM's checks of argument types take longer than the calls.
_get = unwrap(s_tir.Schedule.get)
_get_child_blocks = unwrap(s_tir.Schedule.get_child_blocks)
_get_consumers = unwrap(s_tir.Schedule.get_consumers)
_get_loops = unwrap(s_tir.Schedule.get_loops)
_get_sblock = unwrap(s_tir.Schedule.get_sblock)


@tvm.transform.module_pass(opt_level=0, name="usmp.ScheduleOperators")
class ScheduleOperators(ModulePass):
    """Compute element-wise stages where they are read, and reductions where they are consumed.

    Only PrimFuncs in block form are scheduled. PrimFuncs that cannot be scheduled stay as they are,
    and so do stages whose readers would repeat calls or divisions. Results stay bit-identical.

    Reductions over the outermost axis, as pools and means of whole images, also get a row schedule
    (see `usmp.objects.schedule`).
    """

    writes = (ROW_SCHEDULE_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Schedule every PrimFunc that is still in block form."""
        return with_prim_funcs(mod, _scheduled)


def _scheduled(func: tirx.PrimFunc) -> tirx.PrimFunc:
    if isinstance(func.body, s_tir.SBlockRealize) and not _is_one_map(func.body.block):
        with suppress(ScheduleError):
            return _schedule(func)
    return func


def _schedule(func: tirx.PrimFunc) -> tirx.PrimFunc:
    schedule = s_tir.Schedule(IRModule({"main": func}), error_render_level="none")
    for block in _stages(schedule):
        _compute_where_read(schedule, block)
    for block in _stages(schedule):
        _cache_accumulator(schedule, block)
    rows = _schedule_rows(schedule)
    # Consumers first: a reduction follows its consumer into the consumer's final place.
    for block in reversed(_stages(schedule)):
        if _get_consumers(schedule, block):
            _compute_where_consumed(schedule, block)
    for block in _stages(schedule):
        _initialize_before_reducing(schedule, block)
    attributes = dict(func.attrs)
    scheduled = schedule.mod["main"].with_attrs(attributes)
    return scheduled if rows is None else with_row_schedule(scheduled, rows.with_attrs(attributes))


def _schedule_rows(schedule: s_tir.Schedule) -> tirx.PrimFunc | None:
    """Return the operator scheduled to read row by row. Return None unless it consists of a
    reduction of all rows of a tensor and the consumer of this reduction."""
    stages = _stages(schedule)
    if len(stages) != 2 or not _get_consumers(schedule, stages[0]):
        return None
    block = stages[0]
    if not _reduces_rows(_get(schedule, block)):
        return None
    schedule = schedule.copy()
    reduced = {
        value: iter_var.iter_type == tirx.IterVar.CommReduce
        for iter_var, value in _bound_iter_vars(schedule, block)
    }
    loops = list(_get_loops(schedule, block))
    # Reduced axes keep their order, which is the order of additions.
    inner = [loop for loop in loops if reduced.get(_get(schedule, loop).loop_var)]
    with suppress(ScheduleError):
        schedule.reorder(*inner, *(loop for loop in loops if loop not in inner))
        schedule.decompose_reduction(block, inner[0])
        return schedule.mod["main"]
    return None


def _reduces_rows(reduction: s_tir.SBlock) -> bool:
    """Return whether a stage reads only one tensor, and reduces its outermost axis first."""
    if reduction.init is None or len(reduction.reads) != 1 or len(reduction.writes) != 1:
        return False
    analyzer = Analyzer()
    axes = []
    for iter_var in reduction.iter_vars:
        analyzer.bind(iter_var.var, iter_var.dom)
        is_reduced = iter_var.iter_type == tirx.IterVar.CommReduce
        if is_reduced and not is_const_int(iter_var.dom.extent, 1):
            axes.append(iter_var)
    (region,) = reduction.reads
    for extent, part in zip(region.source.shape, region.region, strict=True):
        if not is_const_int(extent, 1):
            row = analyzer.simplify(part.min)
            return is_const_int(part.extent, 1) and bool(axes) and row.same_as(axes[0].var)
    return False


def _is_one_map(root: s_tir.SBlock) -> bool:
    """Return whether the PrimFunc has a single stage without accumulator, so that there is nothing
    to schedule."""
    blocks = nodes_of(root.body, s_tir.SBlock)
    return len(blocks) == 1 and blocks[0].init is None and not root.alloc_buffers


def _stages(schedule: s_tir.Schedule) -> list[SBlockRV]:
    """Return the blocks inside of the root block, in program order."""
    root = schedule.mod["main"].body.block.name_hint
    return list(_get_child_blocks(schedule, _get_sblock(schedule, root)))


def _compute_where_read(schedule: s_tir.Schedule, block: SBlockRV) -> None:
    """Inline an element-wise stage into its readers; TVM refuses reductions and outputs, which
    stay."""
    if _is_expensive_to_recompute(schedule, block):
        return
    with suppress(ScheduleError):
        schedule.compute_inline(block)


def _is_expensive_to_recompute(schedule: s_tir.Schedule, block: SBlockRV) -> bool:
    """Return whether a stage calls functions or divides integers, and inlining would repeat this.

    A reader repeats the work if it has more iterations than the stage has elements, or, as the only
    reader, loads the result several times.
    """
    stage = _get(schedule, block)
    if not _is_expensive(stage.body):
        return False
    elements = [_number_of_elements(region.source) for region in stage.writes]
    readers = list(_get_consumers(schedule, block))
    if len(readers) == 1 and _number_of_loads(_get(schedule, readers[0]), stage) > 1:
        return True
    iterations = (
        _product([_get(schedule, loop).extent for loop in _get_loops(schedule, reader)])
        for reader in readers
    )
    return not all(_is_at_most(count, _sum(elements)) for count in iterations)


def _is_expensive(body: tirx.Stmt) -> bool:
    calls_c = any(is_op(call, "tirx.call_pure_extern") for call in nodes_of(body, Call))
    return calls_c or any(
        str(division.ty.dtype).startswith("int") for division in nodes_of(body, tirx.Div)
    )


def _number_of_loads(reader: s_tir.SBlock, stage: s_tir.SBlock) -> int:
    """Return the number of loads of a stage's result in a reader."""
    written = [region.source for region in stage.writes]
    return sum(
        any(load.source.same_as(buffer) for buffer in written)
        for load in nodes_of(reader.body, TensorLoad)
    )


def _cache_accumulator(schedule: s_tir.Schedule, block: SBlockRV) -> None:
    """Give a final reduction its own accumulator. Accumulating in the output would store in each
    iteration, and overwrite an input in place before it is read."""
    stage = _get(schedule, block)
    if stage.init is not None and len(stage.writes) == 1 and not _get_consumers(schedule, block):
        schedule.cache_write(block, 0, "global")


def _compute_where_consumed(schedule: s_tir.Schedule, block: SBlockRV) -> None:
    """Move a stage into the loops of its last consumer, as deep as possible without
    recomputation."""
    written = [region.source for region in _get(schedule, block).writes]
    loops = _loops_that_select(schedule, list(_get_consumers(schedule, block)), written)
    while loops and not _is_moved(schedule, block, loops[-1]):
        # The loop does not enclose all consumers; an outer loop may.
        loops.pop()
    extents = [_get(schedule, loop).extent for loop in loops]
    for index, buffer in enumerate(written):
        if _is_equal(_number_of_elements(buffer), _product(extents)):
            # The buffer shrinks to one element, a C local that compilers keep in a register.
            schedule.set_scope(block, index, "local")


def _is_moved(schedule: s_tir.Schedule, block: SBlockRV, loop: LoopRV) -> bool:
    try:
        schedule.compute_at(block, loop)
    except ScheduleError:
        return False
    return True


def _initialize_before_reducing(schedule: s_tir.Schedule, block: SBlockRV) -> None:
    """Initialize an accumulator before its reduction loops, instead of testing in each
    iteration."""
    if _get(schedule, block).init is None:
        return
    reduced = {
        value
        for iter_var, value in _bound_iter_vars(schedule, block)
        if iter_var.iter_type == tirx.IterVar.CommReduce
    }
    for loop in _get_loops(schedule, block):
        if _get(schedule, loop).loop_var in reduced:
            schedule.decompose_reduction(block, loop)
            return


def _bound_iter_vars(
    schedule: s_tir.Schedule, block: SBlockRV
) -> list[tuple[tirx.IterVar, tirx.Expr]]:
    """Return the value of each block variable, usually a loop variable."""
    realize = tvm_ffi.get_global_func("s_tir.schedule.GetSBlockRealize")(schedule, block)
    return list(zip(_get(schedule, block).iter_vars, realize.iter_values, strict=True))


def _loops_that_select(
    schedule: s_tir.Schedule, consumers: list[SBlockRV], buffers: list[tirx.Buffer]
) -> list[LoopRV]:
    """Return the outermost loops of the last consumer that select parts of `buffers`.

    The variable of each loop indexes one dimension in all consumers. So each iteration reads its
    own part of the buffers, and a stage moved inside is computed once. Loops of one iteration are
    included, too.
    """
    reads = [indices for consumer in consumers for indices in _indices(schedule, consumer, buffers)]
    selecting: list[LoopRV] = []
    for loop in _get_loops(schedule, consumers[-1]):
        node = _get(schedule, loop)
        dimensions = [
            {
                dimension
                for dimension, index in enumerate(indices)
                if index is not None and index.same_as(node.loop_var)
            }
            for indices in reads
        ]
        if not set.intersection(*dimensions) and not is_const_int(node.extent, 1):
            break
        selecting.append(loop)
    return selecting


def _indices(
    schedule: s_tir.Schedule, consumer: SBlockRV, buffers: list[tirx.Buffer]
) -> list[list[tirx.Expr | None]]:
    """Return, for each read of `buffers`, the loop expressions that index single elements; None for
    ranges."""
    values = {iter_var.var: value for iter_var, value in _bound_iter_vars(schedule, consumer)}
    return [
        [
            values.get(r.min) if isinstance(r.min, tirx.Var) and is_const_int(r.extent, 1) else None
            for r in region.region
        ]
        for region in _get(schedule, consumer).reads
        if any(region.source.same_as(buffer) for buffer in buffers)
    ]


def _number_of_elements(buffer: tirx.Buffer) -> Count:
    return _product(list(buffer.shape))


def _product(factors: list[tirx.Expr]) -> Count:
    """Return a product as a number, or as an expression of symbolic sizes."""
    result: Count = 1
    for factor in factors:
        result = result * (int(factor) if isinstance(factor, tirx.IntImm) else factor)
    return result


def _sum(terms: list[Count]) -> Count:
    result: Count = 0
    for term in terms:
        result = result + term
    return result


def _is_equal(a: Count, b: Count) -> bool:
    """Return whether two counts are equal for all sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return bool(Analyzer().can_prove_equal(a, b))


def _is_at_most(a: Count, b: Count) -> bool:
    """Return whether the first count is provably at most the second."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    return bool(Analyzer().can_prove(a <= b))

"""Packs bias and factors of an operator into the fewest bytes that give the same outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, Range, TensorLoad

from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.constants.pack_channels import PackedChannels, pack_channels
from usmp.ops.quantized.rescaling.accumulators import accumulator_range
from usmp.ops.quantized.rescaling.fixed_point import int32, multiply
from usmp.ops.quantized.rescaling.weighted_constants import CONSTANTS, narrowed, without_channels
from usmp.ops.records.products import WeightedOp
from usmp.ops.rounding import Rounding, rounding_of
from usmp.tir.intrinsics import RESCALE_CHANNEL
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True, eq=False)
class _Ending:
    """The epilogue of an operator: it rescales `accumulator + bias[channel]`.

    Parameters
    ----------
    call
        the call that rescales.
    rounding
        the rounding of `call`.
    accumulator, channel
        the load of an accumulator, and the index of its channel.
    parameters, values
        weight, bias, multiplier and shift: parameters and constants.
    """

    call: Call
    rounding: Rounding
    accumulator: TensorLoad
    channel: tirx.Expr
    parameters: tuple[tirx.Var, ...]
    values: tuple[np.ndarray, ...]


def with_packed_constants(call: OperatorCall) -> OperatorCall:
    """Pack an operator's bias and factors into the fewest bytes that give the same outputs.

    A factor that all channels share becomes a literal. A bias of zeros is dropped. Factors that
    differ and are rounded twice are packed together with the biases (`pack_channels`) if they fit.
    An operator without constant weights stays as it is.
    """
    record = call.records[0] if call.records else None
    if not isinstance(record, WeightedOp):
        return call
    ending = _ending(call)
    if ending is None:
        return call
    weight, *arrays = ending.values
    bias, multiplier, shift = (array.astype(np.int64) for array in arrays)
    factors = {*zip(multiplier.tolist(), shift.tolist(), strict=True)}
    if ending.rounding is Rounding.TWICE and len(factors) > 1:
        packed = _packed(record, weight, bias, multiplier, shift)
        if packed is not None:
            return _with_records(call, record, ending, packed)
    added, total = [], ending.accumulator
    if bias.any():
        values = narrowed(bias)
        buffer = _parameter(values, "bias")
        element = buffer[ending.channel].astype(str(total.ty.dtype))
        added, total = [(buffer, values)], total + element
    if len(factors) == 1:
        factor = [int32(value) for value in factors.pop()]
    else:
        arrays = [multiplier.astype(np.int32), shift.astype(np.int8)]
        buffers = [
            _parameter(array, name) for array, name in zip(arrays, CONSTANTS[2:], strict=True)
        ]
        factor = [int32(buffer[ending.channel]) for buffer in buffers]
        added += zip(buffers, arrays, strict=True)
    scaled = multiply(total, factor[0], factor[1], ending.rounding)
    return _with_constants(call, ending, weight, added, scaled, (bias, multiplier, shift))


def _with_records(
    call: OperatorCall, record: WeightedOp, ending: _Ending, packed: PackedChannels
) -> OperatorCall:
    """Replace an operator's bias and factors by records of channels."""
    weight = ending.values[0]
    if packed.is_constant.any():
        weight = without_channels(weight, record.inputs[1], packed.is_constant)
    buffers = [_parameter(array, "records") for array in packed.records]
    scaled = _rescaled(packed, ending.accumulator, ending.channel, buffers)
    arrays = (packed.bias, packed.multiplier, packed.shifts)
    added = [*zip(buffers, packed.records, strict=True)]
    return _with_constants(call, ending, weight, added, scaled, arrays)


def _ending(call: OperatorCall) -> _Ending | None:
    """Return the epilogue of an operator; None if it has not exactly one of this form."""
    constants = {
        param: values
        for param, values in zip(call.func.params, call.constants, strict=False)
        if values is not None
    }
    endings = [
        ending
        for rescale in nodes_of(call.func.body, Call)
        if (rounding := rounding_of(rescale)) is not None
        if (ending := _ending_of(call.func, constants, rescale, rounding)) is not None
    ]
    return endings[0] if len(endings) == 1 else None


def _ending_of(
    func: tirx.PrimFunc, constants: Mapping[tirx.Var, np.ndarray], rescale: Call, rounding: Rounding
) -> _Ending | None:
    _, total, *factor = rescale.args
    if not isinstance(total, tirx.Add):
        return None
    bias = total.b.value if isinstance(total.b, tirx.Cast) else total.b
    loads = [bias, *factor]
    if not all(isinstance(load, TensorLoad) and load.source in constants for load in loads):
        return None
    accumulator = total.a
    weights = {
        load.source
        for store in nodes_of(func.body, tirx.BufferStore)
        if isinstance(accumulator, TensorLoad) and store.buffer.same_as(accumulator.source)
        for load in nodes_of(store.value, TensorLoad)
        if load.source in constants
    }
    parameters = (*weights, *(load.source for load in loads))
    reads = [load for load in nodes_of(func.body, TensorLoad) if load.source in parameters]
    # Require one load of each parameter, so that nothing else depends on their values.
    if len({*parameters}) != 4 or len(reads) != 4:
        return None
    values = tuple(constants[param] for param in parameters)
    channel = bias.indices[0]
    return _Ending(rescale, rounding, accumulator, channel, parameters, values)


def _packed(
    record: WeightedOp,
    weight: np.ndarray,
    bias: np.ndarray,
    multiplier: np.ndarray,
    shift: np.ndarray,
) -> PackedChannels | None:
    stored = record.inputs[1]
    by_channel = record.by_output(weight).reshape(len(bias), -1).astype(np.int32)
    accumulators = accumulator_range(
        by_channel - stored.zero_points[0], bias, record.inputs[0], "int32"
    )
    low, high = (limit - record.output_zero_point for limit in record.clamp)
    return pack_channels(bias, multiplier, shift, (low, high), accumulators)


def _parameter(values: np.ndarray, name: str) -> tirx.Var:
    return tirx.decl_buffer(values.shape, str(values.dtype), name, layout=None)


def _rescaled(
    packed: PackedChannels,
    accumulator: tirx.Expr,
    channel: tirx.Expr,
    buffers: Sequence[tirx.Var],
) -> tirx.Expr:
    """Return an accumulator, rescaled by the packed record of its channel."""
    words, *rest = buffers
    high = words[channel, 2].astype("uint32")
    if rest:
        high = high | rest[0][channel].astype("uint32") << tirx.IntImm("uint32", 16)
    fields = (packed.record_bits, packed.mantissa_bits, packed.shift_bits, packed.shift)
    return tirx.call_pure_extern(
        "int32",
        RESCALE_CHANNEL,
        accumulator,
        words[channel, 0],
        words[channel, 1],
        high,
        *(tirx.IntImm("int32", field) for field in fields),
    )


def _with_constants(
    call: OperatorCall,
    ending: _Ending,
    weight: np.ndarray,
    added: Sequence[tuple[tirx.Var, np.ndarray]],
    scaled: tirx.Expr,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> OperatorCall:
    """Replace bias and factors by the constants `added`, and the rescaling call by `scaled`. The
    values of bias, multiplier and shift are `arrays`."""
    own_weight, bias, *factors = ending.parameters
    params: list[tirx.Var] = []
    constants: list[np.ndarray | None] = []
    arguments: list[int | np.ndarray] = []
    for number, param in enumerate(call.func.params):
        if any(param.same_as(factor) for factor in factors):
            continue
        if param.same_as(bias):
            params += [buffer for buffer, _ in added]
            constants += [values for _, values in added]
            arguments += [values for _, values in added]
            continue
        params.append(param)
        if number < len(call.constants):
            is_other = param.same_as(own_weight) and weight is not ending.values[0]
            constants.append(weight if is_other else call.constants[number])
            arguments.append(weight if is_other else call.arguments[number])
    func = call.func
    body = tvm_ffi.structural_map(
        func.body,
        [
            (Call, lambda node: scaled if node.same_as(ending.call) else node),
            (s_tir.SBlock, lambda block: _with_reads(block, ending, added)),
        ],
    )
    func = tirx.PrimFunc(params, body, func.ret_type, func.attrs)
    return OperatorCall(func, tuple(constants), tuple(arguments), arrays)


def _with_reads(
    block: s_tir.SBlock, ending: _Ending, added: Sequence[tuple[tirx.Var, np.ndarray]]
) -> s_tir.SBlock:
    """Replace bias and factors by the buffers `added` in the regions that a block reads."""
    removed = ending.parameters[1:]
    reads = [region for region in block.reads if region.source not in removed]
    if len(reads) == len(block.reads):
        return block
    for buffer, values in added:
        ranges = [Range.from_min_extent(ending.channel, 1)]
        ranges += [Range.from_min_extent(0, extent) for extent in values.shape[1:]]
        reads.append(tirx.BufferRegion(buffer, ranges))
    return s_tir.SBlock(
        block.iter_vars,
        reads,
        block.writes,
        block.name_hint,
        block.body,
        block.init,
        block.alloc_buffers,
        block.match_buffers,
        block.annotations,
    )

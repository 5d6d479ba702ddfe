"""Kernels of `transpose_conv2d` operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx
from tvm.sym import Analyzer

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.weighted import Ending, WeightedOperator
from usmp.ops.kernels.costs import Costs, costs_of
from usmp.ops.kernels.images.convolution import TILES, Convolution
from usmp.ops.kernels.images.convolution_costs import convolution_instructions
from usmp.ops.kernels.images.transposed_conv2d import (
    PhaseConvolution,
    Phases,
    Sides,
    phase_weight,
    phases_of,
    stored_by_phase,
    transposed_convolution,
)
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.loops import counted, tile_text
from usmp.ops.quantized.transposed_convolution import TransposedSide
from usmp.ops.records.products import TransposeConv2d
from usmp.ops.window import Window

_MOST_PHASES = 9
"""The most phases: more would take too much code, because each has code of its own."""


def transposed_conv2d_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a transposed convolution of NHWC data; None if it is not supported."""
    operator = call.weighted
    sides = None if operator is None else transposed_sides(operator)
    if operator is None or sides is None:
        return None
    phases = phases_of(sides)
    if len(phases) > _MOST_PHASES:
        return None
    folds = not core.has_dsp
    parts = [_OperatorPhase(operator, phase) for phase in phases]
    endings = [operator.ending_of(part.flat, folds) for part in parts]
    if folds and not all(ending.is_folded for ending in endings):
        folds = False
    if not folds:
        endings = [operator.ending_of(operator.values.reshape(len(operator.values), -1), False)]
        endings *= len(parts)
    by_phase = [part.convolution(ending) for part, ending in zip(parts, endings, strict=True)]
    bodies = [_tiled(by_phase, pixels, channels, costs_of(core)) for pixels, channels in TILES]
    return kernel(call, bodies, _replaced(operator, by_phase, parts, endings))


def transposed_sides(operator: WeightedOperator) -> Sides | None:
    """Return the geometry of rows and of columns of a transposed convolution; None unless the
    operator reads NHWC data at the indices that its record implies."""
    record, parts, data = operator.record, operator.parts, operator.data
    if not isinstance(record, TransposeConv2d) or record.layout.axes != "NHWC":
        return None
    if operator.values.ndim != 4 or len(data.shape) != 4:
        return None
    _, *kernel_sizes, _ = operator.values.shape
    outputs, inputs = ([int(e) for e in buffer.shape[1:3]] for buffer in (parts.output, data))
    rows, columns = (
        TransposedSide(*sizes)
        for sizes in zip(inputs, kernel_sizes, record.strides, record.padding, outputs, strict=True)
    )
    load = parts.load_of(data)
    if load is None or len(parts.axes) != 7:
        return None
    b, y, x, _, sy, sx, ic = parts.axes
    expected = (b, rows.position(y, sy), columns.position(x, sx), ic)
    analyzer = Analyzer()
    is_known = all(
        analyzer.can_prove_equal(index, position)
        for index, position in zip(load.indices, expected, strict=True)
    )
    return (rows, columns) if is_known else None


@dataclass(frozen=True, eq=False)
class _OperatorPhase:
    """A phase of a transposed convolution."""

    operator: WeightedOperator
    phases: Phases

    @property
    def weight(self) -> np.ndarray:
        """The weights: (output channels, rows, columns, channels)."""
        return phase_weight(self.operator.values, self.phases)

    @property
    def flat(self) -> np.ndarray:
        """The weights: (output channels, taps)."""
        return self.weight.reshape(len(self.weight), -1)

    def convolution(self, ending: Ending) -> PhaseConvolution:
        """Return the convolution of the phase, with a new parameter for its weights."""
        operator, phases, weight = self.operator, self.phases, self.weight
        height, width = (int(extent) for extent in operator.data.shape[1:3])
        rows, columns = phases
        window = Window(
            (height, width),
            (rows.taps, columns.taps),
            (1, 1),
            (1, 1),
            (rows.padding, columns.padding),
            (rows.existing.end, columns.existing.end),
        )
        buffer = tirx.decl_buffer((weight.size,), "int8", "weight")
        accumulators = stored_by_phase(ending.accumulators, phases)
        conv = Convolution(operator.data, buffer, window, len(weight), accumulators)
        return PhaseConvolution(phases, conv)


def _replaced(
    operator: WeightedOperator,
    by_phase: Sequence[PhaseConvolution],
    parts: Sequence[_OperatorPhase],
    endings: Sequence[Ending],
) -> dict[tirx.Var, list[tuple[tirx.Var, np.ndarray]]]:
    """Return the parameters and constants that replace the operator's weight and ending."""
    constants: dict[tirx.Var, np.ndarray] = {}
    replaced: dict[tirx.Var, list[tuple[tirx.Var, np.ndarray]]] = {}
    for phase, part, ending in zip(by_phase, parts, endings, strict=True):
        of_phase = ending.replaced(phase.conv.weight, part.flat.ravel())
        constants |= {buffer: values for buffer, values in of_phase[operator.weight] if values.size}
        replaced |= {param: [] for param in of_phase if not param.same_as(operator.weight)}
    return replaced | {operator.weight: list(constants.items())}


def _tiled(
    by_phase: Sequence[PhaseConvolution], pixels: int, channels: Sequence[int], costs: Costs
) -> TiledBody:
    conv = by_phase[0].conv
    tile = f"{counted(pixels, 'pixel')} x {tile_text(conv.outputs, channels)}"
    convs = [p.conv for p in by_phase if p.conv.taps]
    instructions = sum(convolution_instructions(c, pixels, channels, costs) for c in convs)
    text = f"{tile}, {counted(len(by_phase), 'phase')}"
    return TiledBody(
        transposed_convolution(by_phase, pixels, channels), Schedule(text, instructions)
    )

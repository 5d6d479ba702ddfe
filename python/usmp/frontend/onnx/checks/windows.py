"""Checks of the kernel windows of convolutions and pooling against the shapes of their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.operands import Operand

_CONVOLUTIONS = frozenset({"Conv", "ConvInteger"})
_POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})
_TRANSPOSED = "ConvTranspose"
_MOST = (1 << 31) - 1
_PADDINGS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def check_window(operator: str, operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    """Check the attributes of an operator that moves a kernel window; other operators pass.

    Raises
    ------
    NotSupported
        an attribute does not have one number per spatial axis, a size is not positive, padding is
        negative or as large as the kernel of a pooling, the groups do not divide the channels, or
        the window does not fit into the padded input.
    """
    if operator not in {*_CONVOLUTIONS, *_POOLS, _TRANSPOSED} or operands[0].shape is None:
        return
    rank = len(operands[0].shape) - 2
    if rank < 1:
        raise NotSupported(
            f"its input has rank {rank + 2}, and there must be an axis behind batch and channels"
        )
    kernel = _lists(attributes, "kernel_shape", rank, least=1)
    if operator not in _POOLS:
        kernel = _kernel_of_weights(operator, operands, kernel, rank)
        _check_groups(operator, operands, int(attributes.get("group", 1)))
    padding = bytes(attributes.get("auto_pad", b"NOTSET")).decode(errors="replace")
    if padding not in _PADDINGS:
        raise NotSupported(f"auto_pad is none of {', '.join(_PADDINGS)}")
    strides, dilations = (
        _lists(attributes, name, rank, least=1) or [1] * rank for name in ("strides", "dilations")
    )
    pads = _lists(attributes, "pads", 2 * rank, least=0) or [0] * 2 * rank
    if kernel is None:
        return
    if operator in _POOLS:
        _check_pads_of_pool(kernel, pads)
    reach = [(taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    if operator == _TRANSPOSED:
        _lists(attributes, "output_shape", rank, least=1)
        added = _lists(attributes, "output_padding", rank, least=0) or [0] * rank
        if padding == "NOTSET" and "output_shape" not in attributes:
            _check_transposed(operands[0].shape[2:], strides, reach, pads, added)
    elif padding in ("NOTSET", "VALID"):
        used = pads if padding == "NOTSET" else [0] * 2 * rank
        _check_fits(operands[0].shape[2:], reach, used)


def _lists(attributes: Mapping[str, Any], name: str, count: int, *, least: int) -> list[int] | None:
    """Return an attribute after checking that it has `count` numbers; None if it is missing."""
    if attributes.get(name) is None:
        return None
    numbers = [int(number) for number in attributes[name]]
    if len(numbers) != count:
        raise NotSupported(f"{name} {numbers} must be {count} numbers for the rank of its input")
    if not all(least <= number <= _MOST for number in numbers):
        raise NotSupported(f"{name} are {numbers}; each must be from {least} to {_MOST}")
    return numbers


def _kernel_of_weights(
    operator: str, operands: Sequence[Operand], kernel: list[int] | None, rank: int
) -> list[int] | None:
    """Return the kernel's extents from the weights, after checking that `kernel_shape` agrees."""
    weights = operands[1].shape if len(operands) > 1 else None
    if weights is None:
        return kernel
    if len(weights) != rank + 2:
        raise NotSupported(f"its weights have rank {len(weights)}, and its input {rank + 2}")
    taps = operands[1].extents
    if taps is None:
        return kernel
    if kernel not in (None, taps[2:]):
        raise NotSupported(f"kernel_shape is {kernel}, and its weights have the shape {taps}")
    if min(taps) < 1:
        raise NotSupported(f"its weights have the shape {taps}, which has no elements")
    return taps[2:]


def _check_groups(operator: str, operands: Sequence[Operand], groups: int) -> None:
    data, weights = operands[0].shape, operands[1].extents if len(operands) > 1 else None
    if groups < 1:
        raise NotSupported(f"group is {groups}; the least that it may be is 1")
    if data is None or weights is None:
        return
    channels = data[1]
    if operator == _TRANSPOSED:
        fits = channels in (None, weights[0]) and weights[0] % groups == 0
        outputs = weights[1] * groups
    else:
        fits = channels in (None, weights[1] * groups) and weights[0] % groups == 0
        outputs = weights[0]
    if not fits:
        raise NotSupported(
            f"weights of the shape {weights} in {groups} groups do not belong to {channels} "
            "channels"
        )
    bias = operands[2].shape if len(operands) > 2 and operator != "ConvInteger" else None
    if bias is not None and list(bias) != [outputs]:
        raise NotSupported(f"its bias has the shape {list(bias)}; it must be [{outputs}]")


def _check_pads_of_pool(kernel: Sequence[int], pads: Sequence[int]) -> None:
    """Check that no window lies in padding alone, where it has no maximum and no mean."""
    if any(pad >= taps for pad, taps in zip(pads, [*kernel, *kernel], strict=True)):
        raise NotSupported(
            f"pads {list(pads)} are not smaller than its kernel {list(kernel)}, so that windows "
            "would read padding alone"
        )


def _check_fits(extents: Sequence[int | None], reach: Sequence[int], pads: Sequence[int]) -> None:
    for axis, (extent, size) in enumerate(zip(extents, reach, strict=True)):
        padded = None if extent is None else extent + pads[axis] + pads[axis + len(reach)]
        if padded is not None and padded < size:
            raise NotSupported(
                f"a window of {list(reach)} elements does not fit into its input, which has "
                f"{padded} with padding along axis {axis + 2}"
            )


def _check_transposed(
    extents: Sequence[int | None],
    strides: Sequence[int],
    reach: Sequence[int],
    pads: Sequence[int],
    added: Sequence[int],
) -> None:
    for axis, (extent, stride, size, more) in enumerate(
        zip(extents, strides, reach, added, strict=True)
    ):
        if extent is None:
            continue
        result = (extent - 1) * stride + size + more - pads[axis] - pads[axis + len(reach)]
        if result < 1:
            raise NotSupported(
                f"pads {list(pads)} leave {result} elements of its result along axis {axis + 2}"
            )

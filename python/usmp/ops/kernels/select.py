"""Selects the kernel that computes an operator on a core."""

from __future__ import annotations

from collections.abc import Callable

from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.constants.pack_constants import with_packed_constants
from usmp.ops.kernels.elements.copies import copy_kernel
from usmp.ops.kernels.elements.extremes import extremes_kernel
from usmp.ops.kernels.images.grouped_conv2d import grouped_conv2d_kernel
from usmp.ops.kernels.images.weighted_conv2d import conv2d_kernel
from usmp.ops.kernels.images.weighted_depthwise import depthwise_kernel
from usmp.ops.kernels.images.weighted_transposed_conv2d import transposed_conv2d_kernel
from usmp.ops.kernels.kernel import Kernel
from usmp.ops.kernels.mve.average_pool import mve_average_pool_kernel
from usmp.ops.kernels.mve.conv2d import mve_conv2d_kernel
from usmp.ops.kernels.mve.dense import mve_dense_kernel
from usmp.ops.kernels.mve.depthwise import mve_depthwise_kernel
from usmp.ops.kernels.mve.elementwise import mve_elementwise_kernel
from usmp.ops.kernels.mve.grouped_conv2d import mve_grouped_conv2d_kernel
from usmp.ops.kernels.mve.pooling import mve_pool_kernel
from usmp.ops.kernels.mve.sums_over_axes import mve_sums_over_axes_kernel
from usmp.ops.kernels.products.channel_tiles import channel_tiles_kernel
from usmp.ops.kernels.products.dense import dense_kernel
from usmp.ops.kernels.products.matmul import matmul_kernel
from usmp.ops.kernels.sums.pooling import pool_kernel
from usmp.ops.kernels.sums.sums_over_axes import sums_over_axes_kernel
from usmp.tir.size_expressions import has_symbolic_shapes

Selector = Callable[[OperatorCall, Core], "Kernel | None"]
"""Returns the kernel of an operator on a core; None if it knows no kernel for the operator."""

_KERNELS: tuple[Selector, ...] = (
    mve_conv2d_kernel,
    mve_depthwise_kernel,
    mve_grouped_conv2d_kernel,
    mve_dense_kernel,
    mve_average_pool_kernel,
    mve_pool_kernel,
    mve_sums_over_axes_kernel,
    mve_elementwise_kernel,
    depthwise_kernel,
    conv2d_kernel,
    grouped_conv2d_kernel,
    transposed_conv2d_kernel,
    dense_kernel,
    matmul_kernel,
    pool_kernel,
    sums_over_axes_kernel,
    channel_tiles_kernel,
    copy_kernel,
    extremes_kernel,
)
"""Tried in this order: kernels by vectors, then by tiles, then for any other loops."""


def select_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel for a call of an operator; None if the operator stays as it is.

    Parameters
    ----------
    call
        the call of the operator.
    core
        the core that runs the operator.
    """
    packed = with_packed_constants(call)
    if not has_symbolic_shapes(call.func):
        for selector in _KERNELS:
            kernel = selector(packed, core)
            if kernel is not None:
                return kernel
    return None if packed is call else Kernel(packed.func, packed.arguments)

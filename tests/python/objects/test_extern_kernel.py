"""What kernels outside of the module may state, and what is refused."""

from __future__ import annotations

import pytest
from tvm import tirx

from usmp.objects.extern_kernel import (
    ExternKernel,
    KernelArgument,
    SafeDistance,
    kernels_of,
    with_kernels,
)

X = KernelArgument("x", 16, writes=False)
Y = KernelArgument("y", 8, reads=False)


def test_the_defaults_state_nothing():
    kernel = ExternKernel("scale", [KernelArgument("x", 4)])
    assert (kernel.can_fail, kernel.keeps_state, list(kernel.safe_distances)) == (True, True, [])
    (argument,) = kernel.arguments
    assert (argument.reads, argument.writes) == (True, True)


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        ([(0, 1, -1)], 'of -1 bytes from input "x" to output "y", which has 8 bytes; state 0 to 8'),
        ([(0, 1, 9)], 'of 9 bytes from input "x" to output "y", which has 8 bytes; state 0 to 8'),
        ([(0, 2, 0)], "of argument 2; it has 2 arguments"),
        ([(-1, 1, 0)], "of argument -1; it has 2 arguments"),
        ([(1, 1, 0)], 'from input "y" to output "y", which are one argument; state it of two'),
        ([(1, 0, 0)], 'from input "y" to output "x", of which one is not read'),
        ([(0, 1, 0), (0, 1, 1)], 'from input "x" to output "y" twice; state one of them'),
    ],
)
def test_distances_that_are_none(distances, message):
    with pytest.raises(ValueError) as caught:
        ExternKernel("scale", [X, Y], [SafeDistance(*distance) for distance in distances])
    assert str(caught.value) == f'extern kernel "scale" states a safe distance {message}'


@pytest.mark.parametrize("size", [0, 8])
def test_distances_from_none_to_all_bytes_of_the_output(size):
    (stated,) = ExternKernel("scale", [X, Y], [SafeDistance(0, 1, size)]).safe_distances
    assert int(stated.size_bytes) == size


def test_an_argument_of_less_than_no_bytes():
    with pytest.raises(ValueError, match='argument "x" of an extern kernel has -1 bytes'):
        KernelArgument("x", -1)


def test_kernels_are_an_attribute_of_the_caller():
    func = tirx.PrimFunc([], tirx.Evaluate(0))
    assert kernels_of(func) == {}
    kernel = ExternKernel("scale", [X, Y])
    assert kernels_of(with_kernels(func, kernel)) == {"scale": kernel}
    with pytest.raises(ValueError, match='"scale" is stated twice'):
        with_kernels(func, kernel, kernel)


def test_statements_that_were_changed_are_checked_where_they_are_read():
    kernel = ExternKernel("scale", [X, Y], [SafeDistance(0, 1, 8)])
    func = with_kernels(tirx.PrimFunc([], tirx.Evaluate(0)), kernel)
    assert list(kernels_of(func)) == ["scale"]
    kernel.safe_distances = [SafeDistance(0, 1, -1)]
    with pytest.raises(ValueError, match="of -1 bytes"):
        kernels_of(func)

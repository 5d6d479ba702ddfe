"""Verification that kernels compute the bytes of the operators that they replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from usmp.aot.kernel_checks.c_program import print_checks
from usmp.aot.kernel_checks.check import Check, checks_of
from usmp.aot.kernel_checks.inputs import inputs_of, is_large
from usmp.aot.kernel_checks.kernel_body import KernelBody
from usmp.runtime.c_compiler import BuildError, compile_c
from usmp.runtime.programs import run_program
from usmp.support.errors import FaultError
from usmp.support.process.temporary_folder import temporary_folder
from usmp.support.tvm_errors import fault

_FLAGS = (
    "-std=gnu11",
    "-w",
    # No fused multiply-add: round products and sums separately.
    "-ffp-contract=off",
    # No forced inlining, because compiling takes longer than running once.
    "-D__always_inline__=__unused__",
)
_FILES = ("run_checks.h", "run_checks.c")
_VERIFIED: set[str] = set()
"""Digests of the bodies that were compared."""


@dataclass(frozen=True)
class KernelDifference:
    """A difference between a kernel and its operator.

    Parameters
    ----------
    body
        body of the kernel.
    text
        what the kernel computes instead, and where.
    """

    body: KernelBody
    text: str

    def __str__(self) -> str:
        return f"{self.body.title} {self.text}"


def verify_kernels(bodies: Iterable[KernelBody]) -> None:
    """Raise if a kernel computes other bytes than the operator that it replaces.

    Each body is compared once in a process.

    Raises
    ------
    FaultError
        a kernel computes other bytes, or crashes.
    ValueError
        this host has no C compiler.
    """
    new = [body for body in bodies if body.digest not in _VERIFIED]
    try:
        differences = [str(difference) for difference in kernel_differences(new)]
    except BuildError as error:
        if not isinstance(error.__cause__, OSError):
            raise fault("to compile kernels for this host", error) from error
        raise ValueError(
            f"tir.usmp.debug=verify_kernels runs kernels on this host: {error}"
        ) from error
    if differences:
        more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
        raise FaultError(
            f"{differences[0]}{more}; this is a fault of usmp, please report it with the model. "
            'A PassContext with disabled_pass=["usmp.SelectKernels"] builds it without kernels'
        )
    _VERIFIED.update(body.digest for body in new)


def kernel_differences(bodies: Iterable[KernelBody]) -> list[KernelDifference]:
    """Return the bodies that differ from their operators, with their differences.

    Raises
    ------
    BuildError
        there is no C compiler on this host.
    """
    small: list[Check] = []
    large: list[Check] = []
    for check in checks_of(bodies):
        (large if is_large(check.operator) else small).append(check)
    # Two programs: optimizing the small operators, too, would take longer than it saves.
    differences: list[KernelDifference] = []
    for checks, level in ((small, "-O0"), (large, "-O1")):
        if checks:
            with temporary_folder() as folder:
                differences += _differences(checks, level, folder)
    return differences


def _differences(checks: Sequence[Check], level: str, folder: Path) -> Iterator[KernelDifference]:
    (folder / "checks.c").write_text(print_checks(checks))
    for name in _FILES:
        content = files("usmp.aot.kernel_checks").joinpath("files", name).read_bytes()
        (folder / name).write_bytes(content)
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    program, inputs = folder / "checks", folder / "inputs"
    compile_c([level, *_FLAGS, *sources, "-lm", "-lpthread"], program)
    with inputs.open("wb") as file:
        for part in _inputs(checks):
            file.write(part)
    result = run_program([str(program), str(inputs)])
    lines = [line.split() for line in result.stdout.splitlines()]
    for i, j, *rest in lines:
        if rest:
            check = checks[int(i)]
            yield KernelDifference(check.bodies[int(j) - 1], _described(check, rest))
    if result.returncode != 0:
        check, function = checks[int(lines[-1][0])], int(lines[-1][1])
        event = "ends" if function else "is not compared: the operator itself ends"
        reason = result.stderr.strip() or f"exit status {result.returncode}"
        body = check.bodies[max(function - 1, 0)]
        yield KernelDifference(body, f"{event} the program with {reason}")


def _inputs(checks: Sequence[Check]) -> Iterator[bytes]:
    """Yield the bytes that the program reads."""
    for check in checks:
        yield from (np.ascontiguousarray(array).tobytes() for array in check.constants())
        runs = list(inputs_of(check.operator))
        yield np.uint32(len(runs)).tobytes()
        yield from (np.ascontiguousarray(array).tobytes() for run in runs for array in run)


def _described(check: Check, line: Sequence[str]) -> str:
    """Describe the difference of a body that a line of the program's output reports."""
    (buffer, place), (expected, actual) = map(int, line[:2]), map(bytes.fromhex, line[2:])
    number = buffer - len(list(check.buffers())) + len(check.operator.outputs)
    output = check.operator.outputs[number]
    shape = tuple(int(extent) for extent in output.shape)
    dtype = np.dtype(str(output.dtype))
    element = place // dtype.itemsize
    if element >= np.prod(shape):
        return f"writes outside of its output {number}"
    index = [int(i) for i in np.unravel_index(element, shape)]
    start = element * dtype.itemsize % len(expected)
    value, right = (
        np.frombuffer(content[start : start + dtype.itemsize], dtype)[0]
        for content in (actual, expected)
    )
    return f"gives {value} at {index} of its output {number}, where the operator gives {right}"

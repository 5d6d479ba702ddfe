"""One call of a kernel of ExecuTorch's portable runtime, with the output wherever one wants it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from executorch.exir import schema
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.passes import dim_order_ops_registry  # noqa: F401
from executorch.exir.schema import TensorShapeDynamism
from executorch.exir.tensor import TensorSpec, make_allocation_info, make_tensor_value
from executorch.runtime import Runtime

from usmp_solver.integrations.executorch import is_element_wise, runs_in_place
from usmp_solver.integrations.executorch.in_place import reads_in_order

ALIGNMENT = 16


@dataclass(frozen=True)
class Call:
    """Arguments of a call in the order of its schema, and the outputs that follow the first."""

    operator: Any
    arguments: tuple[Any, ...]
    others: tuple[torch.Tensor, ...] = ()

    @property
    def tensors(self) -> list[int]:
        """Positions of the tensors."""
        return [i for i, a in enumerate(self.arguments) if isinstance(a, torch.Tensor)]

    @property
    def read(self) -> list[torch.Tensor]:
        """The tensors, without the output."""
        return [self.arguments[position] for position in self.tensors]


def registered() -> list[Any]:
    """The operators of the runtime that may run in place."""
    found = []
    for name in sorted(Runtime.get().operator_registry.operator_names):
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        try:
            operator = getattr(
                getattr(getattr(torch.ops, namespace), packet), overload or "default"
            )
        except AttributeError:
            continue
        is_out = any(argument.is_out for argument in operator._schema.arguments)
        if is_out and runs_in_place(operator):
            found.append(operator)
    return found


def run(call: Call, output: torch.Tensor, over: int | None) -> torch.Tensor | None:
    """What the kernel writes, at the place of the argument at position `over`; None: elsewhere.

    Returns
    -------
    torch.Tensor or None
        None if the kernel refuses these types.
    """
    program, read = _program(call, output, over)
    method = Runtime.get().load_program(program).load_method("forward")
    try:
        return method.execute(read)[0].clone()
    except RuntimeError:
        return None


def _program(
    call: Call, output: torch.Tensor, over: int | None
) -> tuple[bytes, list[torch.Tensor]]:
    values: list[schema.EValue] = []
    ends = 0

    def tensor(value: torch.Tensor, offset: int | None) -> int:
        nonlocal ends
        spec = TensorSpec.from_tensor(value)
        spec.shape_dynamism = TensorShapeDynamism.STATIC
        if offset is None:
            offset, ends = ends, ends + spec.realign(ALIGNMENT)
        values.append(schema.EValue(make_tensor_value(0, make_allocation_info(1, offset), spec)))
        return len(values) - 1

    numbers: list[int] = []
    places: dict[int, int] = {}
    ids: dict[int, int] = {}
    for value in call.arguments:
        if isinstance(value, torch.Tensor):
            if id(value) not in ids:
                places[id(value)] = ends
                ids[id(value)] = tensor(value, None)
            numbers.append(ids[id(value)])
            continue
        if isinstance(value, list):
            elements = range(len(values), len(values) + len(value))
            values += [schema.EValue(schema.Int(each)) for each in value]
            values.append(schema.EValue(schema.IntList(list(elements))))
        else:
            values.append(schema.EValue(_number(value)))
        numbers.append(len(values) - 1)
    offset = None if over is None else places[id(call.arguments[over])]
    written = tensor(output, offset)
    outputs = [written, *(tensor(each, None) for each in call.others)]
    result = written
    if call.others:
        values.append(schema.EValue(schema.TensorList(outputs)))
        result = len(values) - 1
    name = call.operator._schema
    plan = schema.ExecutionPlan(
        name="forward",
        container_meta_type=schema.ContainerMetadata("", ""),
        values=values,
        inputs=list(ids.values()),
        outputs=[written],
        chains=[
            schema.Chain(
                inputs=[],
                outputs=[],
                instructions=[
                    schema.Instruction(schema.KernelCall(0, [*numbers, *outputs, result]))
                ],
                stacktrace=None,
            )
        ],
        operators=[schema.Operator(name.name, name.overload_name)],
        delegates=[],
        non_const_buffer_sizes=[0, ends],
    )
    program = schema.Program(
        version=0,
        execution_plan=[plan],
        constant_buffer=[schema.Buffer(b"")],
        backend_delegate_data=[],
        segments=[],
        constant_segment=schema.SubsegmentOffsets(0, []),
    )
    unique = {id(value): value for value in call.read}
    return bytes(serialize_pte_binary(PTEFile(program=program))), list(unique.values())


def _number(value: Any) -> Any:
    if value is None:
        return schema.Null()
    kinds = {bool: schema.Bool, int: schema.Int, float: schema.Double, str: schema.String}
    return kinds[type(value)](value)


DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
)
_MIXED = (
    (torch.float32, torch.int32),
    (torch.int32, torch.float32),
    (torch.float16, torch.float32),
    (torch.int64, torch.bool),
    (torch.bool, torch.int64),
    (torch.uint8, torch.int8),
)
# The last one has more elements than two threads' part of a loop that runs in parallel.
SHAPES = ((37, 53), (), (1,), (2, 3, 5, 7))
LARGE = (257, 301)


def calls(operator: Any, shape: tuple[int, ...], seed: int = 0) -> Iterator[Call]:
    """Calls with random values of every type, same and mixed, broadcast or not, and repeated."""
    generator = torch.Generator().manual_seed(seed)
    arguments = [each for each in operator._schema.arguments if not each.is_out]
    count = sum(_is_tensor(each) for each in arguments)
    # A quotient by False ends the process too.
    divides = operator.name().split("::")[1].startswith(("div", "floor_div", "fmod", "remainder"))
    known = [dtype for dtype in DTYPES if not divides or dtype is not torch.bool]
    if operator.name() in ("aten::div.out", "aten::div.Scalar_out"):
        # Of integers, the output is no integer; the runtime does not refuse one, but divides by 0.
        known = [dtype for dtype in DTYPES if dtype.is_floating_point]
    types = [(dtype,) * count for dtype in known]
    if count > 1:
        types += [(*mixed, *mixed)[:count] for mixed in _MIXED if set(mixed) <= set(known)]
        types += [(torch.bool, *((dtype,) * (count - 1))) for dtype in known]
    for dtypes in types:
        for shapes in _broadcasts(shape, count):
            values = [
                _random(each, dtype, generator) for each, dtype in zip(shapes, dtypes, strict=True)
            ]
            yield Call(operator, _filled(arguments, values, shape))
            if len(shape) == 4:
                # Channels last.
                ordered = [_channels_last(value) for value in values]
                yield Call(operator, _filled(arguments, ordered, shape))
        if count > 1:
            same = _random(shape, dtypes[-1], generator)
            first = _random(shape, dtypes[0], generator)
            repeated = (
                [first, *([same] * (count - 1))] if dtypes[0] != dtypes[-1] else [same] * count
            )
            yield Call(operator, _filled(arguments, repeated, shape))


def normalizations(operator: Any, shape: tuple[int, ...], seed: int = 0) -> Iterator[Call]:
    """Calls of the operators that normalize rows, channels or groups, with random values."""
    generator = torch.Generator().manual_seed(seed)
    name = operator._schema.name.removeprefix("aten::")
    for dtype in DTYPES[:4] if len(shape) > 1 else ():

        def draw(*of: int, dtype: torch.dtype = dtype) -> torch.Tensor:
            return _random(of, dtype, generator)

        x, channels, empty = draw(*shape), shape[1], torch.zeros(0, dtype=dtype)
        weight, bias = draw(channels), draw(channels)
        if name in ("_softmax", "_log_softmax"):
            yield from (Call(operator, (x, d, False)) for d in range(len(shape)))
        elif name == "native_layer_norm":
            for first in range(1, len(shape)):
                normalized = list(shape[first:])
                others = (draw(*shape[:first], *(1,) * len(normalized)),) * 2
                scales = draw(*normalized), draw(*normalized)
                for weight, bias in (scales, (None, None)):
                    arguments = (x, normalized, weight, bias, 1e-5)
                    yield Call(operator, arguments, tuple(map(torch.clone, others)))
        elif name == "native_group_norm" and len(shape) > 2:
            inner = math.prod(shape[2:])
            for groups in (1, channels):
                arguments = (x, weight, bias, shape[0], channels, inner, groups, 1e-5)
                yield Call(operator, arguments, (draw(shape[0], groups), draw(shape[0], groups)))
        elif name == "_native_batch_norm_legit_no_training":
            variance = draw(channels).abs() + 1
            arguments = (x, weight, bias, draw(channels), variance, 0.1, 1e-5)
            yield Call(operator, arguments, (empty, empty.clone()))


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor


def _is_tensor(argument: Any) -> bool:
    return str(argument.type) in ("Tensor", "Optional[Tensor]")


def _filled(
    arguments: list[Any], tensors: list[torch.Tensor], shape: tuple[int, ...]
) -> tuple[Any, ...]:
    remaining = iter(tensors)
    return tuple(next(remaining) if _is_tensor(each) else _other(each, shape) for each in arguments)


def _other(argument: Any, shape: tuple[int, ...]) -> Any:
    """A value of an argument that is no tensor."""
    if argument.has_default_value() and argument.default_value is not None:
        return argument.default_value
    name, kind = argument.name, str(argument.type)
    if name == "rounding_mode":
        return "floor"
    if name in ("memory_format", "dim_order"):
        return None
    if kind == "List[int]":
        return list(shape)
    known = {"min": -1, "max": 2, "eps": 0.25}
    if name in known:
        return known[name]
    return {"bool": False}.get(kind, 2)


def _broadcasts(shape: tuple[int, ...], count: int) -> list[list[tuple[int, ...]]]:
    """Shapes of tensors of which at least one has all elements."""
    found = [[shape] * count]
    if count > 1 and len(shape) > 1:
        for small in (shape[1:], (*shape[:-1], 1), (1,) * len(shape), ()):
            for position in range(count):
                found.append([small if i == position else shape for i in range(count)])
    return found


def _random(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    values = torch.rand(shape, generator=generator) * 6 - 2
    if dtype.is_floating_point:
        return values.to(dtype)
    # Integers are not 0: quotients by it end the process.
    return (values > 0).to(dtype) if dtype is torch.bool else (values.abs() + 1).to(dtype)


def differences(
    operator: Any, shape: tuple[int, ...], most: int | None = None, seed: int = 0
) -> tuple[int, list[str]]:
    """Run the calls of an operator in the place of each input that has the output's form.

    Parameters
    ----------
    operator
        that may run in place.
    shape
        of the output.
    most
        runs that are enough, of calls in random order; all by default.
    seed
        of that order.

    Returns
    -------
    tuple
        how many runs there were, and what was different in those that failed.
    """
    compared, wrong = 0, []
    draw = calls if is_element_wise(operator) else normalizations
    drawn = list(draw(operator, shape))
    if most is not None:
        Random(seed).shuffle(drawn)
    for call in drawn:
        if most is not None and compared >= most:
            break
        forms = {each: TensorSpec.from_tensor(call.arguments[each]) for each in call.tensors}
        for position, form in forms.items():
            like = call.arguments[position]
            if like.shape != torch.Size(shape) or not reads_in_order(
                operator, forms.values(), form
            ):
                continue
            expected = run(call, like, None)
            if expected is None:
                continue
            got = run(call, like, position)
            compared += 1
            if got is None or _bytes(got) != _bytes(expected):
                wrong.append(f"{operator.name()} over argument {position} of {_text(call)}")
    return compared, wrong


def _bytes(tensor: torch.Tensor) -> bytes:
    """In the order of dimensions; NumPy has no bfloat16."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _text(call: Call) -> str:
    return ", ".join(
        f"{str(a.dtype).removeprefix('torch.')}{list(a.shape)}"
        if isinstance(a, torch.Tensor)
        else repr(a)
        for a in call.arguments
    )

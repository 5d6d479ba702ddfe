"""Cases of operators that move elements, pick them, or make tensors."""

from __future__ import annotations

import math
from random import Random

import torch
from torch.nn import functional as F

from support.operator_trials.pytorch.case import FLOAT, TYPES, Case, any_shape, makes, tensor


def _values(random: Random, least: int = 1) -> torch.Tensor:
    return tensor(random, any_shape(random, least), random.choice(TYPES))


def _axis(random: Random, values: torch.Tensor) -> int:
    return random.randrange(-values.dim(), values.dim())


@makes("view.default")
def _view(random: Random) -> Case:
    values = _values(random, 3)
    name, function = random.choice(
        [
            ("reshape", lambda x: x.reshape(-1, x.shape[-1])),
            ("flatten", torch.flatten),
            ("flatten of transposed", lambda x: x.transpose(0, -1).flatten()),
            ("unflatten", lambda x: x.unflatten(0, (1, -1))),
        ]
    )
    return Case(function, [values], name)


@makes("expand.default")
def _expand(random: Random) -> Case:
    values = _values(random)
    single = values[..., :1]
    new = random.choice([[], [2], [3, 1]])
    sizes = [*new, *[-1] * (values.dim() - 1), random.randint(1, 4)]
    return Case(lambda x: x.expand(sizes), [single.clone()], f"{sizes}")


@makes("permute.default")
def _permute(random: Random) -> Case:
    values = _values(random)
    order = random.sample(range(values.dim()), values.dim())
    order = [axis - values.dim() if random.random() < 0.5 else axis for axis in order]
    return Case(lambda x: x.permute(order), [values], f"{order}")


@makes("unsqueeze.default")
def _unsqueeze(random: Random) -> Case:
    values = _values(random, 0)
    axis = random.randrange(-values.dim() - 1, values.dim() + 1)
    return Case(lambda x: x.unsqueeze(axis), [values], f"{axis}")


@makes("squeeze.dims")
def _squeeze(random: Random) -> Case:
    values = _values(random)
    axis = _axis(random, values)
    name, function = random.choice(
        [("all", lambda x: x.squeeze()), (f"{axis}", lambda x: x.squeeze(axis))]
    )
    return Case(function, [values], name)


@makes("cat.default")
def _cat(random: Random) -> Case:
    first = _values(random)
    second = first if random.random() < 0.5 else first.to(random.choice(TYPES))
    axis = _axis(random, first)
    function = random.choice([torch.cat, torch.stack])
    empty = torch.zeros(0) if function is torch.cat and first.dtype == FLOAT else None
    if empty is not None and random.random() < 0.2:
        return Case(lambda x, y: torch.cat([x, torch.zeros(0), y], axis), [first, second], "empty")
    what = f"{function.__name__} {axis}"
    return Case(lambda x, y: function([x, y], axis), [first, second.clone()], what)


@makes("split_with_sizes.default")
def _split(random: Random) -> Case:
    values = _values(random)
    axis = _axis(random, values)
    size = random.randint(1, 3)
    name, function = random.choice(
        [
            ("split", lambda x: x.split(size, axis)),
            ("chunk", lambda x: x.chunk(size, axis)),
            ("unbind", lambda x: x.unbind(axis)),
            ("tensor_split", lambda x: x.tensor_split(size, axis)),
        ]
    )
    if name == "split" and values.shape[axis] < 2 * size:
        values = torch.cat([values] * 4 * size, axis)
    return Case(function, [values], f"{name} {size}, {axis}")


@makes("repeat.default")
def _repeat(random: Random) -> Case:
    values = _values(random)
    counts = [random.randint(1, 3) for _ in range(values.dim() + random.randint(0, 1))]
    name, function = random.choice(
        [("repeat", lambda x: x.repeat(counts)), ("tile", lambda x: torch.tile(x, counts))]
    )
    return Case(function, [values], f"{name} {counts}")


@makes("flip.default")
def _flip(random: Random) -> Case:
    values = _values(random)
    axes = random.sample(range(values.dim()), random.randint(1, values.dim()))
    axes = [axis - values.dim() if random.random() < 0.5 else axis for axis in axes]
    return Case(lambda x: x.flip(axes), [values], f"{axes}")


@makes("constant_pad_nd.default")
def _pad(random: Random) -> Case:
    values = _values(random)
    widths = [random.randint(-1, 2) for _ in range(2 * random.randint(1, values.dim()))]
    for i, width in enumerate(widths):
        if width < 0 and values.shape[-1 - i // 2] < 3:
            widths[i] = 1
    number = random.choice([0, 1]) if values.dtype != FLOAT else random.choice([0, 2.5, -math.inf])
    what = f"{widths}, {number}"
    return Case(lambda x: F.pad(x, widths, value=number), [values], what)


@makes("padding")
def _pad_mode(random: Random) -> Case:
    mode = random.choice(["reflect", "replicate", "circular"])
    values = tensor(random, [1, 2, random.randint(3, 5), random.randint(3, 5)])
    widths = [random.randint(0, 2) for _ in range(4)]
    return Case(lambda x: F.pad(x, widths, mode=mode), [values], f"{mode}, {widths}")


@makes("slice.Tensor")
def _slice(random: Random) -> Case:
    values = tensor(random, [random.randint(3, 7), 3], random.choice(TYPES))
    start = random.choice([None, 0, 1, 2, -2, -30])
    end = random.choice([None, 3, -1, 40])
    step = random.choice([1, 2, 3])
    if len(range(*slice(start, end, step).indices(values.shape[0]))) == 0:
        start, end = None, None
    return Case(lambda x: x[start:end:step], [values], f"{start}:{end}:{step}")


@makes("select.int")
def _select(random: Random) -> Case:
    values = _values(random)
    axis = _axis(random, values)
    index = random.randrange(-values.shape[axis], values.shape[axis])
    return Case(lambda x: x.select(axis, index), [values], f"{axis}, {index}")


@makes("slice_scatter.default")
def _slice_scatter(random: Random) -> Case:
    values = tensor(random, [random.randint(3, 6), 3], random.choice(TYPES))
    start, end, step = random.choice([(1, 3, 1), (-2, None, 1), (0, 40, 2), (None, 2, 1)])
    source = tensor(random, values[start:end:step].shape, values.dtype)
    name, function = random.choice(
        [
            (
                "slice_scatter",
                lambda x, s: torch.slice_scatter(x, s, 0, start, end, step),
            ),
            ("assignment", lambda x, s: _assigned(x, s, start, end, step)),
        ]
    )
    return Case(function, [values, source], f"{name} {start}:{end}:{step}")


def _assigned(values, source, start, end, step):  # type: ignore[no-untyped-def]
    result = values.clone()
    result[start:end:step] = source
    return result


@makes("copy.default")
def _copy(random: Random) -> Case:
    values = _values(random)
    source = tensor(random, values.shape[-1:], FLOAT, 0, 100)
    if random.random() < 0.5:
        return Case(torch.ops.aten.copy.default, [values, source], "copy")
    return Case(lambda x, s: x.clone().copy_(s) + 0, [values, source], "copy_")


@makes("clone.default")
def _clone(random: Random) -> Case:
    return Case(lambda x: x.clone(), [_values(random, 0)], "clone")


@makes("alias.default")
def _alias(random: Random) -> Case:
    return Case(lambda x: torch.ops.aten.alias.default(x), [_values(random, 0)], "alias")


@makes("tensors that depend on no input")
def _full(random: Random) -> Case:
    shape, dtype = any_shape(random, 1), random.choice(TYPES)
    name, function = random.choice(
        [
            ("full", lambda x: x + torch.full(shape, 3, dtype=dtype).sum()),
            ("zeros", lambda x: x + torch.zeros(shape).sum()),
            ("ones", lambda x: x + torch.ones(shape, dtype=dtype).sum()),
            ("arange", lambda x: x + torch.arange(1, 9, 2).sum()),
            ("linspace", lambda x: x + torch.linspace(0, 1, 5)[3]),
            ("eye", lambda x: x + torch.eye(3, 4)[1, 1]),
            ("tril", lambda x: x + torch.tril(torch.ones(3, 3), -1).sum()),
            ("new_zeros", lambda x: x + x.new_zeros(3).sum()),
            ("hann_window", lambda x: x + torch.hann_window(5)[2]),
        ]
    )
    return Case(function, [tensor(random, [3])], f"{name} {shape}, {dtype}")


@makes("full_like.default")
def _full_like(random: Random) -> Case:
    number = random.choice([0, 1])
    dtype = random.choice([None, FLOAT, torch.int32])
    what = f"{number}, {dtype}"
    return Case(lambda x: torch.full_like(x, number, dtype=dtype), [_values(random, 0)], what)


@makes("empty.memory_format")
def _empty(random: Random) -> Case:
    return Case(lambda x: torch.empty(3).copy_(x) + 1, [tensor(random, [3])], "empty")


@makes("empty_permuted.default")
def _empty_permuted(random: Random) -> Case:
    function = torch.ops.aten.empty_permuted.default
    what = "empty_permuted"
    return Case(lambda x: function([2, 3], [1, 0]).copy_(x) + 1, [tensor(random, [3])], what)


@makes("embedding.default")
def _embedding(random: Random) -> Case:
    count, width = random.randint(2, 6), random.randint(1, 4)
    dtype = random.choice([torch.int32, torch.int64])
    indices = tensor(random, any_shape(random, 0, 3), dtype, 0, count - 1)
    padding = random.choice([None, 0, 1])
    table = tensor(random, [count, width])
    name = f"padding_idx={padding}"
    return Case(lambda i, w: F.embedding(i, w, padding_idx=padding), [indices, table], name)


@makes("index_select.default")
def _index_select(random: Random) -> Case:
    values = _values(random)
    axis = _axis(random, values)
    dtype = random.choice([torch.int32, torch.int64])
    index = tensor(random, [random.randint(1, 4)], dtype, 0, values.shape[axis] - 1)
    if random.random() < 0.3:
        shift = random.randint(-3, 3)
        return Case(lambda x: x.roll(shift, axis), [values], f"roll {shift}, {axis}")
    return Case(lambda x, i: x.index_select(axis, i), [values, index], f"{axis}")


@makes("gather.default")
def _gather(random: Random) -> Case:
    values = _values(random)
    axis = _axis(random, values)
    shape = [random.randint(1, extent) for extent in values.shape]
    shape[axis] = random.randint(1, 4)
    index = tensor(random, shape, torch.int64, 0, values.shape[axis] - 1)
    return Case(lambda x, i: x.gather(axis, i), [values, index], f"{axis}")


@makes("index.Tensor")
def _index(random: Random) -> Case:
    values = tensor(random, [random.randint(2, 4) for _ in range(4)], random.choice(TYPES))

    def places(axis: int, shape: list[int]) -> torch.Tensor:
        dtype = random.choice([torch.int32, torch.int64])
        extent = values.shape[axis]
        return tensor(random, shape, dtype, -extent, extent - 1)

    n, m = random.randint(1, 4), random.randint(1, 3)
    name, function, indices = random.choice(
        [
            ("[i]", lambda x, i: x[i], [places(0, [n])]),
            ("[:, i]", lambda x, i: x[:, i], [places(1, [n, m])]),
            ("[..., i]", lambda x, i: x[..., i], [places(3, [1])]),
            ("[i, j]", lambda x, i, j: x[i, j], [places(0, [n]), places(1, [n])]),
            ("[:, i, j]", lambda x, i, j: x[:, i, j], [places(1, [n, 1]), places(2, [m])]),
            ("[i, :, j]", lambda x, i, j: x[i, :, j], [places(0, [n]), places(2, [1])]),
            ("[:, i, :, j]", lambda x, i, j: x[:, i, :, j], [places(1, [n]), places(3, [n])]),
            (
                "[i, j, k]",
                lambda x, i, j, k: x[i, j, k],
                [places(0, [n]), places(1, [m, 1]), places(2, [1])],
            ),
            ("[[0, 1], [0, 1]]", lambda x: x[[0, 1], [0, 1]], []),
            ("[:, [-1, 0]]", lambda x: x[:, [-1, 0]], []),
            ("[:, [-1, 0], [1, -2]]", lambda x: x[:, [-1, 0], [1, -2]], []),
            ("[2, ..., None]", lambda x: x[-1, ..., None], []),
            ("take", lambda x: torch.take(x, torch.tensor([1, -1])), []),
        ]
    )
    return Case(function, [values, *indices], name)


@makes("other moves")
def _other(random: Random) -> Case:
    values = tensor(random, [2, 4, 4, 4], random.choice(TYPES))
    classes = random.randint(3, 6)
    name, function = random.choice(
        [
            ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2)),
            ("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2)),
            ("movedim", lambda x: x.movedim(1, 3)),
            ("rot90", lambda x: torch.rot90(x, 1, [2, 3])),
            ("channel_shuffle", lambda x: F.channel_shuffle(x, 2)),
            ("repeat_interleave", lambda x: torch.repeat_interleave(x, 2, 1)),
            ("diff", lambda x: torch.diff(x.int(), dim=1)),
            ("narrow", lambda x: x.narrow(1, 1, 2)),
            ("tril", lambda x: torch.tril(x, -1)),
            ("triu", lambda x: torch.triu(x, 1)),
            ("one_hot", lambda x: F.one_hot(x.long() % 3, classes)),
            ("meshgrid", lambda x: torch.meshgrid(x[0, 0, 0], x[0, 0, :, 0], indexing="ij")),
            ("unfold", lambda x: F.unfold(x.float(), 2)),
            ("x[0] = 1", lambda x: torch.select_scatter(x, x[0], 0, 1)),
        ]
    )
    return Case(function, [values], name)

"""Random TFLite files of several signatures that read and assign the same variables."""

from __future__ import annotations

from random import Random

from support.quantized_models.model import Spec
from support.streaming_models import Streaming, X
from support.tflite_builder import Graph, Signature, write_model

DOUBLE = (1, 4, 3)
SPECS = [
    Spec(X, 0.05, -7),
    Spec(X, 0, 0, "float32"),
    Spec(X, 0.0003, 0, "int16"),
]


def random_signatures(seed: int) -> bytes:
    """Two to four signatures, and a graph that sets the variables, which each of them calls.

    Variables are of two shapes; a signature reads some of them, computes, and assigns some, in any
    order.
    """
    random = Random(seed)
    spec = random.choice(SPECS)
    count = random.randint(2, 4)
    names = {X: ["a", "b"], DOUBLE: ["c", "d"]}
    once = Graph("once")
    initial = Streaming(spec, Graph(), once)
    for number, (shape, name) in enumerate((s, n) for s in names for n in names[s]):
        initial.start(name, *shape, number=number)
    graphs, signatures = [], []
    for number in range(count):
        model = Streaming(spec, Graph(f"entry{number}"), once, once_number=count)
        model.initialize()
        _steps(random, model, names)
        graphs.append(model.main)
        signatures.append(_signature(number, model.main))
    random.shuffle(signatures)
    return write_model(*graphs, once, signatures=signatures)


def _signature(number: int, graph: Graph) -> Signature:
    """With names for each input and output, of which several may be one tensor."""
    inputs = {f"x{place}": index for place, index in enumerate(graph.inputs)}
    outputs = {f"y{place}": index for place, index in enumerate(graph.outputs)}
    return Signature(f"entry{number}", number, inputs, outputs)


def _steps(random: Random, model: Streaming, names: dict[tuple, list[str]]) -> None:
    values: dict[tuple, list[int]] = {X: [], DOUBLE: []}
    for shape in values:
        values[shape] += [model.input(*shape) for _ in range(random.randint(0, 2))]
    for _ in range(random.randint(4, 12)):
        shape = random.choice([X, DOUBLE])
        known, others = values[shape], values[DOUBLE if shape == X else X]
        step = random.choice(["read", "assign", "add", "other shape", "turned"])
        variable = random.choice(names[shape])
        if step == "read" or not known:
            known.append(model.read(model.variable(variable), *shape))
        elif step == "assign":
            model.assign(model.variable(variable), random.choice(known))
        elif step == "add":
            known.append(model.add(random.choice(known), random.choice(known), shape))
        elif step == "other shape":
            others.append(_of_other_shape(random, model, shape, known))
        else:
            turned = model.reshape(random.choice(known), shape[0], shape[2], shape[1])
            known.append(model.transpose(turned, [0, 2, 1], *shape))
    computed = [value for listed in values.values() for value in listed]
    model.main.output(*random.sample(computed, min(len(computed), random.randint(0, 3))))
    if not model.main.outputs:
        # It must change something, and a variable may have been assigned its own value.
        value = random.choice(values[X] or [model.read(model.variable("a"))])
        model.assign(model.variable("b"), model.add(value, value))


def _of_other_shape(random: Random, model: Streaming, shape: tuple, known: list[int]) -> int:
    """Two of half the rows joined, or a part of one of twice the rows."""
    if shape == X:
        return model.concat([random.choice(known), random.choice(known)], 1, *DOUBLE)
    value, first = random.choice(known), random.randint(0, 2)
    if random.random() < 0.3:
        return random.choice(model.split(value, 1, 2, *X))
    return model.part(value, [0, first, 0], [1, first + 2, 3], *X)

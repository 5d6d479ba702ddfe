"""Programs of ExecuTorch whose memory this planner places: what they compute, and where."""

from __future__ import annotations

from functools import cache

import pytest

from support.lazy import TorchModule, lazy

torch = lazy("torch")
programs = lazy("support.executorch_programs")
Recorded = lazy("support.executorch_programs:Recorded")
plan = lazy("support.executorch_programs:plan")
MemoryPlanning = lazy("usmp_solver.integrations.executorch:MemoryPlanning")

pytestmark = pytest.mark.models


class Function(TorchModule):
    """A model that computes a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


@cache
def lowered(function, *inputs):
    """A model as a program to plan, as often as a test does."""
    model = function if isinstance(function, TorchModule) else Function(function)
    return programs.lowered(model, inputs)


@cache
def outputs_with_greedy(edge, *inputs, **options):
    return programs.planned(edge, None, **options).run(inputs)


def planned(function, *inputs, algorithm=None, **options):
    """The plan of the outermost graph, and the program; outputs are those of greedy's program."""
    recorded = Recorded(algorithm or MemoryPlanning())
    edge = lowered(function, *inputs)
    program = programs.planned(edge, recorded, **options)
    program.verify(**{name: value for name, value in options.items() if name.startswith("alloc_")})
    assert program.run(inputs) == outputs_with_greedy(edge, *inputs, **options)
    return recorded.plans[-1], program


def overwritten(found, program):
    """Names of the nodes whose output is in the place of an input, with that input's."""
    from executorch.exir.tensor import TensorSpec

    names = {}
    for node in program.graph_module.graph.nodes:
        if isinstance(node.meta.get("spec"), TensorSpec):
            names[node.meta["spec"]] = node.name
    return {names[output]: names[spec] for output, spec in found.in_place.items()}


@pytest.fixture(autouse=True)
def _inputs():
    global X
    X = torch.linspace(-2, 3, 24).reshape(4, 6)


@pytest.mark.slow
def test_chains_stay_at_one_place():
    found, program = planned(lambda x: torch.tanh(torch.exp(torch.relu(x))), X)
    assert len(found.in_place) == 3
    assert program.sizes == [0, 96]
    assert found.is_optimal


@pytest.mark.slow
def test_the_option_keeps_outputs_apart():
    def function(x):
        return torch.tanh(torch.exp(torch.relu(x)))

    found, program = planned(function, X, algorithm=MemoryPlanning(in_place=False))
    assert found.in_place == {} and program.sizes == [0, 192]
    only_exp = MemoryPlanning(in_place=lambda operator: "exp" in operator.name())
    found, program = planned(function, X, algorithm=only_exp)
    assert list(overwritten(found, program)) == ["aten_exp_default"]


@pytest.mark.slow
def test_an_input_with_other_users_stays():
    # x is read by the sum after the exponential; exp(x) is in no one's place, the sum in either's.
    found, program = planned(lambda x: x + torch.exp(x), X)
    assert overwritten(found, program) == {"aten_add_tensor": "inputs_0"}
    assert program.sizes == [0, 192]


@pytest.mark.slow
def test_a_residual_takes_the_place_of_what_dies():
    found, program = planned(lambda x: torch.relu(x + torch.mm(x, torch.mm(x.T, x))), X)
    assert {"aten_add_tensor", "aten_relu_default"} <= set(overwritten(found, program))


@pytest.mark.slow
def test_a_tensor_that_is_read_twice_by_one_call():
    found, program = planned(lambda x: torch.exp(x) * torch.exp(x), X)
    assert len(found.in_place) == 2
    found, program = planned(lambda x: x * x, X)
    assert program.sizes == [0, 96] and len(found.in_place) == 1


@pytest.mark.slow
def test_a_tensor_that_was_written_in_place_lives_on():
    def function(x, index, rows):
        written = torch.tanh(x).index_put((index,), rows)
        other = torch.relu(torch.mm(torch.sin(x), torch.cos(x)))
        return other + torch.sigmoid(written), torch.exp(written)

    inputs = X[:, :4].contiguous(), torch.tensor([1, 3]), torch.full((2, 4), 0.5)
    config = {"run_reinplace_pass": True}
    for in_place in (False, True):
        algorithm = MemoryPlanning(in_place=in_place)
        program = programs.planned(lowered(function, *inputs), algorithm, config)
        targets = [str(node.target) for node in program.graph_module.graph.nodes]
        assert any("index_put_" in target for target in targets)
        for found, expected in zip(program.run(inputs), function(*inputs), strict=True):
            actual = torch.frombuffer(bytearray(found), dtype=torch.float32).reshape(4, 4)
            torch.testing.assert_close(actual, expected)


@pytest.mark.slow
def test_a_place_that_is_shared_is_counted_once():
    from executorch.exir.pass_base import PassResult

    def share(graph_module):
        for node in graph_module.graph.nodes:
            if "relu" in str(node.target):
                node.meta["_share_alloc_with_arg_idx"] = 0
        return PassResult(graph_module, True)

    def function(x, y):
        return torch.relu(torch.sin(torch.tanh(x)) + y) * 2

    sizes = [
        programs.planned(lowered(function, X, X), algorithm, {"passes": [share]}).sizes
        for algorithm in (MemoryPlanning(), MemoryPlanning(in_place=False), None)
    ]
    assert sizes[0] <= sizes[1] <= sizes[2]


@pytest.mark.slow
def test_a_smaller_input_is_not_overwritten():
    row = torch.ones(6)
    found, program = planned(lambda row, x: torch.exp(row) + torch.exp(x), row, X)
    assert "aten_add_tensor" in overwritten(found, program)
    assert overwritten(found, program)["aten_add_tensor"] == "aten_exp_default_1"
    # Broadcast both ways: neither has the output's form.
    found, program = planned(
        lambda a, b: torch.exp(a) + torch.exp(b), X[:, 0].reshape(4, 1).clone(), X[0]
    )
    assert "aten_add_tensor" not in overwritten(found, program)


@pytest.mark.slow
def test_any_argument_may_be_the_one():
    condition = X > 0
    found, program = planned(lambda c, x, y: torch.where(c, x, y), condition, X[:1].clone(), X)
    # The condition has another type, and the second argument is broadcast.
    names = [node for node in program.graph_module.graph.nodes if node.op == "placeholder"]
    assert list(found.in_place.values()) == [names[2].meta["spec"]]


@pytest.mark.slow
def test_other_types_and_views():
    found, program = planned(lambda x: torch.exp(x) > 1, X)
    assert set(overwritten(found, program)) == {"aten_exp_default"}
    found, program = planned(lambda x: torch.relu(torch.exp(x).view(6, 4)), X)
    assert len(found.in_place) == 2 and program.sizes == [0, 96]
    # The exponential is read again through its view.
    found, program = planned(lambda x: (torch.relu(y := torch.exp(x)), y.view(3, 8) * 2), X)
    assert "aten_relu_default" not in overwritten(found, program)


@pytest.mark.slow
def test_outputs_and_inputs_that_are_provided():
    def function(x):
        return torch.tanh(torch.relu(x))

    found, program = planned(function, X, alloc_graph_input=False, alloc_graph_output=False)
    assert found.in_place == {} and program.sizes == [0, 96]
    found, _ = planned(function, X, alloc_graph_input=False)
    assert len(found.in_place) == 1
    # The output is an input of its own too.
    found, program = planned(lambda x: (x, torch.relu(x)), X)
    assert found.in_place == {}


class Counter(TorchModule):
    """State that a program reads and writes, by two methods."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(4, 6))

    def forward(self, x):
        self.state.add_(x)
        return torch.relu(self.state * 2)

    def reset(self, x):
        self.state.copy_(torch.exp(x))
        return x + 1


@pytest.mark.slow
def test_state_is_not_overwritten():
    found, program = planned(Counter(), X)
    states = [node for node in program.graph_module.graph.nodes if "state" in node.name]
    assert not {node.meta["spec"] for node in states} & set(found.in_place.values())


@pytest.mark.slow
def test_state_of_several_methods_has_one_place():
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.runtime import Runtime

    model = Counter()
    methods = {}
    for name in ("forward", "reset"):
        entry = Function(getattr(model, name)) if name != "forward" else model
        if name != "forward":
            entry.owner = model
            entry.function = lambda x: model.reset(x)
        methods[name] = torch.export.export(entry, (X,))
    passes = MemoryPlanningPass(MemoryPlanning(), share_mutable_buffers=True)
    config = ExecutorchBackendConfig(memory_planning_pass=passes, emit_mutable_buffer_names=True)
    program = to_edge(methods).to_executorch(config)
    sizes = {
        each.name: each.non_const_buffer_sizes for each in program.executorch_program.execution_plan
    }
    assert {name: len(each) for name, each in sizes.items()} == {"forward": 3, "reset": 3}
    assert sizes["forward"][2] == sizes["reset"][2]
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    assert method.execute([X])[0].shape == X.shape


@pytest.mark.slow
def test_dynamic_shapes_have_places_for_the_longest():
    length = torch.export.Dim("length", min=2, max=16)
    inputs = torch.ones(5, 6), torch.ones(1, 6)

    def function(x, y):
        return torch.relu(torch.exp(x) + y)

    found = Recorded(MemoryPlanning())
    edge = programs.lowered(Function(function), inputs, {"inputs": ({0: length}, None)})
    program = programs.planned(edge, found)
    assert len(found.plans[-1].in_place) == 3
    assert program.sizes[1] == 16 * 6 * 4 + 32
    assert program.run(inputs) == [function(*inputs).numpy().tobytes()]
    longest = torch.rand(16, 6), torch.ones(1, 6)
    assert program.run(longest) == programs.planned(edge, None).run(longest)


@pytest.mark.slow
def test_branches_do_not_overwrite_each_others_outputs():
    def function(p, q, x):
        first = torch.cond(p, lambda x: torch.sin(x) * 2, lambda x: torch.cos(x) * 3, [x])
        second = torch.cond(q, lambda x: torch.exp(x) * 5, lambda x: torch.tanh(x) * 7, [x])
        return first - second

    inputs = torch.tensor(True), torch.tensor(False), X
    program = plan(Function(function), inputs, MemoryPlanning())
    program.verify()
    (got,) = program.run(inputs)
    got = torch.frombuffer(bytearray(got), dtype=torch.float32).reshape(X.shape)
    torch.testing.assert_close(got, function(*inputs))


@pytest.mark.slow
def test_bodies_of_map():
    from functorch.experimental.control_flow import map as torch_map

    def function(xs, y):
        return torch_map(lambda x, y: torch.relu(torch.exp(x) + y), xs, y) * 2

    planned(function, X, torch.ones(6))


@pytest.mark.slow
def test_suites_of_algorithms():
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive

    edge = lowered(lambda x: torch.relu(torch.exp(x)), X)
    for algorithm in (MemoryPlanning(), MemoryPlanning().plan):
        program = programs.planned(edge, MemoryPlanningAlgorithmSuite([algorithm]))
        program.verify()
        assert program.sizes == [0, 96]
    # Algorithms that are not taken leave nothing behind: `naive` refuses what lies in others.
    for suite in ([MemoryPlanning().plan, naive], [greedy, MemoryPlanning().plan]):
        program = programs.planned(edge, MemoryPlanningAlgorithmSuite(suite))
        assert program.sizes == [0, 96]


@pytest.mark.slow
def test_planning_again_changes_nothing():
    from executorch.exir.memory_planning import apply_algo

    program = plan(Function(lambda x: torch.relu(torch.exp(x) + x)), (X,), MemoryPlanning())
    module = program.graph_module
    signature = program.manager.exported_program().graph_signature
    assert apply_algo(MemoryPlanning(), module, 16, signature) == program.sizes
    program.verify()


def test_what_is_element_wise_comes_from_pytorch():
    from usmp_solver.integrations.executorch import is_element_wise

    aten = torch.ops.aten
    yes = aten.add.out, aten.relu.out, aten.where.self_out, aten.clone.out, aten.max.out
    no = aten.mm.out, aten.max.dim_max, aten.max.unary_out, aten.permute_copy.out, aten.cat.out
    assert [is_element_wise(each) for each in yes] == [True] * len(yes)
    assert [is_element_wise(each) for each in no] == [False] * len(no)

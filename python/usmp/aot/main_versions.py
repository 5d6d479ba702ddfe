"""Versions of the AoT `__tvm_main__` PrimFunc of a Relax `main`, with different elided copies.

`__tvm_main__` takes a typed pointer to each input and then to each output. It allocates states,
intermediate tensors and constants with flat AllocBuffers, and calls the operators in order. The
planner assigns addresses later.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tvm import tirx
from tvm.ir import GlobalVar, IRModule, Var

from usmp.aot.check_written import check_written
from usmp.aot.elide_copies import Copy
from usmp.aot.in_place_operators import InPlaceOperators
from usmp.aot.main_bindings import bindings, last_uses
from usmp.aot.main_builder import MainBuilder
from usmp.aot.main_sizes import sizes_of_operators, tensor_info
from usmp.aot.main_values import flatten, tensor_type
from usmp.objects.attributes.module_attributes import (
    EXTENDS_STATES_ATTR,
    INITIAL_STATES_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    STATE_TENSORS_ATTR,
    STATES_FLAG_ATTR,
    SYMBOLIC_SIZES_ATTR,
)
from usmp.objects.state_info import STATES_FLAG_NAME
from usmp.objects.tensor_info import TensorInfo, default_output_names
from usmp.relax.states import states_of
from usmp.relax.static_shapes import flatten_types
from usmp.relax.symbolic_sizes import size_variables
from usmp.support.text.unique_names import UniqueNames, names_apart
from usmp.tir.model_operator import operators_in
from usmp.tir.nodes import nodes_of
from usmp.tir.spans import with_function_span


class MainVersions:
    """The modules that `LowerMain` can make, with different elided copies.

    All versions share the operator PrimFuncs.

    Parameters
    ----------
    mod
        an input of `LowerMain`.
    output_names
        names of the outputs, in order; "output" or "output0", "output1", ... by default. A repeated
        name gets a number.

    Raises
    ------
    UnsupportedModelError
        a callee is no operator PrimFunc, or a shape is not static.
    ValueError
        a state is no parameter and result of `main`.
    """

    def __init__(self, mod: IRModule, output_names: list[str] | None = None) -> None:
        main = mod["main"]
        check_written(mod, main)
        states = {str(state.name): state for state in states_of(main)}
        self._sizes = list(size_variables(main).values())
        sizes = {str(size.name): tirx.Var(size.name, "int32") for size in self._sizes}
        builder = MainBuilder(last_uses(main), sizes)
        builder.calls.sizes = sizes_of_operators(mod, sizes)
        builder.in_place = InPlaceOperators(mod)
        builder.calls.taken = frozenset(str(variable.name_hint) for variable in mod.functions)
        inputs: list[TensorInfo] = []
        for param in main.params:
            state = states.get(str(param.name))
            if state is not None and not state.is_input:
                builder.values[param] = builder.state(str(param.name), param.ty, state)
                continue
            info = tensor_info(param.name, param.ty, self._sizes, is_updated=state is not None)
            buffer = builder.values[param] = builder.parameter(info, param.ty)
            if state is not None:
                builder.updated[buffer] = state
            inputs.append(info)
        for position, binding in enumerate(bindings(main)):
            builder.values[binding.var] = builder.lower(binding.value, binding.var, position)
        builder.give_back(nodes_of(main.body.body, Var))
        results = list(flatten(builder.value_of(main.body.body)))
        types = flatten_types(main.body.body.ty)
        for other in INITIAL_STATES_ATTR.of(main) or ():
            builder.state(str(other.name), tensor_type(other), other)
        only = {UniqueNames(states).unique(STATES_FLAG_NAME): list(states)}
        builder.flags = STATES_FLAG_ATTR.of(main) or only
        kept = {int(state.output) for state in states.values()}
        returned = [index for index in range(len(results)) if index not in kept]
        names = output_names or default_output_names(len(returned), {i.name for i in inputs})
        self._outputs = [
            tensor_info(name, types[index], self._sizes)
            for name, index in zip(names_apart(names), returned, strict=True)
        ]
        _check_names(inputs, self._outputs)
        # Spans for outputs that are copies of an input or of another output.
        writers = {t.name: o for o in operators_in(main.span) for t in o.outputs}
        self._spans = [writers[name].as_span() if name in writers else None for name in names]
        self._mod = mod
        self._builder = builder
        self._inputs = inputs
        self._results = [results[index] for index in returned]
        self._types = [types[index] for index in returned]
        self._new_values = {
            buffer: results[state.output] if state.output >= 0 else buffer
            for buffer, state in (*builder.states.items(), *builder.updated.items())
        }
        # Updated inputs cannot be extended, because the memory after them belongs to the caller.
        states_alone = {state: self._new_values[state] for state in builder.states}
        self._extended = states_alone if _may_extend_states(mod) else {}

    def version(self, wanted: Collection[int] | None = None) -> tuple[IRModule, list[Copy]]:
        """Return a module, and all copies of tensors; `wanted` as for `elide_copies`."""
        builder = self._builder.version()
        returned = [*self._results, *self._new_values.values()]
        copies = builder.elide_copies(returned, self._extended, wanted)
        outputs = list(zip(self._outputs, self._types, strict=True))
        func = builder.finish(self._results, outputs, self._new_values, self._spans).with_attrs(
            INPUT_TENSORS_ATTR.entry(self._inputs) | OUTPUT_TENSORS_ATTR.entry(self._outputs)
        )
        if self._sizes:
            func = SYMBOLIC_SIZES_ATTR.put(func, self._sizes)
        if builder.kept_tensors:
            func = STATE_TENSORS_ATTR.put(func, builder.kept_tensors)
        func = with_function_span(func, self._mod["main"].span)
        functions = {
            var: f for var, f in self._mod.functions.items() if isinstance(f, tirx.PrimFunc)
        }
        functions[GlobalVar(MAIN_FUNCTION_NAME)] = func
        functions.update(builder.calls.functions)
        return IRModule(functions, attrs=self._mod.attrs), copies


def _check_names(inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> None:
    """Raise if an output has the name of an input that is updated in place."""
    updated = {str(info.name) for info in inputs if info.is_updated}
    for info in outputs:
        if str(info.name) in updated:
            raise ValueError(
                f'input "{info.name}", which each run updates in place, and an output have one '
                "name; give the output another one"
            )


def _may_extend_states(mod: IRModule) -> bool:
    """Return whether states may be parts of windows: unless an attribute forbids it, or states have
    a pool of their own."""
    return EXTENDS_STATES_ATTR.of(mod) is not False and not STATE_MEMORY_POOL_ATTR.is_on(mod)

"""The attributes of modules and functions by which passes communicate.

Names are those of TVM's Unified Static Memory Planner where it had them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.objects.attributes.attribute import Attribute, Attributes, names, plain

if TYPE_CHECKING:
    from usmp.objects.arguments.executor import Executor
    from usmp.objects.dynamic_allocation import DynamicAllocation
    from usmp.objects.memory_plan import MemoryPlan
    from usmp.objects.placed_state import PlacedState, StateTensor
    from usmp.objects.placements import AllocatedPoolInfo, PoolAllocation
    from usmp.objects.pools import (
        ConstantMemoryPools,
        WorkspaceMemoryPools,
        WorkspacePoolInfo,
    )
    from usmp.objects.state_info import StateInfo
    from usmp.objects.symbolic_size import SymbolicSize
    from usmp.objects.tensor_info import TensorInfo

MAIN_FUNCTION_NAME = "__tvm_main__"
"""The AoT main PrimFunc, which calls the operators in order."""

_MODULE, _PRIM_FUNC = "IRModule", "PrimFunc"
_MAIN, _RELAX_MAIN = "`__tvm_main__`", "Relax `main`"

# The memories of the user.

BOARD_ATTR: Attribute[str] = Attribute(
    "board", _MODULE, "the name of the board that it is built for", str
)

BOARD_POOLS_ATTR: Attribute[Sequence[str]] = Attribute(
    "board_pools",
    _MODULE,
    "the names of the pools that the board brings because the user named none",
    names,
    list,
)

WORKSPACE_MEMORY_POOLS_ATTR: Attribute[WorkspaceMemoryPools] = Attribute(
    "workspace_memory_pools", _MODULE, "the user's `WorkspaceMemoryPools`"
)

CONSTANT_MEMORY_POOLS_ATTR: Attribute[ConstantMemoryPools] = Attribute(
    "constant_memory_pools", _MODULE, "the user's `ConstantMemoryPools`"
)

STATE_MEMORY_POOL_ATTR: Attribute[WorkspacePoolInfo] = Attribute(
    "state_memory_pool",
    _MODULE,
    "the pool that holds the states and nothing else. It may be one of the workspace pools",
)

IO_MEMORY_POOL_ATTR: Attribute[WorkspacePoolInfo] = Attribute(
    "io_memory_pool",
    _MODULE,
    "the one of its workspace pools that holds all inputs and outputs that are planned",
)

EXECUTOR_ATTR: Attribute[Executor] = Attribute(
    "executor", _MODULE, "the `Executor` that the code is made for"
)

# Entries and models.

ENTRIES_ATTR: Attribute[Sequence[str]] = Attribute(
    "entries",
    _MODULE,
    "the names of the functions that an application calls, in order. `main` if it is missing",
    names,
    list,
)

CONCURRENT_ATTR: Attribute[Sequence[Sequence[str]]] = Attribute(
    "concurrent_entries",
    _MODULE,
    "lists of names of entries that may run at once, so that they share no memory",
    plain,
    lambda sets: [list(names) for names in sets],
)

MODEL_FILES_ATTR: Attribute[Sequence[str]] = Attribute(
    "model_files",
    _MODULE,
    "the names of the files that it was made from, without their folders",
    names,
    list,
)

REFERENCE_ATTR: Attribute[Mapping[str, str]] = Attribute(
    "reference",
    _MODULE,
    "the `file` of the archive that holds the reference build, or `unavailable`, the reason why "
    "there is none (`usmp.reference_build`)",
    plain,
)

OUTPUT_NAMES_ATTR: Attribute[Sequence[str]] = Attribute(
    "output_names",
    _RELAX_MAIN,
    "the names of the model's outputs, in order. States are not among them",
    names,
    list,
)

NAMES_OUTPUTS_ATTR: Attribute[bool] = Attribute(
    "names_outputs",
    "Relax function",
    "whether its outputs had their names in C in TVM 0.18 too, as those of `.tflite` files. Others "
    'were called "output", or "output0", "output1" and so on',
    bool,
)

NAMES_018_ATTR: Attribute[Sequence[str]] = Attribute(
    "names_018",
    _MODULE,
    "the entries whose outputs have the names in C that TVM 0.18 gave them, which are not those in "
    "the model",
    names,
    list,
)

INPUT_QUANTIZATION_ATTR: Attribute[Mapping[str, Sequence[float]]] = Attribute(
    "input_quantization",
    _RELAX_MAIN,
    "name of an input -> `[scale, zero_point]`, or `[]` if its elements are what they are. An "
    "input that it does not name has the quantization of the operator that dequantizes it",
)

OUTPUT_QUANTIZATION_ATTR: Attribute[Sequence[Sequence[float]]] = Attribute(
    "output_quantization",
    _RELAX_MAIN,
    "the quantization of each of the model's outputs, in order. Without it, an output has that of "
    "the operator that quantizes it",
)

IO_TYPES_ATTR: Attribute[Mapping[str, Mapping[str, str]]] = Attribute(
    "io_types",
    _MODULE,
    "what `ConvertIOToIntegers` made of inputs and outputs. Each is called as in 'input \"x\"': "
    '"integers" -> tensor -> its type, "float" -> tensor -> why it stays float',
    plain,
)

# Sizes.

UPPER_BOUNDS_ATTR: Attribute[Mapping[str, int]] = Attribute(
    "tir_var_upper_bound",
    "Relax function",
    "name of a shape variable -> its largest value, where there is one. TVM's passes read it, too",
)

LOWER_BOUNDS_ATTR: Attribute[Mapping[str, int]] = Attribute(
    "tir_var_lower_bound",
    "Relax function",
    "name of a shape variable -> its smallest value, where it is more than 1",
)

SIZE_BOUNDS: Attributes = (UPPER_BOUNDS_ATTR, LOWER_BOUNDS_ATTR)

# States.

STATES_ATTR: Attribute[Sequence[StateInfo]] = Attribute(
    "states",
    "Relax `main` or entry",
    "a `StateInfo` for each tensor that it keeps between runs. States of one name in several "
    "entries are one",
    encode=list,
)

INITIAL_STATES_ATTR: Attribute[Sequence[StateInfo]] = Attribute(
    "initial_states",
    "Relax `main` of an entry",
    "a `StateInfo` for each state that it does not know, but that has its initial value from the "
    "first run of any entry",
    list,
    list,
)

STATES_FLAG_ATTR: Attribute[Mapping[str, Sequence[str]]] = Attribute(
    "states_flag",
    "Relax `main` of an entry",
    "the name of a state -> the names of the states of which it says whether they have their "
    "initial values",
    plain,
)

EXTENDS_STATES_ATTR: Attribute[bool] = Attribute(
    "extends_states",
    _MODULE,
    "whether a state may be the start of a larger buffer. It may if this is missing",
    bool,
)

STATE_TENSORS_ATTR: Attribute[Sequence[StateTensor]] = Attribute(
    "state_tensors",
    "PrimFunc of an entry",
    "a `StateTensor` for each state that it keeps",
    list,
    list,
)

STATE_LAYOUT_ATTR: Attribute[Sequence[PlacedState]] = Attribute(
    "state_layout",
    _MODULE,
    "a `PlacedState` for each state: before planning, where the states must be. After planning, "
    "where they are",
    encode=list,
)

# Main functions.

INPUT_TENSORS_ATTR: Attribute[Sequence[TensorInfo]] = Attribute(
    "input_tensors", _MAIN, "a `TensorInfo` for each model input, in order", list, list
)

OUTPUT_TENSORS_ATTR: Attribute[Sequence[TensorInfo]] = Attribute(
    "output_tensors", _MAIN, "a `TensorInfo` for each model output, in order", list, list
)

SYMBOLIC_SIZES_ATTR: Attribute[Sequence[SymbolicSize]] = Attribute(
    "symbolic_sizes",
    _MAIN,
    "a `SymbolicSize` for each size that only the run knows, in the order of its last parameters",
    list,
    list,
)

STREAMED_INPUTS_ATTR: Attribute[Sequence[str]] = Attribute(
    "streamed_inputs",
    _MAIN,
    "the names of the inputs that the application gives row by row. Their parameters are handles, "
    "by which `usmp.transform.StreamIO` calls it",
    names,
    list,
)

STREAMED_OUTPUTS_ATTR: Attribute[Sequence[str]] = Attribute(
    "streamed_outputs",
    _MAIN,
    "the names of the outputs that the application takes row by row",
    names,
    list,
)

# Decisions.

FIXED_CHOICES_ATTR: Attribute[Mapping[str, str]] = Attribute(
    "fixed_choices",
    _MODULE,
    "name of a stage of the search -> the value that it takes without comparing",
    plain,
)

OTHER_FORMS_ATTR: Attribute[Mapping[str, Any]] = Attribute(
    "other_forms",
    _MODULE,
    "what other forms of it need, if forms were compared of which none fits the pools. Bytes that "
    "each of them needs at least, `needed_bytes`, of the `pools` of these names; none if that is "
    "not proved (`usmp.planning.streaming.lower_bound`)",
    plain,
)

STRIPS_ATTR: Attribute[Mapping[str, Any]] = Attribute(
    "strips",
    _MODULE,
    "which chains of operators are computed in strips (`usmp.relax.transform.SplitIntoStrips`). "
    "What the application permits, `max_extra_macs` in percent; multiply-accumulates without "
    "strips and with them, `macs_before` and `macs`; bytes of all workspace pools, "
    "`unsplit_peak_bytes` and `peak_bytes`, if that fits; `chains` of operators that are in "
    "strips: names of their `operators`, how many `strips`, `macs_before` and `macs`; and all "
    "`choices` that were planned, each with `peak_bytes`, `macs` and `chains`",
    plain,
)

NOT_COMPARED_ATTR: Attribute[Sequence[str]] = Attribute(
    "not_compared",
    _MODULE,
    "the stages of the search in which the time budget ended before all choices were compared "
    "(`usmp.names.STAGES`)",
    names,
    list,
)

PRUNED_CHANNELS_ATTR: Attribute[Mapping[str, int]] = Attribute(
    "pruned_channels",
    _MODULE,
    "what was removed of channels that are constant or that nothing reads. How many `channels` "
    "convolutions and matrix products write less, and of all of these the bytes of the weights "
    "and the products that a run adds up, before and after: `weights_size_bytes_before`, "
    "`weights_size_bytes`, `macs_before`, `macs`",
    plain,
)

WINDOWS_ATTR: Attribute[Mapping[str, Any]] = Attribute(
    "windows",
    _MODULE,
    "the inputs that are windows of which each run is given the new rows. `inputs`, a map from "
    "the name of each, or `ENTRY.NAME` with several entries, to the `rows` of a run and the "
    "`window_rows`; `states`, a map from the name "
    "of each state to the `tensor` and the number of its `rows` that it holds; their "
    "`state_size_bytes`; the multiply-accumulates of a run, `macs`, and those of the whole window, "
    "`window_macs`; `whole`, the names of the operators that take whole windows",
    plain,
)

FLOAT_OPERATORS_ATTR: Attribute[Mapping[str, int]] = Attribute(
    "float_operators",
    _MODULE,
    "name -> how many operators of a quantized graph are computed in float. No integer operator "
    "was recognized there",
    plain,
)

CODE_ATTR: Attribute[str] = Attribute(
    "code", _MODULE, "the value of `tir.usmp.code`, if functions may share code", str
)

# Plans.

MEMORY_PLAN_ATTR: Attribute[MemoryPlan] = Attribute(
    "memory_plan", _MODULE, "the `MemoryPlan`, after planning"
)

POOL_ARGS_ATTR: Attribute[Sequence[AllocatedPoolInfo]] = Attribute(
    "pool_args",
    "IRModule, PrimFunc",
    "after planning, an `AllocatedPoolInfo` for each pool that it takes, in the order of its "
    "parameters",
    list,
    list,
)

IO_TENSOR_POOL_ALLOCATIONS_ATTR: Attribute[Mapping[str, PoolAllocation]] = Attribute(
    "io_tensor_pool_allocations",
    "IRModule, PrimFunc of an entry",
    "after planning with inputs and outputs in the workspace, tensor name -> `PoolAllocation`. It "
    "is on PrimFuncs if there are several entries",
)

WORKSPACE_SIZE_FUNCTIONS_ATTR: Attribute[Mapping[str, str]] = Attribute(
    "workspace_size_functions",
    _MODULE,
    "name of a workspace pool -> name of the PrimFunc that returns the bytes that it needs. The "
    "PrimFunc takes the symbolic sizes, as `int32`",
    plain,
)

DYNAMIC_ALLOCATIONS_ATTR: Attribute[Sequence[DynamicAllocation]] = Attribute(
    "dynamic_allocations",
    _MODULE,
    "a `DynamicAllocation` for each buffer that is allocated while the model runs, once they are "
    "calls (`usmp.transform.LowerDynamicAllocations`)",
    list,
    list,
)

DYNAMIC_ALLOCATOR_ATTR: Attribute[str] = Attribute(
    "dynamic_allocator",
    _MODULE,
    "the allocator, from `tir.usmp.dynamic`, which says what dynamic allocations call",
    str,
)

TAKES_ARENA_ATTR: Attribute[bool] = Attribute(
    "takes_arena",
    _PRIM_FUNC,
    "whether it allocates in an arena, or calls a PrimFunc that does. The arena is its parameter "
    "before the pools",
    bool,
)

OPERATOR_HOOKS_ATTR: Attribute[Sequence[str]] = Attribute(
    "operator_hooks",
    _MODULE,
    "the C functions that are called before and after each operator, with its number "
    "(`usmp.transform.CallOperatorHooks`)",
    names,
    list,
)

"""Names of the attributes and annotations by which passes hand on what they found.

Where TVM's Unified Static Memory Planner had a name for it, the name is TVM's.
"""

from __future__ import annotations

MAIN_FUNCTION_NAME = "__tvm_main__"
"""The AoT main PrimFunc: the calls of the operators in order."""

CANDIDATE_MEMORY_POOL_ATTR = "candidate_memory_pools"
"""On an AllocBuffer: the pools that may hold it, most wanted first (RFC 0009, Overview)."""

CONSTANT_DATA_ATTR = "constant_data"
"""On an AllocBuffer: its content, a `tvm.runtime.Tensor`; the buffer is read-only."""

FIXED_OFFSET_ATTR = "fixed_offset"
"""On an AllocBuffer: pins it to this byte offset of the pool that holds it."""

ALIGNMENT_ATTR = "alignment"
"""On an AllocBuffer: bytes of which its address must be a multiple, a power of two, beside what the
executor and its elements need."""

LIVE_THROUGHOUT_ATTR = "live_throughout"
"""On an AllocBuffer: if true, its content matters from entry to exit, whatever accesses it."""

INPUT_TENSOR_ATTR = "input_tensor"
"""On an AllocBuffer of `__tvm_main__`: the name of the model input that it holds."""

OUTPUT_TENSOR_ATTR = "output_tensor"
"""On an AllocBuffer of `__tvm_main__`: the name of the model output that it holds."""

STATE_TENSOR_ATTR = "state_tensor"
"""On an AllocBuffer: the name of the state that it holds from one run to the next; it is live
throughout, and shares its bytes with nothing."""

STATE_BYTES_ATTR = "state_bytes"
"""Beside that: how many bytes at its start are the state, if not all. What is behind them belongs
to the run."""

BOARD_ATTR = "board"
"""On the IRModule: the name of the board that it is built for."""

BOARD_POOLS_ATTR = "board_pools"
"""Beside that: the names of the pools that the board brings because the user named none."""

WORKSPACE_MEMORY_POOLS_ATTR = "workspace_memory_pools"
"""On the IRModule: the user's `WorkspaceMemoryPools`."""

CONSTANT_MEMORY_POOLS_ATTR = "constant_memory_pools"
"""On the IRModule: the user's `ConstantMemoryPools`."""

EXTENDS_STATES_ATTR = "extends_states"
"""On the IRModule: whether a state may be the start of a larger buffer; it may if missing."""

STATE_MEMORY_POOL_ATTR = "state_memory_pool"
"""On the IRModule: the `WorkspacePoolInfo` that holds the states and nothing else; it may be one of
the workspace pools."""

IO_MEMORY_POOL_ATTR = "io_memory_pool"
"""On the IRModule: the one of its workspace pools that holds all inputs and outputs that are
planned, a `WorkspacePoolInfo`."""

STATE_TENSORS_ATTR = "state_tensors"
"""On the PrimFunc of an entry that keeps state: a `StateTensor` for each of its states."""

STATE_LAYOUT_ATTR = "state_layout"
"""On the IRModule: a `PlacedState` for each state. Before planning, where the states must be; after
planning, where they are."""

WORKSPACE_SIZE_FUNCTIONS_ATTR = "workspace_size_functions"
"""On a planned IRModule whose offsets depend on symbolic sizes: name of a workspace pool -> name of
the PrimFunc that takes the sizes, as `int32`, and returns the bytes that the pool needs."""

POOL_ARGS_ATTR = "pool_args"
"""After planning, on the IRModule and on each PrimFunc: the pools that it takes, in the order of
its parameters, as `AllocatedPoolInfo`s."""

IO_TENSOR_POOL_ALLOCATIONS_ATTR = "io_tensor_pool_allocations"
"""After planning with inputs and outputs in the workspace, on the IRModule, or on the PrimFunc of
each of several entries: tensor name -> `PoolAllocation`."""

INPUT_TENSORS_ATTR = "input_tensors"
"""On `__tvm_main__`: a `TensorInfo` for each model input, in order."""

OUTPUT_TENSORS_ATTR = "output_tensors"
"""On `__tvm_main__`: a `TensorInfo` for each model output, in order."""

SYMBOLIC_SIZES_ATTR = "symbolic_sizes"
"""On `__tvm_main__`: a `SymbolicSize` for each size that only the run knows, in the order of its
last parameters."""

DYNAMIC_ALLOCATIONS_ATTR = "dynamic_allocations"
"""On the IRModule, once they are calls: a `DynamicAllocation` for each buffer that is allocated
while the model runs (`usmp.transform.LowerDynamicAllocations`)."""

DYNAMIC_ALLOCATOR_ATTR = "dynamic_allocator"
"""Beside that: the value of `tir.usmp.dynamic_allocator`, which says what they call."""

TAKES_ARENA_ATTR = "takes_arena"
"""On a PrimFunc that allocates in an arena, or calls one that does: true. The arena is its
parameter before the pools."""

STREAMED_INPUTS_ATTR = "streamed_inputs"
"""Beside these: the names of the inputs that the application gives row by row. Their parameters are
handles, by which `usmp.transform.StreamIO` calls it."""

STREAMED_OUTPUTS_ATTR = "streamed_outputs"
"""The same of the outputs that it takes row by row."""

STREAMED_TENSOR_ATTR = "streamed_tensor"
"""On an AllocBuffer: what it holds, as in 'input "x"', if that is given or taken row by row; so it
must become a ring."""

OUTPUT_NAMES_ATTR = "output_names"
"""On the Relax `main`: the names of the model's outputs, in order; states are not among them."""

NAMES_OUTPUTS_ATTR = "names_outputs"
"""On a Relax function: whether its outputs had their names in C in TVM 0.18 too, as those of
`.tflite` files; others were called "output", or "output0", "output1" and so on."""

NAMES_018_ATTR = "names_018"
"""On the IRModule: the entries whose outputs have the names in C that TVM 0.18 gave them, which are
not those in the model."""

INPUT_QUANTIZATION_ATTR = "input_quantization"
"""On the Relax `main`: name of an input -> `[scale, zero_point]`, or `[]` if its elements are what
they are. An input that it does not name has the quantization of the operator that dequantizes
it."""

OUTPUT_QUANTIZATION_ATTR = "output_quantization"
"""On the Relax `main`: the same for each of the model's outputs, in order. Without it, an
output has the quantization of the operator that quantizes it."""

OPERATOR_ATTR = "quantized_operator"
"""On the PrimFunc of an integer operator, before equal ones are merged: its `QuantizedOp` as JSON
has it (`usmp.ops.records`)."""

OPERATORS_ATTR = "quantized_operators"
"""On a PrimFunc from then on, up to the planned module: the integer operators that it computes, in
order; for each of them the records of those that share the code."""

OPERATOR_STEPS_ATTR = "operator_steps"
"""On the PrimFunc of an operator, from fusion on: a map for each of the operators that it computes,
in order: kind, macs, kernel, strides, dilations (`usmp.ops.operator_steps.OperatorStep`)."""

OPERATOR_SHAPES_ATTR = "operator_shapes"
"""Beside that: the shapes of its tensors before they became flat, by the names of parameters."""

OPERATOR_HOOKS_ATTR = "operator_hooks"
"""On a planned IRModule: the C functions that are called before and after each operator, with its
number (`usmp.transform.CallOperatorHooks`)."""
SCHEDULE_ATTR = "schedule"
"""On the PrimFunc of a kernel: the tiles that it computes in, and about how many instructions it
takes (`usmp.objects.schedule.Schedule`)."""

FASTER_SCHEDULES_ATTR = "faster_schedules"
"""Beside that, until `usmp.ChooseSchedules`: PrimFuncs with the same parameters that compute the
same in larger tiles, the fastest first."""

ROW_SCHEDULE_ATTR = "row_schedule"
"""Beside that, until `usmp.StreamOperators`: a PrimFunc with the same parameters that computes the
same with an outermost loop over rows of its input or output, for operators that run interleaved."""

IO_TYPES_ATTR = "io_types"
"""On the IRModule: what `ConvertIOToIntegers` made of inputs and outputs, each called as in 'input
"x"': "integers" -> tensor -> its type, "float" -> tensor -> why it stays float."""

FIXED_CHOICES_ATTR = "fixed_choices"
"""On the IRModule: name of a stage of the search -> the value that it takes without comparing."""

CODE_HASH_ATTR = "code_hash"
"""On a PrimFunc with `quantized_operator`: the structural hash that it has without its record."""

SHARED_CODE_ATTR = "shares_code_with"
"""On such a PrimFunc: the name of an earlier one that is equal but for the record."""

ACCELERATOR_FUNCTION_ATTR = "accelerator_function"
"""On a PrimFunc that calls a function of the user: its `AcceleratorFunction`."""

EXTERN_KERNELS_ATTR = "extern_kernels"
"""On a PrimFunc: an `ExternKernel` for each function that it calls by `T.call_extern` and that
states what it does (`usmp.objects.extern_kernel.with_kernels`)."""

ENTRIES_ATTR = "entries"
"""On the IRModule: the names of the functions that an application calls, in order; `main` if it is
missing."""

CONCURRENT_ATTR = "concurrent_entries"
"""On the IRModule: lists of names of entries that may run at once, so that they share no memory."""

STATES_ATTR = "states"
"""On the Relax `main`, or on the function of each entry: a `StateInfo` for each tensor that it
keeps between runs. States of one name in several entries are one."""

INITIAL_STATES_ATTR = "initial_states"
"""On the Relax `main` of one of several entries: a `StateInfo` for each state that it does not
know, but that has its initial value from the first run of any of them."""

STATES_FLAG_ATTR = "states_flag"
"""On the Relax `main` of one of several entries: the name of the state that says whether the
states have their initial values."""

EXECUTOR_ATTR = "executor"
"""On the IRModule: the `Executor` that the code is made for."""

OTHER_FORMS_ATTR = "other_forms"
"""On the IRModule, if forms of it were compared of which none fits the pools: bytes that each of
them needs at least, `needed_bytes`, of the `pools` of these names; none if that is not proved
(`usmp.planning.streaming.lower_bound`)."""

STRIPS_ATTR = "strips"
"""On the IRModule, if chains of operators could be computed in strips
(`usmp.relax.transform.SplitIntoStrips`): what the application permits, `max_extra_macs` in percent;
multiply-accumulates without strips and with them, `macs_before` and `macs`; bytes of all workspace
pools, `unsplit_peak_bytes` and `peak_bytes`, if that fits; `chains` of operators that are in
strips: names of their `operators`, how many `strips`, `macs_before` and `macs`; and all `choices`
that were planned, each with `peak_bytes`, `macs` and `chains`."""

SEGMENT_ATTR = "segment"
"""On the PrimFunc of operators that run interleaved: their names in order, `operators`; whether by
rows or columns, `by`; bytes of the tensors between them that are kept, `ring_size_bytes`, of all
that they would have, `tensor_size_bytes`, and of what is moved in a run, `moved_bytes`."""

NOT_COMPARED_ATTR = "not_compared"
"""On the IRModule, if the time budget ended before all choices were compared: the stages of the
search (`usmp.names.STAGES`) in which some were not."""

MODEL_FILES_ATTR = "model_files"
"""On the IRModule: the names of the files that it was made from, without their folders."""

REFERENCE_ATTR = "reference"
"""On the IRModule, if a reference build was asked for: the `file` of the archive that holds it, or
`unavailable`, the reason why there is none (see `usmp.reference_build`)."""

MEMORY_PLAN_ATTR = "memory_plan"
"""After planning, on the IRModule: the `MemoryPlan`."""

PRUNED_CHANNELS_ATTR = "pruned_channels"
"""On the IRModule, where channels were removed that are constant or that nothing reads: how many
`channels` convolutions and matrix products write less, and of all of these the bytes of the weights
and the products that a run adds up, before and after: `weights_size_bytes_before`,
`weights_size_bytes`, `macs_before`, `macs`."""

WINDOWS_ATTR = "windows"
"""On the IRModule, where inputs are windows of which each run is given the new rows: `inputs`, a
map from the name of each to the `rows` of a run and the `window_rows`; `state_size_bytes` of what
is kept of windows; the multiply-accumulates of a run, `macs`, and those of the whole window,
`window_macs`; `whole`, the names of the operators that take whole windows."""

FLOAT_OPERATORS_ATTR = "float_operators"
"""On the IRModule: name -> how many operators of a quantized graph are computed in float, because
no integer operator was recognized."""

MERGED_FUNCTIONS_ATTR = "merged_functions"
"""On a PrimFunc that several operators share: the names of these, which call it
(`usmp.transform.MergeSimilarFunctions`)."""

SHARED_FUNCTION_ATTR = "shared_function"
"""On these: the name of the PrimFunc that they call and do nothing else."""

CODE_ATTR = "code"
"""On the IRModule: the value of `tir.usmp.code`, if functions may share code."""

CONTROL_FLOW_ATTR = "control_flow"
"""On the PrimFunc of a loop or a choice of a model, until `LowerControlFlow` writes it: what it is
(see `usmp.ops.control_flow`)."""

"""Attributes of modules that code before and after the passes reads and writes."""

from __future__ import annotations

from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    FIXED_OFFSET_ATTR,
    LIVE_THROUGHOUT_ATTR,
    STATE_BYTES_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.attributes.attribute import AttributeAccess
from usmp.objects.attributes.compared import SEARCH_ATTR
from usmp.objects.attributes.module_attributes import (
    BOARD_ATTR,
    BOARD_POOLS_ATTR,
    CODE_ATTR,
    CONCURRENT_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    DYNAMIC_ALLOCATIONS_ATTR,
    DYNAMIC_ALLOCATOR_ATTR,
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    FLOAT_OPERATORS_ATTR,
    INPUT_QUANTIZATION_ATTR,
    IO_MEMORY_POOL_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    IO_TYPES_ATTR,
    MEMORY_PLAN_ATTR,
    MODEL_FILES_ATTR,
    NAMES_018_ATTR,
    NAMES_OUTPUTS_ATTR,
    NOT_COMPARED_ATTR,
    OPERATOR_HOOKS_ATTR,
    OUTPUT_NAMES_ATTR,
    OUTPUT_QUANTIZATION_ATTR,
    POOL_ARGS_ATTR,
    PRUNED_CHANNELS_ATTR,
    REFERENCE_ATTR,
    SIZE_BOUNDS,
    STATE_LAYOUT_ATTR,
    STATE_MEMORY_POOL_ATTR,
    STATES_ATTR,
    STREAMED_INPUTS_ATTR,
    STREAMED_OUTPUTS_ATTR,
    STRIPS_ATTR,
    TAKES_ARENA_ATTR,
    WINDOWS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
    WORKSPACE_SIZE_FUNCTIONS_ATTR,
)
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
    MERGED_FUNCTIONS_ATTR,
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
    SEGMENT_ATTR,
    SHARED_FUNCTION_ATTR,
)
from usmp.objects.schedule import SCHEDULE_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.planning.attribute_access import PLANNING

USER = AttributeAccess(
    "TIR of users",
    writes=(
        *(CANDIDATE_POOLS_ATTR, CONSTANT_DATA_ATTR, FIXED_OFFSET_ATTR, ALIGNMENT_ATTR),
        *(LIVE_THROUGHOUT_ATTR, STATE_TENSOR_ATTR, STATE_BYTES_ATTR, EXTERN_KERNELS_ATTR),
    ),
)
"""Attributes and annotations in TIR that users write."""

FRONTENDS = AttributeAccess(
    "frontends",
    reads=(*RECORD_ATTRIBUTES, *SIZE_BOUNDS),
    writes=(
        *RECORD_ATTRIBUTES,
        *SIZE_BOUNDS,
        *(ENTRIES_ATTR, MODEL_FILES_ATTR, OUTPUT_NAMES_ATTR, NAMES_OUTPUTS_ATTR),
        *(INPUT_QUANTIZATION_ATTR, OUTPUT_QUANTIZATION_ATTR, STATES_ATTR, CONTROL_FLOW_ATTR),
    ),
)
"""Attributes of importers, which make Relax modules from model files."""

BUILD = AttributeAccess(
    "`usmp.build`",
    reads=(
        *(BOARD_POOLS_ATTR, ENTRIES_ATTR, CONCURRENT_ATTR, MODEL_FILES_ATTR, REFERENCE_ATTR),
        *(OUTPUT_NAMES_ATTR, NAMES_OUTPUTS_ATTR, IO_TYPES_ATTR, STATES_ATTR),
        *SIZE_BOUNDS,
    ),
    writes=(
        *SIZE_BOUNDS,
        *(BOARD_POOLS_ATTR, WORKSPACE_MEMORY_POOLS_ATTR, CONSTANT_MEMORY_POOLS_ATTR),
        *(STATE_MEMORY_POOL_ATTR, IO_MEMORY_POOL_ATTR, EXECUTOR_ATTR, ENTRIES_ATTR),
        *(CONCURRENT_ATTR, MODEL_FILES_ATTR, REFERENCE_ATTR, OUTPUT_NAMES_ATTR, NAMES_018_ATTR),
        *(STATES_ATTR, STATE_LAYOUT_ATTR, STATE_TENSOR_ATTR),
    ),
    uses=(PLANNING,),
)
"""Attributes for arguments of `usmp.build`, `tvmc` and `usmp-opt`, before and after the passes."""

OUTPUT = AttributeAccess(
    "C and reports",
    reads=(
        *(BOARD_ATTR, MODEL_FILES_ATTR, REFERENCE_ATTR, NAMES_018_ATTR, STREAMED_INPUTS_ATTR),
        *(STREAMED_OUTPUTS_ATTR, STRIPS_ATTR, NOT_COMPARED_ATTR, PRUNED_CHANNELS_ATTR),
        *(WINDOWS_ATTR, FLOAT_OPERATORS_ATTR, CODE_ATTR, MEMORY_PLAN_ATTR, POOL_ARGS_ATTR),
        *(IO_TENSOR_POOL_ALLOCATIONS_ATTR, WORKSPACE_SIZE_FUNCTIONS_ATTR, DYNAMIC_ALLOCATIONS_ATTR),
        *(DYNAMIC_ALLOCATOR_ATTR, TAKES_ARENA_ATTR, OPERATOR_HOOKS_ATTR, OPERATORS_ATTR),
        *(OPERATOR_STEPS_ATTR, OPERATOR_SHAPES_ATTR, SEGMENT_ATTR, MERGED_FUNCTIONS_ATTR),
        *(SHARED_FUNCTION_ATTR, ACCELERATOR_FUNCTION_ATTR, SCHEDULE_ATTR, SEARCH_ATTR),
        *(CONTROL_FLOW_ATTR, OPERATOR_ATTR),
    ),
    uses=(PLANNING,),
)
"""Attributes of planned modules that the emitted C, metadata.json and the summary use."""

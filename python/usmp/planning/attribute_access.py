"""The attributes that planning and the search read and write in any pass or stage."""

from __future__ import annotations

from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    FIXED_OFFSET_ATTR,
    INPUT_TENSOR_ATTR,
    LIVE_THROUGHOUT_ATTR,
    OUTPUT_TENSOR_ATTR,
    STATE_BYTES_ATTR,
    STATE_TENSOR_ATTR,
    STREAMED_TENSOR_ATTR,
)
from usmp.objects.attributes.attribute import AttributeAccess
from usmp.objects.attributes.compared import SEARCH_ATTR
from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    EXTENDS_STATES_ATTR,
    FIXED_CHOICES_ATTR,
    INPUT_TENSORS_ATTR,
    IO_MEMORY_POOL_ATTR,
    MEMORY_PLAN_ATTR,
    MODEL_FILES_ATTR,
    OTHER_FORMS_ATTR,
    OUTPUT_TENSORS_ATTR,
    STATE_LAYOUT_ATTR,
    STATE_MEMORY_POOL_ATTR,
    STATE_TENSORS_ATTR,
    STREAMED_INPUTS_ATTR,
    STREAMED_OUTPUTS_ATTR,
    STRIPS_ATTR,
    SYMBOLIC_SIZES_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
    SEGMENT_ATTR,
)
from usmp.objects.schedule import ROW_SCHEDULE_ATTR

PLANNING = AttributeAccess(
    "planning",
    reads=(
        *(WORKSPACE_MEMORY_POOLS_ATTR, CONSTANT_MEMORY_POOLS_ATTR, STATE_MEMORY_POOL_ATTR),
        *(IO_MEMORY_POOL_ATTR, STATE_LAYOUT_ATTR, STATE_TENSORS_ATTR, EXECUTOR_ATTR),
        MODEL_FILES_ATTR,
        *(ENTRIES_ATTR, CONCURRENT_ATTR, SYMBOLIC_SIZES_ATTR, MEMORY_PLAN_ATTR, OTHER_FORMS_ATTR),
        *(INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR, STREAMED_INPUTS_ATTR, STREAMED_OUTPUTS_ATTR),
        *(CANDIDATE_POOLS_ATTR, FIXED_OFFSET_ATTR, ALIGNMENT_ATTR, CONSTANT_DATA_ATTR),
        *(INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR, STREAMED_TENSOR_ATTR, LIVE_THROUGHOUT_ATTR),
        *(STATE_TENSOR_ATTR, STATE_BYTES_ATTR),
        *(EXTERN_KERNELS_ATTR, ACCELERATOR_FUNCTION_ATTR, SEGMENT_ATTR, ROW_SCHEDULE_ATTR),
    ),
    writes=(
        *(INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR, INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR),
        *(LIVE_THROUGHOUT_ATTR, CANDIDATE_POOLS_ATTR, FIXED_OFFSET_ATTR),
    ),
)
"""Attributes of a session: it allocates inputs and outputs, assigns pools, computes bounds."""

SEARCHING = AttributeAccess(
    "the search",
    reads=(FIXED_CHOICES_ATTR, EXTENDS_STATES_ATTR, SEARCH_ATTR, STRIPS_ATTR),
    writes=(SEARCH_ATTR, OTHER_FORMS_ATTR),
    uses=(PLANNING,),
)
"""Attributes of a search, which distinguishes modules and compares choices by their plans."""

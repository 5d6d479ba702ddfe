"""Passes on Relax modules, one pass a file."""

from usmp.relax.transform.add_root_blocks import AddRootBlocks
from usmp.relax.transform.bind_symbolic_sizes import BindSymbolicSizes
from usmp.relax.transform.check_calls import CheckCalls
from usmp.relax.transform.check_iterations import CheckIterations
from usmp.relax.transform.check_shapes import CheckShapes
from usmp.relax.transform.convert_branches import ConvertBranches
from usmp.relax.transform.convert_image_layout import ConvertImageLayout
from usmp.relax.transform.convert_io_to_integers import ConvertIOToIntegers
from usmp.relax.transform.convert_qdq_to_integers import ConvertQDQToIntegers
from usmp.relax.transform.fold_constants import FoldConstants
from usmp.relax.transform.fold_padding import FoldPadding
from usmp.relax.transform.fold_unchanged_states import FoldUnchangedStates
from usmp.relax.transform.fusion.describe_operators import DescribeOperators
from usmp.relax.transform.fusion.fuse_operators import FuseOperators
from usmp.relax.transform.fusion.fuse_recorded_operators import FuseRecordedOperators
from usmp.relax.transform.fusion.fuse_slices import FuseSlices
from usmp.relax.transform.fusion.fuse_tables import FuseTables
from usmp.relax.transform.fusion.fuse_window_slices import FuseWindowSlices
from usmp.relax.transform.fusion.keep_in_place_operators import KeepInPlaceOperators
from usmp.relax.transform.fusion.legalize_operators import LegalizeOperators
from usmp.relax.transform.fusion.push_slice_through_concat import PushSliceThroughConcat
from usmp.relax.transform.inline_functions import InlineFunctions
from usmp.relax.transform.lower_accelerator_functions import LowerAcceleratorFunctions
from usmp.relax.transform.make_parameter_names_unique import MakeParameterNamesUnique
from usmp.relax.transform.normalize_copies import NormalizeCopies
from usmp.relax.transform.normalize_take_indices import NormalizeTakeIndices
from usmp.relax.transform.partition_for_accelerators import PartitionForAccelerators
from usmp.relax.transform.plan_storage import PlanStorage
from usmp.relax.transform.prune_constant_channels import PruneConstantChannels
from usmp.relax.transform.resolve_match_casts import ResolveMatchCasts
from usmp.relax.transform.split_into_strips import SplitIntoStrips

__all__ = [
    "AddRootBlocks",
    "BindSymbolicSizes",
    "CheckCalls",
    "CheckIterations",
    "CheckShapes",
    "ConvertBranches",
    "ConvertIOToIntegers",
    "ConvertImageLayout",
    "ConvertQDQToIntegers",
    "DescribeOperators",
    "FoldConstants",
    "FoldPadding",
    "FoldUnchangedStates",
    "FuseOperators",
    "FuseRecordedOperators",
    "FuseSlices",
    "FuseTables",
    "FuseWindowSlices",
    "InlineFunctions",
    "KeepInPlaceOperators",
    "LegalizeOperators",
    "LowerAcceleratorFunctions",
    "MakeParameterNamesUnique",
    "NormalizeCopies",
    "NormalizeTakeIndices",
    "PartitionForAccelerators",
    "PlanStorage",
    "PruneConstantChannels",
    "PushSliceThroughConcat",
    "ResolveMatchCasts",
    "SplitIntoStrips",
]

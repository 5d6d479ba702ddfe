// The built-in algorithms as global functions `tir.usmp.algo.<name>`.
#include <tvm/ffi/error.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>

#include "read_problem.h"
#include "usmp_solver/bounds/workspace_bound.h"
#include "usmp_solver/explain/does_not_fit.h"
#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/heuristics/hill_climb.h"

namespace usmp {

namespace {

using Plan = ffi::Map<BufferInfo, PoolAllocation>;

/*!
 * \brief Plan the buffers with the algorithm.
 *
 * Throws ValueError for a buffer that fits nowhere; the message says what would be enough.
 */
Plan PlanWith(const Algorithm& algorithm, const ffi::Array<BufferInfo>& buffers) {
  const Problem problem = ReadProblem(buffers);
  const ConflictGraph conflicts(problem);
  const Solution solution = algorithm(problem, conflicts);
  if (solution.unplaced) {
    TVM_FFI_THROW(ValueError) << ExplainMisfit(problem, conflicts, solution, algorithm);
  }
  std::vector<Placement> placements;
  placements.reserve(buffers.size());
  for (const std::optional<Placement>& placement : solution.placements) {
    placements.push_back(placement.value());
  }
  return MakePlan(buffers, problem, placements);
}

// The memory pressure belongs to TVM's signature; only hill climbing has a use for it.

Plan GreedyBySizePlan(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return PlanWith(GreedyBySize, buffers);
}

Plan GreedyByConflictsPlan(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return PlanWith(GreedyByConflicts, buffers);
}

Plan NoSharingPlan(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return PlanWith(NoSharing, buffers);
}

Plan HillClimbPlan(const ffi::Array<BufferInfo>& buffers, int64_t memory_pressure) {
  const auto climb = [=](const Problem& problem, const ConflictGraph& conflicts) {
    // Where live buffers may overlap the memory pressure is no bound, and better plans lie below.
    if (problem.overlaps.empty()) return HillClimb(problem, conflicts, memory_pressure);
    return HillClimb(problem, conflicts, std::min(memory_pressure, WorkspaceBound(problem)));
  };
  return PlanWith(climb, buffers);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("tir.usmp.algo.greedy_by_size", GreedyBySizePlan)
      .def("tir.usmp.algo.greedy_by_conflicts", GreedyByConflictsPlan)
      .def("tir.usmp.algo.no_sharing", NoSharingPlan)
      .def("tir.usmp.algo.hill_climb", HillClimbPlan);
}

}  // namespace usmp

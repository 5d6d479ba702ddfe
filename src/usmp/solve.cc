#include "solve.h"

#include <tvm/ffi/error.h>

#include "does_not_fit.h"

namespace usmp {

ffi::Map<BufferInfo, PoolAllocation> Solve(const ffi::Array<BufferInfo>& buffers,
                                           const Algorithm& algorithm) {
  const Problem problem = MakeProblem(buffers);
  const Solution solution = algorithm(problem);
  if (solution.unplaced) {
    TVM_FFI_THROW(ValueError) << ExplainMisfit(problem, solution, algorithm);
  }
  std::vector<Placement> placements;
  placements.reserve(buffers.size());
  for (const std::optional<Placement>& placement : solution.placements) {
    placements.push_back(placement.value());
  }
  return MakePlan(buffers, problem, placements);
}

}  // namespace usmp

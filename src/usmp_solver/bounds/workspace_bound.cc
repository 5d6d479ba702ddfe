#include "usmp_solver/bounds/workspace_bound.h"

#include <algorithm>
#include <utility>

#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/model/effort.h"

namespace usmp {

int64_t BoundOfOnePool(Problem problem, const std::vector<size_t>& members) {
  if (members.empty()) return 0;
  problem.pools[0].limit = kNoLimit;
  Budget budget(kDefaultWorkBudget);
  return LowerBound(MakePoolProblem(problem, 0, members), &budget);
}

int64_t WorkspaceBound(Problem problem) {
  const auto is_workspace = [&](const Problem::Pool& pool) { return !pool.is_constant; };
  const bool is_one_pool =
      std::count_if(problem.pools.begin(), problem.pools.end(), is_workspace) == 1;
  std::vector<size_t> members;
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    Problem::Buffer& buffer = problem.buffers[b];
    if (!is_workspace(problem.pools[buffer.pools[0]])) continue;
    members.push_back(b);
    if (is_one_pool) continue;
    buffer.alignment = 1;
    buffer.fixed_offset.reset();
  }
  return BoundOfOnePool(std::move(problem), members);
}

}  // namespace usmp

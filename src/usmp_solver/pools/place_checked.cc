#include "usmp_solver/pools/place_checked.h"

#include <algorithm>
#include <set>

#include "usmp_solver/model/extent.h"
#include "usmp_solver/model/separations.h"
#include "usmp_solver/model/wide_bytes.h"
#include "usmp_solver/pools/spill.h"

namespace usmp {

namespace {

/*! \brief Return whether a section needs more than all pools have. */
bool Overloaded(const Problem& problem, const PoolProblem& together) {
  std::set<size_t> pools;
  for (size_t b : together.buffers) {
    pools.insert(problem.buffers[b].pools.begin(), problem.buffers[b].pools.end());
  }
  WideBytes capacity = 0;
  for (size_t pool : pools) capacity += problem.pools[pool].limit;
  const std::vector<int64_t> least = SmallestSeparations(together);
  const std::vector<WideBytes> loads = SumBySection(together, [&](size_t i) { return least[i]; });
  return std::any_of(loads.begin(), loads.end(), [&](WideBytes load) { return load > capacity; });
}

}  // namespace

Verdict PlaceChecked(const Problem& problem, const std::vector<size_t>& members,
                     std::vector<Placement>* by_buffer) {
  const size_t some_pool = problem.buffers[members.front()].pools.front();
  const PoolProblem together = MakePoolProblem(problem, some_pool, members);
  std::vector<int32_t> order = AllItems(together);
  std::optional<Placements> plan = PlaceByPreference(problem, together, order);
  if (!plan) {
    SortBySize(together, &order);
    plan = PlaceByPreference(problem, together, order);
  }
  if (plan) {
    for (size_t i = 0; i < plan->size(); ++i) (*by_buffer)[together.buffers[i]] = (*plan)[i];
    return Verdict::kPlaced;
  }
  const bool nowhere = std::any_of(together.buffers.begin(), together.buffers.end(), [&](size_t b) {
    return FitsNowhere(problem, problem.buffers[b]);
  });
  return nowhere || Overloaded(problem, together) ? Verdict::kInfeasible : Verdict::kUndecided;
}

}  // namespace usmp

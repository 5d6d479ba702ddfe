#include "usmp_solver/pools/fill_preferred.h"

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/model/conflict_graph.h"

namespace usmp {

std::vector<Placement> FillPreferred(const Problem& problem, std::vector<Placement> plan) {
  bool is_any_elsewhere = false;
  for (size_t b = 0; b < plan.size(); ++b) {
    is_any_elsewhere = is_any_elsewhere || plan[b].pool != problem.buffers[b].pools[0];
  }
  if (!is_any_elsewhere) return plan;
  const ConflictGraph conflicts(problem);
  Placer placer(problem, conflicts, {plan.begin(), plan.end()});
  for (size_t b : OrderBySize(problem, conflicts)) {
    for (size_t pool : problem.buffers[b].pools) {
      if (pool == plan[b].pool) break;
      if (pool < plan[b].pool && placer.TryPlace(b, pool)) break;
    }
    plan[b] = *placer.placements()[b];
  }
  return plan;
}

}  // namespace usmp

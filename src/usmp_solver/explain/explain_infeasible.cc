#include "usmp_solver/explain/explain_infeasible.h"

#include <algorithm>
#include <vector>

namespace usmp {

namespace {

bool HasPlan(const SolverResult& result) {
  return result.status == SolverStatus::kOptimal || result.status == SolverStatus::kFeasible;
}

/*! \brief Return buffers that may have no place: those of the proof, or else all buffers whose
 *         candidate pools all have limits. */
std::vector<size_t> Suspects(const Problem& problem, const SolverResult& result) {
  if (!result.infeasible_subset.empty()) return result.infeasible_subset;
  std::vector<size_t> suspects;
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const std::vector<size_t>& pools = problem.buffers[b].pools;
    const bool is_limited = std::all_of(
        pools.begin(), pools.end(), [&](size_t p) { return problem.pools[p].limit != kNoLimit; });
    if (is_limited) suspects.push_back(b);
  }
  if (suspects.empty()) suspects.push_back(0);
  return suspects;
}

/*! \brief Return the problem with `last` as the least preferred pool, to minimize it first. */
Problem WithLeastPreferred(const Problem& problem, size_t last) {
  Problem changed = problem;
  std::rotate(changed.pools.begin() + last, changed.pools.begin() + last + 1, changed.pools.end());
  for (Problem::Buffer& buffer : changed.buffers) {
    for (size_t& pool : buffer.pools) {
      pool = pool == last ? problem.pools.size() - 1 : pool - (pool > last);
    }
    std::sort(buffer.pools.begin(), buffer.pools.end());
  }
  return changed;
}

/*! \brief Return the problem of these buffers alone. */
Problem Subset(const Problem& problem, const std::vector<size_t>& members) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> position(problem.buffers.size(), kNone);
  Problem subset;
  subset.pools = problem.pools;
  for (size_t b : members) {
    position[b] = subset.buffers.size();
    subset.buffers.push_back(problem.buffers[b]);
  }
  for (const Problem::Conflict& conflict : problem.conflicts) {
    const size_t first = position[conflict.first];
    const size_t second = position[conflict.second];
    if (first != kNone && second != kNone) subset.conflicts.push_back({first, second});
  }
  for (const Problem::Overlap& overlap : problem.overlaps) {
    const size_t output = position[overlap.output];
    const size_t input = position[overlap.input];
    if (output != kNone && input != kNone) {
      subset.overlaps.push_back({output, input, overlap.distance});
    }
  }
  return subset;
}

SolverResult WithoutLimits(Problem problem) {
  for (Problem::Pool& pool : problem.pools) pool.limit = kNoLimit;
  return SolveProblem(problem);
}

/*! \brief Add the bytes that the buffers of the proof need together. */
void AddNeed(const Problem& problem, DoesNotFit* misfit) {
  const std::vector<size_t>& members = misfit->proved;
  const std::vector<size_t>& pools = problem.buffers[members[0]].pools;
  const SolverResult roomy = WithoutLimits(Subset(problem, members));
  misfit->fits_without_limits = HasPlan(roomy);
  const bool one_pool = std::all_of(members.begin(), members.end(), [&](size_t b) {
    return problem.buffers[b].pools.size() == 1 && problem.buffers[b].pools == pools;
  });
  if (HasPlan(roomy) && one_pool) misfit->needed = roomy.lower_bounds[pools[0]];
}

/*! \brief Return larger limits of single pools, any one of which suffices. */
std::vector<EnoughBytes> OfOnePool(const Problem& problem) {
  std::vector<EnoughBytes> enough;
  for (size_t p = 0; p < problem.pools.size(); ++p) {
    if (problem.pools[p].limit == kNoLimit) continue;
    Problem trial = WithLeastPreferred(problem, p);
    trial.pools.back().limit = kNoLimit;
    const SolverResult result = SolveProblem(trial);
    // More work than before may find a plan within the limit.
    if (!HasPlan(result) || result.peaks.back() <= problem.pools[p].limit) continue;
    const bool is_smallest = result.lower_bounds.back() == result.peaks.back();
    enough.push_back({p, result.peaks.back(), is_smallest});
  }
  return enough;
}

/*! \brief Return larger limits that suffice together, if no single larger limit does. */
std::vector<EnoughBytes> OfAllPools(const Problem& problem) {
  const SolverResult result = WithoutLimits(problem);
  std::vector<EnoughBytes> enough;
  if (!HasPlan(result)) return enough;
  for (size_t p = 0; p < result.peaks.size(); ++p) {
    if (result.peaks[p] > problem.pools[p].limit) enough.push_back({p, result.peaks[p], false});
  }
  return enough;
}

}  // namespace

DoesNotFit ExplainInfeasible(const Problem& problem, const SolverResult& result) {
  const std::vector<size_t> suspects = Suspects(problem, result);
  DoesNotFit misfit{};
  // Users look for the largest buffer first.
  misfit.buffer = *std::max_element(suspects.begin(), suspects.end(), [&](size_t lhs, size_t rhs) {
    return problem.buffers[lhs].size < problem.buffers[rhs].size;
  });
  for (size_t p : problem.buffers[misfit.buffer].pools) {
    misfit.pools.push_back({p, std::nullopt, std::nullopt, std::nullopt});
  }
  misfit.proved = result.infeasible_subset;
  misfit.is_irreducible = result.is_irreducible;
  if (!misfit.proved.empty()) AddNeed(problem, &misfit);
  misfit.alone = OfOnePool(problem);
  if (misfit.alone.empty()) misfit.together = OfAllPools(problem);
  return misfit;
}

}  // namespace usmp

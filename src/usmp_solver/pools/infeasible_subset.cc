#include "usmp_solver/pools/infeasible_subset.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/model/extent.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/separations.h"
#include "usmp_solver/pools/deletion_filter.h"
#include "usmp_solver/pools/minimize_pools.h"
#include "usmp_solver/pools/place_checked.h"

namespace usmp {

namespace {

/*! \brief Most steps of one test: about a tenth of a second. */
constexpr int64_t kTest = 20'000'000;

Verdict PlaceTogether(const Problem& problem, const std::vector<size_t>& members, Budget* whole) {
  if (members.empty()) return Verdict::kPlaced;
  if (whole->exhausted()) return Verdict::kUndecided;
  Budget budget(whole, kTest);
  const int64_t extent = Extent(problem, members);
  if (extent == kNoLimit) {
    std::vector<Placement> placements(problem.buffers.size());
    return PlaceChecked(problem, members, &placements);
  }
  std::vector<size_t> pools;
  for (size_t b : members) {
    pools.insert(pools.end(), problem.buffers[b].pools.begin(), problem.buffers[b].pools.end());
  }
  std::sort(pools.begin(), pools.end());
  pools.erase(std::unique(pools.begin(), pools.end()), pools.end());
  PoolsMinimizer minimizer(problem, members, std::move(pools), extent);
  minimizer.FindAny(&budget);
  if (minimizer.infeasible()) return Verdict::kInfeasible;
  return minimizer.found() ? Verdict::kPlaced : Verdict::kUndecided;
}

/*! \brief Return two pinned members that collide in their only candidate pool. */
std::optional<std::vector<size_t>> CollidingPair(const Problem& problem,
                                                 const std::vector<size_t>& members) {
  for (size_t pool = 0; pool < problem.pools.size(); ++pool) {
    std::vector<size_t> pinned;
    for (size_t b : members) {
      const Problem::Buffer& buffer = problem.buffers[b];
      if (buffer.fixed_offset && buffer.pools == std::vector{pool}) pinned.push_back(b);
    }
    const PoolProblem together = MakePoolProblem(problem, pool, pinned);
    if (const auto pair = FindCollidingPins(together, Separations(together))) {
      return std::vector{together.buffers[pair->first], together.buffers[pair->second]};
    }
  }
  return std::nullopt;
}

/*! \brief Return the members in the section with the most bytes. */
std::vector<size_t> FullestSection(const Problem& problem, const std::vector<size_t>& members) {
  const size_t some_pool = problem.buffers[members.front()].pools.front();
  const PoolProblem together = MakePoolProblem(problem, some_pool, members);
  const std::vector<int64_t> loads = Loads(together);
  const int32_t fullest =
      static_cast<int32_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
  std::vector<size_t> section;
  for (size_t i = 0; i < together.items.size(); ++i) {
    for (const PoolProblem::Span& span : together.SpansOf(together.items[i])) {
      if (span.begin <= fullest && fullest < span.end) section.push_back(together.buffers[i]);
    }
  }
  return section;
}

}  // namespace

InfeasibleSubset ShrinkInfeasible(const Problem& problem, std::vector<size_t> infeasible,
                                  Budget* budget) {
  for (size_t b : infeasible) {
    if (FitsNowhere(problem, problem.buffers[b])) return {{b}, true};
  }
  if (const auto pair = CollidingPair(problem, infeasible)) return {*pair, true};
  const auto test = [&](const std::vector<size_t>& members) {
    return PlaceTogether(problem, members, budget);
  };
  if (Extent(problem, infeasible) != kNoLimit) {
    std::vector<size_t> section = FullestSection(problem, infeasible);
    if (test(section) == Verdict::kInfeasible) infeasible = std::move(section);
  }
  InfeasibleSubset result;
  result.buffers = DeletionFilter(std::move(infeasible), test, budget, &result.is_irreducible);
  std::sort(result.buffers.begin(), result.buffers.end());
  return result;
}

}  // namespace usmp

#include "usmp_solver/pools/spill.h"

#include <algorithm>

#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/heuristics/heuristics.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/live_index.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

/*! \brief Places the items of one pool one after the other. */
class PoolPlacer {
 public:
  PoolPlacer(const PoolProblem& together, const Separations& separations, int64_t limit)
      : together_(together),
        separations_(separations),
        limit_(limit),
        index_(together),
        offsets_(together.items.size(), -1) {}

  /*! \brief Place the item at its lowest offset, or its pin; nullopt if it does not fit. */
  std::optional<int64_t> Place(int32_t i) {
    const PoolProblem::Item& item = together_.items[i];
    CollectBlocked(together_, separations_, index_, offsets_, i, &blocked_);
    const int64_t lowest = std::max<int64_t>(item.fixed_offset, 0);
    const int64_t offset = LowestFree(&blocked_, lowest, item.alignment);
    if (offset < 0 || (item.fixed_offset >= 0 && offset != lowest)) return std::nullopt;
    if (offset > limit_ - item.size) return std::nullopt;
    offsets_[i] = offset;
    index_.Place(i);
    return offset;
  }

 private:
  const PoolProblem& together_;
  const Separations& separations_;
  const int64_t limit_;
  LiveIndex index_;
  Offsets offsets_;
  std::vector<Blocked> blocked_;
};

}  // namespace

std::optional<Placements> PlaceByPreference(const Problem& problem, const PoolProblem& together,
                                            const std::vector<int32_t>& order) {
  std::vector<int32_t> pinned_first = order;
  std::stable_partition(pinned_first.begin(), pinned_first.end(),
                        [&](int32_t i) { return together.items[i].fixed_offset >= 0; });
  const Separations separations(together);
  std::vector<PoolPlacer> placers;
  for (const Problem::Pool& pool : problem.pools) {
    placers.emplace_back(together, separations, pool.limit);
  }
  Placements placements(together.items.size());
  for (int32_t item : pinned_first) {
    const std::vector<size_t>& pools = problem.buffers[together.buffers[item]].pools;
    const bool placed = std::any_of(pools.begin(), pools.end(), [&](size_t pool) {
      const std::optional<int64_t> offset = placers[pool].Place(item);
      if (offset) placements[item] = {pool, *offset};
      return offset.has_value();
    });
    if (!placed) return std::nullopt;
  }
  return placements;
}

std::optional<Placements> PlaceBySpilling(const Problem& problem, const PoolProblem& together,
                                          Budget* budget) {
  const size_t num_items = together.items.size();
  // Index of the present candidate of each item.
  std::vector<size_t> choice(num_items, 0);
  Placements placements(num_items);
  std::vector<bool> changed(problem.pools.size(), true);
  for (size_t pool = 0; pool < changed.size();) {
    if (!changed[pool]) {
      ++pool;
      continue;
    }
    changed[pool] = false;
    std::vector<int32_t> members;
    for (size_t i = 0; i < num_items; ++i) {
      if (problem.buffers[together.buffers[i]].pools[choice[i]] == pool) members.push_back(i);
    }
    PoolProblem selected = Select(together, members);
    const int64_t limit = problem.pools[pool].limit;
    selected.capacity = std::min(together.capacity, limit);
    const Offsets offsets = PlaceHeuristically(selected, LowerBound(selected, budget), budget);
    if (offsets.size() != members.size()) return std::nullopt;
    size_t first_changed = pool;
    for (size_t k = 0; k < members.size(); ++k) {
      const int32_t i = members[k];
      placements[i] = {pool, offsets[k]};
      if (offsets[k] + together.items[i].size <= limit) continue;
      const std::vector<size_t>& candidates = problem.buffers[together.buffers[i]].pools;
      if (++choice[i] == candidates.size()) return std::nullopt;
      changed[candidates[choice[i]]] = true;
      first_changed = std::min(first_changed, candidates[choice[i]]);
    }
    pool = first_changed;
  }
  return placements;
}

}  // namespace usmp

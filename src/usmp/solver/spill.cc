#include "spill.h"

#include <algorithm>
#include <utility>

#include "decompose.h"
#include "heuristics.h"
#include "lower_bound.h"

namespace usmp {

namespace {

using Item = PoolProblem::Item;
using Span = PoolProblem::Span;

bool Conflict(const PoolProblem& problem, int32_t a, int32_t b) {
  const Item& first = problem.items[a];
  const Item& second = problem.items[b];
  const Span* x = &problem.spans[first.first_span];
  const Span* y = &problem.spans[second.first_span];
  const Span* const x_end = x + first.num_spans;
  const Span* const y_end = y + second.num_spans;
  while (x != x_end && y != y_end) {
    if (std::max(x->begin, y->begin) < std::min(x->end, y->end)) return true;
    x->end < y->end ? ++x : ++y;
  }
  return false;
}

/*! \brief Bytes from the start of the lower item to the least start of the upper one. */
int64_t Separation(const PoolProblem& problem, int32_t lower, int32_t upper) {
  const auto it =
      std::lower_bound(problem.overlaps.begin(), problem.overlaps.end(), std::pair(lower, upper),
                       [](const PoolProblem::Overlap& overlap, const auto& pair) {
                         return std::pair(overlap.output, overlap.input) < pair;
                       });
  const bool overlaps = it != problem.overlaps.end() && it->output == lower && it->input == upper;
  return overlaps ? it->distance : problem.items[lower].size;
}

/*! \brief Offsets strictly between the two are taken. */
struct Taken {
  int64_t after;
  int64_t before;
};

/*! \brief The lowest offset of an item that is not taken; nothing if none fits 64 bits. */
std::optional<int64_t> LowestFree(const Item& item, std::vector<Taken> taken) {
  const auto hits = [](const Taken& range, int64_t offset) {
    return range.after < offset && offset < range.before;
  };
  if (item.fixed_offset >= 0) {
    for (const Taken& range : taken) {
      if (hits(range, item.fixed_offset)) return std::nullopt;
    }
    return item.fixed_offset;
  }
  std::sort(taken.begin(), taken.end(),
            [](const Taken& lhs, const Taken& rhs) { return lhs.after < rhs.after; });
  int64_t offset = 0;
  for (const Taken& range : taken) {
    if (!hits(range, offset)) continue;
    const auto next = AlignUp(range.before, item.alignment);
    if (!next) return std::nullopt;
    offset = *next;
  }
  return offset;
}

/*! \brief The lowest offset in a pool, given what lies there; nothing if that is beyond the limit.
 */
std::optional<int64_t> Fit(const PoolProblem& together, int32_t item,
                           const std::vector<std::pair<int32_t, int64_t>>& placed, int64_t limit) {
  std::vector<Taken> taken;
  for (const auto& [other, offset] : placed) {
    if (!Conflict(together, item, other)) continue;
    // What ends beyond the limit is never placed, so these sums are within 64 bits.
    taken.push_back(
        {offset - Separation(together, item, other), offset + Separation(together, other, item)});
  }
  const auto offset = LowestFree(together.items[item], std::move(taken));
  if (!offset) return std::nullopt;
  const auto end = CheckedAdd(*offset, together.items[item].size);
  if (!end || *end > limit) return std::nullopt;
  return offset;
}

}  // namespace

std::optional<Placements> PlaceByPreference(const Problem& problem, const PoolProblem& together,
                                            const std::vector<int32_t>& order) {
  std::vector<int32_t> pinned_first = order;
  std::stable_partition(pinned_first.begin(), pinned_first.end(),
                        [&](int32_t i) { return together.items[i].fixed_offset >= 0; });
  Placements placements(together.items.size());
  std::vector<std::vector<std::pair<int32_t, int64_t>>> placed(problem.pools.size());
  for (int32_t item : pinned_first) {
    bool found = false;
    for (size_t pool : problem.buffers[together.buffers[item]].pools) {
      const auto offset = Fit(together, item, placed[pool], problem.pools[pool].limit);
      if (!offset) continue;
      placements[item] = {pool, *offset};
      placed[pool].emplace_back(item, *offset);
      found = true;
      break;
    }
    if (!found) return std::nullopt;
  }
  return placements;
}

std::optional<Placements> PlaceBySpilling(const Problem& problem, const PoolProblem& together,
                                          Budget* budget) {
  const size_t num_items = together.items.size();
  // By item, which of its candidates it is in.
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

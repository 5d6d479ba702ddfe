#include "usmp_solver/heuristics/fit.h"

#include <algorithm>
#include <limits>

namespace usmp {

void CollectBlocked(const PoolProblem& problem, const Separations& separations,
                    const LiveIndex& index, const Offsets& offsets, int32_t item,
                    std::vector<Blocked>* blocked) {
  blocked->clear();
  if (!separations.overlaps_any(item)) {
    const int64_t size = problem.items[item].size;
    index.ForEachLive(item, [&](int32_t other) {
      blocked->push_back({offsets[other] - size, offsets[other] + problem.items[other].size});
    });
    return;
  }
  index.ForEachLive(item, [&](int32_t other) {
    if (other == item) return;
    blocked->push_back(
        {offsets[other] - separations(item, other), offsets[other] + separations(other, item)});
  });
}

namespace {

void SortBlocked(std::vector<Blocked>* blocked) {
  std::sort(blocked->begin(), blocked->end(),
            [](const Blocked& lhs, const Blocked& rhs) { return lhs.after < rhs.after; });
}

/*!
 * \brief Return the aligned offset of the tightest gap, or of the top if there is no gap.
 *
 * \param size of the item in bytes, to compute the bytes that a gap leaves.
 */
int64_t TightestFree(std::vector<Blocked>* blocked, int64_t size, int64_t alignment) {
  SortBlocked(blocked);
  int64_t best = -1;
  int64_t least_left = std::numeric_limits<int64_t>::max();
  int64_t floor = 0;
  for (const Blocked& stretch : *blocked) {
    const std::optional<int64_t> start = AlignUp(floor, alignment);
    if (!start) return best;
    if (*start <= stretch.after && stretch.after - floor < least_left) {
      least_left = stretch.after - floor;
      best = *start;
    }
    floor = std::max(floor, stretch.before);
  }
  if (best >= 0) return best;
  const std::optional<int64_t> top = AlignUp(floor, alignment);
  return top && CheckedAdd(*top, size) ? *top : -1;
}

}  // namespace

int64_t LowestFree(std::vector<Blocked>* blocked, int64_t lowest, int64_t alignment) {
  SortBlocked(blocked);
  std::optional<int64_t> offset = AlignUp(lowest, alignment);
  for (const Blocked& stretch : *blocked) {
    if (!offset) return -1;
    if (*offset <= stretch.after) break;
    if (*offset < stretch.before) offset = AlignUp(stretch.before, alignment);
  }
  return offset.value_or(-1);
}

std::optional<std::pair<int32_t, int32_t>> FindCollidingPins(const PoolProblem& problem,
                                                             const Separations& separations) {
  LiveIndex index(problem);
  std::optional<std::pair<int32_t, int32_t>> pair;
  for (int32_t i = 0; i < static_cast<int32_t>(problem.items.size()) && !pair; ++i) {
    const int64_t offset = problem.items[i].fixed_offset;
    if (offset < 0) continue;
    index.ForEachLive(i, [&](int32_t other) {
      const int64_t above = offset - problem.items[other].fixed_offset;
      if (-separations(i, other) < above && above < separations(other, i)) pair = {other, i};
    });
    index.Place(i);
  }
  return pair;
}

Offsets PlaceInOrder(const PoolProblem& problem, const Separations& separations,
                     const std::vector<int32_t>& order, Fit fit, int64_t give_up_beyond,
                     Budget* budget) {
  LiveIndex index(problem);
  Offsets offsets(problem.items.size(), -1);
  for (size_t i = 0; i < problem.items.size(); ++i) {
    if (problem.items[i].fixed_offset < 0) continue;
    offsets[i] = problem.items[i].fixed_offset;
    index.Place(i);
  }
  std::vector<Blocked> blocked;
  // Visits cost more if the items exceed the caches.
  const auto cost = 1 + static_cast<int64_t>(problem.items.size() / 500'000);
  for (int32_t i : order) {
    const PoolProblem::Item& item = problem.items[i];
    if (item.fixed_offset >= 0) continue;
    CollectBlocked(problem, separations, index, offsets, i, &blocked);
    budget->Spend(cost * (4 + index.WorkOf(i) / 8 + 6 * static_cast<int64_t>(blocked.size())));
    offsets[i] = fit == Fit::kFirst ? LowestFree(&blocked, 0, item.alignment)
                                    : TightestFree(&blocked, item.size, item.alignment);
    if (offsets[i] < 0) return {};
    const std::optional<int64_t> end = CheckedAdd(offsets[i], item.size);
    if (!end || *end > give_up_beyond) return {};
    if (give_up_beyond != kNoLimit && budget->exhausted()) return {};
    index.Place(i);
  }
  return offsets;
}

}  // namespace usmp

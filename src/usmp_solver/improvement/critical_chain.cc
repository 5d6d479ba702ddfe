#include "usmp_solver/improvement/critical_chain.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/heuristics/item_measures.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

/*! \brief By level: one in this many items counts as large at first. */
constexpr size_t kLargeShares[] = {8, 5, 3};
constexpr size_t kFewestLarge = 100;
/*! \brief Steps of the first slice for each item. */
constexpr int64_t kFirstChainSlice = 2'000;

}  // namespace

CriticalChainSearch::CriticalChainSearch(const PoolProblem& problem)
    : problem_(problem),
      ranks_(problem.items.size()),
      fine_(problem),
      slice_(kFirstChainSlice * static_cast<int64_t>(problem.items.size())) {
  const std::vector<int32_t> order = ItemMeasures(problem).Order({ItemMeasures::kRootArea});
  for (size_t rank = 0; rank < order.size(); ++rank) ranks_[order[rank]] = rank;
  for (size_t share : kLargeShares) {
    if (order.size() / share < kFewestLarge) continue;
    levels_.push_back(std::make_unique<Coarse>());
    std::vector<bool>& is_large = levels_.back()->is_large;
    is_large.assign(order.size(), false);
    for (size_t rank = 0; rank < order.size() / share; ++rank) is_large[order[rank]] = true;
    // Pinned items must not be fitted into gaps.
    for (size_t i = 0; i < order.size(); ++i) {
      if (problem.items[i].fixed_offset >= 0) is_large[i] = true;
    }
    Restart(levels_.back().get());
  }
}

void CriticalChainSearch::Restart(Coarse* coarse) const {
  coarse->items.clear();
  for (size_t i = 0; i < coarse->is_large.size(); ++i) {
    if (coarse->is_large[i]) coarse->items.push_back(static_cast<int32_t>(i));
  }
  coarse->problem = Select(problem_, coarse->items);
  coarse->offsets.clear();
  coarse->fitted = kNoLimit;
  coarse->search = std::make_unique<SkylineOrderSearch>(coarse->problem);
}

void CriticalChainSearch::Run(int64_t lower_bound, Budget* budget, Offsets* best) {
  const auto done = [&] {
    return budget->exhausted() || (!best->empty() && Peak(problem_, *best) <= lower_bound);
  };
  if (best->empty() && FindCollidingPins(problem_, Separations(problem_))) {
    budget->Spend(budget->left());
    return;
  }
  while (!done()) {
    const int64_t before = budget->spent();
    for (const std::unique_ptr<Coarse>& level : levels_) {
      Budget share(budget, slice_);
      RunCoarse(lower_bound, level.get(), &share, best);
      if (done()) return;
    }
    {
      Budget share(budget, slice_);
      fine_.Run(lower_bound, &share, best);
    }
    // No placement was possible.
    if (budget->spent() == before) return;
    if (slice_ < Budget::kUnlimited / 2) slice_ += slice_ / 2;
  }
}

void CriticalChainSearch::RunCoarse(int64_t lower_bound, Coarse* coarse, Budget* budget,
                                    Offsets* best) const {
  while (!budget->exhausted()) {
    coarse->search->Run(lower_bound, budget, &coarse->offsets);
    if (coarse->offsets.empty()) return;
    const int64_t height = Peak(coarse->problem, coarse->offsets);
    if (height >= coarse->fitted) return;
    if (!best->empty() && height >= Peak(problem_, *best)) return;
    coarse->fitted = height;
    std::vector<int32_t> above;
    Offsets all = FitOthers(*coarse, std::max(height, lower_bound), budget, &above);
    for (int32_t i : above) coarse->is_large[i] = true;
    if (!above.empty()) Restart(coarse);
    if (all.empty()) continue;
    if (best->empty() || Peak(problem_, all) < Peak(problem_, *best)) *best = std::move(all);
    if (Peak(problem_, *best) <= lower_bound) return;
  }
}

/*!
 * \brief Fit the other items into the gaps, the largest first.
 *
 * \param above set to the items that end above the goal, from the first batch with such items.
 * \return empty if not all items were placed.
 */
Offsets CriticalChainSearch::FitOthers(const Coarse& coarse, int64_t goal, Budget* budget,
                                       std::vector<int32_t>* above) const {
  Offsets all(problem_.items.size(), -1);
  for (size_t k = 0; k < coarse.items.size(); ++k) all[coarse.items[k]] = coarse.offsets[k];
  for (size_t count = 2 * coarse.items.size(); above->empty(); count *= 2) {
    std::vector<int32_t> items;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] >= 0 || ranks_[i] < static_cast<int64_t>(count)) items.push_back(i);
    }
    PoolProblem batch = Select(problem_, items);
    batch.capacity = kNoLimit;
    for (size_t k = 0; k < items.size(); ++k) batch.items[k].fixed_offset = all[items[k]];
    const Offsets placed =
        PlaceInOrder(batch, Separations(batch), ItemMeasures(batch).Order({ItemMeasures::kArea}),
                     Fit::kFirst, kNoLimit, budget);
    if (placed.empty()) return {};
    for (size_t k = 0; k < items.size(); ++k) {
      all[items[k]] = placed[k];
      if (placed[k] + batch.items[k].size > goal) above->push_back(items[k]);
    }
    if (items.size() == all.size()) return all;
  }
  return {};
}

}  // namespace usmp

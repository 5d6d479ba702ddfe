#include "usmp_solver/heuristics/urgent_first.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/heuristics/skyline.h"
#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/separations.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

namespace {

using Key = ItemMeasures::Key;

/*! \brief Most items for exact search. */
constexpr size_t kMostExact = 2'000;
/*! \brief Steps of exact search for each item. */
constexpr int64_t kExactSteps = 20'000;

/*! \brief Return the best of several skylines, or an exact placement at the lower bound. */
Offsets PlaceAlone(const PoolProblem& problem, int64_t lower_bound, Budget* budget) {
  const Separations separations(problem);
  const ItemMeasures measures(problem);
  Offsets best;
  int64_t peak = kNoLimit;
  for (const std::vector<Key>& keys : {std::vector<Key>{Key::kUrgency, Key::kDuration, Key::kSize},
                                       {Key::kUrgency, Key::kArea},
                                       {Key::kArea},
                                       {Key::kRootArea}}) {
    const int64_t limit = best.empty() ? kNoLimit : peak - 1;
    Offsets placed = PlaceFromBelow(problem, separations, measures.Order(keys), limit, budget);
    if (placed.empty()) continue;
    peak = Peak(problem, placed);
    best = std::move(placed);
    if (peak <= lower_bound) return best;
  }
  if (best.empty() || problem.items.size() > kMostExact) return best;
  Budget share(budget, std::min(budget->left() / 4,
                                kExactSteps * static_cast<int64_t>(problem.items.size())));
  Offsets placed;
  if (PlaceWithin(problem, lower_bound, &share, &placed) == Verdict::kPlaced) return placed;
  return best;
}

}  // namespace

Offsets PlaceUrgentFirst(const PoolProblem& problem, const ItemMeasures& measures, size_t share,
                         int64_t lower_bound, int64_t give_up_beyond, Budget* budget) {
  const std::vector<int32_t> order = measures.Order({Key::kUrgency, Key::kDuration, Key::kSize});
  std::vector<bool> is_hot(order.size(), false);
  for (size_t rank = 0; rank < order.size() / share; ++rank) is_hot[order[rank]] = true;
  std::vector<int32_t> hot;
  for (size_t i = 0; i < order.size(); ++i) {
    // Pinned items are needed here, so that the urgent ones avoid them.
    if (is_hot[i] || problem.items[i].fixed_offset >= 0) hot.push_back(static_cast<int32_t>(i));
  }
  PoolProblem alone = Select(problem, hot);
  alone.capacity = kNoLimit;
  const Offsets offsets = PlaceAlone(alone, lower_bound, budget);
  if (offsets.size() != hot.size() || Peak(alone, offsets) > give_up_beyond) return {};
  PoolProblem rest = problem;
  rest.capacity = kNoLimit;
  for (size_t k = 0; k < hot.size(); ++k) rest.items[hot[k]].fixed_offset = offsets[k];
  return PlaceInOrder(rest, Separations(rest), order, Fit::kFirst, kNoLimit, budget);
}

}  // namespace usmp

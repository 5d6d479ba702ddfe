#include "usmp_solver/heuristics/heuristics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "usmp_solver/heuristics/fit.h"
#include "usmp_solver/heuristics/item_measures.h"
#include "usmp_solver/heuristics/repair.h"
#include "usmp_solver/heuristics/skyline.h"
#include "usmp_solver/heuristics/urgent_first.h"
#include "usmp_solver/model/live_index.h"
#include "usmp_solver/model/separations.h"

namespace usmp {

namespace {

using Key = ItemMeasures::Key;

/*! \brief Return the orders to try. The order that is most often the best comes first. */
const std::vector<std::vector<Key>>& Orders() {
  static const std::vector<std::vector<Key>> orders = {
      {Key::kArea},
      {Key::kUrgency, Key::kArea},
      {Key::kDuration, Key::kSize},
      {Key::kUrgency, Key::kDuration, Key::kSize},
      {Key::kSize, Key::kDuration},
      {Key::kUrgency, Key::kSize, Key::kDuration},
      {Key::kRootArea},
      {Key::kUrgency, Key::kRootArea},
      {Key::kStart, Key::kSize},
      {Key::kEarlyEnd, Key::kSize},
  };
  return orders;
}

/*! \brief The best plan so far, with the conditions to stop. */
class Best {
 public:
  Best(const PoolProblem& problem, int64_t lower_bound, Budget* budget)
      : problem_(problem), lower_bound_(lower_bound), budget_(budget) {}

  bool none() const { return offsets_.empty(); }
  bool at_bound() const { return !none() && peak_ <= lower_bound_; }
  bool done() const { return at_bound() || (!none() && budget_->exhausted()); }
  /*! \brief The highest useful peak of the next plan. */
  int64_t limit() const { return none() ? kNoLimit : peak_ - 1; }
  Offsets* offsets() { return &offsets_; }

  void Offer(Offsets offsets) {
    if (offsets.empty()) return;
    const int64_t peak = Peak(problem_, offsets);
    if (!none() && peak >= peak_) return;
    peak_ = peak;
    offsets_ = std::move(offsets);
  }

 private:
  const PoolProblem& problem_;
  const int64_t lower_bound_;
  Budget* budget_;
  Offsets offsets_;
  int64_t peak_ = kNoLimit;
};

/*!
 * \brief Place the urgent items first, with a growing share of urgent items, and repair each plan.
 *
 * With very many items all passes are expensive. If the urgent items alone do not reach the bound,
 * try only first fit in order of urgency.
 */
void PlaceByUrgency(const PoolProblem& problem, const Separations& separations,
                    const ItemMeasures& measures, int64_t lower_bound, Budget* budget, Best* best) {
  constexpr size_t kFewestUrgent = 16;
  constexpr size_t kVeryMany = 100'000;
  const size_t num_items = problem.items.size();
  const auto repair_and_offer = [&](Offsets placed) {
    if (placed.empty()) return;
    // Repair even if placing took the whole budget, because these steps are cheap.
    const auto steps = 64 * static_cast<int64_t>(num_items);
    Budget repairs(4 * steps);
    LowerByRepair(problem, separations, lower_bound, steps, &repairs, &placed);
    best->Offer(std::move(placed));
    budget->Spend(repairs.spent());
  };
  for (const size_t share : {64, 16, 4}) {
    if (num_items / share < kFewestUrgent) continue;
    if (best->done()) return;
    const int64_t limit = num_items >= kVeryMany ? lower_bound : best->limit();
    Offsets placed = PlaceUrgentFirst(problem, measures, share, lower_bound, limit, budget);
    if (placed.empty()) break;
    repair_and_offer(std::move(placed));
  }
  if (num_items < kVeryMany || best->at_bound()) return;
  const std::vector<int32_t> order = measures.Order({Key::kUrgency, Key::kDuration, Key::kSize});
  repair_and_offer(PlaceInOrder(problem, separations, order, Fit::kFirst, kNoLimit, budget));
}

}  // namespace

Offsets PlaceHeuristically(const PoolProblem& problem, int64_t lower_bound, Budget* budget) {
  constexpr size_t kMany = 2'000;
  constexpr size_t kTooManyToFit = 10'000;
  const Separations separations(problem);
  if (FindCollidingPins(problem, separations)) return {};
  const ItemMeasures measures(problem);
  Best best(problem, lower_bound, budget);
  if (problem.items.size() >= kMany) {
    PlaceByUrgency(problem, separations, measures, lower_bound, budget, &best);
  }
  for (const std::vector<Key>& keys : Orders()) {
    if (best.done()) break;
    best.Offer(PlaceFromBelow(problem, separations, measures.Order(keys), best.limit(), budget));
  }
  // The next passes visit each conflicting pair.
  if (problem.items.size() >= kTooManyToFit) return std::move(*best.offsets());
  for (const std::vector<Key>& keys : Orders()) {
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      if (best.done()) break;
      best.Offer(
          PlaceInOrder(problem, separations, measures.Order(keys), fit, best.limit(), budget));
    }
  }
  return std::move(*best.offsets());
}

}  // namespace usmp

#include "usmp_solver/pools/pool_search.h"

#include <algorithm>
#include <utility>

#include "usmp_solver/model/decompose.h"
#include "usmp_solver/pools/deletion_filter.h"
#include "usmp_solver/pools/place_in_pool.h"

namespace usmp {

namespace {

/*! \brief Limits of the first dive; doubled from dive to dive. */
constexpr int64_t kFirstConflicts = 64;
constexpr int64_t kFirstDiveSlice = 50'000;
/*! \brief Most stored placements of a pool. */
constexpr size_t kMaxPlaced = 16;
/*! \brief Factor by which older conflicts count less for the order of decisions. */
constexpr double kDecay = 0.95;
constexpr double kMaxActivity = 1e100;

/*! \brief Most entries of all sections, listed, that a search supports. */
constexpr int64_t kMaxListed = 50'000'000;

}  // namespace

PoolSearch::PoolSearch(const Problem& problem, const PoolProblem& together)
    : problem_(problem),
      together_(together),
      placed_(problem.pools.size()),
      order_(AllItems(together)),
      activity_(together.items.size(), 0) {
  SortBySize(together, &order_);
  for (size_t buffer : together.buffers) {
    last_pool_.push_back(problem.buffers[buffer].pools.front());
  }
  if (NumListed(together) <= kMaxListed) domains_.emplace(problem, together);
}

bool PoolSearch::Overloaded(const std::vector<int64_t>& capacities, Budget* budget) {
  if (!domains_) return false;
  const bool possible = domains_->Reset(capacities);
  budget->Spend(domains_->TakeSteps());
  return !possible;
}

bool PoolSearch::FitsOnly(int32_t item, const std::vector<int64_t>& capacities, size_t pool) const {
  const std::vector<size_t>& candidates = problem_.buffers[together_.buffers[item]].pools;
  return std::all_of(candidates.begin(), candidates.end(), [&](size_t candidate) {
    return candidate == pool || capacities[candidate] < together_.items[item].size;
  });
}

std::vector<int32_t> PoolSearch::Forced(const std::vector<int64_t>& capacities, size_t pool,
                                        Budget* budget) {
  std::vector<int32_t> forced;
  Overloaded(capacities, budget);
  for (int32_t i = 0; i < static_cast<int32_t>(order_.size()); ++i) {
    const bool only = domains_ ? domains_->Decided(i) && domains_->PoolOf(i) == pool
                               : FitsOnly(i, capacities, pool);
    if (only) forced.push_back(i);
  }
  return forced;
}

Verdict PoolSearch::Place(const std::vector<int64_t>& capacities, Budget* budget,
                          Placements* placements) {
  if (!domains_) {
    budget->Spend(budget->left());
    return Verdict::kUndecided;
  }
  capacities_ = capacities;
  Dive dive = {kFirstConflicts, kFirstDiveSlice, budget};
  while (!budget->exhausted()) {
    dive.gave_up = false;
    const Verdict verdict = Search(&dive, placements);
    if (verdict != Verdict::kUndecided) return verdict;
    dive.conflicts *= 2;
    if (dive.slice < Budget::kUnlimited / 4) dive.slice *= dive.gave_up ? 4 : 1;
  }
  return Verdict::kUndecided;
}

bool PoolSearch::Root() {
  decisions_.clear();
  if (!domains_->Reset(capacities_)) return false;
  for (const Nogood& nogood : nogoods_) {
    if (nogood.capacity < capacities_[nogood.pool]) continue;
    if (!domains_->Forbid(nogood.pool, nogood.items)) return false;
  }
  return true;
}

bool PoolSearch::NextItem(int32_t* next) const {
  double best = -1;
  for (int32_t item : order_) {
    if (domains_->Decided(item) || activity_[item] <= best) continue;
    best = activity_[item];
    *next = item;
  }
  return best >= 0;
}

size_t PoolSearch::PoolToTry(int32_t item) const {
  if (domains_->Allows(item, last_pool_[item])) return last_pool_[item];
  for (size_t pool : problem_.buffers[together_.buffers[item]].pools) {
    if (domains_->Allows(item, pool)) return pool;
  }
  return last_pool_[item];
}

Verdict PoolSearch::Search(Dive* dive, Placements* placements) {
  if (!Root()) return Verdict::kInfeasible;
  int64_t conflicts = 0;
  while (dive->budget->Spend(domains_->TakeSteps() + static_cast<int64_t>(order_.size()))) {
    int32_t item = 0;
    bool possible;
    if (NextItem(&item)) {
      const size_t pool = PoolToTry(item);
      decisions_.push_back({item, pool});
      possible = domains_->Decide(item, pool) || Backtrack(nullptr);
    } else {
      Nogood nogood;
      if (PlacePools(dive, placements, &nogood)) return Verdict::kPlaced;
      if (dive->budget->exhausted()) return Verdict::kUndecided;
      Bump(nogood.items);
      possible = Backtrack(&nogood);
      if (++conflicts >= dive->conflicts && possible) return Verdict::kUndecided;
    }
    if (!possible) return dive->gave_up ? Verdict::kUndecided : Verdict::kInfeasible;
  }
  return Verdict::kUndecided;
}

bool PoolSearch::Backtrack(const Nogood* nogood) {
  while (!decisions_.empty()) {
    const Decision decision = decisions_.back();
    decisions_.pop_back();
    domains_->Undo();
    if (nogood != nullptr) {
      const bool still = std::all_of(nogood->items.begin(), nogood->items.end(), [&](int32_t i) {
        return domains_->Decided(i) && domains_->PoolOf(i) == nogood->pool;
      });
      if (still) continue;
      const bool possible = domains_->Forbid(nogood->pool, nogood->items);
      nogood = nullptr;
      if (!possible) continue;
    }
    if (domains_->RuleOut(decision.item, decision.pool)) return true;
  }
  return false;
}

bool PoolSearch::PlacePools(Dive* dive, Placements* placements, Nogood* nogood) {
  std::vector<std::vector<int32_t>> members(problem_.pools.size());
  for (int32_t i = 0; i < static_cast<int32_t>(order_.size()); ++i) {
    last_pool_[i] = domains_->PoolOf(i);
    members[last_pool_[i]].push_back(i);
  }
  Placements result(order_.size());
  for (size_t pool = 0; pool < members.size(); ++pool) {
    if (members[pool].empty() || Recall(pool, members[pool], &result)) continue;
    PoolProblem selected = Select(together_, members[pool]);
    selected.capacity = capacities_[pool];
    Placed placed = {members[pool], {}, 0};
    std::vector<int32_t> culprits;
    Budget share(dive->budget, dive->slice);
    const Verdict verdict = PlaceInPool(selected, &share, &placed.offsets, &culprits);
    if (verdict == Verdict::kPlaced) {
      placed.peak = Peak(selected, placed.offsets);
      if (placed_[pool].size() == kMaxPlaced) placed_[pool].erase(placed_[pool].begin());
      placed_[pool].push_back(std::move(placed));
      Recall(pool, members[pool], &result);
      continue;
    }
    for (int32_t& culprit : culprits) culprit = members[pool][culprit];
    *nogood = {pool, capacities_[pool], std::move(culprits)};
    if (verdict == Verdict::kUndecided) {
      dive->gave_up = true;
    } else {
      nogood->items = Shrink(pool, std::move(nogood->items), dive);
      nogoods_.push_back(*nogood);
    }
    return false;
  }
  *placements = std::move(result);
  return true;
}

bool PoolSearch::Recall(size_t pool, const std::vector<int32_t>& items,
                        Placements* placements) const {
  for (auto placed = placed_[pool].rbegin(); placed != placed_[pool].rend(); ++placed) {
    if (placed->peak > capacities_[pool]) continue;
    if (!std::includes(placed->items.begin(), placed->items.end(), items.begin(), items.end())) {
      continue;
    }
    for (size_t k = 0; k < placed->items.size(); ++k) {
      const int32_t item = placed->items[k];
      if (std::binary_search(items.begin(), items.end(), item)) {
        (*placements)[item] = {pool, placed->offsets[k]};
      }
    }
    return true;
  }
  return false;
}

std::vector<int32_t> PoolSearch::Shrink(size_t pool, std::vector<int32_t> items, Dive* dive) const {
  Budget share(dive->budget, dive->slice);
  const auto test = [&](const std::vector<int32_t>& rest) {
    PoolProblem selected = Select(together_, rest);
    selected.capacity = capacities_[pool];
    Budget one(&share, kFirstDiveSlice);
    Offsets offsets;
    std::vector<int32_t> culprits;
    return PlaceInPool(selected, &one, &offsets, &culprits);
  };
  bool is_irreducible;
  return DeletionFilter(std::move(items), test, &share, &is_irreducible);
}

void PoolSearch::Bump(const std::vector<int32_t>& items) {
  bump_ /= kDecay;
  for (int32_t item : items) activity_[item] += bump_;
  if (bump_ < kMaxActivity) return;
  for (double& activity : activity_) activity /= kMaxActivity;
  bump_ /= kMaxActivity;
}

}  // namespace usmp

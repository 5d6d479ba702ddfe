#include "usmp_solver/heuristics/repair.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "usmp_solver/heuristics/bisect_peak.h"
#include "usmp_solver/model/live_index.h"

namespace usmp {

namespace {

/*! \brief Peaks count as equal if they differ by at most the peak divided by this number. */
constexpr int64_t kRepairPrecision = 10'000;

/*! \brief An open range of offsets at which an item would displace another. */
struct Obstacle {
  int64_t after;
  int64_t before;
  double weight;
  bool is_pinned;
  int32_t item;
};

/*! \brief The obstacles at an offset that rises past their ends. */
struct Crossing {
  int64_t obstacles = 0;
  int64_t pinned = 0;
  double weight = 0;

  void Enter(const Obstacle& obstacle) {
    ++obstacles;
    if (obstacle.is_pinned) {
      ++pinned;
    } else {
      weight += obstacle.weight;
    }
  }

  void Leave(const Obstacle& obstacle) {
    --obstacles;
    if (obstacle.is_pinned) {
      --pinned;
    } else {
      weight -= obstacle.weight;
    }
    // Remove rounding errors, so that all free offsets cost the same.
    if (obstacles == pinned) weight = 0;
  }
};

class Repair {
 public:
  Repair(const PoolProblem& problem, const Separations& separations, int64_t target, Budget* budget,
         Offsets offsets)
      : problem_(problem),
        separations_(separations),
        target_(target),
        budget_(budget),
        offsets_(std::move(offsets)),
        index_(problem),
        weights_(problem.items.size()) {
    for (size_t i = 0; i < problem.items.size(); ++i) {
      weights_[i] = static_cast<double>(problem.items[i].size);
      if (problem.items[i].size <= target - offsets_[i]) {
        index_.Place(i);
      } else {
        waiting_.insert({-weights_[i], i});
      }
    }
  }

  /*! \brief Place all waiting items again, the heaviest first. */
  bool Run() {
    while (!waiting_.empty()) {
      if (budget_->exhausted()) return false;
      const int32_t item = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      if (!PutBack(item)) return false;
    }
    return true;
  }

  Offsets&& TakeOffsets() { return std::move(offsets_); }

 private:
  /*! \brief Place the item and displace others; return false if it has no possible offset. */
  bool PutBack(int32_t i) {
    const PoolProblem::Item& item = problem_.items[i];
    if (item.size > target_ || item.fixed_offset >= 0) return false;
    obstacles_.clear();
    index_.ForEachLive(i, [&](int32_t other) {
      obstacles_.push_back({offsets_[other] - separations_(i, other),
                            offsets_[other] + separations_(other, i), weights_[other],
                            problem_.items[other].fixed_offset >= 0, other});
    });
    budget_->Spend(20 + index_.WorkOf(i) / 8 + 20 * static_cast<int64_t>(obstacles_.size()));
    const int64_t offset = CheapestOffset(item);
    if (offset < 0) return false;
    for (const Obstacle& obstacle : obstacles_) {
      if (offset <= obstacle.after || offset >= obstacle.before) continue;
      if (index_.is_placed(obstacle.item)) TakeOut(obstacle.item);
    }
    offsets_[i] = offset;
    index_.Place(i);
    return true;
  }

  void TakeOut(int32_t item) {
    constexpr double kGrowth = 1.2;
    constexpr double kHeaviest = 1e200;
    index_.Remove(item);
    weights_[item] = std::min(weights_[item] * kGrowth, kHeaviest);
    waiting_.insert({-weights_[item], item});
  }

  /*! \brief Return a random one of the candidate offsets that displace the least. */
  int64_t CheapestOffset(const PoolProblem::Item& item) {
    CollectCandidates(item);
    by_end_.assign(obstacles_.begin(), obstacles_.end());
    std::sort(obstacles_.begin(), obstacles_.end(),
              [](const Obstacle& lhs, const Obstacle& rhs) { return lhs.after < rhs.after; });
    std::sort(by_end_.begin(), by_end_.end(),
              [](const Obstacle& lhs, const Obstacle& rhs) { return lhs.before < rhs.before; });
    Crossing crossing;
    auto next = obstacles_.begin();
    auto left = by_end_.begin();
    double least = std::numeric_limits<double>::max();
    int64_t best = -1;
    uint64_t equals = 0;
    for (int64_t candidate : candidates_) {
      for (; next != obstacles_.end() && next->after < candidate; ++next) {
        if (next->after < next->before) crossing.Enter(*next);
      }
      for (; left != by_end_.end() && left->before <= candidate; ++left) {
        if (left->after < left->before) crossing.Leave(*left);
      }
      if (crossing.pinned > 0 || crossing.weight > least) continue;
      equals = crossing.weight < least ? 1 : equals + 1;
      least = crossing.weight;
      if (random_() % equals == 0) best = candidate;
    }
    return best;
  }

  void CollectCandidates(const PoolProblem::Item& item) {
    const int64_t highest = target_ - item.size;
    candidates_.assign({0, highest - highest % item.alignment});
    for (const Obstacle& obstacle : obstacles_) {
      const std::optional<int64_t> above = AlignUp(obstacle.before, item.alignment);
      if (above && *above <= highest) candidates_.push_back(*above);
      if (obstacle.after > 0 && obstacle.after <= highest) {
        candidates_.push_back(obstacle.after - obstacle.after % item.alignment);
      }
    }
    std::sort(candidates_.begin(), candidates_.end());
  }

  const PoolProblem& problem_;
  const Separations& separations_;
  const int64_t target_;
  Budget* budget_;
  Offsets offsets_;
  LiveIndex index_;
  std::vector<double> weights_;
  std::set<std::pair<double, int32_t>> waiting_;
  std::vector<Obstacle> obstacles_;
  std::vector<Obstacle> by_end_;
  std::vector<int64_t> candidates_;
  std::mt19937_64 random_{1};
};

}  // namespace

bool RepairTo(const PoolProblem& problem, const Separations& separations, int64_t target,
              Budget* budget, Offsets* offsets) {
  Repair repair(problem, separations, target, budget, *offsets);
  if (!repair.Run()) return false;
  *offsets = repair.TakeOffsets();
  return true;
}

void LowerByRepair(const PoolProblem& problem, const Separations& separations, int64_t lower_bound,
                   int64_t steps_per_target, Budget* budget, Offsets* best) {
  BisectPeak(problem, lower_bound, kRepairPrecision, budget, best, [&](int64_t peak) {
    Budget part(budget, steps_per_target);
    return RepairTo(problem, separations, peak, &part, best);
  });
}

}  // namespace usmp

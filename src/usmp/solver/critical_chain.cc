#include "critical_chain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "separations.h"
#include "skyline.h"

namespace usmp {

namespace {

class ChainSearch {
 public:
  ChainSearch(const PoolProblem& problem, Budget* budget)
      : problem_(problem), separations_(problem), budget_(budget) {}

  /*! \brief Start from size times the root of duration; items of the highest load first if asked.
   */
  void Start(bool peak_first) {
    const std::vector<int64_t> loads = Loads(problem_);
    const auto peak =
        static_cast<int32_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    priorities_.assign(problem_.items.size(), 0);
    for (size_t i = 0; i < priorities_.size(); ++i) {
      const PoolProblem::Item& item = problem_.items[i];
      int32_t duration = 0;
      bool at_peak = false;
      for (int32_t k = item.first_span; k < item.first_span + item.num_spans; ++k) {
        const PoolProblem::Span& span = problem_.spans[k];
        duration += span.end - span.begin;
        at_peak = at_peak || (span.begin <= peak && peak < span.end);
      }
      priorities_[i] = static_cast<double>(item.size) * std::sqrt(duration);
      if (peak_first && at_peak) priorities_[i] *= 1e100;
    }
    offsets_ = Place(kNoLimit);
    if (!offsets_.empty()) peak_ = Peak(problem_, offsets_);
  }

  const Offsets& offsets() const { return offsets_; }
  int64_t peak() const { return peak_; }

  void Step() {
    std::vector<int32_t> chain = Chain();
    std::stable_sort(chain.begin(), chain.end(), [&](int32_t lhs, int32_t rhs) {
      return problem_.items[lhs].size > problem_.items[rhs].size;
    });
    std::vector<double> before = priorities_;
    for (uint64_t changes = 1 + random_() % 3; changes > 0; --changes) {
      const double uniform = Uniform();
      auto i = chain[static_cast<size_t>(chain.size() * (uniform * uniform * uniform))];
      if (random_() % 2 == 0) i = LargeBeside(i);
      priorities_[i] *= kFactors[random_() % std::size(kFactors)];
    }
    Offsets placed = Place(peak_);
    if (placed.empty()) {
      priorities_ = std::move(before);
    } else {
      offsets_ = std::move(placed);
      peak_ = Peak(problem_, offsets_);
    }
  }

 private:
  static constexpr double kFactors[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1.5, 2, 4, 8, 16};

  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  Offsets Place(int64_t limit) {
    std::vector<int32_t> order(priorities_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t lhs, int32_t rhs) { return priorities_[lhs] > priorities_[rhs]; });
    budget_->Spend(50 * static_cast<int64_t>(order.size()));
    return PlaceFromBelow(problem_, separations_, order, limit, budget_);
  }

  bool Conflict(int32_t a, int32_t b) const {
    const PoolProblem::Item& lhs = problem_.items[a];
    const PoolProblem::Item& rhs = problem_.items[b];
    int32_t i = lhs.first_span;
    int32_t j = rhs.first_span;
    while (i < lhs.first_span + lhs.num_spans && j < rhs.first_span + rhs.num_spans) {
      const PoolProblem::Span& x = problem_.spans[i];
      const PoolProblem::Span& y = problem_.spans[j];
      if (std::max(x.begin, y.begin) < std::min(x.end, y.end)) return true;
      x.end < y.end ? ++i : ++j;
    }
    return false;
  }

  /*! \brief Of the items that the function accepts, a random one; -1 if there is none. */
  template <typename Function>
  int32_t Any(Function accepts) {
    int32_t chosen = -1;
    uint64_t accepted = 0;
    for (int32_t i = 0; i < static_cast<int32_t>(problem_.items.size()); ++i) {
      if (accepts(i) && random_() % ++accepted == 0) chosen = i;
    }
    budget_->Spend(static_cast<int64_t>(problem_.items.size()));
    return chosen;
  }

  int64_t End(int32_t i) const { return offsets_[i] + problem_.items[i].size; }

  std::vector<int32_t> Chain() {
    std::vector<int32_t> chain;
    int32_t top = Any([&](int32_t i) { return End(i) == peak_; });
    while (top >= 0) {
      chain.push_back(top);
      const int64_t offset = offsets_[top];
      top = Any([&](int32_t i) { return End(i) == offset && Conflict(i, top); });
    }
    return chain;
  }

  int32_t LargeBeside(int32_t item) {
    const int64_t quarter = problem_.items[item].size / 4;
    return Any([&](int32_t i) { return problem_.items[i].size > quarter && Conflict(i, item); });
  }

  const PoolProblem& problem_;
  const Separations separations_;
  Budget* budget_;
  std::vector<double> priorities_;
  Offsets offsets_;
  int64_t peak_ = kNoLimit;
  std::mt19937_64 random_{1};
};

}  // namespace

void LowerByCriticalChain(const PoolProblem& problem, int64_t lower_bound, Budget* budget,
                          Offsets* best) {
  if (problem.items.empty() || Peak(problem, *best) <= lower_bound) return;
  ChainSearch search(problem, budget);
  ChainSearch peak_first(problem, budget);
  search.Start(false);
  peak_first.Start(true);
  ChainSearch& better = peak_first.peak() < search.peak() ? peak_first : search;
  if (better.offsets().empty()) return;
  while (better.peak() > lower_bound && !budget->exhausted()) better.Step();
  if (better.peak() < Peak(problem, *best)) *best = better.offsets();
}

}  // namespace usmp

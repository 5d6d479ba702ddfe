#include "usmp_solver/improvement/skyline_orders.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "usmp_solver/heuristics/skyline.h"

namespace usmp {

namespace {

/*! \brief Return size times root of duration; with `peak_first`, those at the peak load first. */
std::vector<double> FirstPriorities(const PoolProblem& problem, bool peak_first) {
  const std::vector<int64_t> loads = Loads(problem);
  const auto peak =
      static_cast<int32_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
  std::vector<double> priorities;
  for (const PoolProblem::Item& item : problem.items) {
    bool at_peak = false;
    for (const PoolProblem::Span& span : problem.SpansOf(item)) {
      at_peak = at_peak || (span.begin <= peak && peak < span.end);
    }
    const double priority = static_cast<double>(item.size) * std::sqrt(Duration(problem, item));
    priorities.push_back(peak_first && at_peak ? 1e100 * priority : priority);
  }
  return priorities;
}

}  // namespace

SkylineOrderSearch::SkylineOrderSearch(const PoolProblem& problem)
    : problem_(problem), separations_(problem) {}

void SkylineOrderSearch::Run(int64_t lower_bound, Budget* budget, Offsets* best) {
  if (problem_.items.empty() || budget->exhausted()) return;
  if (!best->empty() && Peak(problem_, *best) <= lower_bound) return;
  if (!started_) Start(budget);
  if (offsets_.empty()) return;
  while (peak_ > lower_bound && !budget->exhausted()) Step(budget);
  if (best->empty() || peak_ < Peak(problem_, *best)) *best = offsets_;
}

void SkylineOrderSearch::Start(Budget* budget) {
  started_ = true;
  for (bool peak_first : {false, true}) {
    std::vector<double> priorities = FirstPriorities(problem_, peak_first);
    Offsets placed = Place(priorities, kNoLimit, budget);
    if (placed.empty() || (!offsets_.empty() && Peak(problem_, placed) >= peak_)) continue;
    peak_ = Peak(problem_, placed);
    offsets_ = std::move(placed);
    priorities_ = std::move(priorities);
  }
}

void SkylineOrderSearch::Step(Budget* budget) {
  std::vector<int32_t> chain = Chain(budget);
  SortBySize(problem_, &chain);
  std::vector<double> priorities = priorities_;
  for (uint64_t changes = 1 + random_() % 3; changes > 0; --changes) {
    const double uniform = Uniform();
    auto i = chain[static_cast<size_t>(chain.size() * (uniform * uniform * uniform))];
    if (random_() % 2 == 0) i = LargeBeside(i);
    // A factor between 1/16 and 16, from exact operations only.
    priorities[i] *= std::ldexp(1 + Uniform(), static_cast<int>(random_() % 8) - 4);
  }
  Offsets placed = Place(priorities, peak_, budget);
  if (placed.empty()) return;
  priorities_ = std::move(priorities);
  offsets_ = std::move(placed);
  peak_ = Peak(problem_, offsets_);
}

Offsets SkylineOrderSearch::Place(const std::vector<double>& priorities, int64_t limit,
                                  Budget* budget) const {
  std::vector<int32_t> order = AllItems(problem_);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t lhs, int32_t rhs) { return priorities[lhs] > priorities[rhs]; });
  budget->Spend(50 * static_cast<int64_t>(order.size()));
  return PlaceFromBelow(problem_, separations_, order, limit, budget);
}

bool SkylineOrderSearch::Conflict(int32_t a, int32_t b) const {
  return Intersect(problem_.SpansOf(problem_.items[a]), problem_.SpansOf(problem_.items[b]));
}

/*! \brief Return a random item for which `accepts` is true; -1 if there is none. */
template <typename Function>
int32_t SkylineOrderSearch::Any(Function accepts) {
  int32_t chosen = -1;
  uint64_t accepted = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(problem_.items.size()); ++i) {
    if (accepts(i) && random_() % ++accepted == 0) chosen = i;
  }
  return chosen;
}

std::vector<int32_t> SkylineOrderSearch::Chain(Budget* budget) {
  const auto end = [&](int32_t i) { return offsets_[i] + problem_.items[i].size; };
  std::vector<int32_t> chain;
  int32_t top = Any([&](int32_t i) { return end(i) == peak_; });
  while (top >= 0) {
    chain.push_back(top);
    const int64_t offset = offsets_[top];
    top = Any([&](int32_t i) { return end(i) == offset && Conflict(i, top); });
    budget->Spend(static_cast<int64_t>(problem_.items.size()));
  }
  return chain;
}

int32_t SkylineOrderSearch::LargeBeside(int32_t item) {
  const int64_t quarter = problem_.items[item].size / 4;
  return Any([&](int32_t i) { return problem_.items[i].size > quarter && Conflict(i, item); });
}

}  // namespace usmp

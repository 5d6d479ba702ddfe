#include "usmp_solver/pools/portfolio.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/heuristics/heuristics.h"
#include "usmp_solver/improvement/windows.h"

namespace usmp {

namespace {

/*! \brief Steps of the first slice: about a fifth of a millisecond. */
constexpr int64_t kFirstPortfolioSlice = 50'000;
constexpr int64_t kStepsAnItem = 300;
/*! \brief Divisors of the remaining budget: bounds and heuristics may use `1 / kShareOfStart`,
 *         heuristics for many items `1 / kShareOfManyItems`. */
constexpr int64_t kShareOfStart = 4;
constexpr int64_t kShareOfManyItems = 2;
constexpr size_t kManyItems = 5'000;

}  // namespace

Portfolio::Portfolio(const PoolProblem& problem)
    : capacity_(problem.capacity), num_items_(problem.items.size()) {
  for (Part& part : Decompose(problem)) {
    parts_.emplace_back();
    parts_.back().part = std::move(part);
  }
}

void Portfolio::Raise(int64_t bound, const PartState& state) {
  if (bound <= lower_bound_) return;
  lower_bound_ = bound;
  culprit_ = &state - parts_.data();
}

void Portfolio::StopAt(int64_t peak) { lower_bound_ = std::max(lower_bound_, peak); }

void Portfolio::Start(Budget* budget, const Report& report) {
  std::vector<int64_t> bounds;
  for (PartState& state : parts_) {
    Budget share(budget, budget->left() / kShareOfStart);
    bounds.push_back(state.part.base + LowerBound(state.part.problem, &share));
    Raise(bounds.back(), state);
  }
  if (report) report(std::nullopt, lower_bound_);
  if (infeasible()) return;
  std::vector<size_t> order(parts_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t lhs, size_t rhs) { return bounds[lhs] > bounds[rhs]; });
  // Place the hardest part first: other parts need not be lower than the highest.
  int64_t goal = lower_bound_;
  for (size_t p : order) {
    PartState& state = parts_[p];
    const bool are_many = state.part.problem.items.size() > kManyItems;
    Budget share(budget, budget->left() / (are_many ? kShareOfManyItems : kShareOfStart));
    state.best = PlaceHeuristically(state.part.problem, goal - state.part.base, &share);
    if (Fits(state)) goal = std::max(goal, state.Top());
  }
  if (report) report(peak(), lower_bound_);
}

Portfolio::PartState* Portfolio::Hardest() {
  PartState* hardest = nullptr;
  for (PartState& state : parts_) {
    if (hardest == nullptr) {
      hardest = &state;
      continue;
    }
    const bool fits = Fits(state);
    if (fits != Fits(*hardest)) {
      if (!fits) hardest = &state;
    } else if (fits ? state.Top() > hardest->Top() : state.spent < hardest->spent) {
      hardest = &state;
    }
  }
  return hardest;
}

void Portfolio::SearchExactly(PartState* state, Budget* budget, const Report& report) {
  Offsets best;
  if (Fits(*state)) best = state->best;
  // The bound of the whole pool is low enough for the part.
  int64_t bound = lower_bound_ - state->part.base;
  state->exact->MinimizePeak(budget, &best, &bound, ReportOf(*state, report));
  if (!best.empty()) state->best = std::move(best);
  Raise(state->part.base + bound, *state);
}

void Portfolio::SearchLocally(PartState* state, Budget* budget, const Report& report) {
  if (!state->local) state->local = std::make_unique<LocalSearch>(state->part.problem);
  state->local->Run(lower_bound_ - state->part.base, budget, &state->best,
                    ReportOf(*state, report));
}

/*! \brief Return a callback that reports a peak of the part as a peak of the whole. */
std::function<void(int64_t)> Portfolio::ReportOf(const PartState& state,
                                                 const Report& report) const {
  int64_t others = 0;
  for (const PartState& other : parts_) {
    if (&other != &state) others = std::max(others, Fits(other) ? other.Top() : kNoLimit);
  }
  return [this, others, base = state.part.base, &report](int64_t peak) {
    const int64_t top = std::max(others, base + peak);
    if (report && top <= capacity_) report(top, lower_bound_);
  };
}

void Portfolio::SearchMany(PartState* state, Budget* budget) {
  const PoolProblem& problem = state->part.problem;
  const int64_t bound = lower_bound_ - state->part.base;
  if (state->Placed() && state->after_windows != Peak(problem, state->best)) {
    Budget share(budget, budget->left() / 2);
    LowerByWindows(problem, bound, &share, &state->best);
    state->after_windows = Peak(problem, state->best);
    if (*state->after_windows <= bound) return;
  }
  if (!state->chain) state->chain = std::make_unique<CriticalChainSearch>(problem);
  state->chain->Run(bound, budget, &state->best);
}

void Portfolio::Improve(SolverEffort effort, Budget* budget, const Report& report) {
  // Long enough to place all items several times.
  int64_t slice = std::max(kFirstPortfolioSlice, kStepsAnItem * static_cast<int64_t>(num_items_));
  while (!ended() && !budget->exhausted()) {
    PartState* state = Hardest();
    const int64_t before = budget->spent();
    if (!state->exact) state->exact = std::make_unique<ExactSearch>(state->part.problem);
    const bool exact_only = effort == SolverEffort::kExact && !state->exact->is_too_large();
    {
      Budget share(budget, exact_only && (peak() || parts_.size() == 1) ? budget->left() : slice);
      if (state->exact->is_too_large()) {
        SearchMany(state, &share);
      } else {
        SearchExactly(state, &share, report);
      }
    }
    if (!exact_only && !state->exact->is_too_large() && !closed() && state->Placed()) {
      Budget share(budget, slice);
      SearchLocally(state, &share, report);
    }
    // Spend at least one step, so that the watcher is polled.
    budget->Spend(1);
    state->spent += budget->spent() - before;
    if (slice < Budget::kUnlimited / 2) slice *= 2;
    if (report) report(peak(), lower_bound_);
    given_up_ = effort == SolverEffort::kExact && state->exact->is_too_large() &&
                state->spent >= kDefaultWorkBudget;
  }
}

std::optional<int64_t> Portfolio::peak() const {
  int64_t top = 0;
  for (const PartState& state : parts_) {
    if (!Fits(state)) return std::nullopt;
    top = std::max(top, state.Top());
  }
  return top;
}

Offsets Portfolio::offsets() const {
  Offsets result(num_items_);
  for (const PartState& state : parts_) {
    for (size_t i = 0; i < state.best.size(); ++i) {
      result[state.part.items[i]] = state.part.base + state.best[i];
    }
  }
  return result;
}

}  // namespace usmp

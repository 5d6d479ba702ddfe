#include "exact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "branch_and_bound.h"
#include "scale.h"

namespace usmp {

namespace {

/*! \brief Pairs of conflicting items beyond which exact search is not tried. */
constexpr int64_t kMostConflicts = 4'000'000;
constexpr size_t kMostItems = 5'000;
constexpr int64_t kNodesOfShortRun = 1'000;

/*! \brief Parts of the way from the bound to the best peak. */
constexpr std::array<double, 4> kRungs = {0.125, 1.0, 0.25, 0.5};

/*! \brief 1, 1, 2, 1, 1, 2, 4, ...: Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas
 *         algorithms", 1993. */
int64_t Luby(int64_t i) {
  while ((i & (i + 1)) != 0) {
    int64_t power = 1;
    while (2 * power - 1 < i) power *= 2;
    i -= power - 1;
  }
  return (i + 1) / 2;
}

/*! \brief What is long-lived, large, or live where most is needed goes first. */
class Priorities {
 public:
  explicit Priorities(const PoolProblem& problem) : problem_(problem) {
    const std::vector<int64_t> loads = Loads(problem);
    for (const PoolProblem::Item& item : problem.items) {
      double sections = 0;
      int64_t load = 0;
      for (int32_t k = 0; k < item.num_spans; ++k) {
        const PoolProblem::Span& span = problem.spans[item.first_span + k];
        sections += span.end - span.begin;
        load =
            std::max(load, *std::max_element(loads.begin() + span.begin, loads.begin() + span.end));
      }
      sections_.push_back(sections);
      area_.push_back(sections * static_cast<double>(item.size));
      load_.push_back(static_cast<double>(load));
    }
  }

  /*! \brief For the run of the number: the three orders as they are, then shaken. */
  std::vector<double> Of(int64_t run, const std::vector<double>* weights) {
    std::vector<double> keys;
    for (size_t i = 0; i < problem_.items.size(); ++i) {
      double key = Key(run % 3, i);
      if (run >= 3) {
        if (weights != nullptr) key *= std::sqrt(WeightOf(i, *weights));
        key *= 1.0 + kShake * Random();
      }
      keys.push_back(key);
    }
    return Ranks(keys);
  }

 private:
  static constexpr double kShake = 0.2;

  double Key(int64_t order, size_t i) const {
    if (order == 0) return sections_[i];
    if (order == 1) return area_[i];
    return load_[i] * (1.0 + 1e-3 * sections_[i] / problem_.num_sections);
  }

  double WeightOf(size_t i, const std::vector<double>& weights) const {
    const PoolProblem::Item& item = problem_.items[i];
    double sum = 0;
    for (int32_t k = 0; k < item.num_spans; ++k) {
      const PoolProblem::Span& span = problem_.spans[item.first_span + k];
      for (int32_t s = span.begin; s < span.end; ++s) sum += weights[s];
    }
    return sum;
  }

  /*! \brief No two alike: ties by area, then in input order. */
  std::vector<double> Ranks(const std::vector<double>& keys) const {
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(keys[a], area_[a]) > std::pair(keys[b], area_[b]);
    });
    std::vector<double> ranks(keys.size());
    for (size_t r = 0; r < order.size(); ++r) ranks[order[r]] = -static_cast<double>(r);
    return ranks;
  }

  /*! \brief Of [0, 1), the same everywhere. */
  double Random() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  const PoolProblem& problem_;
  std::vector<double> sections_;
  std::vector<double> area_;
  std::vector<double> load_;
  std::mt19937_64 random_;
};

int64_t CountConflicts(const PoolProblem& problem) {
  std::vector<int64_t> starts(problem.num_sections + 1, 0);
  std::vector<int64_t> live(problem.num_sections + 1, 0);
  for (const PoolProblem::Item& item : problem.items) {
    for (int32_t k = 0; k < item.num_spans; ++k) {
      const PoolProblem::Span& span = problem.spans[item.first_span + k];
      ++starts[span.begin];
      ++live[span.begin];
      --live[span.end];
    }
  }
  int64_t conflicts = 0;
  int64_t open = 0;
  for (int32_t s = 0; s < problem.num_sections; ++s) {
    open += live[s];
    conflicts += starts[s] * open;
  }
  return conflicts;
}

/*! \brief Runs at one capacity, or at falling ones, each longer than most before it. */
class Runs {
 public:
  Runs(const ExactRules& rules, BranchAndBound* search, Priorities* priorities)
      : rules_(rules), search_(search), priorities_(priorities) {}

  Verdict Next(int64_t capacity, Budget* budget) {
    const bool weighted = rules_.section_weights && run_ % 2 == 1;
    const std::vector<double> priorities =
        priorities_->Of(run_, weighted ? &search_->section_weights() : nullptr);
    const int64_t nodes = rules_.restarts ? kNodesOfShortRun * Luby(++run_) : Budget::kUnlimited;
    return search_->Run(capacity, priorities, nodes, budget);
  }

 private:
  const ExactRules rules_;
  BranchAndBound* search_;
  Priorities* priorities_;
  int64_t run_ = 0;
};

bool IsTooLarge(const PoolProblem& problem) {
  return problem.items.size() > kMostItems || CountConflicts(problem) > kMostConflicts;
}

}  // namespace

Verdict PlaceWithin(const PoolProblem& problem, int64_t capacity, Budget* budget, Offsets* offsets,
                    const ExactRules& rules) {
  if (problem.items.empty()) {
    offsets->clear();
    return Verdict::kPlaced;
  }
  const std::optional<ScaledProblem> scaled = Scale(problem);
  if (!scaled || IsTooLarge(problem)) return Verdict::kUndecided;
  BranchAndBound search(scaled->problem, rules);
  Priorities priorities(scaled->problem);
  Runs runs(rules, &search, &priorities);
  const int64_t units = std::min(capacity, scaled->largest_peak) / scaled->unit;
  while (!budget->exhausted()) {
    const Verdict verdict = runs.Next(units, budget);
    if (verdict == Verdict::kPlaced) *offsets = scaled->Unscale(search.offsets());
    if (verdict == Verdict::kInfeasible && HasCircle(problem, 0)) return Verdict::kUndecided;
    if (verdict != Verdict::kUndecided) return verdict;
  }
  return Verdict::kUndecided;
}

void MinimisePeak(const PoolProblem& problem, Budget* budget, Offsets* best, int64_t* lower_bound,
                  const ExactRules& rules, const std::function<void(int64_t)>& improved) {
  const std::optional<ScaledProblem> scaled = Scale(problem);
  if (problem.items.empty() || !scaled || IsTooLarge(problem)) return;
  if (*lower_bound > std::min(problem.capacity, scaled->largest_peak)) return;
  const bool can_prove = !HasCircle(problem, 0);
  const int64_t unit = scaled->unit;
  BranchAndBound search(scaled->problem, rules);
  Priorities priorities(scaled->problem);
  // Half of the runs try the bound itself, which most problems reach; the others spread over what
  // lies between it and the best peak, since a lower capacity is often no harder.
  std::vector<Runs> rungs(kRungs.size(), Runs(rules, &search, &priorities));
  Runs at_bound(rules, &search, &priorities);
  int64_t low = (*lower_bound + unit - 1) / unit;
  int64_t high = best->empty() ? std::min(problem.capacity, scaled->largest_peak) / unit
                               : Peak(problem, *best) / unit - 1;
  for (size_t run = 0; low <= high && !budget->exhausted(); ++run) {
    const size_t rung = run / 2 % kRungs.size();
    const bool try_bound = run % 2 == 0;
    const int64_t capacity =
        try_bound ? low : low + static_cast<int64_t>((high - low) * kRungs[rung]);
    const Verdict verdict = (try_bound ? at_bound : rungs[rung]).Next(capacity, budget);
    if (verdict == Verdict::kPlaced) {
      *best = scaled->Unscale(search.offsets());
      high = Peak(problem, *best) / unit - 1;
      if (improved) improved(Peak(problem, *best));
    } else if (verdict == Verdict::kInfeasible) {
      if (!can_prove) return;
      low = capacity + 1;
    }
  }
  *lower_bound = std::max(*lower_bound, low * unit);
}

}  // namespace usmp

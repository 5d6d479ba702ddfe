#include "usmp_solver/search/exact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "usmp_solver/model/scale.h"
#include "usmp_solver/model/separations.h"
#include "usmp_solver/search/branch_and_bound.h"
#include "usmp_solver/search/clause_learning.h"
#include "usmp_solver/search/luby.h"
#include "usmp_solver/search/placing_rules.h"

namespace usmp {

namespace {

/*! \brief Most pairs of conflicting items in exact search. */
constexpr int64_t kMostConflicts = 4'000'000;
constexpr size_t kMostExactItems = 5'000;
constexpr int64_t kNodesOfShortRun = 1'000;
/*! \brief Most conflicts for clause learning, because of its memory. */
constexpr int64_t kMostConflictsToLearn = 200'000;
/*! \brief Clause learning gets, for each step of the other search, one step plus this number times
 *         the share of sections that do not come from time. */
constexpr int64_t kMoreTurnsOfLearning = 6;
/*! \brief Steps of clause learning before the next choice between the two searches. */
constexpr int64_t kStepsOfLearning = 20'000;

/*! \brief Capacities to try, as fractions of the way from the bound to the best peak. */
constexpr std::array<double, 3> kRungs = {0.25, 0.9, 0.5};

}  // namespace

/*! \brief Orders of items: long-lived, large, or live where most bytes are needed first. */
class Priorities {
 public:
  explicit Priorities(const PoolProblem& problem) : problem_(problem) {
    const std::vector<int64_t> loads = Loads(problem);
    for (const PoolProblem::Item& item : problem.items) {
      const double sections = Duration(problem, item);
      int64_t load = 0;
      for (const PoolProblem::Span& span : problem.SpansOf(item)) {
        load =
            std::max(load, *std::max_element(loads.begin() + span.begin, loads.begin() + span.end));
      }
      sections_.push_back(sections);
      area_.push_back(sections * static_cast<double>(item.size));
      load_.push_back(static_cast<double>(load));
    }
  }

  /*! \brief Return the priorities of a run: three plain orders first, then randomized ones. */
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
    double sum = 0;
    ForSections(problem_, i, [&](int32_t s) { sum += weights[s]; });
    return sum;
  }

  /*! \brief Return distinct priorities: ties by area, then in input order. */
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

  /*! \brief Return a number in [0, 1) that is the same on every machine. */
  double Random() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  const PoolProblem& problem_;
  std::vector<double> sections_;
  std::vector<double> area_;
  std::vector<double> load_;
  std::mt19937_64 random_;
};

namespace {

int64_t CountConflicts(const PoolProblem& problem) {
  std::vector<int64_t> starts(problem.num_sections + 1, 0);
  std::vector<int64_t> live(problem.num_sections + 1, 0);
  for (const PoolProblem::Item& item : problem.items) {
    for (const PoolProblem::Span& span : problem.SpansOf(item)) {
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

bool IsTooLarge(const PoolProblem& problem) {
  return problem.items.size() > kMostExactItems || CountConflicts(problem) > kMostConflicts;
}

}  // namespace

class ExactSearch::State {
 public:
  State(ScaledProblem scaled, const ExactRules& rules)
      : scaled_(std::move(scaled)),
        rules_(rules),
        search_(scaled_.problem, rules),
        priorities_(scaled_.problem) {
    const PoolProblem& problem = scaled_.problem;
    if (rules.clause_learning && problem.num_time_sections < problem.num_sections &&
        CountConflicts(problem) <= kMostConflictsToLearn && !HasCircle(problem)) {
      const int64_t listed = problem.num_sections - problem.num_time_sections;
      turns_of_learning_ = 1 + kMoreTurnsOfLearning * listed / problem.num_sections;
    }
  }

  Verdict PlaceWithin(int64_t capacity, Budget* budget, Offsets* offsets) {
    const int64_t units = std::min(capacity, scaled_.largest_peak) / scaled_.unit;
    Verdict verdict = Verdict::kUndecided;
    while (verdict == Verdict::kUndecided && !budget->exhausted()) {
      verdict = IsTurnToLearn() ? Learn(units, budget) : Run(units, &at_bound_, budget);
    }
    if (verdict == Verdict::kPlaced) *offsets = found_;
    return verdict;
  }

  void MinimizePeak(Budget* budget, Offsets* best, int64_t* lower_bound,
                    const std::function<void(int64_t)>& improved) {
    const int64_t unit = scaled_.unit;
    const int64_t capacity = std::min(scaled_.problem.capacity, scaled_.largest_peak / unit);
    // Rounding up would be no proof: the bound may only be a goal of the caller.
    int64_t low = *lower_bound / unit;
    int64_t high = best->empty() ? capacity : (PeakOf(*best) - 1) / unit;
    while (low <= high && !budget->exhausted()) {
      int64_t tried = high;
      Verdict verdict;
      if (IsTurnToLearn()) {
        // Clauses that are learned below the best peak stay valid as it sinks.
        verdict = Learn(tried, budget);
      } else {
        // Half of the runs try the bound itself, because most problems reach it. The others try
        // capacities between it and the best peak, because a lower capacity is often no harder.
        const bool try_bound = runs_ % 2 == 0 || low == high;
        const size_t rung = runs_ / 2 % kRungs.size();
        tried = try_bound ? low : low + static_cast<int64_t>((high - low) * kRungs[rung]);
        verdict = Run(tried, try_bound ? &at_bound_ : &at_rung_[rung], budget);
      }
      if (verdict == Verdict::kPlaced) {
        *best = found_;
        high = (PeakOf(*best) - 1) / unit;
        if (improved) improved(PeakOf(*best));
      } else if (verdict == Verdict::kInfeasible) {
        low = tried + 1;
      }
    }
    if (low > *lower_bound / unit) *lower_bound = std::max(*lower_bound, low * unit);
  }

 private:
  /*! \brief Run the search once, mostly longer than earlier runs of this kind. */
  Verdict Run(int64_t capacity, int64_t* kind, Budget* budget) {
    const bool weighted = rules_.section_weights && *kind % 2 == 1;
    const std::vector<double> priorities =
        priorities_.Of(*kind, weighted ? &search_.section_weights() : nullptr);
    const int64_t nodes = rules_.restarts ? kNodesOfShortRun * Luby(*kind + 1) : Budget::kUnlimited;
    const int64_t before = budget->spent();
    const Verdict verdict = search_.Run(capacity, priorities, nodes, budget);
    owed_to_learning_ += turns_of_learning_ * (budget->spent() - before);
    if (verdict == Verdict::kPlaced) found_ = scaled_.Unscale(search_.offsets());
    // A run that the budget interrupted is repeated.
    if (verdict == Verdict::kUndecided && budget->exhausted()) return verdict;
    ++*kind;
    ++runs_;
    return verdict;
  }

  bool IsTurnToLearn() const { return turns_of_learning_ > 0 && owed_to_learning_ >= 0; }

  Verdict Learn(int64_t capacity, Budget* budget) {
    if (!learning_) learning_.emplace(scaled_.problem);
    Budget share(budget, kStepsOfLearning);
    const Verdict verdict = learning_->Run(capacity, &share);
    owed_to_learning_ -= share.spent();
    if (verdict == Verdict::kPlaced) found_ = scaled_.Unscale(learning_->offsets());
    return verdict;
  }

  /*! \brief Return the peak in bytes. */
  int64_t PeakOf(const Offsets& offsets) const {
    return Peak(scaled_.problem, offsets, scaled_.unit);
  }

  const ScaledProblem scaled_;
  const ExactRules rules_;
  BranchAndBound search_;
  /*! \brief Constructed at its first turn. */
  std::optional<ClauseLearning> learning_;
  /*! \brief Steps of `learning_` for each step of `search_`, and the steps that it is owed. */
  int64_t turns_of_learning_ = 0;
  int64_t owed_to_learning_ = 0;
  /*! \brief The latest placement. */
  Offsets found_;
  Priorities priorities_;
  int64_t runs_ = 0;
  /*! \brief Number of finished runs of each kind. */
  int64_t at_bound_ = 0;
  std::array<int64_t, kRungs.size()> at_rung_ = {};
};

ExactSearch::ExactSearch(const PoolProblem& problem, const ExactRules& rules) {
  if (IsTooLarge(problem)) return;
  if (std::optional<ScaledProblem> scaled = Scale(problem)) {
    search_ = std::make_unique<State>(*std::move(scaled), rules);
  }
}

ExactSearch::ExactSearch(ExactSearch&&) noexcept = default;
ExactSearch& ExactSearch::operator=(ExactSearch&&) noexcept = default;
ExactSearch::~ExactSearch() = default;

Verdict ExactSearch::PlaceWithin(int64_t capacity, Budget* budget, Offsets* offsets) {
  return is_too_large() ? Verdict::kUndecided : search_->PlaceWithin(capacity, budget, offsets);
}

void ExactSearch::MinimizePeak(Budget* budget, Offsets* best, int64_t* lower_bound,
                               const std::function<void(int64_t)>& improved) {
  if (!is_too_large()) search_->MinimizePeak(budget, best, lower_bound, improved);
}

Verdict PlaceWithin(const PoolProblem& problem, int64_t capacity, Budget* budget, Offsets* offsets,
                    const ExactRules& rules) {
  return ExactSearch(problem, rules).PlaceWithin(capacity, budget, offsets);
}

}  // namespace usmp

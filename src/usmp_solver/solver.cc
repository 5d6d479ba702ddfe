#include "usmp_solver/solver.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/validate.h"
#include "usmp_solver/pools/infeasible_subset.h"
#include "usmp_solver/pools/pool_group.h"

namespace usmp {

namespace {

/*! \brief Steps of each group in the first round; doubled from round to round. */
constexpr int64_t kFirstSolverRound = 8'000'000;
constexpr std::chrono::milliseconds kWatchInterval{100};

/*! \brief Ends the search when time is up or the watcher asks for it, and reports progress. */
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  Watch(const SolverOptions& options, size_t num_pools)
      : options_(options), start_(Clock::now()), peaks_(num_pools, 0), bounds_(num_pools, 0) {}

  /*! \brief Record the state of a pool. Without a peak, not all groups have a plan yet. */
  void Set(size_t pool, std::optional<int64_t> peak, int64_t bound) {
    peaks_[pool] = peak;
    bounds_[pool] = bound;
  }

  bool Interrupts() {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> elapsed = now - start_;
    if (options_.time_budget_seconds && elapsed.count() >= *options_.time_budget_seconds) {
      return true;
    }
    if (!options_.watch || now < next_) return false;
    next_ = now + kWatchInterval;
    return !options_.watch(Now());
  }

 private:
  Progress Now() const {
    Progress progress = {0, 0};
    for (size_t pool = 0; pool < peaks_.size(); ++pool) {
      progress.lower_bound = ClampedAdd(progress.lower_bound, bounds_[pool]);
      if (!peaks_[pool]) progress.peak.reset();
      if (progress.peak) progress.peak = ClampedAdd(*progress.peak, *peaks_[pool]);
    }
    return progress;
  }

  const SolverOptions& options_;
  Clock::time_point start_;
  Clock::time_point next_;
  std::vector<std::optional<int64_t>> peaks_;
  std::vector<int64_t> bounds_;
};

int64_t WorkOf(const SolverOptions& options) {
  if (options.work_budget) return *options.work_budget;
  const bool unlimited = options.effort == SolverEffort::kExact || options.time_budget_seconds;
  return unlimited ? Budget::kUnlimited : kDefaultWorkBudget;
}

/*!
 * \brief Place buffers of zero bytes at 0, or at their pins, in the first pool that is large
 *        enough.
 *
 * \return a buffer whose pin exceeds the limits of all its candidates.
 */
std::optional<size_t> PlaceEmpty(const Problem& problem, std::vector<Placement>* placements) {
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const Problem::Buffer& buffer = problem.buffers[b];
    if (buffer.size > 0) continue;
    const int64_t offset = buffer.fixed_offset.value_or(0);
    const auto pool = std::find_if(buffer.pools.begin(), buffer.pools.end(), [&](size_t candidate) {
      return offset <= problem.pools[candidate].limit;
    });
    if (pool == buffer.pools.end()) return b;
    (*placements)[b] = {*pool, offset};
  }
  return std::nullopt;
}

using Groups = std::vector<std::unique_ptr<PoolGroup>>;

bool Infeasible(const std::unique_ptr<PoolGroup>& group) { return group->infeasible(); }

/*! \brief Let all groups search in turn, until each has ended or one is infeasible. */
void Search(const Groups& groups, SolverEffort effort, Budget* budget, Watch* watch) {
  const auto report = [watch](size_t pool, std::optional<int64_t> peak, int64_t bound) {
    watch->Set(pool, peak, bound);
  };
  for (const std::unique_ptr<PoolGroup>& group : groups) {
    group->Start(budget, report);
    if (group->infeasible()) return;
  }
  for (int64_t slice = kFirstSolverRound; !budget->exhausted();) {
    std::vector<PoolGroup*> open;
    for (const std::unique_ptr<PoolGroup>& group : groups) {
      if (!group->ended()) open.push_back(group.get());
    }
    if (open.empty()) return;
    for (PoolGroup* group : open) {
      Budget share(budget, open.size() == 1 ? budget->left() : slice);
      group->Improve(effort, &share, report);
      if (group->infeasible()) return;
    }
    if (slice < Budget::kUnlimited / 2) slice *= 2;
  }
}

SolverStatus StatusOf(const Groups& groups) {
  const auto all = [&](auto holds) { return std::all_of(groups.begin(), groups.end(), holds); };
  if (std::any_of(groups.begin(), groups.end(), Infeasible)) return SolverStatus::kInfeasible;
  if (!all([](const auto& group) { return group->found(); })) return SolverStatus::kUnknown;
  return all([](const auto& group) { return group->optimal(); }) ? SolverStatus::kOptimal
                                                                 : SolverStatus::kFeasible;
}

}  // namespace

SolverResult SolveProblem(const Problem& problem, const SolverOptions& options) {
  Validate(problem);
  SolverResult result;
  result.placements.resize(problem.buffers.size());
  result.lower_bounds.assign(problem.pools.size(), 0);
  if (const auto beyond = PlaceEmpty(problem, &result.placements)) {
    result.status = SolverStatus::kInfeasible;
    result.placements.clear();
    result.infeasible_subset = {*beyond};
    result.is_irreducible = true;
    return result;
  }
  Watch watch(options, problem.pools.size());
  Budget budget(WorkOf(options), [&watch] { return watch.Interrupts(); });
  const Groups groups = PoolGroups(problem);
  Search(groups, options.effort, &budget, &watch);
  result.status = StatusOf(groups);
  for (const std::unique_ptr<PoolGroup>& group : groups) {
    group->Write(&result.placements, &result.lower_bounds);
  }
  for (size_t pool = 0; pool < problem.pools.size(); ++pool) {
    int64_t& bound = result.lower_bounds[pool];
    bound = std::min(bound, problem.pools[pool].limit);
  }
  if (result.status == SolverStatus::kOptimal || result.status == SolverStatus::kFeasible) {
    result.peaks = Peaks(problem, {result.placements.begin(), result.placements.end()});
  } else {
    result.placements.clear();
  }
  if (result.status == SolverStatus::kInfeasible) {
    const auto group = std::find_if(groups.begin(), groups.end(), Infeasible);
    InfeasibleSubset subset = ShrinkInfeasible(problem, (*group)->culprits(), &budget);
    result.infeasible_subset = std::move(subset.buffers);
    result.is_irreducible = subset.is_irreducible;
  }
  result.work = budget.spent();
  return result;
}

}  // namespace usmp

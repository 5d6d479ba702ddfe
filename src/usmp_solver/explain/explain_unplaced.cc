#include "usmp_solver/explain/explain_unplaced.h"

#include <algorithm>

namespace usmp {

namespace {

/*! \brief Most visits to placed buffers over all trials. */
constexpr int64_t kTrialWork = 100'000'000;

/*! \brief Return the placed buffer that collides with the pinned one; nullopt if there is none. */
std::optional<size_t> Occupant(const Problem& problem, const ConflictGraph& conflicts,
                               const Solution& solution, size_t pool) {
  const Problem::Buffer& buffer = problem.buffers[*solution.unplaced];
  std::optional<size_t> first;
  conflicts.ForEach(*solution.unplaced, [&](const ConflictGraph::Neighbor& neighbor) {
    const std::optional<Placement>& other = solution.placements[neighbor.buffer];
    if (!other || other->pool != pool || problem.buffers[neighbor.buffer].size == 0) return;
    const int64_t distance = other->offset - *buffer.fixed_offset;
    if (neighbor.below <= distance || neighbor.above <= -distance) return;
    first = std::min(first.value_or(neighbor.buffer), neighbor.buffer);
  });
  return first;
}

std::vector<RefusingPool> RefusingPools(const Problem& problem, const ConflictGraph& conflicts,
                                        const Solution& solution) {
  const Problem::Buffer& buffer = problem.buffers[*solution.unplaced];
  const std::vector<int64_t> peaks = Peaks(problem, solution.placements);
  std::vector<RefusingPool> refusing;
  for (size_t i = 0; i < buffer.pools.size(); ++i) {
    const size_t p = buffer.pools[i];
    RefusingPool pool{p, peaks[p], std::nullopt, std::nullopt};
    if (const std::optional<int64_t> offset = solution.unplaced_offsets[i]) {
      pool.end = *offset + buffer.size;
    } else if (buffer.fixed_offset) {
      pool.occupant = Occupant(problem, conflicts, solution, p);
      if (pool.occupant) pool.occupant_offset = solution.placements[*pool.occupant]->offset;
    }
    refusing.push_back(pool);
  }
  return refusing;
}

/*! \brief Runs of the algorithm with other limits, while work remains. */
class Trials {
 public:
  Trials(const Problem& problem, const ConflictGraph& conflicts, const Solution& solution,
         const Algorithm& algorithm)
      : problem_(problem), conflicts_(conflicts), solution_(solution), algorithm_(algorithm) {}

  /*! \brief Return limits of single pools that suffice: the smallest ones, if the work allows. */
  std::vector<EnoughBytes> OfOnePool() {
    std::vector<EnoughBytes> enough;
    for (size_t p = 0; p < problem_.pools.size(); ++p) {
      if (solution_.refused[p] == kNoLimit) continue;
      if (const std::optional<int64_t> limit = SmallestLimit(p)) {
        enough.push_back({p, *limit, true});
      } else if (const std::optional<int64_t> limit =
                     work_left_ < 0 ? SufficientLimit(p) : std::nullopt) {
        enough.push_back({p, *limit, false});
      }
    }
    return enough;
  }

  /*! \brief Return larger limits that suffice together, if no single larger limit does. */
  std::vector<EnoughBytes> OfAllPools() {
    Problem trial = problem_;
    for (Problem::Pool& pool : trial.pools) pool.limit = kNoLimit;
    const Solution solution = algorithm_(trial, conflicts_);
    std::vector<EnoughBytes> enough;
    if (solution.unplaced) return enough;
    const std::vector<int64_t> limits = SufficientLimits(solution);
    for (size_t p = 0; p < limits.size(); ++p) {
      if (limits[p] > problem_.pools[p].limit) enough.push_back({p, limits[p], false});
    }
    return enough;
  }

 private:
  std::optional<int64_t> SmallestLimit(size_t p) {
    Problem trial = problem_;
    int64_t refused = solution_.refused[p];
    while (refused != kNoLimit && work_left_ >= 0) {
      trial.pools[p].limit = refused;
      const Solution solution = algorithm_(trial, conflicts_);
      if (!solution.unplaced) return refused;
      work_left_ -= solution.work;
      refused = solution.refused[p];
    }
    return std::nullopt;
  }

  /*! \brief Return a sufficient limit of the pool, found by a run without limit. */
  std::optional<int64_t> SufficientLimit(size_t p) {
    Problem trial = problem_;
    trial.pools[p].limit = kNoLimit;
    const Solution solution = algorithm_(trial, conflicts_);
    if (solution.unplaced) return std::nullopt;
    return SufficientLimits(solution)[p];
  }

  /*!
   * \brief Return limits with which the algorithm succeeds, from a solution without some of them.
   *
   * Return the peaks of the solution if they suffice. Otherwise, return the highest ends of all
   * attempts: these limits refuse no placement of the solution's run, so a new run repeats it.
   */
  std::vector<int64_t> SufficientLimits(const Solution& solution) {
    Problem trial = problem_;
    const std::vector<int64_t> peaks = Peaks(problem_, solution.placements);
    for (size_t p = 0; p < peaks.size(); ++p) {
      trial.pools[p].limit = std::max(trial.pools[p].limit, peaks[p]);
    }
    return algorithm_(trial, conflicts_).unplaced ? solution.highest_ends : peaks;
  }

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  const Solution& solution_;
  const Algorithm& algorithm_;
  int64_t work_left_ = kTrialWork;
};

}  // namespace

DoesNotFit ExplainUnplaced(const Problem& problem, const ConflictGraph& conflicts,
                           const Solution& solution, const Algorithm& algorithm) {
  DoesNotFit misfit{};
  misfit.buffer = *solution.unplaced;
  misfit.pools = RefusingPools(problem, conflicts, solution);
  Trials trials(problem, conflicts, solution, algorithm);
  misfit.alone = trials.OfOnePool();
  if (misfit.alone.empty()) misfit.together = trials.OfAllPools();
  return misfit;
}

}  // namespace usmp

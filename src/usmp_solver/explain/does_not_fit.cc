#include "usmp_solver/explain/does_not_fit.h"

#include <algorithm>
#include <sstream>

namespace usmp {

namespace {

/*! \brief Placed buffers that all trials together may look at. */
constexpr int64_t kTrialWork = 100'000'000;

std::string Quoted(const Problem& problem, size_t pool) {
  return "pool \"" + problem.pools[pool].name + "\"";
}

/*! \brief The placed buffer whose bytes a pinned one would take. */
std::string WhoIsThere(const Problem& problem, const ConflictGraph& conflicts,
                       const Solution& solution, size_t pool) {
  const Problem::Buffer& buffer = problem.buffers[*solution.unplaced];
  std::optional<size_t> first;
  conflicts.ForEach(*solution.unplaced, [&](const ConflictGraph::Neighbour& neighbour) {
    const std::optional<Placement>& other = solution.placements[neighbour.buffer];
    if (!other || other->pool != pool || problem.buffers[neighbour.buffer].size == 0) return;
    const int64_t distance = other->offset - *buffer.fixed_offset;
    if (neighbour.below <= distance || neighbour.above <= -distance) return;
    first = std::min(first.value_or(neighbour.buffer), neighbour.buffer);
  });
  if (!first) return "the buffer would end beyond the largest 64-bit offset";
  const int64_t offset = solution.placements[*first]->offset;
  std::ostringstream os;
  os << "buffer \"" << problem.buffers[*first].name << "\" is at bytes [" << offset << ", "
     << offset + problem.buffers[*first].size << ")";
  return os.str();
}

/*! \brief The limit as users set it. */
int64_t SizeHint(const Problem::Pool& pool) { return pool.limit == kNoLimit ? -1 : pool.limit; }

std::string ListPools(const Problem& problem, const ConflictGraph& conflicts,
                      const Solution& solution) {
  const Problem::Buffer& buffer = problem.buffers[*solution.unplaced];
  const std::vector<int64_t> peaks = Peaks(problem, solution.placements);
  std::ostringstream os;
  for (size_t i = 0; i < buffer.pools.size(); ++i) {
    const size_t p = buffer.pools[i];
    os << "\n  " << Quoted(problem, p) << ": size_hint_bytes=" << SizeHint(problem.pools[p]) << ", "
       << peaks[p] << " bytes already taken, ";
    if (const std::optional<int64_t> offset = solution.unplaced_offsets[i]) {
      os << "the buffer would end at byte " << *offset + buffer.size;
    } else if (buffer.fixed_offset) {
      os << WhoIsThere(problem, conflicts, solution, p);
    } else {
      os << "the buffer would end beyond the largest 64-bit offset";
    }
  }
  return os.str();
}

/*! \brief Runs of the algorithm with other limits, as long as there is work left. */
class Trials {
 public:
  Trials(const Problem& problem, const ConflictGraph& conflicts, const Solution& solution,
         const Algorithm& algorithm)
      : problem_(problem), conflicts_(conflicts), solution_(solution), algorithm_(algorithm) {}

  /*! \brief The pools whose size hint alone, made larger, would do, and the smallest that does. */
  std::string SizeHintOfOnePool() {
    std::ostringstream smallest;
    std::ostringstream enough;
    for (size_t p = 0; p < problem_.pools.size(); ++p) {
      if (solution_.refused[p] == kNoLimit) continue;
      if (const std::optional<int64_t> limit = SmallestLimit(p)) {
        smallest << (smallest.tellp() > 0 ? ", or " : "") << *limit << " for "
                 << Quoted(problem_, p);
      } else if (const std::optional<int64_t> limit =
                     work_left_ < 0 ? SufficientLimit(p) : std::nullopt) {
        enough << (enough.tellp() > 0 ? ", or " : "") << *limit << " for " << Quoted(problem_, p);
      }
    }
    std::string text;
    if (smallest.tellp() > 0) {
      text += " The smallest size_hint_bytes with which the same algorithm succeeds: " +
              smallest.str() + ".";
    }
    if (enough.tellp() > 0) text += " Enough is size_hint_bytes=" + enough.str() + ".";
    return text;
  }

  /*! \brief Size hints that do together, where none does alone. */
  std::string SizeHintsOfAllPools() {
    Problem trial = problem_;
    for (Problem::Pool& pool : trial.pools) pool.limit = kNoLimit;
    const Solution solution = algorithm_(trial, conflicts_);
    if (solution.unplaced) return "";
    const std::vector<int64_t> limits = SufficientLimits(solution);
    std::ostringstream os;
    size_t listed = 0;
    for (size_t p = 0; p < limits.size(); ++p) {
      if (limits[p] <= problem_.pools[p].limit) continue;
      os << (listed++ > 0 ? " and " : "") << limits[p] << " for " << Quoted(problem_, p);
    }
    return " Enough is size_hint_bytes=" + os.str() + (listed > 1 ? " together." : ".");
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

  /*! \brief A limit of the pool that does, found by having none. */
  std::optional<int64_t> SufficientLimit(size_t p) {
    Problem trial = problem_;
    trial.pools[p].limit = kNoLimit;
    const Solution solution = algorithm_(trial, conflicts_);
    if (solution.unplaced) return std::nullopt;
    return SufficientLimits(solution)[p];
  }

  /*!
   * \brief Limits with which the algorithm succeeds, from a solution without some of them.
   *
   * The peaks of the solution, if that is so; an algorithm that makes attempts may be led astray by
   * what they refuse. The highest ends of any attempt refuse nothing that was not refused.
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

std::string ExplainMisfit(const Problem& problem, const ConflictGraph& conflicts,
                          const Solution& solution, const Algorithm& algorithm) {
  const Problem::Buffer& buffer = problem.buffers[*solution.unplaced];
  Trials trials(problem, conflicts, solution, algorithm);
  std::string hints = trials.SizeHintOfOnePool();
  if (hints.empty()) hints = trials.SizeHintsOfAllPools();
  std::ostringstream os;
  os << "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : "
     << buffer.name << " (" << buffer.size << " bytes, alignment " << buffer.alignment;
  if (buffer.fixed_offset) os << ", pinned to offset " << *buffer.fixed_offset;
  os << ")" << ListPools(problem, conflicts, solution) << "\n";
  if (hints.empty()) {
    os << "No size hint helps. Give the buffer another pool"
       << (buffer.fixed_offset ? ", or another fixed_offset." : ".");
  } else {
    os << "Please increase the size_hints for memory pools." << hints
       << " Another pool among the candidates of the buffer, or another tir.usmp.algorithm, may "
          "also help.";
  }
  return os.str();
}

}  // namespace usmp

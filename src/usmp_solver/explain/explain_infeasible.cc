#include "usmp_solver/explain/explain_infeasible.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace usmp {

namespace {

constexpr size_t kNamedBuffers = 8;

std::string Quoted(const std::string& name) { return "\"" + name + "\""; }

std::string PoolName(const Problem& problem, size_t pool) {
  return "pool " + Quoted(problem.pools[pool].name);
}

bool HasPlan(const SolverResult& result) {
  return result.status == SolverStatus::kOptimal || result.status == SolverStatus::kFeasible;
}

/*! \brief Buffers among which one has no place: those of the proof, or all that have no pool
 * without a limit. */
std::vector<size_t> Suspects(const Problem& problem, const SolverResult& result) {
  if (!result.infeasible_subset.empty()) return result.infeasible_subset;
  std::vector<size_t> suspects;
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const std::vector<size_t>& pools = problem.buffers[b].pools;
    const bool is_limited = std::all_of(
        pools.begin(), pools.end(), [&](size_t p) { return problem.pools[p].limit != kNoLimit; });
    if (is_limited) suspects.push_back(b);
  }
  if (suspects.empty()) suspects.push_back(0);
  return suspects;
}

/*! \brief The same numbers with `last` as the least preferred pool, whose peak is then made as
 *         small as possible before any other. */
Problem WithLeastPreferred(const Problem& problem, size_t last) {
  Problem changed = problem;
  std::rotate(changed.pools.begin() + last, changed.pools.begin() + last + 1, changed.pools.end());
  for (Problem::Buffer& buffer : changed.buffers) {
    for (size_t& pool : buffer.pools) {
      pool = pool == last ? problem.pools.size() - 1 : pool - (pool > last);
    }
    std::sort(buffer.pools.begin(), buffer.pools.end());
  }
  return changed;
}

/*! \brief Only these buffers, and what stands between them. */
Problem Subset(const Problem& problem, const std::vector<size_t>& members) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> position(problem.buffers.size(), kNone);
  Problem subset;
  subset.pools = problem.pools;
  for (size_t b : members) {
    position[b] = subset.buffers.size();
    subset.buffers.push_back(problem.buffers[b]);
  }
  for (const Problem::Conflict& conflict : problem.conflicts) {
    const size_t first = position[conflict.first];
    const size_t second = position[conflict.second];
    if (first != kNone && second != kNone) subset.conflicts.push_back({first, second});
  }
  for (const Problem::Overlap& overlap : problem.overlaps) {
    const size_t output = position[overlap.output];
    const size_t input = position[overlap.input];
    if (output != kNone && input != kNone) {
      subset.overlaps.push_back({output, input, overlap.distance});
    }
  }
  return subset;
}

SolverResult WithoutLimits(Problem problem) {
  for (Problem::Pool& pool : problem.pools) pool.limit = kNoLimit;
  return SolveProblem(problem);
}

/*! \brief "need at least 30 bytes" for the buffers of the proof. */
std::string Need(const Problem& problem, const std::vector<size_t>& members) {
  const std::vector<size_t>& pools = problem.buffers[members[0]].pools;
  const bool one_pool = std::all_of(members.begin(), members.end(), [&](size_t b) {
    return problem.buffers[b].pools.size() == 1 && problem.buffers[b].pools == pools;
  });
  const bool is_one = members.size() == 1;
  const SolverResult roomy = WithoutLimits(Subset(problem, members));
  if (!HasPlan(roomy)) {
    return "cannot be placed, whatever the size hints";
  }
  if (one_pool) {
    return (is_one ? "needs at least " : "need at least ") +
           std::to_string(roomy.lower_bounds[pools[0]]) + " bytes";
  }
  return is_one ? "is larger than each of its pools" : "have no place in their pools";
}

std::string Proof(const Problem& problem, const SolverResult& result) {
  const std::vector<size_t>& members = result.infeasible_subset;
  std::ostringstream os;
  if (members.empty()) return os.str();
  os << "\nNo plan fits: "
     << (members.size() == 1 ? "one buffer alone"
                             : std::to_string(members.size()) + " buffers together")
     << " " << Need(problem, members) << ":";
  for (size_t i = 0; i < std::min(members.size(), kNamedBuffers); ++i) {
    const Problem::Buffer& buffer = problem.buffers[members[i]];
    os << (i > 0 ? ", " : " ") << Quoted(buffer.name) << " (" << buffer.size << " bytes";
    if (buffer.fixed_offset) os << " at offset " << *buffer.fixed_offset;
    os << ")";
  }
  if (members.size() > kNamedBuffers) os << " and " << members.size() - kNamedBuffers << " more";
  if (result.is_irreducible && members.size() > 1) os << "; without any one of them the rest fits";
  os << ".";
  return os.str();
}

/*! \brief The pools whose size hint alone, made larger, would do. */
std::string SizeHintOfOnePool(const Problem& problem) {
  std::ostringstream smallest;
  std::ostringstream enough;
  for (size_t p = 0; p < problem.pools.size(); ++p) {
    if (problem.pools[p].limit == kNoLimit) continue;
    Problem trial = WithLeastPreferred(problem, p);
    trial.pools.back().limit = kNoLimit;
    const SolverResult result = SolveProblem(trial);
    // With more work than before, a plan within the size hint may be found.
    if (!HasPlan(result) || result.peaks.back() <= problem.pools[p].limit) continue;
    const bool proved = result.lower_bounds.back() == result.peaks.back();
    std::ostringstream& os = proved ? smallest : enough;
    os << (os.tellp() > 0 ? ", or " : "") << result.peaks.back() << " for " << PoolName(problem, p);
  }
  std::string text;
  if (smallest.tellp() > 0) {
    text += " The smallest size_hint_bytes with which a plan fits: " + smallest.str() + ".";
  }
  if (enough.tellp() > 0) text += " Enough is size_hint_bytes=" + enough.str() + ".";
  return text;
}

/*! \brief Size hints that do together, where none does alone. */
std::string SizeHintsOfAllPools(const Problem& problem) {
  const SolverResult result = WithoutLimits(problem);
  if (!HasPlan(result)) return "";
  std::ostringstream os;
  size_t listed = 0;
  for (size_t p = 0; p < result.peaks.size(); ++p) {
    if (result.peaks[p] <= problem.pools[p].limit) continue;
    os << (listed++ > 0 ? " and " : "") << result.peaks[p] << " for " << PoolName(problem, p);
  }
  if (listed == 0) return "";
  return " Enough is size_hint_bytes=" + os.str() + (listed > 1 ? " together." : ".");
}

}  // namespace

std::string ExplainInfeasible(const Problem& problem, const SolverResult& result) {
  const std::vector<size_t> suspects = Suspects(problem, result);
  // The largest is the one that users look for first.
  const Problem::Buffer& buffer =
      problem
          .buffers[*std::max_element(suspects.begin(), suspects.end(), [&](size_t lhs, size_t rhs) {
            return problem.buffers[lhs].size < problem.buffers[rhs].size;
          })];
  std::string hints = SizeHintOfOnePool(problem);
  if (hints.empty()) hints = SizeHintsOfAllPools(problem);
  std::ostringstream os;
  os << "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : "
     << buffer.name << " (" << buffer.size << " bytes, alignment " << buffer.alignment;
  if (buffer.fixed_offset) os << ", pinned to offset " << *buffer.fixed_offset;
  os << ")";
  for (size_t p : buffer.pools) {
    const int64_t limit = problem.pools[p].limit;
    os << "\n  " << PoolName(problem, p)
       << ": size_hint_bytes=" << (limit == kNoLimit ? -1 : limit);
  }
  os << Proof(problem, result);
  if (result.status == SolverStatus::kUnknown) {
    os << "\nNo plan was found, and none is proved impossible: more work may find one "
          "(tir.usmp.algorithm=exact or a longer tir.usmp.time_budget).";
  }
  if (hints.empty() && result.status == SolverStatus::kInfeasible) {
    os << "\nNo size hint helps. Give the buffers other pools, or another fixed_offset.";
  } else if (!hints.empty()) {
    os << "\nPlease increase the size_hints for memory pools." << hints
       << " Another pool among the candidates of the buffers may also help.";
  }
  return os.str();
}

}  // namespace usmp

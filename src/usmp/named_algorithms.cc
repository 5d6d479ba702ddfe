#include "named_algorithms.h"

#include <algorithm>
#include <stdexcept>

#include "usmp_solver/bounds/workspace_bound.h"
#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/improvement/hill_climb.h"

namespace usmp {

std::optional<SolverEffort> SearchNamed(const std::string& name) {
  if (name == "auto") return SolverEffort::kAuto;
  if (name == "exact") return SolverEffort::kExact;
  return std::nullopt;
}

Algorithm AlgorithmNamed(const std::string& name, std::optional<int64_t> memory_pressure) {
  if (name == "greedy_by_size") return GreedyBySize;
  if (name == "greedy_by_conflicts") return GreedyByConflicts;
  if (name == "no_sharing") return NoSharing;
  if (name != "hill_climb") throw std::invalid_argument("unknown algorithm " + name);
  return [memory_pressure](const Problem& problem, const ConflictGraph& conflicts) {
    // If live buffers may overlap, the memory pressure is no lower bound.
    const bool is_bound = memory_pressure && problem.overlaps.empty();
    const int64_t bound = is_bound ? *memory_pressure : WorkspaceBound(problem);
    return HillClimb(problem, conflicts, std::min(memory_pressure.value_or(bound), bound));
  };
}

}  // namespace usmp

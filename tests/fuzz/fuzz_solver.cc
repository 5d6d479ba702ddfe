// The solver under libFuzzer: any problem, any budget, judged by the reference.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

#include "draw_problem.h"
#include "usmp_solver/solver.h"
#include "usmp_solver/tests/reference.h"

namespace usmp {

namespace {

constexpr size_t kFewBuffers = 8;
constexpr int64_t kReferenceSteps = 20'000;
// Many problems say more than much work on one of which the best plan is not known.
constexpr int64_t kMostStepsIfLarge = 100'000;

/*! \brief A problem, what the solver was asked, and what it answered. */
struct Case {
  Problem problem;
  SolverOptions options;
  /*! \brief Neither budget nor watcher can have ended the search of a small problem. */
  bool has_time;
  SolverResult result;
};

[[noreturn]] void Fail(const Problem& problem, const std::string& reason) {
  std::fprintf(stderr, "%s\n%s", reason.c_str(), Describe(problem).c_str());
  std::abort();
}

std::string Text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t number : numbers) text += std::to_string(number) + " ";
  return text;
}

bool HasPlan(const SolverResult& result) {
  return result.status == SolverStatus::kOptimal || result.status == SolverStatus::kFeasible;
}

/*! \brief What must hold of any answer. */
void CheckForm(const Problem& problem, const SolverResult& result) {
  if (!HasPlan(result)) {
    if (!result.placements.empty()) Fail(problem, "places without a plan");
    return;
  }
  if (auto fault = FindFault(problem, result.placements)) Fail(problem, *fault);
  if (result.peaks != PeaksOf(problem, result.placements)) Fail(problem, "wrong peaks");
  if (result.lower_bounds.size() != problem.pools.size()) Fail(problem, "not a bound by pool");
  for (size_t pool = 0; pool < problem.pools.size(); ++pool) {
    const int64_t bound = result.lower_bounds[pool];
    const int64_t peak = result.peaks[pool];
    if (bound > peak) Fail(problem, "a bound above the peak");
    if (result.status == SolverStatus::kOptimal && bound != peak) {
      Fail(problem, "optimal, but the bound is below the peak");
    }
  }
  if (!result.infeasible_subset.empty()) Fail(problem, "a plan, but an infeasible subset");
}

/*! \brief Whether some of the buffers fit; nothing if that takes too long to say. */
std::optional<bool> Fits(const Problem& problem, const std::vector<size_t>& buffers) {
  const auto optimum = FindOptimum(Restrict(problem, buffers), kReferenceSteps);
  if (!optimum.has_value()) return std::nullopt;
  return optimum->feasible;
}

void CheckSubset(const Problem& problem, const SolverResult& result) {
  const std::vector<size_t>& subset = result.infeasible_subset;
  const std::set<size_t> distinct(subset.begin(), subset.end());
  if (distinct.size() != subset.size()) Fail(problem, "a buffer twice in the subset");
  if (!distinct.empty() && *distinct.rbegin() >= problem.buffers.size()) {
    Fail(problem, "a subset of what is no buffer");
  }
  const std::vector<size_t> sorted(distinct.begin(), distinct.end());
  if (result.status == SolverStatus::kInfeasible && sorted.empty()) Fail(problem, "no subset");
  if (sorted.empty() || sorted.size() > kFewBuffers) return;
  if (Fits(problem, sorted).value_or(false)) Fail(problem, "the infeasible subset fits");
  for (size_t left_out = 0; left_out < sorted.size() && result.is_irreducible; ++left_out) {
    std::vector<size_t> others = sorted;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    if (!Fits(problem, others).value_or(true)) Fail(problem, "the subset is not irreducible");
  }
}

/*! \brief Compare with the best plan of all. */
void CheckOptimum(const Case& c) {
  const auto& [problem, options, has_time, result] = c;
  if (problem.buffers.size() > kFewBuffers) return;
  const auto optimum = FindOptimum(problem, kReferenceSteps);
  if (!optimum.has_value()) return;
  if (!optimum->feasible) {
    if (HasPlan(result)) Fail(problem, "the reference finds no plan");
    if (has_time && result.status != SolverStatus::kInfeasible) Fail(problem, "undecided");
    return;
  }
  const std::string best = "best " + Text(optimum->peaks) + "found " + Text(result.peaks) +
                           "bounds " + Text(result.lower_bounds);
  if (result.status == SolverStatus::kInfeasible) Fail(problem, "infeasible, but " + best);
  if (has_time && result.status != SolverStatus::kOptimal) Fail(problem, "undecided: " + best);
  if (!HasPlan(result)) return;
  if (IsBetter(result.peaks, optimum->peaks)) Fail(problem, "the reference is wrong: " + best);
  if (result.status == SolverStatus::kOptimal && result.peaks != optimum->peaks) {
    Fail(problem, "not optimal: " + best);
  }
  for (size_t pool = problem.pools.size(); pool-- > 0;) {
    if (optimum->peaks[pool] < result.lower_bounds[pool]) Fail(problem, "wrong bound: " + best);
    if (optimum->peaks[pool] > result.peaks[pool]) break;
  }
}

void CheckRepeated(const Case& c) {
  const SolverResult again = SolveProblem(c.problem, c.options);
  const SolverResult& result = c.result;
  bool same = again.status == result.status && again.peaks == result.peaks &&
              again.lower_bounds == result.lower_bounds && again.work == result.work &&
              again.infeasible_subset == result.infeasible_subset &&
              again.placements.size() == result.placements.size();
  for (size_t i = 0; same && i < result.placements.size(); ++i) {
    same = again.placements[i].pool == result.placements[i].pool &&
           again.placements[i].offset == result.placements[i].offset;
  }
  if (!same) Fail(c.problem, "another answer at the second time");
}

/*!
 * \brief Whether all buffers end far below the end of 64 bits if they come one after the other.
 *
 * If not, the solver looks for a plan but not for the best.
 */
bool IsSearched(const Problem& problem) {
  constexpr __int128 kFar = __int128{1} << 59;
  __int128 extent = 0;
  for (const Problem::Buffer& buffer : problem.buffers) {
    extent += __int128{buffer.size} + buffer.alignment + buffer.fixed_offset.value_or(0);
  }
  return extent <= kFar;
}

void Run(const uint8_t* data, size_t size) {
  ByteReader bytes(data, size);
  Case c;
  constexpr int64_t kBudgets[] = {20'000'000, 20'000'000, 1'000'000, 10'000, 100, 1, 0};
  const int64_t budget = kBudgets[bytes.Below(std::size(kBudgets))];
  const bool is_watched = bytes.OnceIn(8);
  int64_t calls = is_watched ? bytes.Below(4) : 0;
  if (is_watched) c.options.watch = [&calls](const Progress&) { return calls-- > 0; };
  c.options.effort = bytes.OnceIn(3) ? SolverEffort::kExact : SolverEffort::kAuto;
  c.problem = DrawProblem(&bytes);
  const bool is_small = c.problem.buffers.size() <= kFewBuffers;
  c.options.work_budget = is_small ? budget : std::min(budget, kMostStepsIfLarge);
  c.has_time = is_small && IsSearched(c.problem) && budget == kBudgets[0] && !is_watched;
  const std::optional<std::string> defect = FindDefect(c.problem);
  try {
    c.result = SolveProblem(c.problem, c.options);
    if (defect.has_value()) Fail(c.problem, "accepted: " + *defect);
  } catch (const std::invalid_argument& error) {
    if (!defect.has_value()) Fail(c.problem, std::string("refused: ") + error.what());
    return;
  }
  CheckForm(c.problem, c.result);
  CheckSubset(c.problem, c.result);
  CheckOptimum(c);
  if (!is_watched && bytes.OnceIn(8)) CheckRepeated(c);
}

}  // namespace

}  // namespace usmp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  usmp::Run(data, size);
  return 0;
}

// The solver for other languages: columns of numbers in, columns of numbers out.
//
// With `check_columns.cc` and `explain_columns.cc` this forms a library that needs tvm-ffi, but not
// the compiler.
#include <tvm/ffi/any.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "named_algorithms.h"
#include "read_columns.h"
#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/bounds/workspace_bound.h"
#include "usmp_solver/pools/fill_preferred.h"
#include "usmp_solver/solver.h"

namespace usmp {

namespace {

/*! \brief Return a lower bound of each pool's peak, from the buffers without other candidates. */
std::vector<int64_t> LowerBounds(const Problem& problem, int64_t work_budget) {
  std::vector<std::vector<size_t>> members(problem.pools.size());
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const Problem::Buffer& buffer = problem.buffers[b];
    if (buffer.pools.size() == 1) members[buffer.pools[0]].push_back(b);
  }
  std::vector<int64_t> bounds;
  Budget budget(work_budget);
  for (size_t p = 0; p < members.size(); ++p) {
    const bool is_empty = members[p].empty();
    bounds.push_back(is_empty ? 0 : LowerBound(MakePoolProblem(problem, p, members[p]), &budget));
  }
  return bounds;
}

/*! \brief Solve with an algorithm that is not a search. */
SolverResult PlaceWith(const Problem& problem, const Algorithm& algorithm, int64_t work_budget) {
  const Solution solution = algorithm(problem, ConflictGraph(problem));
  SolverResult result{};
  result.status = SolverStatus::kUnknown;
  result.work = solution.work;
  result.lower_bounds = LowerBounds(problem, work_budget);
  result.peaks.assign(problem.pools.size(), 0);
  if (solution.unplaced) return result;
  result.peaks = Peaks(problem, solution.placements);
  for (const std::optional<Placement>& placement : solution.placements) {
    result.placements.push_back(placement.value());
  }
  const bool is_optimal = result.peaks == result.lower_bounds;
  result.status = is_optimal ? SolverStatus::kOptimal : SolverStatus::kFeasible;
  return result;
}

const char* StatusName(SolverStatus status) {
  switch (status) {
    case SolverStatus::kOptimal:
      return "optimal";
    case SolverStatus::kFeasible:
      return "feasible";
    case SolverStatus::kInfeasible:
      return "infeasible";
    case SolverStatus::kUnknown:
      return "unknown";
  }
  return "unknown";
}

ffi::Map<ffi::String, ffi::Any> ToMap(const SolverResult& result) {
  std::vector<int64_t> pools, offsets;
  pools.reserve(result.placements.size());
  offsets.reserve(result.placements.size());
  for (const Placement& placement : result.placements) {
    pools.push_back(static_cast<int64_t>(placement.pool));
    offsets.push_back(placement.offset);
  }
  const std::vector<int64_t> subset(result.infeasible_subset.begin(),
                                    result.infeasible_subset.end());
  ffi::Map<ffi::String, ffi::Any> map;
  map.Set("status", ffi::String(StatusName(result.status)));
  map.Set("pools", ToColumn(std::move(pools)));
  map.Set("offsets", ToColumn(std::move(offsets)));
  map.Set("lower_bounds", ToColumn(result.lower_bounds));
  map.Set("work", result.work);
  map.Set("infeasible_subset", ToColumn(subset));
  map.Set("is_irreducible", result.is_irreducible);
  return map;
}

/*!
 * \brief Place the buffers of the columns.
 *
 * \param names of the buffers, which break ties in the orders of `greedy.h`; may be empty.
 * \param algorithm see `named_algorithms.h`.
 * \param memory_pressure see `AlgorithmNamed`.
 * \param fill_preferred whether a search finally moves buffers to pools that they prefer; the other
 *   algorithms try these first.
 * \param watch called a few times a second with the peak, or nothing, and the lower bound. The
 *   search ends when it returns false; its exceptions end the call.
 */
ffi::Map<ffi::String, ffi::Any> SolveColumns(
    const ColumnMap& columns, const Names& names, const ffi::String& algorithm,
    ffi::Optional<int64_t> memory_pressure, bool fill_preferred, ffi::Optional<int64_t> work_budget,
    ffi::Optional<double> time_budget_seconds,
    const ffi::TypedFunction<bool(ffi::Optional<int64_t>, int64_t)>& watch) {
  SolverOptions options;
  if (work_budget.has_value()) options.work_budget = *work_budget;
  if (time_budget_seconds.has_value()) options.time_budget_seconds = *time_budget_seconds;
  options.watch = [&watch](const Progress& progress) {
    ffi::Optional<int64_t> peak;
    if (progress.peak) peak = *progress.peak;
    return watch(peak, progress.lower_bound);
  };
  try {
    const Problem problem = ReadColumns(columns, names);
    const std::optional<SolverEffort> effort = SearchNamed(algorithm);
    if (!effort) {
      return ToMap(PlaceWith(problem, AlgorithmNamed(algorithm, ToStd(memory_pressure)),
                             options.work_budget.value_or(kDefaultWorkBudget)));
    }
    options.effort = *effort;
    SolverResult result = SolveProblem(problem, options);
    if (fill_preferred && !result.placements.empty()) {
      result.placements = FillPreferred(problem, std::move(result.placements));
    }
    return ToMap(result);
  } catch (const std::invalid_argument& error) {
    TVM_FFI_THROW(ValueError) << error.what();
  }
  TVM_FFI_UNREACHABLE();
}

/*! \brief Return a lower bound, in bytes, of the peak if one unlimited pool had all buffers. */
int64_t LowerBoundOfColumns(const ColumnMap& columns) {
  const Problem problem = ReadColumns(columns, {});
  std::vector<size_t> members(problem.buffers.size());
  std::iota(members.begin(), members.end(), 0);
  return BoundOfOnePool(problem, members);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("usmp_solver.solve", SolveColumns)
      .def("usmp_solver.lower_bound", LowerBoundOfColumns);
}

}  // namespace

}  // namespace usmp

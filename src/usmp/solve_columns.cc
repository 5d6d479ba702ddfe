// The solver for other languages: columns of numbers in, columns of numbers out.
//
// This and `check_columns.cc` make a library that needs tvm-ffi but nothing of the compiler.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "columns.h"
#include "usmp_solver/bounds/lower_bound.h"
#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/heuristics/hill_climb.h"
#include "usmp_solver/solver.h"

namespace usmp {

namespace {

using Names = ffi::Array<ffi::String>;

Problem ReadProblem(const ColumnMap& columns, const Names& names) {
  const Column sizes(columns, "sizes"), alignments(columns, "alignments");
  const Column fixed_offsets(columns, "fixed_offsets");
  const Column candidate_first(columns, "candidate_first"), candidates(columns, "candidates");
  const Column live_first(columns, "live_first");
  const Column starts(columns, "live_starts"), stops(columns, "live_stops");
  const Column limits(columns, "pool_limits");
  Problem problem;
  for (size_t p = 0; p < limits.size(); ++p) {
    problem.pools.push_back({"", limits[p] < 0 ? kNoLimit : limits[p]});
  }
  problem.buffers.resize(sizes.size());
  for (size_t b = 0; b < sizes.size(); ++b) {
    Problem::Buffer& buffer = problem.buffers[b];
    if (!names.empty()) buffer.name = names[b];
    buffer.size = sizes[b];
    buffer.alignment = alignments[b];
    if (fixed_offsets[b] >= 0) buffer.fixed_offset = fixed_offsets[b];
    buffer.pools.reserve(candidate_first[b + 1] - candidate_first[b]);
    for (int64_t c = candidate_first[b]; c < candidate_first[b + 1]; ++c) {
      buffer.pools.push_back(static_cast<size_t>(candidates[c]));
    }
    buffer.live_ranges.reserve(live_first[b + 1] - live_first[b]);
    for (int64_t r = live_first[b]; r < live_first[b + 1]; ++r) {
      buffer.live_ranges.push_back({starts[r], stops[r]});
    }
  }
  const Column firsts(columns, "conflict_firsts"), seconds(columns, "conflict_seconds");
  for (size_t i = 0; i < firsts.size(); ++i) {
    problem.conflicts.push_back({static_cast<size_t>(firsts[i]), static_cast<size_t>(seconds[i])});
  }
  const Column outputs(columns, "overlap_outputs"), inputs(columns, "overlap_inputs");
  const Column distances(columns, "overlap_distances");
  for (size_t i = 0; i < outputs.size(); ++i) {
    problem.overlaps.push_back(
        {static_cast<size_t>(outputs[i]), static_cast<size_t>(inputs[i]), distances[i]});
  }
  return problem;
}

/*! \brief By pool, a lower bound of the peak in every plan: what has no other candidate. */
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

/*! \brief What an algorithm makes of the problem that places each buffer once or tries orders. */
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

SolverResult SolveWith(const std::string& algorithm, const Problem& problem,
                       SolverOptions options) {
  const auto climb = [](const Problem& climbed, const ConflictGraph& conflicts) {
    return HillClimb(climbed, conflicts, 0);
  };
  if (algorithm == "exact") options.effort = SolverEffort::kExact;
  if (algorithm == "auto" || algorithm == "exact") return SolveProblem(problem, options);
  const int64_t work_budget = options.work_budget.value_or(kDefaultWorkBudget);
  if (algorithm == "greedy_by_size") return PlaceWith(problem, GreedyBySize, work_budget);
  if (algorithm == "greedy_by_conflicts") {
    return PlaceWith(problem, GreedyByConflicts, work_budget);
  }
  if (algorithm == "hill_climb") return PlaceWith(problem, climb, work_budget);
  if (algorithm == "no_sharing") return PlaceWith(problem, NoSharing, work_budget);
  throw std::invalid_argument("unknown algorithm " + algorithm);
}

/*! \brief Memory of a tensor that is a vector. */
struct VectorData {
  std::vector<int64_t> values;
  void AllocData(DLTensor* tensor) { tensor->data = values.data(); }
  void FreeData(DLTensor*) {}
};

ffi::Tensor ToColumn(std::vector<int64_t> values) {
  const ffi::Shape shape{static_cast<int64_t>(values.size())};
  return ffi::Tensor::FromNDAlloc(VectorData{std::move(values)}, shape, DLDataType{kDLInt, 64, 1},
                                  DLDevice{kDLCPU, 0});
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
 * \param names of the buffers, which decide ties in the orders of `greedy.h`; none if these are not
 *        asked for.
 * \param algorithm "auto" and "exact" are `SolveProblem`; others are those of `greedy.h` and
 *        `hill_climb.h`.
 * \param watch called some times a second with the peak, or nothing, and the lower bound; the
 * search ends when it returns false, and what it throws ends the call.
 */
ffi::Map<ffi::String, ffi::Any> SolveColumns(
    const ColumnMap& columns, const Names& names, const ffi::String& algorithm,
    ffi::Optional<int64_t> work_budget, ffi::Optional<double> time_budget_seconds,
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
    return ToMap(SolveWith(algorithm, ReadProblem(columns, names), options));
  } catch (const std::invalid_argument& error) {
    TVM_FFI_THROW(ValueError) << error.what();
  }
  TVM_FFI_UNREACHABLE();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("usmp_solver.solve", SolveColumns);
}

}  // namespace

}  // namespace usmp

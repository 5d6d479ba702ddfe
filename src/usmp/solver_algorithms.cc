// `auto` and `exact`: the solver as planning algorithms.
//
// `auto` ends after a fixed amount of work, so that the same buffers give the same plan on every
// machine; `exact` goes on until its plan is proved. With a time budget only time ends the search.
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "read_problem.h"
#include "usmp_solver/bounds/workspace_bound.h"
#include "usmp_solver/explain/explain_infeasible.h"
#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/heuristics/greedy.h"
#include "usmp_solver/solver.h"

namespace usmp {

namespace {

using Plan = ffi::Map<BufferInfo, PoolAllocation>;

/*! \brief The plan; by name of a pool the proved lower bound of its peak; whether no plan is
 *         better; the steps that were taken. See SolverResult. */
using SolvedBuffers = ffi::Tuple<Plan, ffi::Map<ffi::String, int64_t>, bool, int64_t>;

/*!
 * \brief Move buffers, the largest first, to candidates that they prefer and that have room.
 *
 * The solver asks for the lowest peaks, so it leaves a preferred pool empty where that would not
 * lower the peak of a lesser one. Whoever names the pools wants what fits to be there. No peak of
 * a lesser pool rises, and what leaves a pool leaves room for others. Where candidate lists
 * contradict each other, the order of the pools decides: what is proved is of that order.
 */
std::vector<Placement> FillPreferred(const Problem& problem, std::vector<Placement> plan) {
  const auto is_elsewhere = [&](size_t b) { return plan[b].pool != problem.buffers[b].pools[0]; };
  bool is_any_elsewhere = false;
  for (size_t b = 0; b < plan.size(); ++b) is_any_elsewhere = is_any_elsewhere || is_elsewhere(b);
  if (!is_any_elsewhere) return plan;
  const ConflictGraph conflicts(problem);
  Placer placer(problem, conflicts, {plan.begin(), plan.end()});
  for (size_t b : OrderBySize(problem, conflicts)) {
    for (size_t pool : problem.buffers[b].pools) {
      if (pool == plan[b].pool) break;
      if (pool < plan[b].pool && placer.TryPlace(b, pool)) break;
    }
    plan[b] = *placer.placements()[b];
  }
  return plan;
}

/*! \brief Throws ValueError if there is no plan, or none was found. */
SolvedBuffers SolveBuffers(const ffi::Array<BufferInfo>& buffers, const SolverOptions& options) {
  const Problem problem = ReadProblem(buffers);
  const SolverResult result = SolveProblem(problem, options);
  if (result.status == SolverStatus::kInfeasible || result.status == SolverStatus::kUnknown) {
    TVM_FFI_THROW(ValueError) << ExplainInfeasible(problem, result);
  }
  ffi::Map<ffi::String, int64_t> lower_bounds;
  for (size_t p = 0; p < problem.pools.size(); ++p) {
    lower_bounds.Set(problem.pools[p].name, result.lower_bounds[p]);
  }
  const std::vector<Placement> plan = FillPreferred(problem, result.placements);
  return SolvedBuffers(MakePlan(buffers, problem, plan), lower_bounds,
                       result.status == SolverStatus::kOptimal, result.work);
}

SolverOptions WithEffort(SolverEffort effort) {
  SolverOptions options;
  options.effort = effort;
  return options;
}

// The memory pressure belongs to TVM's signature; the solver has its own bounds.

Plan Auto(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return SolveBuffers(buffers, WithEffort(SolverEffort::kAuto)).get<0>();
}

Plan Exact(const ffi::Array<BufferInfo>& buffers, int64_t /*memory_pressure*/) {
  return SolveBuffers(buffers, WithEffort(SolverEffort::kExact)).get<0>();
}

/*!
 * \brief For Python.
 *
 * \param is_exact whether only a proof ends the search, or else a fixed amount of work; unless
 *        time does.
 * \param watch called with the peak, or None, and the lower bound; false ends the search.
 */
SolvedBuffers Solve(const ffi::Array<BufferInfo>& buffers, bool is_exact,
                    ffi::Optional<double> time_budget_seconds, ffi::Optional<ffi::Function> watch) {
  SolverOptions options = WithEffort(is_exact ? SolverEffort::kExact : SolverEffort::kAuto);
  if (time_budget_seconds.has_value()) options.time_budget_seconds = *time_budget_seconds;
  if (watch.has_value()) {
    options.watch = [call = *watch](const Progress& progress) {
      ffi::Optional<int64_t> peak;
      if (progress.peak) peak = *progress.peak;
      return call(peak, progress.lower_bound).cast<bool>();
    };
  }
  return SolveBuffers(buffers, options);
}

/*! \brief For Python: bytes that a pool needs to hold all these buffers, whatever its limit. */
int64_t BoundOfBuffers(const ffi::Array<BufferInfo>& buffers) {
  std::vector<size_t> members(buffers.size());
  std::iota(members.begin(), members.end(), 0);
  return BoundOfOnePool(ReadProblem(buffers), members);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("tir.usmp.algo.auto", Auto)
      .def("tir.usmp.algo.exact", Exact)
      .def("usmp.solve_buffers", Solve)
      .def("usmp.lower_bound", BoundOfBuffers);
}

}  // namespace usmp

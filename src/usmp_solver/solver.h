// The solver's interface: a problem in, offsets and proved bounds out.
//
// Needs only C++17. The same problem and options give the same result on every machine, unless a
// time budget or the watcher stops the solver.
//
// A plan must keep the limits of all pools. The best plan has the lowest peak in the least
// preferred pool; ties are decided by the next more preferred pool, and so on. So preferred
// pools are filled before anything spills. Groups of pools without common candidates, even
// indirectly, are optimized separately.
#ifndef USMP_SOLVER_SOLVER_H_
#define USMP_SOLVER_SOLVER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "usmp_solver/model/effort.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief The state of a running solver. */
struct Progress {
  /*! \brief Sum of the peaks of the best plan so far, at most 2^63 - 1; nullopt without a plan. */
  std::optional<int64_t> peak;
  /*! \brief Sum of the proved lower bounds, at most 2^63 - 1. */
  int64_t lower_bound;
};

struct SolverOptions {
  SolverEffort effort = SolverEffort::kAuto;
  /*!
   * \brief Steps after which the best plan so far is returned; 200 million take about a second.
   *
   * The default is kDefaultWorkBudget for kAuto without a time budget, otherwise no limit.
   */
  std::optional<int64_t> work_budget;
  /*! \brief Seconds until the best plan so far is returned, which depends on the machine. */
  std::optional<double> time_budget_seconds;
  /*! \brief Called a few times a second; return false to stop with the best plan so far. */
  std::function<bool(const Progress&)> watch;
};

enum class SolverStatus {
  /*! \brief The plan is proved best. */
  kOptimal,
  /*! \brief There is a plan, perhaps not the best. */
  kFeasible,
  /*! \brief No plan within the limits exists, as proved. */
  kInfeasible,
  /*! \brief No plan was found within the budget. */
  kUnknown,
};

struct SolverResult {
  SolverStatus status;
  /*! \brief By buffer; empty without a plan. */
  std::vector<Placement> placements;
  /*! \brief Highest end of a buffer, by pool; empty without a plan. */
  std::vector<int64_t> peaks;
  /*! \brief A proved lower bound of each pool's peak, among plans in which no less preferred
   *         pool has a higher peak than in `peaks`. At most the limit, even if nothing fits. */
  std::vector<int64_t> lower_bounds;
  /*! \brief Steps taken. */
  int64_t work = 0;
  /*!
   * \brief If no plan exists: buffers that do not fit together, even without the others.
   *
   * If `is_irreducible`, removing any one of them makes the rest fit.
   */
  std::vector<size_t> infeasible_subset;
  bool is_irreducible = false;
};

/*!
 * \brief Place the buffers.
 *
 * Throws std::invalid_argument if the problem is malformed: an index, a size, an alignment, a live
 * range or a distance out of range, an unaligned pin, or a buffer without candidates. The message
 * names the buffer.
 */
SolverResult SolveProblem(const Problem& problem, const SolverOptions& options = {});

}  // namespace usmp

#endif  // USMP_SOLVER_SOLVER_H_

// The solver, for programs that embed it: a problem in, offsets and what is proved of them out.
//
// Needs nothing but C++17. The same problem and the same options give the same result on every
// machine, unless a time budget or the watcher stops it.
//
// What is best: a plan within the limits of all pools. Of two such plans the one whose least
// preferred pool has the lower peak; if these are equal, the pool before it decides, and so on to
// the first. So what is preferred is filled as well as possible before anything spills. Pools that
// share no candidate, directly or through others, are judged each by themselves.
#ifndef USMP_SOLVER_SOLVER_H_
#define USMP_SOLVER_SOLVER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "usmp_solver/model/effort.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief What is known while the solver runs. */
struct Progress {
  /*! \brief The sum of the peaks of the best plan so far, 2^63 - 1 if it is larger; nothing while
   *         there is none. */
  std::optional<int64_t> peak;
  /*! \brief The sum of the proved lower bounds, likewise. */
  int64_t lower_bound;
};

struct SolverOptions {
  SolverEffort effort = SolverEffort::kAuto;
  /*!
   * \brief Steps after which the best plan so far is returned; 200 million take about a second.
   *
   * If nothing: kDefaultWorkBudget for kAuto, unlimited for kExact and where a time budget is set.
   */
  std::optional<int64_t> work_budget;
  /*! \brief Seconds after which the same happens. What is found then depends on the machine. */
  std::optional<double> time_budget_seconds;
  /*! \brief Called some times a second; false ends the search with the best plan so far. */
  std::function<bool(const Progress&)> watch;
};

enum class SolverStatus {
  /*! \brief No plan is better; proved. */
  kOptimal,
  /*! \brief A plan, perhaps not the best. */
  kFeasible,
  /*! \brief There is no plan within the limits; proved. */
  kInfeasible,
  /*! \brief No plan was found within the budget. */
  kUnknown,
};

struct SolverResult {
  SolverStatus status;
  /*! \brief By buffer; empty unless there is a plan. */
  std::vector<Placement> placements;
  /*! \brief By pool, the highest end of a buffer; empty unless there is a plan. */
  std::vector<int64_t> peaks;
  /*!
   * \brief By pool, a proved lower bound of its peak, given that no less preferred pool has a
   *        higher peak than here. The limit at most: where nothing fits, `status` says so.
   */
  std::vector<int64_t> lower_bounds;
  /*! \brief Steps that were taken. */
  int64_t work = 0;
  /*!
   * \brief Where there is no plan: buffers that do not fit together, whatever else there is.
   *
   * Irreducible if `is_irreducible`: without any one of them the others fit.
   */
  std::vector<size_t> infeasible_subset;
  bool is_irreducible = false;
};

/*!
 * \brief Place the buffers.
 *
 * Throws std::invalid_argument if the problem is not well formed: an index out of range, a size,
 * an alignment, a live range or a distance that is out of its range, a pin that is no multiple of
 * the alignment, a buffer without candidates. The message names the buffer.
 */
SolverResult SolveProblem(const Problem& problem, const SolverOptions& options = {});

}  // namespace usmp

#endif  // USMP_SOLVER_SOLVER_H_

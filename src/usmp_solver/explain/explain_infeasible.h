// What to tell the user when the solver has no plan.
#ifndef USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_
#define USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_

#include <string>

#include "usmp_solver/solver.h"

namespace usmp {

/*!
 * \brief Name the pools and their limits, the buffers that do not fit together if that is proved,
 *        with the bytes that they need, and size hints that are enough.
 *
 * The solver is run again for that, without some of the limits and in its usual amount of work. A
 * size hint is called the smallest only if that is proved.
 */
std::string ExplainInfeasible(const Problem& problem, const SolverResult& result);

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_

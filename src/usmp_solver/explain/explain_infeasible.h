// An explanation why the solver found no plan.
#ifndef USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_
#define USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_

#include "usmp_solver/explain/does_not_fit.h"
#include "usmp_solver/solver.h"

namespace usmp {

/*!
 * \brief Explain an infeasible problem.
 *
 * Return the largest buffer that may have no place, the buffers that are proved not to fit together
 * with the bytes that they need, and sufficient limits.
 *
 * The solver runs again without some of the limits, with its default work budget. A limit is called
 * the smallest only if that is proved.
 */
DoesNotFit ExplainInfeasible(const Problem& problem, const SolverResult& result);

}  // namespace usmp

#endif  // USMP_SOLVER_EXPLAIN_EXPLAIN_INFEASIBLE_H_

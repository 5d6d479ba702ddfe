// The explanation of an infeasible problem: a few buffers that do not fit together.
#ifndef USMP_SOLVER_POOLS_INFEASIBLE_SUBSET_H_
#define USMP_SOLVER_POOLS_INFEASIBLE_SUBSET_H_

#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

struct InfeasibleSubset {
  /*! \brief Ascending. */
  std::vector<size_t> buffers;
  /*! \brief Whether removing any one of them makes the rest fit, as proved. */
  bool is_irreducible;
};

/*! \brief Shrink an infeasible set of buffers. Each test has a bounded budget. */
InfeasibleSubset ShrinkInfeasible(const Problem& problem, std::vector<size_t> infeasible,
                                  Budget* budget);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_INFEASIBLE_SUBSET_H_

// The reference implementation: the placement rule and the objective, as specified.
//
// Shares no code with the solver, and knows neither sections nor canonical placements. It takes
// time quadratic in the number of buffers, or exponential where it searches.
#ifndef USMP_SOLVER_TESTS_REFERENCE_H_
#define USMP_SOLVER_TESTS_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Return why the problem is malformed; nullopt if it is well formed. */
std::optional<std::string> FindDefect(const Problem& problem);

/*! \brief Return why the placements are no plan; nullopt if they are one. */
std::optional<std::string> FindFault(const Problem& problem,
                                     const std::vector<Placement>& placements);

/*! \brief Return the highest end of a buffer with bytes, by pool. */
std::vector<int64_t> PeaksOf(const Problem& problem, const std::vector<Placement>& placements);

/*! \brief Return whether `lhs` is better: the least preferred pool that differs decides. */
bool IsBetter(const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs);

struct Optimum {
  /*! \brief Whether a plan exists. */
  bool feasible;
  /*! \brief The peaks of the best plan, by pool. */
  std::vector<int64_t> peaks;
};

/*!
 * \brief Find the best plan by trying every choice of pools and every order of two buffers.
 *
 * For at most about eight buffers. Return nullopt if it takes more than `steps` steps.
 */
std::optional<Optimum> FindOptimum(const Problem& problem, int64_t steps);

/*! \brief Return the problem of these buffers alone; indices ascending. */
Problem Restrict(const Problem& problem, const std::vector<size_t>& buffers);

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_REFERENCE_H_

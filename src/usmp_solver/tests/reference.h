// What the solver is judged by: the placement rule and the objective, straight from their words.
//
// Shares no code with the solver, knows no sections and no canonical placements, and takes time
// quadratic in the number of buffers, or exponential where it searches.
#ifndef USMP_SOLVER_TESTS_REFERENCE_H_
#define USMP_SOLVER_TESTS_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Why this is no problem that a solver has to answer; nothing if it is one. */
std::optional<std::string> FindDefect(const Problem& problem);

/*! \brief Why these places are no plan; nothing if they are one. */
std::optional<std::string> FindFault(const Problem& problem,
                                     const std::vector<Placement>& placements);

/*! \brief By pool, the highest end of a buffer that has bytes. */
std::vector<int64_t> PeaksOf(const Problem& problem, const std::vector<Placement>& placements);

/*! \brief Whether `lhs` is better than `rhs`: the least preferred pool that differs decides. */
bool IsBetter(const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs);

struct Optimum {
  /*! \brief Whether there is a plan at all. */
  bool feasible;
  /*! \brief The peaks of the best plan, by pool. */
  std::vector<int64_t> peaks;
};

/*!
 * \brief The best plan of all, by trying every choice of pools and every order of two buffers.
 *
 * For about eight buffers at most. Nothing if that takes more than `steps` steps.
 */
std::optional<Optimum> FindOptimum(const Problem& problem, int64_t steps);

/*! \brief What is left of the problem with these buffers alone; indices ascending. */
Problem Restrict(const Problem& problem, const std::vector<size_t>& buffers);

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_REFERENCE_H_

// Parts of a one-pool problem that can be solved one by one.
#ifndef USMP_SOLVER_MODEL_DECOMPOSE_H_
#define USMP_SOLVER_MODEL_DECOMPOSE_H_

#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief The problem of these items alone, ascending, with no more sections than they need. */
PoolProblem Select(const PoolProblem& problem, const std::vector<int32_t>& items);

/*! \brief Items that conflict with each other, directly or through others; by first item. */
std::vector<std::vector<int32_t>> Components(const PoolProblem& problem);

/*! \brief The component that has the item. */
std::vector<int32_t> ComponentOf(const PoolProblem& problem, int32_t item);

struct Part {
  PoolProblem problem;
  /*! \brief By item of the part, the item that it is of the whole. */
  std::vector<int32_t> items;
  /*! \brief Bytes below all of the part that are taken already. */
  int64_t base = 0;
};

/*!
 * \brief Components, with the items peeled off that may as well lie below all others.
 *
 * The best plans of the parts, each raised by its base, are a best plan of the whole; the peak of
 * the whole is the highest of the parts. Items that live throughout their component, without
 * overlap, are parts by themselves: in every plan each other item lies wholly below or above such
 * an item X, so X can change places with all that is below it. This keeps the alignment of what
 * rises by the size of X if it divides that size, and must not move pins. What is left may fall
 * apart.
 */
std::vector<Part> Decompose(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_DECOMPOSE_H_

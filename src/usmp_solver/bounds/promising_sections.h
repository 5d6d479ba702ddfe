// The sections in which a bound is most likely to be high.
#ifndef USMP_SOLVER_BOUNDS_PROMISING_SECTIONS_H_
#define USMP_SOLVER_BOUNDS_PROMISING_SECTIONS_H_

#include <vector>

#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

struct PromisingSection {
  /*! \brief Bytes that no bound of the section exceeds. */
  WideBytes most;
  /*! \brief Items that are live in it, ascending. */
  std::vector<int32_t> items;
};

/*! \brief Return the bytes that an item adds to a section at most, if its size is rounded up to a
 *         multiple of a divisor of its alignment. */
WideBytes MostBytes(const PoolProblem::Item& item);

/*!
 * \brief Return the sections that may need more than `bound` bytes, those of the most bytes first.
 *
 * At most 64 of them, so that time does not grow with the square of the number of buffers.
 *
 * \param most by section, bytes that its bound cannot exceed.
 */
std::vector<PromisingSection> PromisingSections(const PoolProblem& problem,
                                                const std::vector<WideBytes>& most, int64_t bound);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_PROMISING_SECTIONS_H_

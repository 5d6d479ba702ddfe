// The sections in which a lower bound is most likely to be high.
#ifndef USMP_SOLVER_BOUNDS_PROMISING_SECTIONS_H_
#define USMP_SOLVER_BOUNDS_PROMISING_SECTIONS_H_

#include <vector>

#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/wide_bytes.h"

namespace usmp {

struct PromisingSection {
  /*! \brief Upper bound of all lower bounds of the section, in bytes. */
  WideBytes most;
  /*! \brief Live items, ascending. */
  std::vector<int32_t> items;
};

/*! \brief Return the most bytes that an item adds to a section if its size is rounded up to a
 *         multiple of a divisor of its alignment. */
WideBytes MostBytes(const PoolProblem::Item& item);

/*!
 * \brief Return the sections that may need more than `bound` bytes, by falling upper bound.
 *
 * At most 64 sections, so that time is not quadratic in the number of buffers.
 *
 * \param most upper bound of the bytes that each section needs.
 */
std::vector<PromisingSection> PromisingSections(const PoolProblem& problem,
                                                const std::vector<WideBytes>& most, int64_t bound);

}  // namespace usmp

#endif  // USMP_SOLVER_BOUNDS_PROMISING_SECTIONS_H_

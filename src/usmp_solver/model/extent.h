// Upper bounds of the bytes that placements need.
#ifndef USMP_SOLVER_MODEL_EXTENT_H_
#define USMP_SOLVER_MODEL_EXTENT_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Largest extent in bytes that solvers accept; sums of a few such numbers fit 64 bits. */
constexpr int64_t kMaxExtent = int64_t{1} << 60;

/*! \brief Return whether the buffer, at its pin or at 0, exceeds the limits of all its pools. */
bool FitsNowhere(const Problem& problem, const Problem::Buffer& buffer);

/*!
 * \brief Return an upper bound of the bytes that any pool needs: the end of the pinned buffers,
 *        plus all others in an aligned row. Return kNoLimit if end or row exceeds kMaxExtent.
 *
 * If a plan exists, one exists within this bound: move every buffer down as far as possible.
 */
int64_t Extent(const Problem& problem, const std::vector<size_t>& members);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_EXTENT_H_

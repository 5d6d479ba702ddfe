// How many bytes placements may need.
#ifndef USMP_SOLVER_MODEL_EXTENT_H_
#define USMP_SOLVER_MODEL_EXTENT_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief The largest extent with which solvers calculate; sums of a few of them fit 64 bits. */
constexpr int64_t kMaxExtent = int64_t{1} << 60;

/*! \brief Whether the buffer, at its pin or at 0, ends beyond the limits of all of its pools. */
bool FitsNowhere(const Problem& problem, const Problem::Buffer& buffer);

/*!
 * \brief Bytes that no pool needs more than: pinned buffers, and above them all others in a row,
 *        aligned. kNoLimit if that is more than kMaxExtent.
 *
 * What fits at all fits within it, once every buffer has sunk as low as the others let it.
 */
int64_t Extent(const Problem& problem, const std::vector<size_t>& members);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_EXTENT_H_

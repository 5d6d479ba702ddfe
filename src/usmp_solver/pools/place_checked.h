// Placement of buffers whose sizes, added up, do not fit 64 bits.
#ifndef USMP_SOLVER_POOLS_PLACE_CHECKED_H_
#define USMP_SOLVER_POOLS_PLACE_CHECKED_H_

#include <vector>

#include "usmp_solver/model/problem.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

/*!
 * \brief Place the members with checked arithmetic, as low as one by one gets them, or prove by
 *        sizes and loads alone that they do not fit.
 *
 * \param by_buffer where the places of the members are written if the verdict is kPlaced.
 */
Verdict PlaceChecked(const Problem& problem, const std::vector<size_t>& members,
                     std::vector<Placement>* by_buffer);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_PLACE_CHECKED_H_

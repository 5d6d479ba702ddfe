// Placement of buffers whose total size overflows 64 bits.
#ifndef USMP_SOLVER_POOLS_PLACE_CHECKED_H_
#define USMP_SOLVER_POOLS_PLACE_CHECKED_H_

#include <vector>

#include "usmp_solver/model/problem.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

/*!
 * \brief Place the members one by one with checked arithmetic, or prove by sizes and loads alone
 *        that they do not fit.
 *
 * \param by_buffer gets the placements of the members if the verdict is kPlaced.
 */
Verdict PlaceChecked(const Problem& problem, const std::vector<size_t>& members,
                     std::vector<Placement>* by_buffer);

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_PLACE_CHECKED_H_

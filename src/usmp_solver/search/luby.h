// The lengths of the runs between restarts.
#ifndef USMP_SOLVER_SEARCH_LUBY_H_
#define USMP_SOLVER_SEARCH_LUBY_H_

#include <cstdint>

namespace usmp {

/*! \brief Return the i-th term (i >= 1) of 1, 1, 2, 1, 1, 2, 4, ...: Luby, Sinclair and Zuckerman,
 *         "Optimal speedup of Las Vegas algorithms", 1993. */
inline int64_t Luby(int64_t i) {
  while ((i & (i + 1)) != 0) {
    int64_t power = 1;
    while (2 * power - 1 < i) power *= 2;
    i -= power - 1;
  }
  return (i + 1) / 2;
}

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_LUBY_H_

// Reduction of an infeasible set to a smaller one.
#ifndef USMP_SOLVER_POOLS_DELETION_FILTER_H_
#define USMP_SOLVER_POOLS_DELETION_FILTER_H_

#include <algorithm>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

/*!
 * \brief Drop members of an infeasible set while the rest stays infeasible (Chinneck and Dravnieks
 *        1991): halves first, then smaller chunks, finally single members.
 *
 * \param test returns the verdict on a set of members.
 * \param budget of the tests; once it is exhausted, the remaining members stay.
 * \param is_irreducible whether every remaining member is proved necessary.
 */
template <typename Member, typename Test>
std::vector<Member> DeletionFilter(std::vector<Member> members, const Test& test, Budget* budget,
                                   bool* is_irreducible) {
  *is_irreducible = true;
  for (size_t chunk = std::max<size_t>(1, members.size() / 2); chunk > 0; chunk /= 2) {
    for (size_t begin = 0; begin < members.size();) {
      if (chunk >= members.size()) break;
      if (budget->exhausted()) {
        *is_irreducible = false;
        return members;
      }
      const size_t end = std::min(members.size(), begin + chunk);
      std::vector<Member> rest(members.begin(), members.begin() + begin);
      rest.insert(rest.end(), members.begin() + end, members.end());
      const Verdict verdict = test(rest);
      if (verdict == Verdict::kInfeasible) {
        members = std::move(rest);
        continue;
      }
      if (chunk == 1 && verdict == Verdict::kUndecided) *is_irreducible = false;
      begin = end;
    }
  }
  return members;
}

}  // namespace usmp

#endif  // USMP_SOLVER_POOLS_DELETION_FILTER_H_

// The number of random cases of a test.
#ifndef USMP_SOLVER_TESTS_CASES_H_
#define USMP_SOLVER_TESTS_CASES_H_

#include <cstdlib>

namespace usmp {

/*! \brief Return `all`, or the percentage of `all` that USMP_SOLVER_TESTS_PERCENT sets. */
inline int Cases(int all) {
  const char* percent = std::getenv("USMP_SOLVER_TESTS_PERCENT");
  return percent == nullptr ? all : all * std::atoi(percent) / 100;
}

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_CASES_H_

// How many random cases a test tries.
#ifndef USMP_SOLVER_TESTS_CASES_H_
#define USMP_SOLVER_TESTS_CASES_H_

#include <cstdlib>

namespace usmp {

/*! \brief All cases, or the percentage that USMP_SOLVER_TESTS_PERCENT asks for. */
inline int Cases(int all) {
  const char* percent = std::getenv("USMP_SOLVER_TESTS_PERCENT");
  return percent == nullptr ? all : all * std::atoi(percent) / 100;
}

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_CASES_H_

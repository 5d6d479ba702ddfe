// Failing a test from its helper functions.
#ifndef USMP_SOLVER_TESTS_FAIL_H_
#define USMP_SOLVER_TESTS_FAIL_H_

#include <doctest/doctest.h>

#include <string>

namespace usmp {

/*! \brief End the test with the reason and the seed of the problem. */
inline void Fail(int seed, const std::string& reason) {
  FAIL("problem " << seed << ": " << reason);
}

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_FAIL_H_

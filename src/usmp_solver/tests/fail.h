// Failing a test from within the functions that it calls.
#ifndef USMP_SOLVER_TESTS_FAIL_H_
#define USMP_SOLVER_TESTS_FAIL_H_

#include <doctest/doctest.h>

#include <string>

namespace usmp {

/*! \brief End the test: this is wrong with what was made of the problem of a seed. */
inline void Fail(int seed, const std::string& reason) {
  FAIL("problem " << seed << ": " << reason);
}

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_FAIL_H_

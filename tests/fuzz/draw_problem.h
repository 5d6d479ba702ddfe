// Placement problems out of the bytes that a fuzzer makes up.
#ifndef USMP_TESTS_FUZZ_DRAW_PROBLEM_H_
#define USMP_TESTS_FUZZ_DRAW_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief Reads bytes, and zeros when there are none left. */
class ByteReader {
 public:
  ByteReader(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  uint8_t Byte() { return data_ == end_ ? 0 : *data_++; }

  /*! \brief A number below `bound`, which is at most 256. */
  int64_t Below(int64_t bound) { return Byte() % bound; }

  /*! \brief True once in about `times`. */
  bool OnceIn(int64_t times) { return Below(times) == times - 1; }

  bool empty() const { return data_ == end_; }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

/*!
 * \brief Any problem: up to three pools; sizes from none to the largest number; now and then one
 *        that is not well formed.
 */
Problem DrawProblem(ByteReader* bytes);

/*! \brief The problem in words, one line a pool, buffer, conflict and overlap. */
std::string Describe(const Problem& problem);

}  // namespace usmp

#endif  // USMP_TESTS_FUZZ_DRAW_PROBLEM_H_

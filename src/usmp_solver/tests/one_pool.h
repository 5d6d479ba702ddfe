// Random one-pool problems with every feature, and checks of answers by the reference.
#ifndef USMP_SOLVER_TESTS_ONE_POOL_H_
#define USMP_SOLVER_TESTS_ONE_POOL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

/*! \brief A problem whose buffers all have bytes and go to one pool without limit. */
struct OnePool {
  Problem problem;
  /*! \brief The same problem in sections. */
  PoolProblem pool;
};

/*!
 * \brief Return the problem of a seed, with up to `most_buffers` buffers.
 *
 * Features are several live ranges, alignments, pins, listed conflicts and overlaps, which may form
 * cycles. Most problems have only some of them.
 */
OnePool DrawOnePool(uint64_t seed, int64_t most_buffers);

/*! \brief Most steps of exact search: a thousand times what most of these problems take. */
constexpr int64_t kSteps = 20'000'000;

/*! \brief A capacity above all peaks. */
constexpr int64_t kAmple = 1'000'000;

/*! \brief Return whether pins collide: then no plan exists. */
bool PinsCollide(const OnePool& drawn);

/*! \brief Return the optimal peak; kNoLimit if pins collide. Only for few buffers. */
int64_t LowestPeak(const OnePool& drawn);

/*! \brief Return why the offsets are no plan within `capacity`; nullopt if they are one. */
std::optional<std::string> FindFault(const OnePool& drawn, const Offsets& offsets,
                                     int64_t capacity = kNoLimit);

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_ONE_POOL_H_

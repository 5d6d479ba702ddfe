// Random problems of one pool, with every feature, and the reference's word on answers to them.
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
  /*! \brief The same as most of the solver reads it. */
  PoolProblem pool;
};

/*!
 * \brief The problem of a seed: up to `most_buffers` with several live ranges, alignments, pins,
 *        listed conflicts, and overlaps that may go round in circles; most have but some of these.
 */
OnePool DrawOnePool(uint64_t seed, int64_t most_buffers);

/*! \brief Steps that exact search may take: a thousand times what most of these problems take. */
constexpr int64_t kSteps = 20'000'000;

/*! \brief A capacity above all peaks; one that is far too large takes as few steps. */
constexpr int64_t kAmple = 1'000'000;

/*! \brief Whether pins are in each other's way: then there is no plan. */
bool PinsCollide(const OnePool& drawn);

/*! \brief The lowest peak of all; kNoLimit if pins collide. For few buffers. */
int64_t LowestPeak(const OnePool& drawn);

/*! \brief Why these offsets are no plan that ends at `capacity` or below; nothing if they are. */
std::optional<std::string> FindFault(const OnePool& drawn, const Offsets& offsets,
                                     int64_t capacity = kNoLimit);

}  // namespace usmp

#endif  // USMP_SOLVER_TESTS_ONE_POOL_H_

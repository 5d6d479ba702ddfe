// The buffers of one pool, with time divided into sections.
//
// A section is a set of buffers that conflict pairwise. Two buffers conflict exactly if they share
// a section. The first sections come from live ranges: they are the maximal sets of buffers that
// are live together, in order of time, so a live range is a span of consecutive sections. Further
// sections cover the conflicts that do not follow from live ranges. Nothing here is quadratic in
// the number of buffers unless such conflicts are.
//
// Buffers of zero bytes are left out, since they constrain nothing.
#ifndef USMP_SOLVER_MODEL_POOL_PROBLEM_H_
#define USMP_SOLVER_MODEL_POOL_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

struct PoolProblem {
  /*! \brief Half-open range of sections. */
  struct Span {
    int32_t begin;
    int32_t end;
  };

  struct Item {
    int64_t size;
    int64_t alignment;
    /*! \brief The pinned offset in bytes, or -1. */
    int64_t fixed_offset;
    /*! \brief Index of the first span in `spans`, and number of spans (at least one). They are
     *         sorted, disjoint and not adjacent. */
    int32_t first_span;
    int32_t num_spans;
  };

  /*! \brief A safe overlap: `output` may start `distance` or more bytes below `input`, though they
   *         conflict. `distance` is less than the size of the output, and a multiple of the
   *         greatest common divisor of both alignments. */
  struct Overlap {
    int32_t output;
    int32_t input;
    int64_t distance;
  };

  std::vector<Item> items;
  std::vector<Span> spans;
  int32_t num_sections = 0;
  /*! \brief The first section that comes from conflicts beyond live ranges. */
  int32_t num_time_sections = 0;
  /*! \brief At most one for each pair and direction; sorted by output, then input. */
  std::vector<Overlap> overlaps;
  /*! \brief Size of the pool in bytes. */
  int64_t capacity = kNoLimit;
  /*! \brief The buffer that each item stands for. */
  std::vector<size_t> buffers;
};

/*! \brief Offsets in bytes, by item. */
using Offsets = std::vector<int64_t>;

/*!
 * \brief Return the problem of placing the buffers `members` in pool `pool`.
 *
 * \param members indices of buffers, ascending.
 */
PoolProblem MakePoolProblem(const Problem& problem, size_t pool,
                            const std::vector<size_t>& members);

/*! \brief Return the highest end of an item, in bytes. */
int64_t Peak(const PoolProblem& problem, const Offsets& offsets);

/*! \brief Return the sum of the sizes in each section: its peak if nothing overlaps. */
std::vector<int64_t> Loads(const PoolProblem& problem);

/*! \brief Call `visit` with each section of `item`. */
template <typename Visit>
void ForSections(const PoolProblem& problem, int32_t item, Visit visit) {
  const PoolProblem::Item& it = problem.items[item];
  for (int32_t k = 0; k < it.num_spans; ++k) {
    const PoolProblem::Span& span = problem.spans[it.first_span + k];
    for (int32_t s = span.begin; s < span.end; ++s) visit(s);
  }
}

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_POOL_PROBLEM_H_

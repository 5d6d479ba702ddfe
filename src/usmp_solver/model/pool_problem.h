// The buffers of one pool, with time in sections.
//
// A section is a set of buffers that conflict pairwise, and two buffers conflict exactly if they
// have a section in common. Sections come first from live ranges: one for every stretch of time in
// which no buffer begins to live after another ended, which are the maximal sets that are live
// together, in order of time; so a live range is a span of consecutive sections. Conflicts that
// do not follow from live ranges are covered by further sections, behind these. Nothing here is
// quadratic in the number of buffers unless such conflicts are.
//
// Buffers of no bytes are left out: they constrain nothing.
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
    /*! \brief The offset that it is pinned to; -1 if it is not. */
    int64_t fixed_offset;
    /*! \brief Index of its first span in `spans`, and their number: sorted, disjoint and not
     *         adjacent; at least one. */
    int32_t first_span;
    int32_t num_spans;
  };

  /*! \brief `output` may start `distance` or more bytes below `input`, though they conflict.
   *         `distance` is less than the size of the output, and a multiple of the alignment that
   *         both have in common. */
  struct Overlap {
    int32_t output;
    int32_t input;
    int64_t distance;
  };

  std::vector<Item> items;
  std::vector<Span> spans;
  int32_t num_sections = 0;
  /*! \brief Sections from this one on come from conflicts beyond live ranges. */
  int32_t num_time_sections = 0;
  /*! \brief One a pair and direction; sorted by output, then input. */
  std::vector<Overlap> overlaps;
  /*! \brief Bytes that may be used. */
  int64_t capacity = kNoLimit;
  /*! \brief By item, the buffer of the problem that it stands for. */
  std::vector<size_t> buffers;
};

/*! \brief By item, its offset. */
using Offsets = std::vector<int64_t>;

/*!
 * \brief The problem that is left when these buffers are to go to the pool.
 *
 * \param members indices of buffers, ascending.
 */
PoolProblem MakePoolProblem(const Problem& problem, size_t pool,
                            const std::vector<size_t>& members);

/*! \brief The highest end of an item. */
int64_t Peak(const PoolProblem& problem, const Offsets& offsets);

/*! \brief By section, the sum of the sizes: what a section needs where nothing overlaps. */
std::vector<int64_t> Loads(const PoolProblem& problem);

/*! \brief Call `visit` with each section of the item. */
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

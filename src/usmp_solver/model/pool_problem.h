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

#include <algorithm>
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
    /*! \brief Index of the first span in `spans`, and number of spans (at least one). Spans are
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

  /*! \brief A view of the spans of one item. */
  struct SpansOfItem {
    const Span* first;
    const Span* last;
    const Span* begin() const { return first; }
    const Span* end() const { return last; }
  };
  SpansOfItem SpansOf(const Item& item) const {
    const Span* const first = spans.data() + item.first_span;
    return {first, first + item.num_spans};
  }
  /*! \brief Return the first section of the item. */
  int32_t BeginOf(const Item& item) const { return spans[item.first_span].begin; }
  /*! \brief Return the section after the last one of the item. */
  int32_t EndOf(const Item& item) const { return spans[item.first_span + item.num_spans - 1].end; }

  std::vector<Item> items;
  std::vector<Span> spans;
  int32_t num_sections = 0;
  /*! \brief The first section that comes from conflicts beyond live ranges. */
  int32_t num_time_sections = 0;
  /*! \brief At most one for each pair and direction; sorted by output, then input. */
  std::vector<Overlap> overlaps;
  /*! \brief Size of the pool in bytes. */
  int64_t capacity = kNoLimit;
  /*! \brief The index of each item's buffer in the whole problem. */
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

/*!
 * \brief Return the highest end of an item, in bytes.
 *
 * \param unit bytes in a unit of the sizes; offsets are bytes.
 */
int64_t Peak(const PoolProblem& problem, const Offsets& offsets, int64_t unit = 1);

/*! \brief Return the number of sections of the item. */
int32_t Duration(const PoolProblem& problem, const PoolProblem::Item& item);

/*! \brief Return all items, ascending. */
std::vector<int32_t> AllItems(const PoolProblem& problem);

/*! \brief Sort items by falling size; items of one size keep their order. */
void SortBySize(const PoolProblem& problem, std::vector<int32_t>* items);

/*! \brief Return the items of each section, ascending. */
std::vector<std::vector<int32_t>> ItemsBySection(const PoolProblem& problem);

/*! \brief Return the total length of the lists that `ItemsBySection` returns. */
int64_t NumListed(const PoolProblem& problem);

/*! \brief Return the sum of the sizes in each section: its peak if nothing overlaps. */
std::vector<int64_t> Loads(const PoolProblem& problem);

/*! \brief Call `visit` with each section of `item`. */
template <typename Visit>
void ForSections(const PoolProblem& problem, int32_t item, Visit visit) {
  for (const PoolProblem::Span& span : problem.SpansOf(problem.items[item])) {
    for (int32_t s = span.begin; s < span.end; ++s) visit(s);
  }
}

/*!
 * \brief Call `visit` with the intersections of two sorted lists of disjoint spans, until it
 *        returns true. Return whether it did.
 */
template <typename Spans, typename Visit>
bool AnyIntersection(const Spans& lhs, const Spans& rhs, Visit visit) {
  auto a = lhs.begin();
  auto b = rhs.begin();
  while (a != lhs.end() && b != rhs.end()) {
    const PoolProblem::Span common{std::max(a->begin, b->begin), std::min(a->end, b->end)};
    if (common.begin < common.end && visit(common)) return true;
    a->end < b->end ? ++a : ++b;
  }
  return false;
}

/*! \brief Return whether two sorted lists of disjoint spans share a section. */
template <typename Spans>
bool Intersect(const Spans& lhs, const Spans& rhs) {
  return AnyIntersection(lhs, rhs, [](PoolProblem::Span) { return true; });
}

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_POOL_PROBLEM_H_

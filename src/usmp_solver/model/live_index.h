// An index of the placed items that are live together with a given item.
#ifndef USMP_SOLVER_MODEL_LIVE_INDEX_H_
#define USMP_SOLVER_MODEL_LIVE_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Enumerates the placed items that conflict with an item, without a list of conflicts.
 *
 * The spans of all items are sorted by their begin. The spans that begin within a given span are
 * contiguous in that order. The spans that began before it and are still live are found in a tree
 * with sixteen children a node, which stores the latest end of the placed spans.
 */
class LiveIndex {
 public:
  explicit LiveIndex(const PoolProblem& problem);

  bool is_placed(int32_t item) const { return ends_[0][first_position_[item]] != 0; }
  void Place(int32_t item);
  void Remove(int32_t item);

  /*! \brief Return the number of spans, placed or not, that begin in the sections of `item`. */
  int64_t WorkOf(int32_t item) const {
    int64_t work = 0;
    for (const PoolProblem::Span& span : problem_.SpansOf(problem_.items[item])) {
      work += first_beginning_[span.end] - first_beginning_[span.begin];
    }
    return work;
  }

  /*! \brief Call `function` with each placed item that conflicts with `item`, and with `item`
   *         itself if placed: once for every pair of spans that intersect. */
  template <typename Function>
  void ForEachLive(int32_t item, Function function) const {
    for (const PoolProblem::Span& span : problem_.SpansOf(problem_.items[item])) {
      const int32_t from = first_beginning_[span.begin];
      const int32_t to = first_beginning_[span.end];
      const std::vector<int32_t>& ends = ends_[0];
      for (int32_t p = from; p < to; ++p) {
        if (ends[p] != 0) function(items_[p]);
      }
      ForEachBefore(from, span.begin, function);
    }
  }

 private:
  static constexpr int32_t kShift = 4;
  static constexpr int32_t kChildren = 1 << kShift;

  /*! \brief Visit the placed spans before `position` that end after `section` begins. */
  template <typename Function>
  void ForEachBefore(int32_t position, int32_t section, Function& function) const {
    for (size_t k = 0; k < ends_.size() && position > 0; ++k) {
      const int32_t block = position >> kShift << kShift;
      for (int32_t node = block; node < position; ++node) {
        if (ends_[k][node] > section) Descend(k, node, section, function);
      }
      position >>= kShift;
    }
  }

  template <typename Function>
  void Descend(size_t k, int32_t node, int32_t section, Function& function) const {
    if (k == 0) {
      function(items_[node]);
      return;
    }
    const std::vector<int32_t>& ends = ends_[k - 1];
    const int32_t begin = node << kShift;
    const int32_t end = std::min<int32_t>(begin + kChildren, ends.size());
    for (int32_t child = begin; child < end; ++child) {
      if (ends[child] > section) Descend(k - 1, child, section, function);
    }
  }

  const PoolProblem& problem_;
  /*! \brief The item of the span at each position. */
  std::vector<int32_t> items_;
  /*! \brief The position of each span. */
  std::vector<int32_t> positions_;
  /*! \brief The position of the first span of each item. */
  std::vector<int32_t> first_position_;
  /*! \brief The first position whose span begins in a section or later. */
  std::vector<int32_t> first_beginning_;
  /*! \brief The latest end of a placed span below each node, by level; 0 if there is none. */
  std::vector<std::vector<int32_t>> ends_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_LIVE_INDEX_H_

// The placed items that are live together with a given one.
#ifndef USMP_SOLVER_MODEL_LIVE_INDEX_H_
#define USMP_SOLVER_MODEL_LIVE_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*!
 * \brief Enumerates placed items by section, without a list of conflicts.
 *
 * The spans of all items stand in order of their beginning. Those of one item's sections that begin
 * there are a stretch of that order; those that began before and still live are found by a tree of
 * the last end of what is placed, whose nodes have sixteen children each.
 */
class LiveIndex {
 public:
  explicit LiveIndex(const PoolProblem& problem);

  bool is_placed(int32_t item) const { return ends_[0][first_position_[item]] != 0; }
  void Place(int32_t item);
  void Remove(int32_t item);

  /*! \brief The spans of all items, placed or not, that begin in the sections of this one. */
  int64_t WorkOf(int32_t item) const {
    int64_t work = 0;
    ForEachSpan(item, [&](PoolProblem::Span span) {
      work += first_beginning_[span.end] - first_beginning_[span.begin];
    });
    return work;
  }

  /*!
   * \brief Call the function with each placed item that conflicts with this one, and with itself if
   *        it is placed; once for every span of it that meets one of this item.
   */
  template <typename Function>
  void ForEachLive(int32_t item, Function function) const {
    ForEachSpan(item, [&](PoolProblem::Span span) {
      const int32_t from = first_beginning_[span.begin];
      const int32_t to = first_beginning_[span.end];
      const std::vector<int32_t>& ends = ends_[0];
      for (int32_t p = from; p < to; ++p) {
        if (ends[p] != 0) function(items_[p]);
      }
      ForEachBefore(from, span.begin, function);
    });
  }

 private:
  static constexpr int32_t kShift = 4;
  static constexpr int32_t kChildren = 1 << kShift;

  template <typename Function>
  void ForEachSpan(int32_t item, Function function) const {
    const PoolProblem::Item& it = problem_.items[item];
    for (int32_t k = 0; k < it.num_spans; ++k) function(problem_.spans[it.first_span + k]);
  }

  /*! \brief The placed spans at positions before this one that end after the section begins. */
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
  /*! \brief By position: the item whose span it is. */
  std::vector<int32_t> items_;
  /*! \brief By span: its position. */
  std::vector<int32_t> positions_;
  /*! \brief By item: the position of its first span. */
  std::vector<int32_t> first_position_;
  /*! \brief By section: the first position whose span begins there or later. */
  std::vector<int32_t> first_beginning_;
  /*! \brief By level and node: the last end of a placed span below it; 0 if there is none. */
  std::vector<std::vector<int32_t>> ends_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_LIVE_INDEX_H_

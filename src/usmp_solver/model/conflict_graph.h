// Which buffers conflict, and at which distances.
//
// Two buffers conflict if the problem lists them as a pair or if they have a live range in common.
// Conflicts by live ranges are found in a tree over the live ranges, in time near their
// number; they are stored only where they are few, since there may be quadratically many.
#ifndef USMP_SOLVER_MODEL_CONFLICT_GRAPH_H_
#define USMP_SOLVER_MODEL_CONFLICT_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "usmp_solver/model/problem.h"

namespace usmp {

class ConflictGraph {
 public:
  /*!
   * \brief A buffer that another one has to keep clear of in a pool that holds both.
   *
   * The other one may start at least `below` bytes before this one starts, or at least `above`
   * bytes after. These are the sizes of the other and of this one, but for a safe overlap.
   */
  struct Neighbor {
    size_t buffer;
    int64_t below;
    int64_t above;
  };

  /*! \brief Neighbors of all buffers that are stored at most, but for those that do not
   *         follow from live ranges: 100 MB of them. */
  static constexpr size_t kMostStored = 4'000'000;

  explicit ConflictGraph(const Problem& problem, size_t most_stored = kMostStored);

  /*! \brief How many buffers the buffer conflicts with. */
  size_t Degree(size_t buffer) const { return degrees_[buffer]; }

  /*! \brief Call `visit` with each neighbor of the buffer, in no particular order. */
  template <typename Visit>
  void ForEach(size_t buffer, Visit visit) const {
    for (size_t k = first_stored_[buffer]; k < first_stored_[buffer + 1]; ++k) visit(stored_[k]);
    if (!all_stored_) ForEachLiveTogether(buffer, [&](size_t b) { visit(Pair(buffer, b)); });
  }

  /*! \brief The neighbor that has `rank` neighbors of smaller index. */
  size_t NeighborAt(size_t buffer, size_t rank) const;

 private:
  /*! \brief A live range of a buffer; those of one buffer do not meet. */
  struct Live {
    int64_t start;
    int64_t stop;
    size_t buffer;
  };

  void ReadLiveRanges(const Problem& problem);
  void CountLiveTogether();
  void Store(std::vector<std::vector<size_t>> further, size_t most_stored);

  /*! \brief The starts of the first live ranges of the two that meet, if any do. */
  std::optional<std::pair<int64_t, int64_t>> FirstMeeting(size_t lhs, size_t rhs) const;

  bool IsFirstMeeting(const Live& lhs, const Live& rhs) const {
    return FirstMeeting(lhs.buffer, rhs.buffer) == std::pair(lhs.start, rhs.start);
  }

  /*! \brief Conflicts that are listed, beyond live ranges: sorted, mutual. */
  std::vector<std::vector<size_t>> FurtherConflicts(const Problem& problem) const;

  Neighbor Pair(size_t buffer, size_t other) const;

  /*! \brief Call `visit` with each other buffer that has a live range in common, once. */
  template <typename Visit>
  void ForEachLiveTogether(size_t buffer, Visit visit) const {
    for (size_t k = first_live_[buffer]; k < first_live_[buffer + 1]; ++k) {
      ForEachMeeting(1, 0, tree_leaves_, live_[k], [&](const Live& met) {
        if (met.buffer == buffer) return;
        if (single_ranges_ || IsFirstMeeting(live_[k], met)) visit(met.buffer);
      });
    }
  }

  /*! \brief Call `visit` with each live range that meets `range`, by way of the node of the tree
   *         that stands for `count` live ranges from `begin` on, in order of their starts. */
  template <typename Visit>
  void ForEachMeeting(size_t node, size_t begin, size_t count, const Live& range,
                      const Visit& visit) const {
    if (begin >= by_start_.size() || latest_stop_[node] <= range.start) return;
    if (by_start_[begin].start >= range.stop) return;
    if (count == 1) return visit(by_start_[begin]);
    ForEachMeeting(2 * node, begin, count / 2, range, visit);
    ForEachMeeting(2 * node + 1, begin + count / 2, count / 2, range, visit);
  }

  /*! \brief By buffer: side by side, unlike those of the problem. */
  std::vector<int64_t> sizes_;
  std::vector<size_t> degrees_;
  /*! \brief Live ranges by buffer, and by time; those of buffer b begin at `first_live_[b]`. */
  std::vector<Live> live_;
  std::vector<size_t> first_live_;
  bool single_ranges_ = true;
  /*! \brief Live ranges in order of their starts: the leaves of the tree. */
  std::vector<Live> by_start_;
  /*! \brief By node of the tree, the latest stop of its live ranges. Node n has children 2n and
   *         2n + 1. */
  std::vector<int64_t> latest_stop_;
  size_t tree_leaves_ = 0;
  /*! \brief Sorted by output, input and distance. */
  std::vector<Problem::Overlap> overlaps_;
  /*! \brief All neighbors if `all_stored_`, else those that do not follow from live ranges. */
  std::vector<Neighbor> stored_;
  std::vector<size_t> first_stored_;
  bool all_stored_ = false;
};

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_CONFLICT_GRAPH_H_

// The first fit plan of an order, updated incrementally while the order changes.
//
// Only the buffers that a change of the order affects are placed again: those that move in the
// order, those that may now go lower, those whose place a moved buffer takes, and in turn the
// buffers that these affect. The result equals a first fit from scratch.
#ifndef USMP_SOLVER_IMPROVEMENT_ORDERED_PLAN_H_
#define USMP_SOLVER_IMPROVEMENT_ORDERED_PLAN_H_

#include <optional>
#include <vector>

#include "usmp_solver/heuristics/first_fit.h"
#include "usmp_solver/model/conflict_graph.h"
#include "usmp_solver/model/problem.h"

namespace usmp {

class OrderedPlan {
 public:
  using Placements = std::vector<std::optional<Placement>>;

  struct Outcome {
    /*! \brief Sum of the peaks of the workspace pools, including bytes beyond limits. */
    int64_t total;
    /*! \brief Whether all buffers are within the limits. */
    bool fits;
  };

  /*! \brief Keep `fixed` placements; all other buffers avoid them. */
  OrderedPlan(const Problem& problem, const ConflictGraph& conflicts, Placements fixed);

  /*! \brief Place all other buffers in the order. */
  Outcome Start(std::vector<size_t> order);

  /*! \brief Start from an order whose first fit plan is known. */
  Outcome Start(std::vector<size_t> order, const Placements& plan);

  /*! \brief Swap two positions of the order. The plan changes at the next update. */
  void Swap(size_t lhs, size_t rhs);

  /*! \brief Move a buffer to another position of the order. The plan changes at the next update. */
  void Move(size_t from, size_t to);

  /*!
   * \brief Update the plan to the order.
   *
   * \return nullopt, with the plan unchanged, as soon as the total exceeds `most`.
   */
  std::optional<Outcome> Update(int64_t most);

  /*! \brief Accept the last update. */
  void Keep();

  /*! \brief Revert the plan to the state before the last update; the order stays. */
  void Undo();

  /*! \brief Return the positions of the buffers in the order, from 1; 0 for fixed buffers. */
  const std::vector<size_t>& ranks() const { return ranks_; }
  const std::vector<size_t>& order() const { return order_; }
  const Placements& placements() const { return placer_.placements(); }

  /*! \brief Return the plan, with the work of all updates so far. */
  Solution Result() const;

  /*! \brief Return the number of visited buffers, each once for all pools, whatever the limits. */
  int64_t work() const { return work_; }

 private:
  struct Change {
    size_t buffer;
    std::optional<Placement> before;
    bool was_beyond;
  };

  void SetOrder(std::vector<size_t> order);
  void Touch(size_t buffer);
  bool MarkTouched(size_t buffer);
  void PlaceAnew(size_t buffer);
  bool Opens(const std::optional<Placement>& left, const ConflictGraph::Neighbor& neighbor) const;
  bool Blocks(const std::optional<Placement>& taken, const ConflictGraph::Neighbor& neighbor) const;

  const Problem& problem_;
  const ConflictGraph& conflicts_;
  Placer placer_;
  /*! \brief Peaks of the fixed buffers, by pool. */
  std::vector<int64_t> fixed_peaks_;
  std::vector<size_t> order_;
  std::vector<size_t> ranks_;
  /*! \brief The ranks for which the plan is valid. */
  std::vector<size_t> plan_ranks_;
  /*! \brief Buffers that moved in the order since `plan_ranks_`. An update drops a buffer that
   *         passed no neighbor. */
  std::vector<size_t> touched_;
  /*! \brief Whether each buffer has to be placed again. */
  std::vector<char> marked_;
  /*! \brief Whether each buffer exceeds the limits. */
  std::vector<char> beyond_;
  /*! \brief Changes of the last update. */
  std::vector<Change> changes_;
  int64_t work_ = 0;
};

/*! \brief Return the sum of the peaks of the workspace pools, at most the largest int64. */
int64_t WorkspaceTotal(const Problem& problem, const std::vector<int64_t>& peaks);

}  // namespace usmp

#endif  // USMP_SOLVER_IMPROVEMENT_ORDERED_PLAN_H_

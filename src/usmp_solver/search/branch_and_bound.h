// Branch and bound over compact placements in one pool.
//
// A placement is compact if no single buffer can move to a lower offset while all others stay. If a
// placement within the capacity exists, the one with the least sum of offsets is compact, so only
// compact ones are searched. In a compact placement every unpinned buffer starts at 0 or rests on
// another one: it has the lowest aligned offset above that buffer.
//
// Each unplaced buffer has a head, a lower bound of its offset. A node takes the buffer j of the
// least head h and branches:
// - j is at h. Other heads are not lower, so all unplaced conflicting buffers go above j, which
//   raises their heads.
// - j is above h. Then j rests on an unplaced buffer, so its head rises to the least end of an
//   unplaced conflicting buffer. Some other buffer must also occupy a byte of j's place at h, or
//   the placement would not be compact (`blocked_holes`).
//
// A node is pruned if the unplaced buffers of some section do not fit. They follow each other, none
// before its head, so the last one ends no earlier than in order of ascending heads (Jackson's rule
// for one machine with release dates).
//
// An output that may start at the offset of its input is placed first, so that later buffers are
// higher. Where such pairs form a cycle, a node first branches on the order of one pair.
//
// The search started from the canonical order of MiniMalloc (Moffitt, "MiniMalloc: A Lightweight
// Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023). In MiniMalloc, a
// buffer that was passed over may return to the same offset after others. Here it may not, so
// fewer nodes remain.
#ifndef USMP_SOLVER_SEARCH_BRANCH_AND_BOUND_H_
#define USMP_SOLVER_SEARCH_BRANCH_AND_BOUND_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"
#include "usmp_solver/search/open_sections.h"
#include "usmp_solver/search/placing_rules.h"

namespace usmp {

class BranchAndBound {
 public:
  BranchAndBound(const PoolProblem& problem, const ExactRules& rules);

  /*!
   * \brief Search for a placement within the capacity.
   *
   * \param priorities by item; among items with the same head, the highest priority goes first.
   * \param max_nodes return kUndecided after so many nodes.
   */
  Verdict Run(int64_t capacity, const std::vector<double>& priorities, int64_t max_nodes,
              Budget* budget);

  /*! \brief Return the placement after a verdict of kPlaced. */
  const Offsets& offsets() const { return heads_; }

  /*! \brief Return how often each section pruned a node. */
  const std::vector<double>& section_weights() const { return weights_; }

 private:
  /*! \brief An offset where an item was refused although the place was free. */
  struct Hole {
    int32_t item;
    int64_t offset;
    /*! \brief A conflict whose other item occupies bytes of the place, or still can. */
    int64_t watched;
  };

  /*! \brief A change to undo on the way back from a node. */
  struct Change {
    enum Kind : int32_t { kHead, kPlaced, kHole, kLimit, kOrder } kind;
    int32_t item;
    int64_t old;
  };

  bool Start(int64_t capacity);
  bool Search(std::vector<int32_t> items, bool is_part = false);
  bool SearchParts(const std::vector<int32_t>& items, int32_t cut);
  int32_t FindCut(const std::vector<int32_t>& items) const;
  int32_t Choose(const std::vector<int32_t>& items, int64_t* circular) const;
  bool SearchOrders(std::vector<int32_t> items, int64_t conflict);
  void Order(int64_t conflict, bool below);
  int64_t Mirror(int64_t conflict) const;
  bool IsSlab(int32_t item, const std::vector<int32_t>& items) const;
  bool Place(int32_t item);
  bool Refuse(int32_t item);
  bool RaiseHead(int32_t item, int64_t head);
  bool CheckSections();
  bool CheckHoles(int32_t placed_now);
  bool IsTaken(Hole* hole);
  bool Fail(int32_t section);
  void Undo(size_t mark);

  int64_t Align(int64_t position, int32_t item) const;

  const PoolProblem& problem_;
  const ExactRules rules_;
  int32_t num_items_;
  PlacingRules placing_;
  /*! \brief Conflicts before `Order` changed them. */
  std::vector<PlacingRules::Conflict> orders_undone_;
  const std::vector<int32_t> next_twin_;
  bool has_alignment_ = false;
  /*! \brief Whether there are no pins, alignments or overlaps. */
  bool is_plain_;

  int64_t capacity_ = 0;
  const std::vector<double>* priorities_ = nullptr;
  Budget* budget_ = nullptr;
  int64_t nodes_ = 0;
  int64_t max_nodes_ = 0;
  bool undecided_ = false;

  Offsets heads_;
  std::vector<char> placed_;
  /*! \brief Highest possible offsets, by item. */
  Offsets limits_;
  std::vector<Hole> holes_;
  /*! \brief Number of holes, by item. */
  std::vector<int32_t> num_holes_;
  std::vector<Change> changes_;

  OpenSections sections_;
  std::vector<double> weights_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_BRANCH_AND_BOUND_H_

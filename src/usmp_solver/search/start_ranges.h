// The range of possible starts of each item under some orders of conflicting items.
//
// An order is a literal. For the items a < b of pair p, order 2p means "a below b", and 2p + 1
// means "b below a". A decided order raises the earliest start of its upper item and lowers the
// latest start of its lower item, which may move further items. If an item has no possible start
// left, the orders exclude each other. The orders that raised its earliest start and lowered its
// latest start explain why.
//
// An explanation needs the least start that leaves an empty range, and the first change that
// reached it; the start before that change is explained in the same way. So explanations are short,
// and their orders were decided before the order that they explain. A cycle of orders has a
// positive length, so its orders exclude each other. It contains the order decided last.
//
// This is difference logic (Cotton and Maler, "Fast and flexible difference constraint propagation
// for DPLL(T)", SAT 2006), with alignment, explained as in lazy clause generation (Ohrimenko,
// Stuckey and Codish, "Propagation via lazy clause generation", Constraints 2009).
#ifndef USMP_SOLVER_SEARCH_START_RANGES_H_
#define USMP_SOLVER_SEARCH_START_RANGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "usmp_solver/model/budget.h"
#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief An order of two conflicting items; see above. */
using Order = int32_t;

/*! \brief Return the negation of an order. */
inline Order Reverse(Order order) { return order ^ 1; }

class StartRanges {
 public:
  /*! \brief An impossible order, and what `Explain` needs to explain it. */
  struct Refused {
    Order order;
    int64_t latest;
  };

  /*! \brief \param problem must have no cycle of overlaps, whose length may be 0. */
  explicit StartRanges(const PoolProblem& problem);

  int32_t num_pairs() const { return static_cast<int32_t>(above_.size() / 2); }
  int32_t lower(Order order) const { return lower_[order]; }
  int32_t upper(Order order) const { return lower_[Reverse(order)]; }
  /*! \brief Return the minimum bytes from the start of the lower item to that of the upper one. */
  int64_t above(Order order) const { return above_[order]; }

  /*!
   * \brief Forget all decisions.
   *
   * \param refused gets the orders that are impossible before any decision.
   * \return whether each item has a start within the capacity.
   */
  bool Reset(int64_t capacity, Budget* budget, std::vector<Refused>* refused);

  /*!
   * \brief Decide an order.
   *
   * \param refused gets the orders that became impossible; some may be decided already.
   * \return whether each item still has a start; if not, `why` gets orders that exclude each other.
   */
  bool Decide(Order order, Budget* budget, std::vector<Refused>* refused, std::vector<Order>* why);

  /*! \brief Add to `why` earlier decisions that exclude the refused order. */
  void Explain(const Refused& refused, std::vector<Order>* why) const;

  /*! \brief Return a mark for `Undo`. */
  size_t mark() const { return changes_.size(); }
  void Undo(size_t mark);

  /*! \brief Return the earliest starts, by item: a placement once all orders are decided. */
  Offsets earliest() const;

 private:
  /*!
   * \brief The two sides of a range: the earliest start, and the negated latest start.
   *
   * Both only rise. kEarliest propagates from lower to upper items, kLatest from upper to lower.
   */
  enum Side : int32_t { kEarliest, kLatest };

  struct Change {
    int32_t item;
    Side side;
    /*! \brief Its new value. */
    int64_t value;
    /*! \brief The order that raised it; -1 for the initial value. */
    Order order;
    /*! \brief Index of the previous change of the same side; -1 if it is the first. */
    int32_t before;
  };

  int32_t from(Side side, Order order) const {
    return lower_[side == kEarliest ? order : Reverse(order)];
  }
  int32_t to(Side side, Order order) const {
    return lower_[side == kEarliest ? Reverse(order) : order];
  }
  int64_t value(Side side, int32_t item) const { return changes_[last_[side][item]].value; }
  int64_t latest(int32_t item) const { return -value(kLatest, item); }

  bool Rise(Side side, Order first, Budget* budget, std::vector<Refused>* refused,
            std::vector<Order>* why);
  void ExplainCircle(Side side, Order first, std::vector<Order>* why) const;
  void Refuse(Side side, int32_t item, Budget* budget, std::vector<Refused>* refused) const;
  void Explain(Side side, int32_t item, int64_t need, std::vector<Order>* why) const;

  const PoolProblem& problem_;
  /*! \brief Lower item and distance, by order. */
  std::vector<int32_t> lower_;
  std::vector<int64_t> above_;
  /*! \brief The orders in which each item is the lower one. Reversed, it is the upper one. */
  std::vector<std::vector<Order>> orders_;
  /*! \brief Whether each order is decided. */
  std::vector<char> holds_;
  std::vector<Change> changes_;
  /*! \brief Index of the last change, by side and item. */
  std::array<std::vector<int32_t>, 2> last_;
  /*! \brief Items still to propagate; empty between calls. */
  std::vector<int32_t> queue_;
  std::vector<char> is_queued_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_SEARCH_START_RANGES_H_

// Measures of items, to sort them for placement.
#ifndef USMP_SOLVER_HEURISTICS_ITEM_MEASURES_H_
#define USMP_SOLVER_HEURISTICS_ITEM_MEASURES_H_

#include <cstdint>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Properties of items by which orders are sorted. */
class ItemMeasures {
 public:
  explicit ItemMeasures(const PoolProblem& problem);

  /*! \brief A property to sort by, the largest value first. */
  enum Key {
    /*! \brief The highest load of its sections. */
    kUrgency,
    kSize,
    /*! \brief The number of its sections. */
    kDuration,
    /*! \brief Size times duration. */
    kArea,
    /*! \brief Size times the square root of the duration. */
    kRootArea,
    /*! \brief The first section: the latest comes first. */
    kStart,
    /*! \brief The last section: the earliest comes first. */
    kEarlyEnd,
  };

  /*! \brief Return all items, sorted by the first key, then by the next, then by index. */
  std::vector<int32_t> Order(const std::vector<Key>& keys) const;

 private:
  double Measure(int32_t item, Key key) const;

  const PoolProblem& problem_;
  std::vector<int64_t> urgency_;
  std::vector<int32_t> duration_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_ITEM_MEASURES_H_

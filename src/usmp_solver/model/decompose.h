// Parts of a one-pool problem that are solved separately.
#ifndef USMP_SOLVER_MODEL_DECOMPOSE_H_
#define USMP_SOLVER_MODEL_DECOMPOSE_H_

#include <algorithm>
#include <numeric>
#include <vector>

#include "usmp_solver/model/pool_problem.h"

namespace usmp {

/*! \brief Disjoint sets of numbers. The smallest number represents a set. */
class DisjointSets {
 public:
  explicit DisjointSets(size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }

  size_t Find(size_t number) {
    while (parent_[number] != number) number = parent_[number] = parent_[parent_[number]];
    return number;
  }

  void Unite(size_t a, size_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

/*! \brief Return the problem of `items` (ascending) alone, with as few sections as possible. */
PoolProblem Select(const PoolProblem& problem, const std::vector<int32_t>& items);

/*! \brief Return the connected components of the conflict graph, ordered by their first items. */
std::vector<std::vector<int32_t>> Components(const PoolProblem& problem);

/*! \brief Return the component that contains `item`. */
std::vector<int32_t> ComponentOf(const PoolProblem& problem, int32_t item);

struct Part {
  PoolProblem problem;
  /*! \brief Index in the whole problem, by item of the part. */
  std::vector<int32_t> items;
  /*! \brief Bytes below the part that other parts occupy. */
  int64_t base = 0;
};

/*!
 * \brief Split a problem into components, and peel off items that can lie below all others.
 *
 * If each part has a best plan and is raised by its base, the result is a best plan of the whole.
 * The peak of the whole is the highest peak of the parts.
 *
 * An item that lives throughout its component, without overlap, becomes a part of its own. In every
 * plan each other item lies wholly below or above such an item X, so X can move below all items
 * under it. Those items rise by the size of X, which must be a multiple of their alignments, and
 * none of them may be pinned. The remaining items may form several components.
 */
std::vector<Part> Decompose(const PoolProblem& problem);

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_DECOMPOSE_H_

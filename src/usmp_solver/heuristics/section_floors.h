// A skyline: the end of the highest placed item of each section.
#ifndef USMP_SOLVER_HEURISTICS_SECTION_FLOORS_H_
#define USMP_SOLVER_HEURISTICS_SECTION_FLOORS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace usmp {

/*!
 * \brief A floor for each section, with updates and queries by span in logarithmic time.
 *
 * A tree with sixteen children a node. A raise is stored at the nodes that it covers and never
 * pushed down. Floors only rise, so the floor of a section is the maximum over its ancestors.
 */
class SectionFloors {
 public:
  explicit SectionFloors(int32_t num_sections) {
    int32_t nodes = std::max(num_sections, 1);
    while (true) {
      levels_.push_back({std::vector<int64_t>(nodes, 0), std::vector<int64_t>(nodes, 0)});
      if (nodes == 1) break;
      nodes = (nodes + kChildren - 1) / kChildren;
    }
  }

  /*! \brief Return the highest floor in [begin, end). */
  int64_t Max(int32_t begin, int32_t end) const {
    const int32_t first = begin;
    const int32_t last = end - 1;
    int64_t result = 0;
    for (size_t k = 0; k < levels_.size(); ++k) {
      const Level& level = levels_[k];
      result = std::max(
          {result, level.raised[first >> (kShift * k)], level.raised[last >> (kShift * k)]});
      ForUncovered(begin, end, k, [&](int32_t from, int32_t to) {
        for (int32_t i = from; i < to; ++i) result = std::max(result, level.highest[i]);
      });
      Ascend(&begin, &end);
    }
    return result;
  }

  /*! \brief Raise the floors in [begin, end) to `floor` where they are lower. */
  void Raise(int32_t begin, int32_t end, int64_t floor) {
    const int32_t first = begin;
    const int32_t last = end - 1;
    for (size_t k = 0; k < levels_.size(); ++k) {
      Level& level = levels_[k];
      for (const int32_t node : {first >> (kShift * k), last >> (kShift * k)}) {
        level.highest[node] = std::max(level.highest[node], floor);
      }
      ForUncovered(begin, end, k, [&](int32_t from, int32_t to) {
        for (int32_t i = from; i < to; ++i) {
          level.raised[i] = std::max(level.raised[i], floor);
          level.highest[i] = std::max(level.highest[i], floor);
        }
      });
      Ascend(&begin, &end);
    }
  }

 private:
  static constexpr int32_t kShift = 4;
  static constexpr int32_t kChildren = 1 << kShift;

  struct Level {
    /*! \brief The floor to which all sections of each node were raised. */
    std::vector<int64_t> raised;
    /*! \brief The highest floor in the subtree of each node. */
    std::vector<int64_t> highest;
  };

  /*! \brief Visit the nodes of [begin, end) that no visited node of the next level covers: one or
   *         two ranges. */
  template <typename Function>
  void ForUncovered(int32_t begin, int32_t end, size_t k, Function function) const {
    if (begin >= end) return;
    const int32_t covered_begin = (begin + kChildren - 1) >> kShift;
    const int32_t covered_end = end >> kShift;
    if (k + 1 == levels_.size() || covered_begin >= covered_end) {
      function(begin, end);
      return;
    }
    function(begin, covered_begin << kShift);
    function(covered_end << kShift, end);
  }

  static void Ascend(int32_t* begin, int32_t* end) {
    const int32_t covered_begin = (*begin + kChildren - 1) >> kShift;
    const int32_t covered_end = *end >> kShift;
    *begin = covered_begin;
    *end = std::max(covered_begin, covered_end);
  }

  std::vector<Level> levels_;
};

}  // namespace usmp

#endif  // USMP_SOLVER_HEURISTICS_SECTION_FLOORS_H_

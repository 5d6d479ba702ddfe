#include "usmp_solver/model/two_satisfiability.h"

#include <algorithm>

namespace usmp {

namespace {

/*!
 * \brief The implications between literals, and their strongly connected components.
 *
 * The clauses contradict each other exactly if a literal and its negation imply each other
 * (Aspvall, Plass and Tarjan, 1979). The components are found by Tarjan's algorithm with an
 * explicit stack.
 */
class Implications {
 public:
  Implications(const std::vector<std::pair<int32_t, int32_t>>& not_both, int32_t num_literals)
      : first_(num_literals + 1, 0), targets_(2 * not_both.size()) {
    for (const auto& [first, second] : not_both) {
      ++first_[first + 1];
      ++first_[second + 1];
    }
    for (int32_t l = 0; l < num_literals; ++l) first_[l + 1] += first_[l];
    std::vector<int32_t> next(first_.begin(), first_.end() - 1);
    for (const auto& [first, second] : not_both) {
      targets_[next[first]++] = second ^ 1;
      targets_[next[second]++] = first ^ 1;
    }
  }

  bool Contradict() {
    const int32_t n = static_cast<int32_t>(first_.size()) - 1;
    number_.assign(n, 0);
    component_.assign(n, 0);
    for (int32_t l = 0; l < n; ++l) {
      if (number_[l] == 0) Visit(l);
    }
    for (int32_t l = 0; l < n; l += 2) {
      if (component_[l] == component_[l + 1]) return true;
    }
    return false;
  }

 private:
  struct Frame {
    int32_t literal;
    int32_t edge;
    int32_t low;
  };

  void Enter(int32_t literal) {
    number_[literal] = ++visited_;
    open_.push_back(literal);
    frames_.push_back({literal, first_[literal], visited_});
  }

  void Visit(int32_t root) {
    Enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.edge < first_[frame.literal + 1]) {
        const int32_t target = targets_[frame.edge++];
        if (number_[target] == 0) {
          Enter(target);
        } else if (component_[target] == 0) {
          frame.low = std::min(frame.low, number_[target]);
        }
        continue;
      }
      const Frame done = frame;
      frames_.pop_back();
      if (!frames_.empty()) frames_.back().low = std::min(frames_.back().low, done.low);
      if (done.low < number_[done.literal]) continue;
      ++components_;
      int32_t member;
      do {
        member = open_.back();
        open_.pop_back();
        component_[member] = components_;
      } while (member != done.literal);
    }
  }

  std::vector<int32_t> first_;
  std::vector<int32_t> targets_;
  std::vector<int32_t> number_;
  std::vector<int32_t> component_;
  std::vector<int32_t> open_;
  std::vector<Frame> frames_;
  int32_t visited_ = 0;
  int32_t components_ = 0;
};

}  // namespace

bool Satisfiable(const std::vector<std::pair<int32_t, int32_t>>& not_both, int32_t num_literals) {
  return !Implications(not_both, num_literals).Contradict();
}

}  // namespace usmp

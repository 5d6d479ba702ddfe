// A limit on the work of a solver.
//
// A step is one look at a buffer or at a section: a limit in steps stops at the same place on every
// machine. The callback, for time limits, progress and ctrl-C, is polled once in many steps.
#ifndef USMP_SOLVER_MODEL_BUDGET_H_
#define USMP_SOLVER_MODEL_BUDGET_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace usmp {

class Budget {
 public:
  /*! \brief Returns true to stop; called about once in `kStepsBetweenPolls` steps. */
  using Interrupted = std::function<bool()>;

  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kStepsBetweenPolls = 1'000'000;

  explicit Budget(int64_t steps = kUnlimited, Interrupted interrupted = nullptr)
      : limit_(steps), interrupted_(std::move(interrupted)) {}

  /*! \brief A part of `whole`: steps spent here are spent there too, and it ends no later. */
  Budget(Budget* whole, int64_t steps)
      : limit_(steps < whole->left() ? steps : whole->left()), whole_(whole) {}

  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  ~Budget() {
    if (whole_ != nullptr) whole_->Spend(spent_ - reported_);
  }

  /*! \brief Count `steps` as spent; return false when none remain. */
  bool Spend(int64_t steps) {
    spent_ += steps;
    if (spent_ >= next_poll_) Poll();
    return !exhausted();
  }

  bool exhausted() const { return stopped_ || spent_ >= limit_; }
  int64_t spent() const { return spent_; }
  int64_t left() const { return exhausted() ? 0 : limit_ - spent_; }

 private:
  void Poll() {
    next_poll_ = spent_ + kStepsBetweenPolls;
    if (whole_ != nullptr) {
      whole_->Spend(spent_ - reported_);
      reported_ = spent_;
      stopped_ = stopped_ || whole_->exhausted();
    } else if (interrupted_ && interrupted_()) {
      stopped_ = true;
    }
  }

  int64_t limit_;
  Interrupted interrupted_;
  Budget* whole_ = nullptr;
  int64_t spent_ = 0;
  int64_t reported_ = 0;
  int64_t next_poll_ = kStepsBetweenPolls;
  bool stopped_ = false;
};

}  // namespace usmp

#endif  // USMP_SOLVER_MODEL_BUDGET_H_

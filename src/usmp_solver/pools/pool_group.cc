#include "usmp_solver/pools/pool_group.h"

#include <algorithm>

#include "usmp_solver/model/decompose.h"
#include "usmp_solver/model/extent.h"
#include "usmp_solver/pools/minimize_pools.h"
#include "usmp_solver/pools/place_checked.h"
#include "usmp_solver/pools/portfolio.h"

namespace usmp {

namespace {

/*! \brief A pool whose buffers have no other candidate. */
class OnePool : public PoolGroup {
 public:
  OnePool(const Problem& problem, size_t pool, const std::vector<size_t>& members, int64_t extent)
      : pool_(pool),
        problem_(Within(MakePoolProblem(problem, pool, members), extent)),
        portfolio_(problem_) {}

  void Start(Budget* budget, const Report& report) override {
    portfolio_.Start(budget, Of(report));
  }
  void Improve(SolverEffort effort, Budget* budget, const Report& report) override {
    portfolio_.Improve(effort, budget, Of(report));
  }
  bool found() const override { return portfolio_.peak().has_value(); }
  bool infeasible() const override { return portfolio_.infeasible(); }
  bool ended() const override { return portfolio_.ended(); }
  bool optimal() const override { return found() && portfolio_.closed(); }
  void Write(std::vector<Placement>* by_buffer, std::vector<int64_t>* by_pool) const override {
    (*by_pool)[pool_] = portfolio_.lower_bound();
    if (!found()) return;
    const Offsets offsets = portfolio_.offsets();
    for (size_t i = 0; i < offsets.size(); ++i) {
      (*by_buffer)[problem_.buffers[i]] = {pool_, offsets[i]};
    }
  }
  std::vector<size_t> culprits() const override {
    std::vector<size_t> buffers;
    for (int32_t item : ComponentOf(problem_, portfolio_.culprit())) {
      buffers.push_back(problem_.buffers[item]);
    }
    return buffers;
  }

 private:
  static PoolProblem Within(PoolProblem problem, int64_t extent) {
    problem.capacity = std::min(problem.capacity, extent);
    return problem;
  }
  Portfolio::Report Of(const Report& report) const {
    return
        [this, report](std::optional<int64_t> peak, int64_t bound) { report(pool_, peak, bound); };
  }

  size_t pool_;
  PoolProblem problem_;
  Portfolio portfolio_;
};

class SeveralPools : public PoolGroup {
 public:
  SeveralPools(const Problem& problem, const std::vector<size_t>& pools,
               const std::vector<size_t>& members, int64_t extent)
      : pools_(pools), minimizer_(problem, members, pools, extent) {}

  void Start(Budget* budget, const Report& report) override { minimizer_.Start(budget, report); }
  void Improve(SolverEffort effort, Budget* budget, const Report& report) override {
    minimizer_.Improve(effort, budget, report);
  }
  bool found() const override { return minimizer_.found(); }
  bool infeasible() const override { return minimizer_.infeasible(); }
  bool ended() const override { return minimizer_.ended(); }
  bool optimal() const override { return found() && minimizer_.closed(); }
  void Write(std::vector<Placement>* by_buffer, std::vector<int64_t>* by_pool) const override {
    for (size_t pool : pools_) (*by_pool)[pool] = minimizer_.lower_bounds()[pool];
    if (found()) minimizer_.Write(by_buffer);
  }
  std::vector<size_t> culprits() const override { return minimizer_.culprits(); }

 private:
  std::vector<size_t> pools_;
  PoolsMinimizer minimizer_;
};

/*! \brief Buffers whose sizes may overflow 64 bits: one checked plan, and simple proofs. */
class CheckedPools : public PoolGroup {
 public:
  CheckedPools(const Problem& problem, const std::vector<size_t>& pools,
               const std::vector<size_t>& members)
      : problem_(problem), pools_(pools), members_(members) {}

  void Start(Budget* budget, const Report&) override {
    plan_.resize(problem_.buffers.size());
    verdict_ = PlaceChecked(problem_, members_, &plan_);
    budget->Spend(static_cast<int64_t>(members_.size()));
    if (verdict_ != Verdict::kPlaced) return;
    for (size_t b : members_) {
      const Problem::Buffer& buffer = problem_.buffers[b];
      peak_ = std::max(peak_, plan_[b].offset + buffer.size);
      bound_ = std::max(bound_, buffer.fixed_offset.value_or(0) + buffer.size);
    }
  }
  void Improve(SolverEffort, Budget*, const Report&) override {}
  bool found() const override { return verdict_ == Verdict::kPlaced; }
  bool infeasible() const override { return verdict_ == Verdict::kInfeasible; }
  bool ended() const override { return true; }
  bool optimal() const override { return found() && pools_.size() == 1 && peak_ == bound_; }
  void Write(std::vector<Placement>* by_buffer, std::vector<int64_t>* by_pool) const override {
    if (pools_.size() == 1) (*by_pool)[pools_.front()] = bound_;
    if (!found()) return;
    for (size_t b : members_) (*by_buffer)[b] = plan_[b];
  }
  std::vector<size_t> culprits() const override { return members_; }

 private:
  const Problem& problem_;
  std::vector<size_t> pools_;
  std::vector<size_t> members_;
  std::vector<Placement> plan_;
  Verdict verdict_ = Verdict::kUndecided;
  int64_t peak_ = 0;
  int64_t bound_ = 0;
};

std::unique_ptr<PoolGroup> MakeGroup(const Problem& problem, const std::vector<size_t>& pools,
                                     const std::vector<size_t>& members) {
  const int64_t extent = Extent(problem, members);
  if (extent == kNoLimit) return std::make_unique<CheckedPools>(problem, pools, members);
  if (pools.size() > 1) return std::make_unique<SeveralPools>(problem, pools, members, extent);
  return std::make_unique<OnePool>(problem, pools.front(), members, extent);
}

}  // namespace

std::vector<std::unique_ptr<PoolGroup>> PoolGroups(const Problem& problem) {
  DisjointSets sets(problem.pools.size());
  for (const Problem::Buffer& buffer : problem.buffers) {
    if (buffer.size == 0) continue;
    for (size_t pool : buffer.pools) sets.Unite(pool, buffer.pools.front());
  }
  std::vector<std::vector<size_t>> pools(problem.pools.size());
  std::vector<std::vector<size_t>> members(problem.pools.size());
  for (size_t pool = 0; pool < pools.size(); ++pool) pools[sets.Find(pool)].push_back(pool);
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    if (problem.buffers[b].size == 0) continue;
    members[sets.Find(problem.buffers[b].pools.front())].push_back(b);
  }
  std::vector<std::unique_ptr<PoolGroup>> groups;
  for (size_t pool = 0; pool < pools.size(); ++pool) {
    if (!members[pool].empty()) groups.push_back(MakeGroup(problem, pools[pool], members[pool]));
  }
  return groups;
}

}  // namespace usmp

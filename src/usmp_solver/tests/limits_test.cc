// Limits of memory and stack, on POSIX, where both can be set.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <numeric>

#include "usmp_solver/model/pool_problem.h"
#include "usmp_solver/search/exact.h"

namespace usmp {

namespace {

/*! \brief Limits the memory of the process during its lifetime. */
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    is_set_ = setrlimit(RLIMIT_AS, &limit) == 0;
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

  bool is_set() const { return is_set_; }

 private:
  rlimit before_;
  bool is_set_;
};

/*! \brief Search a cycle of 150 buffers, each of which may overlap the next 74. */
void* SearchCircle(void* is_placed) {
  constexpr size_t kBuffers = 150;
  // Too few bytes for buffers 74 and 149, neither of which may overlap the other.
  constexpr int64_t kCapacity = 199;
  Problem problem;
  problem.pools = {{"pool", kNoLimit, false}};
  for (size_t b = 0; b < kBuffers; ++b) {
    problem.buffers.push_back({"", 50 + static_cast<int64_t>(b), 1, {}, {0}, {{0, 1}}});
    for (size_t k = 1; k < kBuffers / 2; ++k) {
      problem.overlaps.push_back({b, (b + k) % kBuffers, 0});
    }
  }
  std::vector<size_t> members(kBuffers);
  std::iota(members.begin(), members.end(), 0);
  Budget budget(20'000'000);
  Offsets offsets;
  const Verdict verdict =
      PlaceWithin(MakePoolProblem(problem, 0, members), kCapacity, &budget, &offsets);
  *static_cast<bool*>(is_placed) = verdict == Verdict::kPlaced;
  return nullptr;
}

}  // namespace

TEST_CASE("a listed conflict does not make all sections lists of buffers") {
  const MemoryLimit limit(500'000'000);
  REQUIRE(limit.is_set());
  constexpr int64_t kBuffers = 40'000;
  Problem problem;
  problem.pools = {{"sram"}};
  for (int64_t b = 0; b < kBuffers; ++b) {
    problem.buffers.push_back({"", 1, 1, {}, {0}, {{b, b + kBuffers / 3}}});
  }
  // The first conflict follows from live ranges too, the second does not.
  problem.conflicts = {{0, 1}, {0, kBuffers / 2}};
  std::vector<size_t> members(kBuffers);
  std::iota(members.begin(), members.end(), size_t{0});
  const PoolProblem pool = MakePoolProblem(problem, 0, members);
  CHECK(pool.num_sections - pool.num_time_sections == 1);
  CHECK(pool.items[0].num_spans + pool.items[kBuffers / 2].num_spans == 4);
}

TEST_CASE("overlaps that go round in circles do not exhaust the stack") {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, 1 << 20) == 0);
  pthread_t thread;
  bool is_placed = true;
  REQUIRE(pthread_create(&thread, &attributes, SearchCircle, &is_placed) == 0);
  pthread_join(thread, nullptr);
  CHECK_FALSE(is_placed);
}

}  // namespace usmp

// What `solver_ablation.py` runs: the exact search on one problem without some of its rules.
//
//     solver_ablation rules
//     solver_ablation solve CAPACITY STEPS [RULE ...] < buffers
//
// The first prints the names of the rules. The second reads lower, upper and size of each buffer,
// leaves the named rules out, and prints verdict, steps and CPU seconds.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "usmp_solver/search/exact.h"

namespace {

using usmp::ExactRules;

constexpr struct {
  const char* name;
  bool ExactRules::* rule;
} kRules[] = {
    {"heads", &ExactRules::heads},
    {"supports", &ExactRules::supports},
    {"blocked_holes", &ExactRules::blocked_holes},
    {"decomposition", &ExactRules::decomposition},
    {"twins", &ExactRules::twins},
    {"slabs", &ExactRules::slabs},
    {"restarts", &ExactRules::restarts},
    {"section_weights", &ExactRules::section_weights},
    {"clause_learning", &ExactRules::clause_learning},
};
// A rule that this table lacks would never be left out.
static_assert(sizeof(ExactRules) == sizeof(kRules) / sizeof(kRules[0]) * sizeof(bool));

bool LeaveOut(const std::string& name, ExactRules* rules) {
  for (const auto& [known, rule] : kRules) {
    if (name != known) continue;
    rules->*rule = false;
    return true;
  }
  std::cerr << "there is no rule " << name << "\n";
  return false;
}

const char* NameOf(usmp::Verdict verdict) {
  switch (verdict) {
    case usmp::Verdict::kPlaced:
      return "placed";
    case usmp::Verdict::kInfeasible:
      return "infeasible";
    case usmp::Verdict::kUndecided:
      return "undecided";
  }
  return "undecided";
}

usmp::PoolProblem ReadProblem() {
  usmp::Problem problem;
  problem.pools.push_back({"memory"});
  int64_t lower, upper, size;
  while (std::cin >> lower >> upper >> size) {
    usmp::Problem::Buffer buffer;
    buffer.size = size;
    buffer.pools = {0};
    buffer.live_ranges = {{lower, upper}};
    problem.buffers.push_back(buffer);
  }
  std::vector<size_t> members(problem.buffers.size());
  std::iota(members.begin(), members.end(), 0);
  return usmp::MakePoolProblem(problem, 0, members);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"rules"}) {
    for (const auto& [name, rule] : kRules) std::cout << name << "\n";
    return 0;
  }
  if (arguments.size() < 3 || arguments[0] != "solve") return 2;
  ExactRules rules;
  for (size_t i = 3; i < arguments.size(); ++i) {
    if (!LeaveOut(arguments[i], &rules)) return 2;
  }
  const usmp::PoolProblem problem = ReadProblem();
  usmp::Budget budget(std::stoll(arguments[2]));
  usmp::Offsets offsets;
  const std::clock_t start = std::clock();
  const usmp::Verdict verdict =
      usmp::PlaceWithin(problem, std::stoll(arguments[1]), &budget, &offsets, rules);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cout << NameOf(verdict) << " " << budget.spent() << " " << seconds << "\n";
}

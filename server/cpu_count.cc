#include "server/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace heed {
namespace {

// Whole CPUs of `quota` microseconds per `period`; 0 when there is none.
int WholeCpus(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::max<int64_t>(1, quota / period));
}

int64_t ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return (file >> value) ? value : 0;
}

int LimitOfV2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0;
  int64_t quota_number = 0;
  if (!(file >> quota >> period) || !absl::SimpleAtoi(quota, &quota_number)) return 0;
  return WholeCpus(quota_number, period);
}

int LimitOfV1(const std::string& folder) {
  return WholeCpus(ReadNumber(folder + "/cpu.cfs_quota_us"),
                   ReadNumber(folder + "/cpu.cfs_period_us"));
}

// The tightest limit from `path` up to the mount point: a parent's quota binds its children.
int TightestLimit(const std::string& mount, std::string path, int (*limit_of)(const std::string&)) {
  int tightest = 0;
  while (true) {
    const int limit = limit_of(absl::StrCat(mount, path));
    if (limit > 0 && (tightest == 0 || limit < tightest)) tightest = limit;
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return tightest;
    path.resize(slash);
  }
}

}  // namespace

int CgroupCpuLimit(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  int tightest = 0;
  while (std::getline(file, line)) {
    // hierarchy:controllers:path; v2 has neither a number nor controllers.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    int limit = 0;
    if (parts[1].empty()) {
      limit = TightestLimit(root + "/sys/fs/cgroup", parts[2], LimitOfV2);
    } else if (std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end()) {
      limit = TightestLimit(root + "/sys/fs/cgroup/cpu", parts[2], LimitOfV1);
    }
    if (limit > 0 && (tightest == 0 || limit < tightest)) tightest = limit;
  }
  return tightest;
}

int AvailableCpuCount(const std::string& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = std::max(1, CPU_COUNT(&set));
  const int limit = CgroupCpuLimit(root);
  return limit > 0 ? std::min(count, limit) : count;
}

}  // namespace heed

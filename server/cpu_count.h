// How many CPUs the process may really use: a container on a large host has fewer than the host,
// and a thread more than that only gets the others throttled.
#pragma once

#include <string>

namespace heed {

// At least 1: the smaller of the CPUs of the affinity mask (cpuset) and the whole CPUs of the
// tightest cgroup quota above the process. `root` stands before /proc and /sys in tests.
int AvailableCpuCount(const std::string& root = "");

// The CPUs of the tightest quota in cgroup v2 or v1, rounded down but at least 1; 0: no quota.
int CgroupCpuLimit(const std::string& root);

}  // namespace heed

#include "server/cpu_count.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

class CpuCountTest : public testing::Test {
 protected:
  CpuCountTest() {
    std::string pattern = (fs::temp_directory_path() / "heed_cpu_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~CpuCountTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(CpuCountTest, NoCgroupIsNoLimit) {
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 0);
  EXPECT_GE(AvailableCpuCount(root_.string()), 1);
}

TEST_F(CpuCountTest, Version2QuotaInWholeCpus) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 2);
  Write("sys/fs/cgroup/cpu.max", "290000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 2);
  Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 1);
  EXPECT_EQ(AvailableCpuCount(root_.string()), 1);
  Write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 0);
}

TEST_F(CpuCountTest, TightestParentCounts) {
  Write("proc/self/cgroup", "0::/pod/box\n");
  Write("sys/fs/cgroup/pod/box/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/pod/cpu.max", "300000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 3);
}

TEST_F(CpuCountTest, Version1Quota) {
  Write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  Write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "150000\n");
  Write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 1);
  Write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 0);
}

}  // namespace
}  // namespace heed

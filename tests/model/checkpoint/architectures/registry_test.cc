#include <algorithm>

#include "model/checkpoint/architectures/architecture.h"
#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

TEST(ArchitectureRegistryTest, KnowsEveryNameItLists) {
  const std::vector<std::string> names = ArchitectureNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, testing::IsSupersetOf({"bert", "deberta-v2", "heed", "text_cnn", "xlnet"}));
  for (const std::string& name : names) EXPECT_NE(FindArchitecture(name), nullptr) << name;
  EXPECT_EQ(FindArchitecture("gpt2"), nullptr);
  EXPECT_EQ(FindArchitecture(""), nullptr);
}

// Known architectures that Heed does not compute, by name and with those it does.
TEST(ArchitectureRegistryTest, OthersAreRefusedByName) {
  for (const char* const name : {"funnel", "mobilebert"}) {
    ExpectRefused(GoldenConfig(std::string("refused/") + name), absl::StatusCode::kUnimplemented,
                  "model_type", name);
    ExpectRefused(GoldenConfig(std::string("refused/") + name), absl::StatusCode::kUnimplemented,
                  "model_type", "bert, ");
  }
  ExpectRefused(GoldenConfig("refused/t5_seq_cls"), absl::StatusCode::kUnimplemented,
                "architectures", "T5ForSequenceClassification");
}

}  // namespace
}  // namespace heed

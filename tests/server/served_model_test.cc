#include "server/served_model.h"

#include "gtest/gtest.h"
#include "model/api/error.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

std::unique_ptr<ServedModel> Model(const std::string& name) {
  auto model = std::make_unique<ServedModel>();
  model->name = name;
  model->model.runner = std::make_shared<FakeRunner>();
  return model;
}

TEST(ModelRegistryTest, FindsByNameVersionAndDefault) {
  ModelRegistry registry;
  registry.Add(Model("a"));
  registry.Add(Model("b"));
  EXPECT_EQ((*registry.Find("", ""))->name, "a");
  EXPECT_EQ((*registry.Find("b", ""))->name, "b");
  EXPECT_EQ((*registry.Find("b", "v1"))->name, "b");
  EXPECT_TRUE(registry.IsDefault(**registry.Find("a", "")));
  EXPECT_FALSE(registry.IsDefault(**registry.Find("b", "")));
}

TEST(ModelRegistryTest, UnknownNameOrVersionIsNotFound) {
  ModelRegistry registry;
  registry.Add(Model("a"));
  absl::Status status = registry.Find("x", "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(GetErrorDetail(status).reason, "MODEL_NOT_FOUND");
  EXPECT_EQ(GetErrorDetail(status).metadata.at("model"), "x");
  status = registry.Find("", "v9").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(GetErrorDetail(status).reason, "MODEL_VERSION_NOT_FOUND");
  EXPECT_EQ(GetErrorDetail(status).metadata.at("servingVersion"), "v1");
}

TEST(WarmUpTest, RunsAShortAndALongTextThatIsTruncated) {
  auto runner = std::make_shared<FakeRunner>();
  ASSERT_TRUE(WarmUp({std::make_shared<FakeTokenizer>(16), runner, {}}).ok());
  ASSERT_EQ(runner->batches().size(), 2u);
  EXPECT_EQ(runner->batches()[0].token_count(), 5u);
  EXPECT_EQ(runner->batches()[1].token_count(), 16u);
}

TEST(WarmUpTest, ModelWithoutALimitWarmsUpOn512Tokens) {
  auto runner = std::make_shared<FakeRunner>();
  ASSERT_TRUE(WarmUp({std::make_shared<FakeTokenizer>(0), runner, {}}).ok());
  EXPECT_EQ(runner->batches()[1].token_count(), 512u);
}

TEST(WarmUpTest, FailureIsReported) {
  auto runner = std::make_shared<FakeRunner>();
  runner->SetBehaviour([](const RaggedBatch&) { return absl::InternalError("broken"); });
  EXPECT_EQ(WarmUp({std::make_shared<FakeTokenizer>(), runner, {}}).message(), "broken");
}

}  // namespace
}  // namespace heed

#include "client/classify_many.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc_error.h"
#include "tests/client/fake_server.h"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::FakeServer;
using ::testing::HasSubstr;
using ::testing::Le;

// Texts of a list; can pause before one, and fail instead of one.
class ListSource : public InputSource {
 public:
  explicit ListSource(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  absl::StatusOr<bool> Next(v1::TextInput* input) override {
    if (next_ == fail_at) return absl::InvalidArgumentError("bad line");
    if (next_ == texts_.size()) return false;
    input->set_text(texts_[next_++]);
    return true;
  }
  bool Ready() override { return next_ != pause_at; }

  size_t fail_at = SIZE_MAX;
  size_t pause_at = SIZE_MAX;

 private:
  const std::vector<std::string> texts_;
  size_t next_ = 0;
};

std::vector<std::string> Numbered(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(absl::StrCat(i % 3 == 0 ? "good " : "bad ", i));
  return texts;
}

class ClassifyManyTest : public ::testing::Test {
 protected:
  absl::Status Run(InputSource& source, const SplitOptions& split) {
    v1::ClassifyRequest request;
    request.set_top_k(1);
    return ClassifyMany(
        *client_, request, source,
        [this](const ClassifiedText& text) {
          EXPECT_EQ(text.index, seen_.size());
          seen_.push_back(text.input.text());
          labels_.push_back(text.result.labels(0).label());
          return sink_status_;
        },
        split);
  }

  std::vector<int> CallSizes() const {
    std::vector<int> sizes;
    for (const auto& request : server_.requests()) sizes.push_back(request.inputs_size());
    return sizes;
  }

  FakeServer server_;
  std::unique_ptr<Client> client_ = *Client::Create(server_.address());
  std::vector<std::string> seen_;
  std::vector<std::string> labels_;
  absl::Status sink_status_;
};

TEST_F(ClassifyManyTest, KeepsTheOrderOverManyParallelCalls) {
  const std::vector<std::string> texts = Numbered(1000);
  ListSource source(texts);
  ASSERT_TRUE(Run(source, {.texts_per_call = 7, .parallel_calls = 4}).ok());
  EXPECT_EQ(seen_, texts);
  for (size_t i = 0; i < labels_.size(); ++i) {
    EXPECT_EQ(labels_[i], i % 3 == 0 ? "positive" : "negative") << i;
  }
  EXPECT_EQ(server_.requests().size(), 143u);
  EXPECT_THAT(server_.most_calls_at_once(), Le(4));
}

TEST_F(ClassifyManyTest, SplitsByCount) {
  ListSource source(Numbered(10));
  ASSERT_TRUE(Run(source, {.texts_per_call = 4, .parallel_calls = 1}).ok());
  EXPECT_THAT(CallSizes(), ElementsAre(4, 4, 2));
}

TEST_F(ClassifyManyTest, SplitsByBytes) {
  ListSource source({std::string(100, 'a'), "b", "c", std::string(60, 'd'), std::string(60, 'e')});
  ASSERT_TRUE(Run(source, {.bytes_per_call = 100, .parallel_calls = 1}).ok());
  EXPECT_THAT(CallSizes(), ElementsAre(1, 4));
}

TEST_F(ClassifyManyTest, NoTextsAreNoCall) {
  ListSource source({});
  EXPECT_TRUE(Run(source, {}).ok());
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(ClassifyManyTest, AnErrorNamesTheTextAmongAll) {
  std::vector<std::string> texts = Numbered(20);
  texts[13] = "fail";
  ListSource source(texts);
  const absl::Status status = Run(source, {.texts_per_call = 5, .parallel_calls = 2});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("inputs[13].text"));
  EXPECT_EQ(GetRpcErrorDetails(status).field_violations[0].field, "inputs[13].text");
  EXPECT_EQ(seen_.size(), 10u);  // the calls before the one that failed
}

TEST_F(ClassifyManyTest, WhatWasReadBeforeABadLineIsClassified) {
  ListSource source(Numbered(10));
  source.fail_at = 6;
  const absl::Status status = Run(source, {.texts_per_call = 4});
  EXPECT_EQ(status.message(), "bad line");
  EXPECT_EQ(seen_.size(), 6u);
}

TEST_F(ClassifyManyTest, APauseOfTheWriterSendsWhatThereIs) {
  ListSource source(Numbered(5));
  source.pause_at = 2;
  ASSERT_TRUE(Run(source, {}).ok());
  EXPECT_THAT(CallSizes(), ElementsAre(2, 3));
}

TEST_F(ClassifyManyTest, TheSinkCanStop) {
  sink_status_ = absl::DataLossError("enough");
  ListSource source(Numbered(100));
  EXPECT_EQ(Run(source, {.texts_per_call = 1, .parallel_calls = 2}).message(), "enough");
  EXPECT_EQ(seen_.size(), 1u);
  EXPECT_THAT(server_.requests().size(), Le(3u));
}

TEST_F(ClassifyManyTest, ClassifyAllGivesOneResponse) {
  v1::ClassifyRequest request;
  request.set_return_logits(true);
  for (const std::string& text : Numbered(10)) request.add_inputs()->set_text(text);
  const auto response = ClassifyAll(*client_, request, {.texts_per_call = 3});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->model_name(), "fake");
  ASSERT_EQ(response->results_size(), 10);
  EXPECT_EQ(response->results(9).labels(0).label(), "positive");
  EXPECT_EQ(response->results(9).logits_size(), 2);
}

}  // namespace
}  // namespace heed

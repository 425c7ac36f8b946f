// What tests of GetAttention share: requests as text, and a whole answer read back.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "tests/server/service_fixture.h"

namespace heed {

struct AttentionAnswer {
  grpc::Status status;
  v1::AttentionHeader header;
  std::vector<v1::AttentionTile> tiles;
  size_t largest_message = 0;
};

// Adds a model "long", whose texts have no limit.
class AttentionFixture : public ServiceFixture {
 protected:
  using Reader = std::unique_ptr<grpc::ClientReader<v1::GetAttentionResponse>>;

  void SetUp() override {
    scheduler_limits_.max_queue_tokens = 1 << 20;
    AddModel("long", long_, false, 0);
    ServiceFixture::SetUp();
  }

  void TearDown() override {
    long_->reads().Open();
    long_->Open();
    ServiceFixture::TearDown();
  }

  // `text` in text format; the model is "plain" unless it names another.
  static v1::GetAttentionRequest AttentionRequest(const std::string& text) {
    v1::GetAttentionRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    if (!request.has_model()) request.mutable_model()->set_name("plain");
    return request;
  }

  // Of `tokens` tokens for "long": [CLS], words and [SEP].
  static v1::GetAttentionRequest LongRequest(int tokens, const std::string& text = "") {
    v1::GetAttentionRequest request = AttentionRequest(text + " model { name: 'long' }");
    std::string words;
    for (int i = 2; i < tokens; ++i) words += "a ";
    request.mutable_input()->set_text(words);
    return request;
  }

  AttentionAnswer Ask(const v1::GetAttentionRequest& request) {
    grpc::ClientContext context;
    const Reader reader = attention_->GetAttention(&context, request);
    return ReadAll(*reader);
  }
  AttentionAnswer Ask(const std::string& text) { return Ask(AttentionRequest(text)); }

  // The rest of a stream.
  static AttentionAnswer ReadAll(grpc::ClientReader<v1::GetAttentionResponse>& reader) {
    AttentionAnswer answer;
    v1::GetAttentionResponse part;
    while (reader.Read(&part)) {
      answer.largest_message = std::max(answer.largest_message, part.ByteSizeLong());
      if (part.has_header()) {
        EXPECT_TRUE(answer.tiles.empty());
        answer.header = std::move(*part.mutable_header());
      } else {
        answer.tiles.push_back(std::move(*part.mutable_tile()));
      }
    }
    answer.status = reader.Finish();
    return answer;
  }

  bool HasMetric(const std::string& line) {
    return MetricsText().find("\n" + line + "\n") != std::string::npos;
  }
  void AwaitMetric(const std::string& line) {
    while (!HasMetric(line)) std::this_thread::yield();
  }

  std::shared_ptr<FakeRunner> long_ = std::make_shared<FakeRunner>();
};

}  // namespace heed

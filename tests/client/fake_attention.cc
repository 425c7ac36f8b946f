#include "tests/client/fake_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_split.h"
#include "tests/client/fake_server.h"

namespace heed::testing {
namespace {

using Indices = google::protobuf::RepeatedField<uint32_t>;

void AddIndex(int64_t index, Indices* all) {
  const auto found = static_cast<uint32_t>(index);
  if (std::find(all->begin(), all->end(), found) == all->end()) all->Add(found);
}

// Trusts the selector: a real server checks it.
void Resolve(const v1::IndexSelector& selector, uint32_t count, Indices* all) {
  const auto from_start = [count](int64_t i) { return i < 0 ? i + count : i; };
  for (const int32_t index : selector.indices()) AddIndex(from_start(index), all);
  for (const v1::IndexRange& range : selector.ranges()) {
    for (int64_t i = from_start(range.start()); i < from_start(range.end()); ++i) AddIndex(i, all);
  }
  if (!all->empty()) return;
  for (uint32_t i = 0; i < count; ++i) all->Add(i);
}

uint16_t FloatToHalf(float value) {
  // Enough for 0 and for weights, which are normal halves.
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value == 0.0f) return 0;
  const uint32_t rounded = bits + 0xFFF + ((bits >> 13) & 1);
  return static_cast<uint16_t>((((rounded >> 23) - 112) << 10) | ((rounded >> 13) & 0x3FF));
}

void AddRow(const std::vector<float>& row, v1::Tensor* tensor) {
  std::string* const data = tensor->mutable_data();
  const float scale = std::max(*std::max_element(row.begin(), row.end()) / 255.0f, 1e-30f);
  for (const float value : row) {
    if (tensor->type() == v1::TENSOR_TYPE_UINT8) {
      data->push_back(static_cast<char>(std::lround(value / scale)));
    } else if (tensor->type() == v1::TENSOR_TYPE_FLOAT16) {
      const uint16_t half = FloatToHalf(value);
      data->append(reinterpret_cast<const char*>(&half), sizeof(half));
    } else {
      data->append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  if (tensor->type() == v1::TENSOR_TYPE_UINT8) tensor->add_scales(scale);
}

// One answer, tile by tile.
class Answer {
 public:
  Answer(const v1::GetAttentionRequest& request, v1::AttentionHeader* header)
      : request_(request), header_(*header) {
    Resolve(request.layers(), kFakeLayers, header->mutable_layers());
    Resolve(request.heads(), kFakeHeads, header->mutable_heads());
    const auto count = static_cast<uint32_t>(header->tokens_size());
    Resolve(request.query_rows(), count, header->mutable_query_rows());
    Resolve(request.key_columns(), count, header->mutable_key_columns());
    const auto reduction = request.reduction();
    matrix_ =
        reduction == v1::ATTENTION_REDUCTION_ROLLOUT || reduction == v1::ATTENTION_REDUCTION_FLOW;
    one_head_ = matrix_ || reduction == v1::ATTENTION_REDUCTION_MEAN_HEADS;
    number_ = reduction == v1::ATTENTION_REDUCTION_ENTROPY ||
              reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE;
    columns_ = number_ ? 1 : header->key_columns_size();
    if (request.top_k() > 0) columns_ = std::min<int>(columns_, int(request.top_k()));
    header->set_type(request.type() == v1::TENSOR_TYPE_UNSPECIFIED ? v1::TENSOR_TYPE_FLOAT32
                                                                   : request.type());
    const int width = header->type() == v1::TENSOR_TYPE_UINT8     ? 1
                      : header->type() == v1::TENSOR_TYPE_FLOAT16 ? 2
                                                                  : 4;
    header->add_shape(matrix_ ? 1 : header->layers_size());
    header->add_shape(one_head_ ? 1 : header->heads_size());
    header->add_shape(header->query_rows_size());
    header->add_shape(columns_);
    uint64_t bytes = static_cast<uint64_t>(width);
    for (const int64_t dimension : header->shape()) bytes *= static_cast<uint64_t>(dimension);
    header->set_total_bytes(bytes);
  }

  std::vector<v1::AttentionTile> Tiles() const {
    std::vector<v1::AttentionTile> tiles;
    for (int l = 0; l < header_.shape(0); ++l) {
      for (int h = 0; h < header_.shape(1); ++h) {
        for (int row = 0; row < header_.query_rows_size(); row += 2) {
          tiles.push_back(MakeTile(l, h, row));
        }
      }
    }
    return tiles;
  }

 private:
  v1::AttentionTile MakeTile(int l, int h, int first_row) const {
    v1::AttentionTile tile;
    tile.set_layer(matrix_ ? header_.layers(header_.layers_size() - 1) : header_.layers(l));
    tile.set_head(one_head_ ? 0 : header_.heads(h));
    tile.set_first_row(static_cast<uint32_t>(first_row));
    tile.mutable_weights()->set_type(header_.type());
    const int rows = std::min(2, header_.query_rows_size() - first_row);
    tile.mutable_weights()->add_shape(rows);
    if (!number_) tile.mutable_weights()->add_shape(columns_);
    for (int row = first_row; row < first_row + rows; ++row) {
      AddValues(tile.layer(), header_.heads(h), header_.query_rows(row), &tile);
    }
    return tile;
  }

  void AddValues(uint32_t layer, uint32_t head, uint32_t row, v1::AttentionTile* tile) const {
    if (number_) return AddRow({static_cast<float>(layer) + 0.5f}, tile->mutable_weights());
    const auto count = static_cast<uint32_t>(header_.tokens_size());
    std::vector<std::pair<float, uint32_t>> values;
    for (const uint32_t column : header_.key_columns()) {
      double sum = 0.0;
      int terms = 0;
      for (const uint32_t l : header_.layers()) {
        for (const uint32_t h : header_.heads()) {
          if ((!matrix_ && l != layer) || (!one_head_ && h != head)) continue;
          sum += static_cast<double>(FakeWeight(l, h, row, column, count));
          ++terms;
        }
      }
      values.emplace_back(static_cast<float>(sum / terms), column);
    }
    if (request_.top_k() > 0) {
      std::stable_sort(values.begin(), values.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      values.resize(static_cast<size_t>(columns_));
      for (const auto& value : values) tile->add_columns(value.second);
    }
    std::vector<float> weights;
    for (const auto& value : values) weights.push_back(value.first);
    AddRow(weights, tile->mutable_weights());
  }

  const v1::GetAttentionRequest& request_;
  const v1::AttentionHeader& header_;
  bool matrix_ = false;
  bool one_head_ = false;
  bool number_ = false;
  int columns_ = 0;
};

void FillClassification(v1::Classification* result, bool positive) {
  for (const bool label : {positive, !positive}) {
    v1::LabelScore* const score = result->add_labels();
    score->set_label(label ? "positive" : "negative");
    score->set_label_id(label ? 1 : 0);
    score->set_score(label == positive ? 0.75f : 0.25f);
  }
}

}  // namespace

float FakeWeight(uint32_t layer, uint32_t head, uint32_t row, uint32_t column, uint32_t count) {
  float weight = 1.0f;
  if (column == (row + head) % count) weight += 10.0f;
  if (column == 0) weight += static_cast<float>(layer);
  return weight / static_cast<float>(count + 10 + layer);
}

void AddFakeTokens(const std::string& text, google::protobuf::RepeatedPtrField<v1::Token>* tokens) {
  const auto add_special = [tokens](const char* piece, int64_t id) {
    v1::Token* const token = tokens->Add();
    token->set_piece(piece);
    token->set_id(id);
    token->set_special(true);
  };
  add_special("[CLS]", 101);
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    v1::Token* const token = tokens->Add();
    token->set_piece(std::string(word));
    token->set_id(1000 + tokens->size());
    const auto start = static_cast<uint32_t>(word.data() - text.data());
    const auto end = start + static_cast<uint32_t>(word.size());
    token->set_start_byte(start);
    token->set_end_byte(end);
    token->set_start_char(start);
    token->set_end_char(end);
  }
  add_special("[SEP]", 102);
}

void FakeAttention::QueueStatus(const grpc::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses_.push_back(status);
}

std::vector<v1::GetAttentionRequest> FakeAttention::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

grpc::Status FakeAttention::GetAttention(grpc::ServerContext*,
                                         const v1::GetAttentionRequest* request,
                                         grpc::ServerWriter<v1::GetAttentionResponse>* writer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.push_back(*request);
    if (!statuses_.empty()) {
      const grpc::Status status = statuses_.front();
      statuses_.pop_front();
      return status;
    }
  }
  const std::string& text = request->input().text();
  if (text == "none") {
    return MakeStatus({.code = grpc::StatusCode::FAILED_PRECONDITION,
                       .message = "this model has no attention",
                       .reason = "NO_ATTENTION"});
  }
  v1::GetAttentionResponse part;
  v1::AttentionHeader* const header = part.mutable_header();
  header->set_model_name("fake");
  header->set_model_version("v1");
  AddFakeTokens(text, header->mutable_tokens());
  if (request->input().has_text_pair()) {
    const int first = header->tokens_size();
    AddFakeTokens(request->input().text_pair(), header->mutable_tokens());
    // A pair has one start: "[CLS] a [SEP] b [SEP]".
    header->mutable_tokens()->DeleteSubrange(first, 1);
    for (int i = first; i < header->tokens_size(); ++i) header->mutable_tokens(i)->set_segment(1);
  }
  FillClassification(header->mutable_classification(), true);
  header->mutable_classification()->mutable_usage()->set_token_count(
      static_cast<uint32_t>(header->tokens_size()));
  std::vector<v1::AttentionTile> tiles = Answer(*request, header).Tiles();
  writer->Write(part);
  if (text == "short") tiles.pop_back();
  for (v1::AttentionTile& tile : tiles) {
    *part.mutable_tile() = std::move(tile);
    writer->Write(part);
  }
  return grpc::Status::OK;
}

grpc::Status FakeProbe::ProbePermutation(grpc::ServerContext*,
                                         const v1::ProbePermutationRequest* request,
                                         v1::ProbePermutationResponse* response) {
  permutation = *request;
  FillClassification(response->mutable_original(), true);
  for (uint32_t i = 0; i < request->permutation_count(); ++i) {
    FillClassification(response->add_permuted(), i % 4 != 0);
  }
  response->set_label_agreement(0.75f);
  response->set_equivariance_error(0.5f);
  response->set_model_name("fake");
  response->set_model_version("v1");
  return grpc::Status::OK;
}

grpc::Status FakeProbe::ProbeMasking(grpc::ServerContext*, const v1::ProbeMaskingRequest* request,
                                     v1::ProbeMaskingResponse* response) {
  masking = *request;
  FillClassification(response->mutable_original(), true);
  for (const float fraction : request->fractions()) {
    v1::MaskingResult* const result = response->add_results();
    result->set_fraction(fraction);
    result->set_label_agreement(1.0f - fraction);
    result->set_mean_score_of_original_label(0.75f - fraction / 2);
  }
  response->set_model_name("fake");
  response->set_model_version("v1");
  return grpc::Status::OK;
}

grpc::Status FakeProbe::GetLayerProfile(grpc::ServerContext*,
                                        const v1::GetLayerProfileRequest* request,
                                        v1::GetLayerProfileResponse* response) {
  profile = *request;
  for (uint32_t layer = 0; layer < kFakeLayers; ++layer) {
    v1::LayerProfile* const result = response->add_layers();
    result->set_layer(layer);
    for (uint32_t head = 0; head < kFakeHeads; ++head) {
      result->add_position_share(head == 0 ? 0.75f : 0.25f);
      result->add_content_share(head == 0 ? 0.125f : 0.5f);
    }
  }
  response->set_model_name("fake");
  response->set_model_version("v1");
  return grpc::Status::OK;
}

grpc::Status FakeProbe::GetPositionSimilarity(grpc::ServerContext*,
                                              const v1::GetPositionSimilarityRequest* request,
                                              v1::GetPositionSimilarityResponse* response) {
  similarity = *request;
  const uint32_t count = request->position_count();
  v1::Tensor* const tensor = response->mutable_similarity();
  tensor->set_type(v1::TENSOR_TYPE_FLOAT32);
  const bool heads = request->encoding() == "per_head";
  if (heads) tensor->add_shape(kFakeHeads);
  tensor->add_shape(count);
  tensor->add_shape(count);
  for (uint32_t head = 0; head < (heads ? kFakeHeads : 1); ++head) {
    for (uint32_t i = 0; i < count; ++i) {
      std::vector<float> row(count);
      for (uint32_t j = 0; j < count; ++j) {
        row[j] = -static_cast<float>(head + 1) *
                 std::fabs(static_cast<float>(i) - static_cast<float>(j));
      }
      AddRow(row, tensor);
    }
  }
  response->set_model_name("fake");
  response->set_model_version("v1");
  response->set_encoding(request->encoding().empty() ? "alibi" : request->encoding());
  return grpc::Status::OK;
}

}  // namespace heed::testing

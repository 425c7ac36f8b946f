#include "client/render/html.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/render/color_scale.h"
#include "client/render/dense.h"
#include "client/render/output_file.h"

namespace heed::cli {

// From client/render/html/, joined by embed.py.
extern const char kAttentionPageTemplate[];

namespace {

using nlohmann::json;

std::vector<uint32_t> ListOf(const google::protobuf::RepeatedField<uint32_t>& list) {
  return {list.begin(), list.end()};
}

absl::Status CheckPart(const AttentionData& part, v1::AttentionReduction reduction,
                       const AttentionData& weights, absl::string_view name) {
  if (absl::Status status = CheckAttention(part); !status.ok()) return status;
  const bool own_heads = reduction == v1::ATTENTION_REDUCTION_ENTROPY;
  const bool fits =
      part.reduction == reduction && part.top_k == 0 &&
      part.header.tokens_size() == weights.header.tokens_size() &&
      ListOf(part.header.query_rows()) == ListOf(weights.header.query_rows()) &&
      (own_heads
           ? part.dimension(0) == weights.dimension(0) && part.dimension(1) == weights.dimension(1)
           : part.dimension(0) == 1 && part.dimension(1) == 1 &&
                 ListOf(part.header.key_columns()) == ListOf(weights.header.key_columns()));
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ", name, " does not fit the weights"));
}

absl::Status CheckPage(const AttentionPage& page) {
  if (page.weights == nullptr) return absl::InvalidArgumentError("a page needs weights");
  const AttentionData& weights = *page.weights;
  if (weights.reduction != v1::ATTENTION_REDUCTION_UNSPECIFIED &&
      weights.reduction != v1::ATTENTION_REDUCTION_MEAN_HEADS) {
    return absl::InvalidArgumentError(
        absl::StrCat("a page shows unreduced weights or MEAN_HEADS, not ",
                     v1::AttentionReduction_Name(weights.reduction)));
  }
  if (absl::Status status = CheckAttention(weights); !status.ok()) return status;
  const size_t rows = weights.dimension(0) * weights.dimension(1) * weights.dimension(2);
  if (rows > kMaxPageWeights / DenseColumns(weights)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a page of ", rows, " x ", DenseColumns(weights), " weights is larger than ",
                     kMaxPageWeights, ": select fewer layers, heads or tokens, or use MEAN_HEADS"));
  }
  if (page.rollout != nullptr) {
    absl::Status status =
        CheckPart(*page.rollout, v1::ATTENTION_REDUCTION_ROLLOUT, weights, "rollout");
    if (!status.ok()) return status;
  }
  if (page.entropy != nullptr) {
    absl::Status status =
        CheckPart(*page.entropy, v1::ATTENTION_REDUCTION_ENTROPY, weights, "entropy");
    if (!status.ok()) return status;
  }
  const auto tokens = static_cast<size_t>(weights.header.tokens_size());
  if (!page.importance.empty() && page.importance.size() != tokens) {
    return absl::InvalidArgumentError(absl::StrCat("importance has ", page.importance.size(),
                                                   " numbers for ", tokens, " tokens"));
  }
  return absl::OkStatus();
}

void AppendFloat(float value, std::string* bytes) {
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes->push_back(static_cast<char>(bits >> shift));
}

std::string FloatBytes(const std::vector<float>& values) {
  std::string bytes;
  bytes.reserve(4 * values.size());
  for (const float value : values) AppendFloat(value, &bytes);
  return bytes;
}

// The largest of each row, then a byte a weight: data.js reads it back. Weights are never negative.
std::string RoundedBytes(const std::vector<float>& weights, size_t columns) {
  std::string largest;
  std::string codes;
  codes.reserve(weights.size());
  for (size_t row = 0; row < weights.size(); row += columns) {
    float top = 0.0f;
    for (size_t i = row; i < row + columns; ++i) {
      if (weights[i] > top) top = weights[i];
    }
    AppendFloat(top, &largest);
    for (size_t i = row; i < row + columns; ++i) {
      // What top_k left out is below every weight that was kept, and rounds to nothing here.
      const float share = top > 0.0f && weights[i] > 0.0f ? weights[i] / top : 0.0f;
      codes.push_back(static_cast<char>(std::lround(255.0f * share)));
    }
  }
  return largest + codes;
}

std::vector<float> AllWeights(const AttentionData& data) {
  if (data.top_k == 0) return data.weights;
  std::vector<float> all;
  for (size_t layer = 0; layer < data.dimension(0); ++layer) {
    for (size_t head = 0; head < data.dimension(1); ++head) {
      const std::vector<float> matrix = DenseMatrix(data, layer, head);
      all.insert(all.end(), matrix.begin(), matrix.end());
    }
  }
  return all;
}

// JSON that can stand in a <script>: without "<", no text in it can end the element.
std::string ScriptJson(const json& value) {
  return absl::StrReplaceAll(
      value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace),
      {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

json MetaOf(const AttentionPage& page, bool exact) {
  const v1::AttentionHeader& header = page.weights->header;
  json tokens = json::array();
  for (const v1::Token& token : header.tokens()) {
    tokens.push_back({{"piece", token.piece()},
                      {"start", token.start_char()},
                      {"end", token.end_char()},
                      {"segment", token.segment()},
                      {"special", token.special()}});
  }
  json labels = json::array();
  for (const v1::LabelScore& label : header.classification().labels()) {
    labels.push_back({{"label", label.label()}, {"score", label.score()}});
  }
  json texts = json::array();
  if (!page.text.empty() || !page.text_pair.empty()) texts = {page.text, page.text_pair};
  const bool mean = page.weights->reduction == v1::ATTENTION_REDUCTION_MEAN_HEADS;
  return {{"model", header.model_name()},
          {"version", header.model_version()},
          {"labels", std::move(labels)},
          {"tokens", std::move(tokens)},
          {"texts", std::move(texts)},
          {"layers", ListOf(header.layers())},
          {"heads", mean ? std::vector<uint32_t>{0} : ListOf(header.heads())},
          {"mean_heads", mean},
          {"rows", ListOf(header.query_rows())},
          {"columns", ListOf(header.key_columns())},
          {"encoding", exact ? "float32" : "uint8"},
          {"has_rollout", page.rollout != nullptr},
          {"has_entropy", page.entropy != nullptr},
          {"importance", page.importance},
          {"importance_name", page.importance_name},
          {"palette", kViridis}};
}

}  // namespace

absl::StatusOr<std::string> RenderAttentionPage(const AttentionPage& page) {
  if (absl::Status status = CheckPage(page); !status.ok()) return status;
  const std::vector<float> weights = AllWeights(*page.weights);
  const bool exact = weights.size() <= kMaxExactPageBytes / sizeof(float);
  const auto base64 = [](const std::string& bytes) { return absl::Base64Escape(bytes); };
  return absl::StrReplaceAll(
      kAttentionPageTemplate,
      {{"{{title}}", EscapeHtml(absl::StrCat("Attention of ", page.weights->header.model_name()))},
       {"{{meta}}", ScriptJson(MetaOf(page, exact))},
       {"{{weights}}",
        base64(exact ? FloatBytes(weights) : RoundedBytes(weights, DenseColumns(*page.weights)))},
       {"{{rollout}}", page.rollout == nullptr ? "" : base64(FloatBytes(page.rollout->weights))},
       {"{{entropy}}", page.entropy == nullptr ? "" : base64(FloatBytes(page.entropy->weights))}});
}

absl::Status WriteAttentionPage(const std::string& path, const AttentionPage& page) {
  const absl::StatusOr<std::string> html = RenderAttentionPage(page);
  return html.ok() ? WriteFile(path, *html) : html.status();
}

}  // namespace heed::cli

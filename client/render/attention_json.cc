#include "client/render/attention_json.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/render/attention_arrays.h"
#include "client/render/json_util.h"

namespace heed::cli {
namespace {

template <typename Number>
void AppendNumber(Number value, std::string* text) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  text->append(digits, end);
}

void AppendValue(float value, std::string* text) {
  if (!std::isfinite(value)) return absl::StrAppend(text, "null");
  AppendNumber(value, text);
}
void AppendValue(uint32_t value, std::string* text) { AppendNumber(value, text); }

// The values from `begin` on as lists in lists; returns where they end. Millions of numbers would
// take the JSON library gigabytes.
template <typename Values, typename Shape>
size_t AppendNested(const Values& values, const Shape& shape, int axis, size_t begin,
                    std::string* text) {
  if (axis == static_cast<int>(shape.size())) {
    AppendValue(values[begin], text);
    return begin + 1;
  }
  text->push_back('[');
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text->push_back(',');
    begin = AppendNested(values, shape, axis + 1, begin, text);
  }
  text->push_back(']');
  return begin;
}

// Puts `values` under `key` at the end of an object that is text already.
template <typename Values, typename Shape>
void AppendMember(const char* key, const Values& values, const Shape& shape, std::string* object) {
  object->pop_back();
  absl::StrAppend(object, ",\"", key, "\":");
  AppendNested(values, shape, 0, 0, object);
  object->push_back('}');
}

template <typename Numbers>
Json List(const Numbers& numbers) {
  Json list = Json::array();
  for (const auto number : numbers) list.push_back(number);
  return list;
}

Json FloatList(const google::protobuf::RepeatedField<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(Shortest(value));
  return list;
}

Json ResultJson(const v1::Classification& result) {
  return {{"labels", LabelsJson(result)}, {"usage", UsageJson(result.usage())}};
}

template <typename Response>
void AddModel(const Response& response, Json* json) {
  (*json)["model"] = response.model_name();
  (*json)["model_version"] = response.model_version();
}

}  // namespace

std::string AttentionJson(const v1::TextInput& input, const AttentionData& data) {
  const v1::AttentionHeader& header = data.header;
  Json json;
  json["text"] = input.text();
  if (input.has_text_pair()) json["text_pair"] = input.text_pair();
  json["labels"] = LabelsJson(header.classification());
  json["usage"] = UsageJson(header.classification().usage());
  AddModel(header, &json);
  json["reduction"] = ReductionName(data.reduction);
  json["tokens"] = Json::array();
  for (const v1::Token& token : header.tokens()) json["tokens"].push_back(TokenJson(token));
  json["layers"] = List(header.layers());
  json["heads"] = List(header.heads());
  json["query_rows"] = List(header.query_rows());
  json["key_columns"] = List(header.key_columns());
  json["shape"] = List(header.shape());
  std::string text = Dump(json);
  AppendMember("weights", data.weights, header.shape(), &text);
  if (data.top_k > 0) AppendMember("columns", data.columns, header.shape(), &text);
  return text;
}

std::string PermutationJson(const v1::ProbePermutationResponse& response) {
  Json json = {{"probe", "permute"},
               {"original", ResultJson(response.original())},
               {"label_agreement", Shortest(response.label_agreement())},
               {"equivariance_error", Shortest(response.equivariance_error())}};
  json["permuted"] = Json::array();
  for (const v1::Classification& result : response.permuted()) {
    json["permuted"].push_back(ResultJson(result));
  }
  AddModel(response, &json);
  return Dump(json);
}

std::string MaskingJson(const v1::ProbeMaskingResponse& response) {
  Json json = {{"probe", "mask"}, {"original", ResultJson(response.original())}};
  json["results"] = Json::array();
  for (const v1::MaskingResult& result : response.results()) {
    json["results"].push_back(
        {{"fraction", Shortest(result.fraction())},
         {"label_agreement", Shortest(result.label_agreement())},
         {"mean_score_of_original_label", Shortest(result.mean_score_of_original_label())}});
  }
  AddModel(response, &json);
  return Dump(json);
}

std::string LayerProfileJson(const v1::GetLayerProfileResponse& response) {
  Json json = {{"probe", "layers"}};
  json["layers"] = Json::array();
  for (const v1::LayerProfile& layer : response.layers()) {
    json["layers"].push_back({{"layer", layer.layer()},
                              {"position_share", FloatList(layer.position_share())},
                              {"content_share", FloatList(layer.content_share())}});
  }
  AddModel(response, &json);
  return Dump(json);
}

std::string SimilarityJson(const v1::GetPositionSimilarityResponse& response,
                           const std::vector<float>& values) {
  Json json = {{"probe", "similarity"}, {"encoding", response.encoding()}};
  AddModel(response, &json);
  json["shape"] = List(response.similarity().shape());
  std::string text = Dump(json);
  AppendMember("similarity", values, response.similarity().shape(), &text);
  return text;
}

std::string OverrideJson(const std::vector<OverrideRun>& runs, const std::string& model,
                         const std::string& model_version) {
  Json json = {{"probe", "override"}};
  json["runs"] = Json::array();
  for (const OverrideRun& run : runs) {
    Json item = {{"positions", run.name}};
    item.update(ResultJson(run.result));
    json["runs"].push_back(std::move(item));
  }
  json["model"] = model;
  json["model_version"] = model_version;
  return Dump(json);
}

}  // namespace heed::cli

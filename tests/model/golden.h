// Reads the reference cases in tests/golden (see its README): inputs and outputs that another
// implementation computed.
#pragma once

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/api/batch.h"
#include "model/checkpoint/json.h"
#include "model/checkpoint/safetensors.h"

namespace heed {

// One padded reference batch: B rows of L tokens.
class GoldenCase {
 public:
  GoldenCase(nlohmann::json description, std::shared_ptr<const SafetensorsFile> file)
      : description_(std::move(description)), file_(std::move(file)) {}

  std::string id() const { return description_["id"]; }
  const nlohmann::json& description() const { return description_; }
  int64_t rows() const { return description_["batch"]; }
  int64_t width() const { return description_["seq_len"]; }
  int64_t length(int64_t row) const { return description_["lengths"][row]; }
  int64_t hidden_state_count() const { return description_["hidden_states"]; }
  int64_t attention_count() const { return description_["attentions"]; }

  // The values of an output; throws when it is not there.
  template <typename T>
  std::vector<T> Values(const std::string& output) const {
    const TensorView* const tensor = file_->Find(id() + "." + output);
    if (tensor == nullptr) throw std::runtime_error("no " + output + " in case " + id());
    std::vector<T> values(tensor->data.size() / sizeof(T));
    std::memcpy(values.data(), tensor->data.data(), tensor->data.size());
    return values;
  }
  bool Has(const std::string& output) const { return file_->Find(id() + "." + output) != nullptr; }

  // The tokens [first, second) of row `row` that are not padding, on whichever side that is.
  std::pair<int64_t, int64_t> Real(int64_t row) const {
    const auto mask = Values<int64_t>("attention_mask");
    int64_t begin = 0;
    int64_t end = width();
    while (mask[row * width() + begin] == 0) ++begin;
    while (mask[row * width() + end - 1] == 0) --end;
    return {begin, end};
  }

  // Row `row` without its padding; holes of the attention mask become hidden keys.
  TokenIds Row(int64_t row) const {
    const auto ids = Values<int64_t>("input_ids");
    const auto segments = Has("token_type_ids") ? Values<int64_t>("token_type_ids")
                                                : std::vector<int64_t>(ids.size(), 0);
    const auto mask = Values<int64_t>("attention_mask");
    const auto [begin, end] = Real(row);
    TokenIds text;
    for (int64_t i = row * width() + begin; i < row * width() + end; ++i) {
      text.ids.push_back(ids[i]);
      text.segments.push_back(segments[i]);
      text.key_mask.push_back(mask[i] != 0);
    }
    if (Has("global_attention_mask")) {
      const auto global = Values<int64_t>("global_attention_mask");
      for (int64_t i = row * width() + begin; i < row * width() + end; ++i) {
        text.global_mask.push_back(global[i] != 0);
      }
    }
    // The reference's rules of length see the padded width.
    text.context_length = width();
    return text;
  }

 private:
  nlohmann::json description_;
  std::shared_ptr<const SafetensorsFile> file_;
};

// Every case of tests/golden/`name`; throws when it cannot be read.
inline std::vector<GoldenCase> ReadGoldenCases(const std::string& name) {
  const std::string folder = "tests/golden/" + name;
  const auto description = ReadJsonFile(folder + "/cases.json");
  const auto file = SafetensorsFile::Open(folder + "/cases.safetensors");
  if (!description.ok() || !file.ok()) throw std::runtime_error("cannot read " + folder);
  std::vector<GoldenCase> cases;
  for (const auto& entry : (*description)["cases"]) cases.emplace_back(entry, *file);
  return cases;
}

}  // namespace heed

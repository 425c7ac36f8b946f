#include "server/served_model.h"

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

// Words of the long warm-up text: more than the longest common limit, so that it is truncated.
constexpr int kWarmUpWords = 600;
// Models without a limit warm up on this many tokens at most, all the same.
constexpr size_t kWarmUpTokens = 512;

absl::Status RunOnce(const LoadedModel& model, const std::string& text) {
  EncodeOptions options;
  options.too_long = TooLong::kTruncate;
  absl::StatusOr<TokenizedItem> item = model.tokenizer->Encode(text, std::nullopt, options);
  if (!item.ok()) return item.status();
  TokenIds& input = item->input;
  if (input.size() > kWarmUpTokens) {
    input.ids.resize(kWarmUpTokens);
    input.segments.resize(kWarmUpTokens);
    if (!input.positions.empty()) input.positions.resize(kWarmUpTokens);
    if (!input.key_mask.empty()) input.key_mask.resize(kWarmUpTokens);
  }
  RaggedBatch batch;
  batch.Append(input);
  return model.runner->Run(batch, Wants{}).status();
}

}  // namespace

absl::StatusOr<const ServedModel*> ModelRegistry::Find(absl::string_view name,
                                                       absl::string_view version) const {
  for (const auto& model : models_) {
    if (!name.empty() && model->name != name) continue;
    const std::string& serving = model->model.info().version;
    if (version.empty() || version == serving) return model.get();
    return MakeError(
        absl::StatusCode::kNotFound, "MODEL_VERSION_NOT_FOUND",
        absl::StrCat("model \"", model->name, "\" serves version ", serving, ", not \"", version,
                     "\""),
        {{"model", model->name}, {"version", std::string(version)}, {"servingVersion", serving}},
        "model.version");
  }
  return MakeError(absl::StatusCode::kNotFound, "MODEL_NOT_FOUND",
                   absl::StrCat("no model is called \"", name, "\""),
                   {{"model", std::string(name)}}, "model.name");
}

void ModelRegistry::StopWaiting() {
  for (const auto& model : models_) model->scheduler->StopWaiting();
}

void ModelRegistry::Drain() {
  for (const auto& model : models_) model->scheduler->Drain();
}

absl::Status WarmUp(const LoadedModel& model) {
  const absl::Status status = RunOnce(model, "a short text");
  if (!status.ok()) return status;
  std::string longest;
  for (int i = 0; i < kWarmUpWords; ++i) absl::StrAppend(&longest, "word ");
  return RunOnce(model, longest);
}

}  // namespace heed

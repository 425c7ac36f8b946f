// heed-bench-precision: how far bfloat16 is from float32 on texts that no head was trained on.
// Prints the largest and the mean difference of logits and the share of texts with the same label;
// exits with 1 when they are beyond the bounds that the README states.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "model/engine.h"
#include "model/train/snippets.h"

namespace heed {
namespace {

constexpr double kLargestDifference = 3e-2;
constexpr double kSameLabel = 0.995;
constexpr size_t kTextsPerBatch = 32;

struct Settings {
  std::string model;
  std::string data;
  double min_abs_rating = 0.5;
};

// The logits of every text, row-major.
absl::StatusOr<std::vector<float>> Logits(const Settings& settings, const std::string& precision,
                                          const std::vector<std::string>& texts) {
  LoadOptions load;
  load.precision = precision;
  const auto model = LoadModel(settings.model, load);
  if (!model.ok()) return model.status();
  std::vector<float> logits;
  for (size_t begin = 0; begin < texts.size(); begin += kTextsPerBatch) {
    RaggedBatch batch;
    for (size_t i = begin; i < std::min(begin + kTextsPerBatch, texts.size()); ++i) {
      EncodeOptions options;
      options.too_long = TooLong::kTruncate;
      const auto item = model->tokenizer->Encode(texts[i], std::nullopt, options);
      if (!item.ok()) return item.status();
      batch.Append(item->input);
    }
    const auto output = model->runner->Run(batch, {});
    if (!output.ok()) return output.status();
    logits.insert(logits.end(), output->logits.begin(), output->logits.end());
  }
  return logits;
}

struct Comparison {
  double largest = 0;
  double mean = 0;
  double same_label = 0;
};

Comparison Compare(const std::vector<float>& a, const std::vector<float>& b, size_t labels) {
  Comparison result;
  size_t same = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    // Written so that a NaN counts as a difference.
    if (!(difference <= result.largest)) result.largest = difference;
    result.mean += difference / static_cast<double>(a.size());
  }
  const auto label = [&](const std::vector<float>& logits, size_t text) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(text * labels);
    return std::max_element(first, first + static_cast<std::ptrdiff_t>(labels)) - first;
  };
  const size_t texts = a.size() / labels;
  for (size_t i = 0; i < texts; ++i) same += label(a, i) == label(b, i) ? 1 : 0;
  result.same_label = static_cast<double>(same) / static_cast<double>(texts);
  return result;
}

absl::StatusOr<bool> Measure(const Settings& settings) {
  const auto snippets = ReadSnippets(settings.data, settings.min_abs_rating);
  if (!snippets.ok()) return snippets.status();
  std::vector<std::string> texts;
  for (const Snippet& snippet : *snippets) {
    if (snippet.split == Split::kTest) texts.push_back(snippet.text);
  }
  if (texts.empty()) return absl::InvalidArgumentError("no held-out snippets in the file");
  const auto fp32 = Logits(settings, "fp32", texts);
  if (!fp32.ok()) return fp32.status();
  const auto bf16 = Logits(settings, "bf16", texts);
  if (!bf16.ok()) return bf16.status();
  const Comparison result = Compare(*fp32, *bf16, fp32->size() / texts.size());
  std::printf("held-out snippets      %zu\n", texts.size());
  std::printf("largest |logit diff|   %.2e (bound %.0e)\n", result.largest, kLargestDifference);
  std::printf("mean |logit diff|      %.2e\n", result.mean);
  std::printf("same label             %.2f %% (bound %.1f %%)\n", 100 * result.same_label,
              100 * kSameLabel);
  return result.largest <= kLargestDifference && result.same_label >= kSameLabel;
}

int Main(int argc, char** argv) {
  CLI::App app{"Compares a model's logits in bfloat16 with those in float32 on held-out snippets."};
  Settings settings;
  app.add_option("--model", settings.model, "Model folder")->required();
  app.add_option("--data", settings.data, "Snippets: lines of id, mean rating and text, by tabs")
      ->required();
  app.add_option("--min-abs-rating", settings.min_abs_rating,
                 "Leave out snippets whose mean rating is closer to 0 than this")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto within = Measure(settings);
  if (!within.ok()) {
    std::cerr << "heed-bench-precision: " << within.status().message() << "\n";
    return 2;
  }
  return *within ? 0 : 1;
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) { return heed::Main(argc, argv); }

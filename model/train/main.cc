// heed-train: makes the models that the server serves.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/checkpoint/json.h"
#include "model/checkpoint/safetensors_writer.h"
#include "model/train/features.h"
#include "model/train/head_trainer.h"
#include "model/train/snippets.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct HeadCommand {
  std::string encoder;
  std::string data;
  std::string out;
  double min_abs_rating = 0.5;
  int threads = 0;
  // Tried on the training part, judged on the validation part.
  std::vector<double> l2 = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1};
};

// The texts of one split as vectors and labels.
struct Part {
  at::Tensor features;
  at::Tensor labels;
};

absl::StatusOr<std::vector<Part>> MakeParts(const HeadCommand& command,
                                            const std::vector<Snippet>& snippets) {
  const auto encoder = OpenPretrained(command.encoder, {ConfigPurpose::kEncoder});
  if (!encoder.ok()) return encoder.status();
  std::vector<std::string> texts;
  for (const Snippet& snippet : snippets) texts.push_back(snippet.text);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto features = SentenceVectors(*encoder, texts, [&](size_t done) {
    if (terminal) std::fprintf(stderr, "\rsentence vectors: %zu of %zu", done, texts.size());
  });
  if (terminal) std::fprintf(stderr, "\n");
  if (!features.ok()) return features.status();

  std::vector<Part> parts;
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    std::vector<int64_t> rows;
    std::vector<int64_t> labels;
    for (size_t i = 0; i < snippets.size(); ++i) {
      if (snippets[i].split != split) continue;
      rows.push_back(static_cast<int64_t>(i));
      labels.push_back(snippets[i].label());
    }
    if (rows.empty()) return absl::InvalidArgumentError("a part of the split has no snippet");
    parts.push_back({features->index_select(0, at::tensor(rows)), at::tensor(labels)});
  }
  return parts;
}

// {"count", "accuracy", "low", "high", "positive_share"} of a head on a part.
json Evaluate(const LogisticHead& head, const Part& part) {
  const double accuracy = Accuracy(head, part.features, part.labels);
  const Interval interval = WilsonInterval(accuracy, part.labels.size(0));
  return {{"count", part.labels.size(0)},
          {"accuracy", accuracy},
          {"accuracy_interval_95", {interval.low, interval.high}},
          {"positive_share", part.labels.to(at::kDouble).mean().item<double>()}};
}

TensorView ViewOf(const at::Tensor& tensor) {
  return {
      DType::kF32, tensor.sizes().vec(),
      absl::MakeConstSpan(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes())};
}

absl::Status WriteText(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.flush();
  if (!file) return absl::UnknownError(absl::StrCat("cannot write ", path.string()));
  return absl::OkStatus();
}

absl::Status WriteModel(const HeadCommand& command, const LogisticHead& head, const json& report) {
  absl::StatusOr<json> config = ReadJsonFile((fs::path(command.encoder) / "config.json").string());
  if (!config.ok()) return config.status();
  config->erase("_name_or_path");
  (*config)["architectures"] = {"HeedSentenceClassifier"};
  (*config)["classifier_pooling"] = "mean";
  (*config)["head_file"] = "head.safetensors";
  (*config)["problem_type"] = "single_label_classification";
  (*config)["id2label"] = {{"0", "negative"}, {"1", "positive"}};
  (*config)["label2id"] = {{"negative", 0}, {"positive", 1}};
  const fs::path out(command.out);
  std::error_code ignored;
  fs::create_directories(out, ignored);
  if (auto status = WriteText(out / "config.json", config->dump(2) + "\n"); !status.ok()) {
    return status;
  }
  if (auto status = WriteText(out / "training.json", report.dump(2) + "\n"); !status.ok()) {
    return status;
  }
  return WriteSafetensors(
      (out / "head.safetensors").string(),
      {{"classifier.weight", ViewOf(head.weight)}, {"classifier.bias", ViewOf(head.bias)}},
      {{"format", "pt"}});
}

absl::Status TrainHead(const HeadCommand& command) {
  if (command.threads > 0) at::set_num_threads(command.threads);
  const auto snippets = ReadSnippets(command.data, command.min_abs_rating);
  if (!snippets.ok()) return snippets.status();
  const auto parts = MakeParts(command, *snippets);
  if (!parts.ok()) return parts.status();
  const Part& train = (*parts)[0];
  const Part& validation = (*parts)[1];
  const Part& test = (*parts)[2];

  LogisticHead best;
  double best_accuracy = -1;
  double best_l2 = 0;
  for (const double l2 : command.l2) {
    HeadTrainOptions options;
    options.l2 = l2;
    const LogisticHead head = TrainLogisticHead(train.features, train.labels, options);
    const double accuracy = Accuracy(head, validation.features, validation.labels);
    std::cout << absl::StrFormat("l2 %-8g train %.4f  validation %.4f\n", l2,
                                 Accuracy(head, train.features, train.labels), accuracy);
    if (accuracy >= best_accuracy) {  // of equals, the more regularised
      best = head;
      best_accuracy = accuracy;
      best_l2 = l2;
    }
  }
  const json report = {{"data_set", fs::path(command.data).stem().string()},
                       {"min_abs_rating", command.min_abs_rating},
                       {"l2", best_l2},
                       {"train", Evaluate(best, train)},
                       {"validation", Evaluate(best, validation)},
                       {"test", Evaluate(best, test)}};
  std::cout << report.dump(2) << "\n";
  return WriteModel(command, best, report);
}

int Main(int argc, char** argv) {
  CLI::App app{"Trains models for heed-server."};
  app.require_subcommand(1);
  HeadCommand command;
  CLI::App* const head = app.add_subcommand(
      "head", "Train a negative/positive head on the sentence vectors of a frozen encoder");
  head->add_option("--encoder", command.encoder, "Hugging Face folder of the encoder")->required();
  head->add_option("--data", command.data, "Snippets: lines of id, mean rating and text, by tabs")
      ->required();
  head->add_option("--out", command.out, "Folder for config.json, head.safetensors, training.json")
      ->required();
  head->add_option("--min-abs-rating", command.min_abs_rating,
                   "Leave out snippets whose mean rating is closer to 0 than this")
      ->capture_default_str();
  head->add_option("--l2", command.l2, "Penalties to try")->capture_default_str();
  head->add_option("--threads", command.threads, "Compute threads (0: LibTorch's choice)")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const absl::Status status = TrainHead(command);
  if (!status.ok()) {
    std::cerr << "heed-train: " << status.message() << "\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  try {
    return heed::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "heed-train: " << error.what() << "\n";
    return 1;
  }
}

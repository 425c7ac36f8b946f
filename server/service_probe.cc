// ProbeService: how much a prediction depends on order, on single tokens and on positions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heed/v1/probe.pb.h"
#include "server/attention_plan.h"
#include "server/convert.h"
#include "server/probe_task.h"
#include "server/probe_texts.h"
#include "server/service_handlers.h"
#include "server/tensor_encoding.h"

namespace heed {
namespace {

constexpr uint32_t kMaxRepeats = 1024;
constexpr int kMaxFractions = 64;
// A reply below gRPC's default limit of 4 MiB.
constexpr uint64_t kMaxSimilarityBytes = (uint64_t{4} << 20) - 4096;

absl::Status NeedTextLabels(const ModelInfo& info) {
  if (!info.labels_tokens()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition, "TASK_NOT_SUPPORTED",
                   "this model labels tokens, and the probe compares the labels of whole texts",
                   {{"task", info.task}});
}

size_t BestLabel(const ItemResult& item) {
  return static_cast<size_t>(std::max_element(item.scores.begin(), item.scores.end()) -
                             item.scores.begin());
}

void FillResult(const ModelInfo& info, const ItemResult& item, v1::Classification& result) {
  FillClassification(info, item, 0, true, result);
  *result.mutable_timing()->mutable_queue() = ToProto(item.queue);
  *result.mutable_timing()->mutable_compute() = ToProto(item.compute);
}

// Runs `start` with the tokens of the request's input.
template <typename Task>
void WithTokens(const std::shared_ptr<Task>& task, void (*start)(const std::shared_ptr<Task>&)) {
  const v1::TextInput& input = task->request.input();
  absl::Status status = NeedTextLabels(task->info());
  if (status.ok() && !task->request.has_input()) {
    status = InvalidProbe("EMPTY_INPUTS", "input is missing; give a text", "input");
  }
  if (status.ok()) {
    status = InField(CheckInput(input, task->context.limits, task->info()), "input");
  }
  if (!status.ok()) return task->call->Fail(status);
  RunByLength(task->context, TextBytes(input), task->call, [task, start] {
    const absl::Status encoded = InField(task->Tokenize(task->request.input()), "input");
    if (!encoded.ok()) return task->call->Fail(encoded);
    start(task);
  });
}

// Permutation.

struct PermutationTask : ProbeTask<v1::ProbePermutationRequest, v1::ProbePermutationResponse> {
  std::optional<ProbeRandom> random;
  std::vector<std::vector<int64_t>> orders;  // of the texts made so far; the first is the original
  std::vector<float> states;                 // of the original
  size_t label = 0;
  size_t agreeing = 0;
  float error = 0;
};

absl::Status TakePermutation(PermutationTask& task, size_t i, ItemResult& item) {
  if (i == 0) {
    FillResult(task.info(), item, *task.response.mutable_original());
    *task.response.mutable_original()->mutable_usage() = ToUsage(task.input.item);
    task.label = BestLabel(item);
    task.states = std::move(item.last_hidden_state);
    return absl::OkStatus();
  }
  FillResult(task.info(), item, *task.response.add_permuted());
  if (BestLabel(item) == task.label) ++task.agreeing;
  const std::vector<int64_t>& order = task.orders[i];
  const size_t width = task.states.size() / order.size();
  for (size_t t = 0; t < order.size() && width > 0; ++t) {
    const float* const here = &item.last_hidden_state[t * width];
    const float* const there = &task.states[static_cast<size_t>(order[t]) * width];
    for (size_t d = 0; d < width; ++d) {
      task.error = std::max(task.error, std::abs(here[d] - there[d]));
    }
  }
  return absl::OkStatus();
}

void StartPermutation(const std::shared_ptr<PermutationTask>& task) {
  const uint32_t count = task->request.permutation_count();
  task->random.emplace(task->request.seed());
  ProbeWaves waves = task->Waves("input");
  waves.count = size_t{1} + count;
  waves.wants.last_hidden_state = task->info().has_attention;
  waves.make = [task](size_t i) {
    std::vector<int64_t> order(task->tokens().size());
    for (size_t t = 0; t < order.size(); ++t) order[t] = static_cast<int64_t>(t);
    if (i > 0) order = RandomOrder(task->tokens(), *task->random);
    task->orders.push_back(order);
    return Reordered(task->input.item.input, order);
  };
  waves.take = [task](size_t i, ItemResult& item) { return TakePermutation(*task, i, item); };
  waves.done = [task, count](const absl::Status& status) {
    task->response.set_label_agreement(static_cast<float>(task->agreeing) /
                                       static_cast<float>(count));
    task->response.set_equivariance_error(
        task->info().has_attention ? task->error : std::numeric_limits<float>::quiet_NaN());
    task->Answer(status);
  };
  RunWaves(std::move(waves));
}

void ProbePermutation(const std::shared_ptr<PermutationTask>& task) {
  absl::Status status = task->Open();
  if (status.ok()) {
    status = CheckCount("permutation_count", task->request.permutation_count(), 1, kMaxRepeats);
  }
  if (!status.ok()) return task->call->Fail(status);
  WithTokens(task, StartPermutation);
}

// Masking.

struct MaskingTask : ProbeTask<v1::ProbeMaskingRequest, v1::ProbeMaskingResponse> {
  std::optional<ProbeRandom> random;
  std::optional<int64_t> mask;
  size_t label = 0;
};

void StartMasking(const std::shared_ptr<MaskingTask>& task) {
  const v1::ProbeMaskingRequest& request = task->request;
  if (!request.drop()) {
    task->mask = FindMaskToken(*task->model->model.tokenizer);
    if (!task->mask.has_value()) {
      return task->call->Fail(MakeError(
          absl::StatusCode::kFailedPrecondition, "NO_MASK_TOKEN",
          "the tokenizer has no mask token; set drop to leave tokens out instead", {}, "drop"));
    }
  }
  task->random.emplace(request.seed());
  const uint32_t repeats = request.repeat_count();
  for (const float fraction : request.fractions()) {
    task->response.add_results()->set_fraction(fraction);
  }
  ProbeWaves waves = task->Waves("input");
  waves.count = size_t{1} + static_cast<size_t>(request.fractions_size()) * repeats;
  waves.make = [task, repeats](size_t i) {
    if (i == 0) return task->input.item.input;
    const float fraction = task->request.fractions(static_cast<int>((i - 1) / repeats));
    return Masked(task->input.item.input, task->tokens(), fraction, task->mask, *task->random);
  };
  waves.take = [task, repeats](size_t i, ItemResult& item) {
    if (i == 0) {
      FillResult(task->info(), item, *task->response.mutable_original());
      *task->response.mutable_original()->mutable_usage() = ToUsage(task->input.item);
      task->label = BestLabel(item);
      return absl::OkStatus();
    }
    v1::MaskingResult& result =
        *task->response.mutable_results(static_cast<int>((i - 1) / repeats));
    const float share = 1.0F / static_cast<float>(repeats);
    if (BestLabel(item) == task->label) {
      result.set_label_agreement(result.label_agreement() + share);
    }
    result.set_mean_score_of_original_label(result.mean_score_of_original_label() +
                                            share * item.scores[task->label]);
    return absl::OkStatus();
  };
  waves.done = [task](const absl::Status& status) {
    for (v1::MaskingResult& result : *task->response.mutable_results()) {
      result.set_label_agreement(std::min(1.0F, result.label_agreement()));
    }
    task->Answer(status);
  };
  RunWaves(std::move(waves));
}

absl::Status CheckFractions(const v1::ProbeMaskingRequest& request) {
  if (request.fractions_size() < 1 || request.fractions_size() > kMaxFractions) {
    return InvalidProbe("OUT_OF_RANGE",
                        absl::StrCat("there are ", request.fractions_size(),
                                     " fractions, not 1 to ", kMaxFractions),
                        "fractions",
                        {{"count", absl::StrCat(request.fractions_size())},
                         {"maximum", absl::StrCat(kMaxFractions)}});
  }
  for (int i = 0; i < request.fractions_size(); ++i) {
    const float fraction = request.fractions(i);
    if (fraction > 0 && fraction < 1) continue;
    return InvalidProbe("OUT_OF_RANGE",
                        absl::StrCat(fraction, " is not between 0 and 1, both excluded"),
                        absl::StrCat("fractions[", i, "]"), {{"value", absl::StrCat(fraction)}});
  }
  return CheckCount("repeat_count", request.repeat_count(), 1, kMaxRepeats);
}

void ProbeMasking(const std::shared_ptr<MaskingTask>& task) {
  absl::Status status = task->Open();
  if (status.ok()) status = CheckFractions(task->request);
  if (!status.ok()) return task->call->Fail(status);
  WithTokens(task, StartMasking);
}

// Position similarity.

using SimilarityTask =
    ProbeTask<v1::GetPositionSimilarityRequest, v1::GetPositionSimilarityResponse>;

absl::Status CheckSimilarityBytes(int64_t matrices, int64_t positions) {
  const uint64_t bytes = static_cast<uint64_t>(matrices) * static_cast<uint64_t>(positions) *
                         static_cast<uint64_t>(positions) * sizeof(float);
  if (bytes <= kMaxSimilarityBytes) return absl::OkStatus();
  const auto limit = static_cast<int64_t>(std::sqrt(
      static_cast<double>(kMaxSimilarityBytes / sizeof(float)) / static_cast<double>(matrices)));
  return InvalidProbe("OUT_OF_RANGE",
                      absl::StrCat("position_count ", positions, " is not in 1 to ", limit,
                                   ", the most that a reply holds"),
                      "position_count",
                      {{"value", absl::StrCat(positions)}, {"maximum", absl::StrCat(limit)}});
}

void AnswerSimilarity(SimilarityTask& task, int64_t layer) {
  const v1::GetPositionSimilarityRequest& request = task.request;
  const auto similarity = task.model->model.runner->SimilarityOfPositions(
      request.position_count(), layer, request.encoding());
  if (!similarity.ok()) {
    const absl::Status& status = similarity.status();
    const bool named = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
    return task.call->Fail(named ? InField(status, "encoding") : status);
  }
  const absl::Status size =
      CheckSimilarityBytes(similarity->matrix_count, similarity->position_count);
  if (!size.ok()) return task.call->Fail(size);
  const std::vector<float> values(similarity->values.begin(), similarity->values.end());
  v1::Tensor& tensor = *task.response.mutable_similarity();
  tensor.set_type(v1::TENSOR_TYPE_FLOAT32);
  AppendRow(values, tensor);
  if (similarity->matrix_count > 1) tensor.add_shape(similarity->matrix_count);
  tensor.add_shape(similarity->position_count);
  tensor.add_shape(similarity->position_count);
  task.response.set_encoding(similarity->encoding);
  task.Answer(absl::OkStatus());
}

void GetPositionSimilarity(const std::shared_ptr<SimilarityTask>& task) {
  absl::Status status = task->Open();
  if (status.ok()) status = RequireAttention(task->info());
  const v1::GetPositionSimilarityRequest& request = task->request;
  if (status.ok()) {
    const uint32_t most = task->info().position_limit > 0
                              ? static_cast<uint32_t>(task->info().position_limit)
                              : std::numeric_limits<uint32_t>::max();
    status = CheckCount("position_count", request.position_count(), 1, most);
  }
  if (status.ok()) status = CheckSimilarityBytes(1, request.position_count());
  const auto layers = status.ok() ? task->info().layer_count : 0;
  if (status.ok() && (request.layer() < -layers || request.layer() >= layers)) {
    status = InvalidProbe(
        "OUT_OF_RANGE",
        absl::StrCat("layer ", request.layer(), " is not in ", -layers, " to ", layers - 1),
        "layer",
        {{"value", absl::StrCat(request.layer())},
         {"minimum", absl::StrCat(-layers)},
         {"maximum", absl::StrCat(layers - 1)}});
  }
  if (!status.ok()) return task->call->Fail(status);
  const int64_t layer = request.layer() < 0 ? request.layer() + layers : request.layer();
  task->context.pool->Submit([task, layer] { AnswerSimilarity(*task, layer); });
}

}  // namespace

void AddProbeHandlers(const ServiceContext& context, HandlerMap& handlers) {
  const std::string service = "/heed.v1.ProbeService/";
  handlers[service + "ProbePermutation"] = MakeHandler(context, ProbePermutation);
  handlers[service + "ProbeMasking"] = MakeHandler(context, ProbeMasking);
  handlers[service + "GetPositionSimilarity"] = MakeHandler(context, GetPositionSimilarity);
}

}  // namespace heed

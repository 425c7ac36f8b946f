// ClassificationService: a request goes through Classify (decode, check), Submit (tokenize, queue)
// and Answer (encode).
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "heed/v1/classification.pb.h"
#include "model/api/error.h"
#include "server/attention_plan.h"
#include "server/convert.h"
#include "server/position_override.h"
#include "server/service_decode.h"
#include "server/service_handlers.h"
#include "server/service_requests.h"

namespace heed {
namespace {

// Larger replies are built on the pool, so that the thread that computes goes on computing.
constexpr size_t kInlineResults = 64;
// The same where each token has a result.
constexpr size_t kInlineTokens = 4096;
// Most bytes of token logits of one request, asked for or not: they wait for its last text beside
// as many scores, a reply with them lies in memory a few times over, and protobuf ends at 2 GiB.
constexpr size_t kMaxTokenLogitsBytes = size_t{256} << 20;

struct ClassifyTask {
  ServiceContext context;
  std::shared_ptr<Call> call;
  v1::ClassifyRequest request;
  const ServedModel* model = nullptr;
  EncodeOptions options;
  EntityAggregation aggregation = EntityAggregation::kSimple;
  std::optional<Importance> importance;
  std::vector<EncodedInput> inputs;
  JobResult result;
};
using TaskPtr = std::shared_ptr<ClassifyTask>;

absl::Status UnknownEnumValue(const std::string& field, int number) {
  const std::string value = absl::StrCat(number);
  return MakeError(absl::StatusCode::kInvalidArgument, "UNKNOWN_ENUM_VALUE",
                   absl::StrCat(field, " has no value ", value), {{"value", value}}, field);
}

absl::StatusOr<std::optional<Importance>> ReadImportance(v1::Importance importance) {
  switch (importance) {
    case v1::IMPORTANCE_UNSPECIFIED:
      return std::nullopt;
    case v1::IMPORTANCE_ROLLOUT_CLS:
      return Importance::kRolloutCls;
    case v1::IMPORTANCE_MEAN_LAST_LAYER_CLS:
      return Importance::kMeanLastLayerCls;
    default:
      return UnknownEnumValue("importance", importance);
  }
}

absl::StatusOr<EntityAggregation> ReadEntityAggregation(v1::EntityAggregation aggregation) {
  switch (aggregation) {
    case v1::ENTITY_AGGREGATION_UNSPECIFIED:
    case v1::ENTITY_AGGREGATION_SIMPLE:
      return EntityAggregation::kSimple;
    case v1::ENTITY_AGGREGATION_NONE:
      return EntityAggregation::kNone;
    case v1::ENTITY_AGGREGATION_FIRST:
      return EntityAggregation::kFirst;
    default:
      return UnknownEnumValue("entity_aggregation", aggregation);
  }
}

// What makes no sense for the kind of model that was asked.
absl::Status CheckTask(const v1::ClassifyRequest& request, const ModelInfo& info) {
  const auto refuse = [&](absl::string_view reason, absl::string_view message,
                          const std::string& field, const std::string& value) {
    return MakeError(absl::StatusCode::kInvalidArgument, reason, message,
                     {{"task", info.task}, {"value", value}}, field);
  };
  if (info.labels_tokens()) {
    if (request.top_k() == 0) return absl::OkStatus();
    return refuse(
        "TOP_K_NOT_SUPPORTED",
        "this model labels tokens, so there are no best labels of a text; leave top_k at 0",
        "top_k", absl::StrCat(request.top_k()));
  }
  if (request.entity_aggregation() == v1::ENTITY_AGGREGATION_UNSPECIFIED) return absl::OkStatus();
  return refuse("ENTITIES_NOT_SUPPORTED", "this model labels whole texts and finds no entities",
                "entity_aggregation", v1::EntityAggregation_Name(request.entity_aggregation()));
}

size_t TotalTokens(const std::vector<EncodedInput>& inputs) {
  size_t tokens = 0;
  for (const EncodedInput& input : inputs) tokens += input.item.input.size();
  return tokens;
}

absl::Status CheckResultSize(const ClassifyTask& task) {
  const ModelInfo& info = task.model->model.info();
  if (!info.labels_tokens()) return absl::OkStatus();
  const size_t bytes = TotalTokens(task.inputs) * info.labels.size() * sizeof(float);
  if (bytes <= kMaxTokenLogitsBytes) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument, "TOKEN_RESULTS_TOO_LARGE",
      absl::StrCat("the logits of all tokens take ", bytes, " bytes, the limit is ",
                   kMaxTokenLogitsBytes, "; ask for fewer texts at once"),
      {{"byteCount", absl::StrCat(bytes)}, {"limit", absl::StrCat(kMaxTokenLogitsBytes)}},
      "inputs");
}

absl::Status OverridePositions(ClassifyTask& task) {
  const ModelInfo& info = task.model->model.info();
  for (EncodedInput& input : task.inputs) {
    const absl::Status status =
        ApplyPositionOverride(task.request.position_override(), info, input.item.input);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Decodes and checks; no work on the texts yet.
absl::Status Prepare(ClassifyTask& task) {
  absl::Status status = Decode(task.call->request, task.request);
  if (!status.ok()) return status;
  const absl::StatusOr<std::optional<Importance>> importance =
      ReadImportance(task.request.importance());
  if (!importance.ok()) return importance.status();
  task.importance = *importance;
  const absl::StatusOr<TooLong> policy = ReadLongTextPolicy(task.request.long_text_policy());
  if (!policy.ok()) return policy.status();
  task.options.too_long = *policy;
  const absl::StatusOr<EntityAggregation> aggregation =
      ReadEntityAggregation(task.request.entity_aggregation());
  if (!aggregation.ok()) return aggregation.status();
  task.aggregation = *aggregation;
  const v1::ModelSelector& selector = task.request.model();
  const auto model = task.context.models->Find(selector.name(), selector.version());
  if (!model.ok()) return model.status();
  task.model = *model;
  const ModelInfo& info = task.model->model.info();
  task.options.with_tokens = info.labels_tokens() || task.importance.has_value();
  status = CheckTask(task.request, info);
  if (!status.ok()) return status;
  if (task.importance) status = RequireAttention(info, "importance");
  if (!status.ok()) return status;
  status = CheckInputs(task.request.inputs(), task.context.limits, info);
  if (!status.ok()) return status;
  return CheckPositionOverride(task.request.position_override(),
                               static_cast<size_t>(task.request.inputs_size()), info);
}

v1::ClassifyResponse BuildResponse(ClassifyTask& task) {
  const absl::Time start = task.context.clock->Now();
  const ModelInfo& info = task.model->model.info();
  v1::ClassifyResponse response;
  response.set_model_name(task.model->name);
  response.set_model_version(info.version);
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const ItemResult& item = task.result.items[i];
    v1::Classification& result = *response.add_results();
    const bool logits = task.request.return_logits();
    if (info.labels_tokens()) {
      FillTokenClassification(info, task.inputs[i].item.tokens, item, task.aggregation, logits,
                              result);
    } else {
      FillClassification(info, item, task.request.top_k(), logits, result);
    }
    if (task.importance) FillImportance(task.inputs[i].item.tokens, item, result);
    *result.mutable_usage() = ToUsage(task.inputs[i].item);
    v1::Timing& timing = *result.mutable_timing();
    *timing.mutable_tokenize() = ToProto(task.inputs[i].tokenize);
    *timing.mutable_queue() = ToProto(item.queue);
    *timing.mutable_compute() = ToProto(item.compute);
  }
  // The time to build the reply; writing it as bytes comes after and cannot be part of it.
  const google::protobuf::Duration serialize = ToProto(task.context.clock->Now() - start);
  for (v1::Classification& result : *response.mutable_results()) {
    *result.mutable_timing()->mutable_serialize() = serialize;
  }
  return response;
}

void Answer(ClassifyTask& task) {
  const JobResult& result = task.result;
  if (result.status.ok()) {
    return task.call->finish(absl::OkStatus(), Encode(BuildResponse(task)));
  }
  task.call->Fail(result.failed_item
                      ? InField(result.status, absl::StrCat("inputs[", *result.failed_item, "]"))
                      : result.status);
}

// Whether the reply is short work for the thread that computes.
bool AnswersInline(const ClassifyTask& task) {
  return task.inputs.size() <= kInlineResults &&
         (!task.options.with_tokens || TotalTokens(task.inputs) <= kInlineTokens);
}

void Submit(const TaskPtr& task) {
  absl::StatusOr<std::vector<EncodedInput>> inputs =
      EncodeInputs(task->context, *task->call, *task->model->model.tokenizer,
                   task->request.inputs(), task->options);
  if (!inputs.ok()) return task->call->Fail(inputs.status());
  task->inputs = *std::move(inputs);
  if (const absl::Status size = CheckResultSize(*task); !size.ok()) return task->call->Fail(size);
  const absl::Status positions = OverridePositions(*task);
  if (!positions.ok()) return task->call->Fail(positions);
  Job job;
  job.deadline = task->call->deadline;
  job.cancel = task->call->cancel;
  // The scheduler needs the ids, the reply needs their count: both keep a copy, as small as
  // the tokens of one request.
  for (const EncodedInput& input : task->inputs) job.texts.push_back(input.item.input);
  if (task->importance) {
    TextWants wants;
    wants.importance = task->importance;
    job.wants.assign(job.texts.size(), wants);
  }
  job.done = [task](JobResult result) {
    task->result = std::move(result);
    if (AnswersInline(*task)) return Answer(*task);
    task->context.pool->Submit([task] { Answer(*task); });
  };
  const absl::Status status = task->model->scheduler->Submit(std::move(job));
  if (!status.ok()) task->call->Fail(status);
}

void Classify(const ServiceContext& context, std::shared_ptr<Call> call) {
  auto task = std::make_shared<ClassifyTask>();
  task->context = context;
  task->call = std::move(call);
  const absl::Status status = Prepare(*task);
  if (!status.ok()) return task->call->Fail(status);
  RunByLength(context, task->request.inputs(), task->call, [task] { Submit(task); });
}

}  // namespace

void AddClassificationHandlers(const ServiceContext& context, HandlerMap& handlers) {
  handlers["/heed.v1.ClassificationService/Classify"] = [context](std::shared_ptr<Call> call) {
    Classify(context, std::move(call));
  };
}

}  // namespace heed

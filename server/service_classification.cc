// ClassificationService: a request goes through Classify (decode, check), Submit (tokenize, queue)
// and Answer (encode).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "heed/v1/classification.pb.h"
#include "model/api/error.h"
#include "server/convert.h"
#include "server/service_decode.h"
#include "server/service_handlers.h"
#include "server/service_requests.h"

namespace heed {
namespace {

// Larger replies are built on the pool, so that the thread that computes goes on computing.
constexpr size_t kInlineResults = 64;

struct ClassifyTask {
  ServiceContext context;
  std::shared_ptr<Call> call;
  v1::ClassifyRequest request;
  const ServedModel* model = nullptr;
  EncodeOptions options;
  std::vector<EncodedInput> inputs;
  JobResult result;
};
using TaskPtr = std::shared_ptr<ClassifyTask>;

absl::Status CheckFeatures(const v1::ClassifyRequest& request) {
  if (!v1::Importance_IsValid(request.importance())) {
    const std::string value = absl::StrCat(static_cast<int>(request.importance()));
    return MakeError(absl::StatusCode::kInvalidArgument, "UNKNOWN_ENUM_VALUE",
                     absl::StrCat("importance has no value ", value), {{"value", value}},
                     "importance");
  }
  if (request.importance() != v1::IMPORTANCE_UNSPECIFIED) {
    return FeatureNotAvailable("importance", v1::Importance_Name(request.importance()));
  }
  if (request.has_position_override()) {
    return FeatureNotAvailable("position_override", request.position_override().ShortDebugString());
  }
  return absl::OkStatus();
}

// Decodes and checks; no work on the texts yet.
absl::Status Prepare(ClassifyTask& task) {
  absl::Status status = Decode(task.call->request, task.request);
  if (!status.ok()) return status;
  status = CheckFeatures(task.request);
  if (!status.ok()) return status;
  const absl::StatusOr<TooLong> policy = ReadLongTextPolicy(task.request.long_text_policy());
  if (!policy.ok()) return policy.status();
  task.options.too_long = *policy;
  const v1::ModelSelector& selector = task.request.model();
  const auto model = task.context.models->Find(selector.name(), selector.version());
  if (!model.ok()) return model.status();
  task.model = *model;
  return CheckInputs(task.request.inputs(), task.context.limits, task.model->model.info());
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
    FillClassification(info, item, task.request.top_k(), task.request.return_logits(), result);
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

void Submit(const TaskPtr& task) {
  absl::StatusOr<std::vector<EncodedInput>> inputs =
      EncodeInputs(task->context, *task->call, *task->model->model.tokenizer,
                   task->request.inputs(), task->options);
  if (!inputs.ok()) return task->call->Fail(inputs.status());
  task->inputs = *std::move(inputs);
  Job job;
  job.deadline = task->call->deadline;
  job.cancel = task->call->cancel;
  // The scheduler needs the ids, the reply needs their count: both keep a copy, as small as
  // the tokens of one request.
  for (const EncodedInput& input : task->inputs) job.texts.push_back(input.item.input);
  job.done = [task](JobResult result) {
    task->result = std::move(result);
    if (task->inputs.size() <= kInlineResults) return Answer(*task);
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

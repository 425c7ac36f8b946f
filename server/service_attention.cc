// AttentionService: a request goes through GetAttention (decode, check), Submit (tokenize, plan,
// reserve, queue) and Stream (header, then tiles as the reader takes them).
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "heed/v1/attention.pb.h"
#include "model/api/error.h"
#include "server/attention_plan.h"
#include "server/attention_tiles.h"
#include "server/byte_budget.h"
#include "server/convert.h"
#include "server/position_override.h"
#include "server/service_decode.h"
#include "server/service_handlers.h"
#include "server/service_requests.h"
#include "server/service_stream.h"

namespace heed {
namespace {

struct AttentionTask {
  ServiceContext context;
  std::shared_ptr<Call> call;
  v1::GetAttentionRequest request;
  const ServedModel* model = nullptr;
  EncodeOptions options;
  EncodedInput input;
  AttentionPlan plan;
  ByteBudget::Reservation memory;
  ItemResult result;
};
using TaskPtr = std::shared_ptr<AttentionTask>;

// Decodes and checks; no work on the text yet.
absl::Status Prepare(AttentionTask& task) {
  const v1::GetAttentionRequest& request = task.request;
  absl::Status status = Decode(task.call->request, task.request);
  if (!status.ok()) return status;
  const absl::StatusOr<TooLong> policy = ReadLongTextPolicy(request.long_text_policy());
  if (!policy.ok()) return policy.status();
  task.options.too_long = *policy;
  task.options.with_tokens = true;
  const auto model = task.context.models->Find(request.model().name(), request.model().version());
  if (!model.ok()) return model.status();
  task.model = *model;
  const ModelInfo& info = task.model->model.info();
  status = CheckAttentionRequest(request, info);
  if (status.ok()) status = CheckPositionOverride(request.position_override(), 1, info);
  if (!status.ok()) return status;
  if (!request.has_input()) {
    return MakeError(absl::StatusCode::kInvalidArgument, "EMPTY_INPUTS",
                     "input is missing; give a text", {}, "input");
  }
  return InField(CheckInput(request.input(), task.context.limits, info), "input");
}

absl::Status Reserve(AttentionTask& task) {
  auto memory = task.context.attention_memory->Reserve(task.plan.memory_bytes, "this attention",
                                                       "ask for fewer layers", "layers");
  if (memory.ok()) task.memory = *std::move(memory);
  return memory.status();
}

v1::Classification BuildClassification(const AttentionTask& task, absl::Time start) {
  const ModelInfo& info = task.model->model.info();
  v1::Classification classification;
  if (info.labels_tokens()) {
    FillTokenClassification(info, task.input.item.tokens, task.result, EntityAggregation::kSimple,
                            false, classification);
  } else {
    FillClassification(info, task.result, 0, true, classification);
  }
  *classification.mutable_usage() = ToUsage(task.input.item);
  v1::Timing& timing = *classification.mutable_timing();
  *timing.mutable_tokenize() = ToProto(task.input.tokenize);
  *timing.mutable_queue() = ToProto(task.result.queue);
  *timing.mutable_compute() = ToProto(task.result.compute);
  *timing.mutable_serialize() = ToProto(task.context.clock->Now() - start);
  return classification;
}

v1::GetAttentionResponse BuildHeader(const AttentionTask& task) {
  const absl::Time start = task.context.clock->Now();
  const AttentionPlan& plan = task.plan;
  v1::GetAttentionResponse response;
  v1::AttentionHeader& header = *response.mutable_header();
  header.set_model_name(task.model->name);
  header.set_model_version(task.model->model.info().version);
  for (const TokenDetail& token : task.input.item.tokens) *header.add_tokens() = ToProto(token);
  header.mutable_layers()->Add(plan.layers.begin(), plan.layers.end());
  header.mutable_heads()->Add(plan.heads.begin(), plan.heads.end());
  header.mutable_query_rows()->Add(plan.rows.begin(), plan.rows.end());
  header.mutable_key_columns()->Add(plan.columns.begin(), plan.columns.end());
  header.set_total_bytes(plan.total_bytes);
  header.set_type(plan.type);
  header.mutable_shape()->Add(plan.shape.begin(), plan.shape.end());
  *header.mutable_classification() = BuildClassification(task, start);
  return response;
}

// The header, then the tiles.
class AttentionMessages {
 public:
  explicit AttentionMessages(TaskPtr task)
      : task_(std::move(task)),
        memory_(std::move(task_->memory)),
        tiles_(task_->plan, std::move(task_->result.captures.front())) {}

  absl::StatusOr<std::optional<grpc::ByteBuffer>> Next() {
    if (!header_sent_) {
      header_sent_ = true;
      return Encode(BuildHeader(*task_));
    }
    absl::StatusOr<std::optional<v1::AttentionTile>> tile = tiles_.Next();
    if (!tile.ok()) return tile.status();
    if (!tile->has_value()) return std::nullopt;
    v1::GetAttentionResponse response;
    *response.mutable_tile() = **std::move(tile);
    const AttentionMetrics& metrics = task_->context.metrics->attention();
    metrics.tiles->Increment();
    metrics.bytes->Increment(static_cast<double>(response.tile().weights().data().size()));
    return Encode(response);
  }

 private:
  const TaskPtr task_;
  // Given back once the tiles are gone, whoever still holds the task.
  const ByteBudget::Reservation memory_;
  AttentionTiles tiles_;
  bool header_sent_ = false;
};

void CountEnd(const AttentionMetrics& metrics, const absl::Status& status) {
  metrics.streams->Decrement();
  if (absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) {
    metrics.cancelled->Increment();
  } else if (absl::IsAborted(status)) {
    metrics.stalled->Increment();
  }
}

void Stream(const TaskPtr& task) {
  const AttentionMetrics& metrics = task->context.metrics->attention();
  metrics.streams->Increment();
  MessageStreamOptions options;
  options.stall_timeout = task->context.limits.attention_stall_timeout;
  options.produce = [messages = std::make_shared<AttentionMessages>(task)] {
    return messages->Next();
  };
  options.ended = [&metrics](const absl::Status& status) { CountEnd(metrics, status); };
  SendStream(task->context, task->call, std::move(options));
}

void Submit(const TaskPtr& task) {
  const ModelInfo& info = task->model->model.info();
  const v1::GetAttentionRequest& request = task->request;
  absl::StatusOr<EncodedInput> input = EncodeInput(
      task->context, *task->call, *task->model->model.tokenizer, request.input(), task->options);
  if (!input.ok()) return task->call->Fail(InField(input.status(), "input"));
  task->input = *std::move(input);
  absl::Status status =
      ApplyPositionOverride(request.position_override(), info, task->input.item.input);
  if (!status.ok()) return task->call->Fail(status);
  absl::StatusOr<AttentionPlan> plan = PlanAttention(request, info, task->input.item.input.size(),
                                                     task->context.limits.max_attention_bytes);
  if (!plan.ok()) return task->call->Fail(plan.status());
  task->plan = *std::move(plan);
  status = Reserve(*task);
  if (!status.ok()) return task->call->Fail(status);
  Job job;
  job.deadline = task->call->deadline;
  job.cancel = task->call->cancel;
  job.texts.push_back(task->input.item.input);
  job.wants.resize(1);
  job.wants.front().captures.push_back(task->plan.capture);
  job.done = [task](JobResult result) {
    if (!result.status.ok()) {
      task->memory = {};
      return task->call->Fail(result.failed_item ? InField(result.status, "input") : result.status);
    }
    task->result = std::move(result.items.front());
    Stream(task);
  };
  status = task->model->scheduler->Submit(std::move(job));
  if (!status.ok()) {
    task->memory = {};
    task->call->Fail(status);
  }
}

void GetAttention(const ServiceContext& context, std::shared_ptr<Call> call) {
  auto task = std::make_shared<AttentionTask>();
  task->context = context;
  task->call = std::move(call);
  const absl::Status status = Prepare(*task);
  if (!status.ok()) return task->call->Fail(status);
  RunByLength(context, TextBytes(task->request.input()), task->call, [task] { Submit(task); });
}

}  // namespace

void AddAttentionHandlers(const ServiceContext& context, HandlerMap& handlers) {
  if (context.timers == nullptr || context.attention_memory == nullptr) return;
  handlers["/heed.v1.AttentionService/GetAttention"] = [context](std::shared_ptr<Call> call) {
    GetAttention(context, std::move(call));
  };
}

}  // namespace heed

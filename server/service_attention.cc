// AttentionService: a call goes through GetAttention (decode, check), Submit (tokenize, plan,
// queue) and a stream that computes each tile while the one before it is on its way.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "heed/v1/attention.pb.h"
#include "model/api/error.h"
#include "server/attention_plan.h"
#include "server/attention_tiles.h"
#include "server/convert.h"
#include "server/position_override.h"
#include "server/service_decode.h"
#include "server/service_handlers.h"
#include "server/service_requests.h"

namespace heed {
namespace {

constexpr absl::Duration kRetryDelay = absl::Seconds(1);

struct AttentionTask {
  ServiceContext context;
  std::shared_ptr<Call> call;
  v1::GetAttentionRequest request;
  const ServedModel* model = nullptr;
  EncodeOptions options;
  EncodedInput input;
  AttentionPlan plan;
  ByteBudget::Share memory;
};

v1::AttentionHeader MakeHeader(const AttentionTask& task, const ItemResult& item) {
  const ModelInfo& info = task.model->model.info();
  v1::AttentionHeader header;
  header.set_model_name(task.model->name);
  header.set_model_version(info.version);
  for (const TokenDetail& token : task.input.item.tokens) *header.add_tokens() = ToProto(token);
  v1::Classification& result = *header.mutable_classification();
  if (info.labels_tokens()) {
    FillTokenClassification(info, task.input.item.tokens, item, EntityAggregation::kSimple, false,
                            result);
  } else {
    FillClassification(info, item, 0, true, result);
  }
  *result.mutable_usage() = ToUsage(task.input.item);
  *result.mutable_timing()->mutable_tokenize() = ToProto(task.input.tokenize);
  *result.mutable_timing()->mutable_queue() = ToProto(item.queue);
  *result.mutable_timing()->mutable_compute() = ToProto(item.compute);
  const AttentionPlan& plan = task.plan;
  header.mutable_layers()->Add(plan.layers.begin(), plan.layers.end());
  header.mutable_heads()->Add(plan.heads.begin(), plan.heads.end());
  header.mutable_query_rows()->Add(plan.rows.begin(), plan.rows.end());
  header.mutable_key_columns()->Add(plan.columns.begin(), plan.columns.end());
  header.set_total_bytes(plan.total_bytes);
  header.set_type(plan.type);
  header.mutable_shape()->Add(plan.shape.begin(), plan.shape.end());
  return header;
}

// Sends header and tiles. Two of them are in memory at most: one on its way, one computed. Lives as
// long as work or a message in flight holds it.
class AttentionStream : public std::enable_shared_from_this<AttentionStream> {
 public:
  AttentionStream(std::shared_ptr<AttentionTask> task, const JobResult& result)
      : task_(std::move(task)),
        metrics_(*task_->context.metrics),
        tiles_(task_->plan, result.items[0].captures[0]) {
    v1::GetAttentionResponse header;
    *header.mutable_header() = MakeHeader(*task_, result.items[0]);
    ready_ = Encode(header);
    metrics_.active_streams()->Increment();
  }
  ~AttentionStream() { metrics_.active_streams()->Decrement(); }

  void Start() {
    task_->context.pool->Submit([self = shared_from_this()] { self->Produce(); });
  }

 private:
  // Computes until a message waits for the reader. One thread at a time.
  void Produce() {
    while (true) {
      {
        absl::MutexLock lock(&mutex_);
        if (broken_) break;
        if (ready_.has_value()) {
          if (writing_) {
            waiting_ = true;  // Written goes on
            return;
          }
          Send();
        }
      }
      if (absl::Status alive = CheckAlive(task_->context, *task_->call); !alive.ok()) {
        return End(std::move(alive));
      }
      absl::StatusOr<std::optional<v1::AttentionTile>> tile = tiles_.Next();
      if (!tile.ok()) return End(tile.status());
      if (!tile->has_value()) return End(absl::OkStatus());
      metrics_.attention_tiles()->Increment();
      v1::GetAttentionResponse response;
      *response.mutable_tile() = *std::move(*tile);
      const size_t bytes = response.tile().weights().data().size();
      grpc::ByteBuffer body = Encode(response);
      absl::MutexLock lock(&mutex_);
      ready_ = std::move(body);
      ready_bytes_ = bytes;
    }
    End(MakeError(absl::StatusCode::kCancelled, "CANCELLED", "the client left the stream"));
  }

  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    metrics_.attention_bytes()->Increment(static_cast<double>(ready_bytes_));
    grpc::ByteBuffer body = *std::move(ready_);
    ready_.reset();
    // The call back may come before this returns.
    task_->call->write(std::move(body),
                       [self = shared_from_this()](bool ok) { self->Written(ok); });
  }

  // On a thread of gRPC.
  void Written(bool ok) {
    bool produce = false;
    std::optional<absl::Status> end;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok) broken_ = true;
      end = end_;
      produce = waiting_;
      waiting_ = false;
    }
    if (end.has_value()) return Finish(*end);
    if (produce) Start();
  }

  // Once the last message is written.
  void End(absl::Status status) {
    {
      absl::MutexLock lock(&mutex_);
      if (writing_) {
        end_ = std::move(status);
        return;
      }
    }
    Finish(status);
  }

  void Finish(const absl::Status& status) {
    if (absl::IsCancelled(status)) metrics_.cancelled_streams()->Increment();
    task_->memory = nullptr;
    task_->call->finish(status, grpc::ByteBuffer());
  }

  const std::shared_ptr<AttentionTask> task_;
  Metrics& metrics_;
  AttentionTiles tiles_;
  absl::Mutex mutex_;
  std::optional<grpc::ByteBuffer> ready_ ABSL_GUARDED_BY(mutex_);
  size_t ready_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Nobody computes until the message in flight is written.
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

// Decodes and checks; no work on the text yet.
absl::Status Prepare(AttentionTask& task) {
  absl::Status status = Decode(task.call->request, task.request);
  if (!status.ok()) return status;
  const absl::StatusOr<TooLong> policy = ReadLongTextPolicy(task.request.long_text_policy());
  if (!policy.ok()) return policy.status();
  task.options.too_long = *policy;
  task.options.with_tokens = true;
  const v1::ModelSelector& selector = task.request.model();
  const auto model = task.context.models->Find(selector.name(), selector.version());
  if (!model.ok()) return model.status();
  task.model = *model;
  const ModelInfo& info = task.model->model.info();
  status = CheckAttentionRequest(task.request, info);
  if (!status.ok()) return status;
  return InField(CheckInput(task.request.input(), task.context.limits, info), "input");
}

absl::Status NoMemory(const AttentionTask& task) {
  const ByteBudget& budget = *task.context.attention_memory;
  return MakeError(
      absl::StatusCode::kResourceExhausted, "ATTENTION_MEMORY",
      absl::StrCat("streams of attention hold ", budget.taken(), " bytes; ", task.plan.memory_bytes,
                   " more would pass the limit of ", budget.limit()),
      {{"byteCount", absl::StrCat(task.plan.memory_bytes)},
       {"limit", absl::StrCat(budget.limit())},
       {"retryDelay", absl::FormatDuration(kRetryDelay)}});
}

void Submit(const std::shared_ptr<AttentionTask>& task) {
  absl::StatusOr<EncodedInput> input = EncodeInput(task->context, *task->model->model.tokenizer,
                                                   task->request.input(), task->options);
  if (!input.ok()) return task->call->Fail(InField(input.status(), "input"));
  task->input = *std::move(input);
  const ModelInfo& info = task->model->model.info();
  TokenIds& text = task->input.item.input;
  absl::StatusOr<AttentionPlan> plan = PlanAttention(
      task->request, info, static_cast<int64_t>(text.size()), task->context.attention.max_bytes);
  if (!plan.ok()) return task->call->Fail(plan.status());
  task->plan = *std::move(plan);
  const absl::Status placed = ApplyPositionOverride(task->request.position_override(), info, text);
  if (!placed.ok()) return task->call->Fail(placed);
  task->memory = task->context.attention_memory->Take(task->plan.memory_bytes);
  if (task->memory == nullptr) return task->call->Fail(NoMemory(*task));
  Job job;
  job.deadline = task->call->deadline;
  job.cancel = task->call->cancel;
  job.texts.push_back(text);
  job.wants.emplace_back().captures.push_back(task->plan.capture);
  job.done = [task](const JobResult& result) {
    if (!result.status.ok()) {
      task->memory = nullptr;
      return task->call->Fail(result.failed_item ? InField(result.status, "input") : result.status);
    }
    std::make_shared<AttentionStream>(task, result)->Start();
  };
  const absl::Status status = task->model->scheduler->Submit(std::move(job));
  if (status.ok()) return;
  task->memory = nullptr;
  task->call->Fail(status);
}

void GetAttention(const ServiceContext& context, std::shared_ptr<Call> call) {
  auto task = std::make_shared<AttentionTask>();
  task->context = context;
  task->call = std::move(call);
  const absl::Status status = Prepare(*task);
  if (!status.ok()) return task->call->Fail(status);
  const v1::TextInput& input = task->request.input();
  RunByLength(context, input.text().size() + input.text_pair().size(), task->call,
              [task] { Submit(task); });
}

}  // namespace

void AddAttentionHandlers(const ServiceContext& context, HandlerMap& handlers) {
  handlers["/heed.v1.AttentionService/GetAttention"] = [context](std::shared_ptr<Call> call) {
    GetAttention(context, std::move(call));
  };
}

}  // namespace heed

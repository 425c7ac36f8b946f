// ModelService: what is loaded, and how it reads text.
#include <memory>
#include <utility>
#include <vector>

#include "heed/v1/model.pb.h"
#include "server/convert.h"
#include "server/service_decode.h"
#include "server/service_handlers.h"
#include "server/service_requests.h"

namespace heed {
namespace {

void ListModels(const ServiceContext& context, const std::shared_ptr<Call>& call) {
  v1::ListModelsRequest request;
  const absl::Status status = Decode(call->request, request);
  if (!status.ok()) return call->Fail(status);
  v1::ListModelsResponse response;
  for (const auto& model : context.models->models()) {
    *response.add_models() = ToProto(*model, context.models->IsDefault(*model));
  }
  call->finish(absl::OkStatus(), Encode(response));
}

void GetModel(const ServiceContext& context, const std::shared_ptr<Call>& call) {
  v1::GetModelRequest request;
  const absl::Status status = Decode(call->request, request);
  if (!status.ok()) return call->Fail(status);
  const auto model = context.models->Find(request.model().name(), request.model().version());
  if (!model.ok()) return call->Fail(model.status());
  v1::GetModelResponse response;
  *response.mutable_model() = ToProto(**model, context.models->IsDefault(**model));
  call->finish(absl::OkStatus(), Encode(response));
}

struct TokenizeTask {
  ServiceContext context;
  std::shared_ptr<Call> call;
  v1::TokenizeRequest request;
  const ServedModel* model = nullptr;
  EncodeOptions options;
};

absl::Status Prepare(TokenizeTask& task) {
  const absl::Status status = Decode(task.call->request, task.request);
  if (!status.ok()) return status;
  const absl::StatusOr<TooLong> policy = ReadLongTextPolicy(task.request.long_text_policy());
  if (!policy.ok()) return policy.status();
  task.options.too_long = *policy;
  task.options.with_tokens = true;
  const v1::ModelSelector& selector = task.request.model();
  const auto model = task.context.models->Find(selector.name(), selector.version());
  if (!model.ok()) return model.status();
  task.model = *model;
  return CheckInputs(task.request.inputs(), task.context.limits, task.model->model.info());
}

void Answer(const TokenizeTask& task) {
  const absl::StatusOr<std::vector<EncodedInput>> inputs = EncodeInputs(
      task.context, *task.call, *task.model->model.tokenizer, task.request.inputs(), task.options);
  if (!inputs.ok()) return task.call->Fail(inputs.status());
  v1::TokenizeResponse response;
  for (const EncodedInput& input : *inputs) {
    v1::TokenizedText& text = *response.add_results();
    for (const TokenDetail& token : input.item.tokens) *text.add_tokens() = ToProto(token);
    *text.mutable_usage() = ToUsage(input.item);
  }
  task.call->finish(absl::OkStatus(), Encode(response));
}

void Tokenize(const ServiceContext& context, std::shared_ptr<Call> call) {
  auto task = std::make_shared<TokenizeTask>();
  task->context = context;
  task->call = std::move(call);
  const absl::Status status = Prepare(*task);
  if (!status.ok()) return task->call->Fail(status);
  RunByLength(context, task->request.inputs(), task->call, [task] { Answer(*task); });
}

}  // namespace

void AddModelHandlers(const ServiceContext& context, HandlerMap& handlers) {
  handlers["/heed.v1.ModelService/ListModels"] = [context](std::shared_ptr<Call> call) {
    ListModels(context, call);
  };
  handlers["/heed.v1.ModelService/GetModel"] = [context](std::shared_ptr<Call> call) {
    GetModel(context, call);
  };
  handlers["/heed.v1.ModelService/Tokenize"] = [context](std::shared_ptr<Call> call) {
    Tokenize(context, std::move(call));
  };
}

HandlerMap MakeHandlers(const ServiceContext& context) {
  HandlerMap handlers;
  AddAttentionHandlers(context, handlers);
  AddClassificationHandlers(context, handlers);
  AddModelHandlers(context, handlers);
  AddProbeHandlers(context, handlers);
  AddLayerProfileHandlers(context, handlers);
  for (auto& [method, handler] : handlers) {
    handler = Instrumented(context, method, std::move(handler));
  }
  return handlers;
}

}  // namespace heed

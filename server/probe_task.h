// What the probes have in common: a request being answered, and the errors of its fields.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "server/probe_waves.h"
#include "server/service_decode.h"
#include "server/service_requests.h"

namespace heed {

// A request being answered.
template <typename Request, typename Response>
struct ProbeTask {
  ServiceContext context;
  std::shared_ptr<Call> call;
  Request request;
  Response response;
  const ServedModel* model = nullptr;
  EncodedInput input;

  const ModelInfo& info() const { return model->model.info(); }
  const std::vector<TokenDetail>& tokens() const { return input.item.tokens; }

  // Decodes and finds the model.
  absl::Status Open() {
    const absl::Status status = Decode(call->request, request);
    if (!status.ok()) return status;
    const auto found = context.models->Find(request.model().name(), request.model().version());
    if (!found.ok()) return found.status();
    model = *found;
    response.set_model_name(model->name);
    response.set_model_version(info().version);
    return absl::OkStatus();
  }

  absl::Status Tokenize(const v1::TextInput& text) {
    EncodeOptions options;
    options.with_tokens = true;
    auto encoded = EncodeInput(context, *call, *model->model.tokenizer, text, options);
    if (encoded.ok()) input = *std::move(encoded);
    return encoded.status();
  }

  void Answer(const absl::Status& status) {
    if (!status.ok()) return call->Fail(status);
    call->finish(status, Encode(response));
  }

  ProbeWaves Waves(const std::string& field) const {
    ProbeWaves waves;
    waves.context = context;
    waves.call = call;
    waves.model = model;
    waves.field = field;
    return waves;
  }
};

inline absl::Status InvalidProbe(absl::string_view reason, absl::string_view message,
                                 absl::string_view field,
                                 std::map<std::string, std::string> metadata = {}) {
  return MakeError(absl::StatusCode::kInvalidArgument, reason, message, std::move(metadata), field);
}

// INVALID_ARGUMENT OUT_OF_RANGE unless `value` is in [low, high].
inline absl::Status CheckCount(const char* field, uint32_t value, uint32_t low, uint32_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidProbe("OUT_OF_RANGE",
                      absl::StrCat(field, " ", value, " is not in ", low, " to ", high), field,
                      {{"value", absl::StrCat(value)},
                       {"minimum", absl::StrCat(low)},
                       {"maximum", absl::StrCat(high)}});
}

template <typename Task>
Handler MakeHandler(const ServiceContext& context, void (*start)(const std::shared_ptr<Task>&)) {
  return [context, start](std::shared_ptr<Call> call) {
    auto task = std::make_shared<Task>();
    task->context = context;
    task->call = std::move(call);
    start(task);
  };
}

}  // namespace heed

#include "client/classify_many.h"

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/rpc_error.h"

namespace heed {
namespace {

// One call in flight.
struct PendingCall {
  uint64_t first_index = 0;
  std::unique_ptr<v1::ClassifyRequest> request;  // pointed to by the call's thread
  std::future<absl::StatusOr<v1::ClassifyResponse>> response;
};

// The calls in flight, oldest first.
class OrderedCalls {
 public:
  OrderedCalls(const Client& client, const ResultSink& sink, size_t parallel_calls)
      : client_(client), sink_(sink), parallel_calls_(std::max<size_t>(parallel_calls, 1)) {}

  // Starts a call, after waiting for the oldest one if too many are in flight.
  absl::Status Start(std::unique_ptr<v1::ClassifyRequest> request) {
    if (request->inputs().empty()) return absl::OkStatus();
    if (calls_.size() >= parallel_calls_) {
      if (absl::Status status = FinishOldest(); !status.ok()) return status;
    }
    PendingCall call;
    call.first_index = next_index_;
    next_index_ += static_cast<uint64_t>(request->inputs_size());
    call.request = std::move(request);
    call.response = std::async(std::launch::async, [&client = client_, raw = call.request.get()] {
      return client.Classify(*raw);
    });
    calls_.push_back(std::move(call));
    return absl::OkStatus();
  }

  // Waits for all calls.
  absl::Status Finish() {
    while (!calls_.empty()) {
      if (absl::Status status = FinishOldest(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status FinishOldest() {
    PendingCall call = std::move(calls_.front());
    calls_.pop_front();
    const absl::StatusOr<v1::ClassifyResponse> response = call.response.get();
    if (!response.ok()) return ShiftInputIndexes(response.status(), call.first_index);
    if (response->results_size() != call.request->inputs_size()) {
      return absl::InternalError(absl::StrCat("the server answered ", call.request->inputs_size(),
                                              " texts with ", response->results_size(),
                                              " results"));
    }
    for (int i = 0; i < response->results_size(); ++i) {
      const ClassifiedText text = {call.first_index + static_cast<uint64_t>(i),
                                   call.request->inputs(i), response->results(i), *response,
                                   i + 1 == response->results_size()};
      if (absl::Status status = sink_(text); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const Client& client_;
  const ResultSink& sink_;
  const size_t parallel_calls_;
  uint64_t next_index_ = 0;
  std::deque<PendingCall> calls_;
};

class RequestSource : public InputSource {
 public:
  explicit RequestSource(const v1::ClassifyRequest& request) : request_(request) {}

  absl::StatusOr<bool> Next(v1::TextInput* input) override {
    if (next_ == request_.inputs_size()) return false;
    *input = request_.inputs(next_++);
    return true;
  }

 private:
  const v1::ClassifyRequest& request_;
  int next_ = 0;
};

}  // namespace

absl::Status ClassifyMany(const Client& client, const v1::ClassifyRequest& request,
                          InputSource& source, const ResultSink& sink, const SplitOptions& split) {
  v1::ClassifyRequest settings = request;
  settings.clear_inputs();
  OrderedCalls calls(client, sink, split.parallel_calls);
  auto next_call = std::make_unique<v1::ClassifyRequest>(settings);
  size_t bytes = 0;
  absl::Status source_status;
  while (true) {
    if (!source.Ready()) {
      // The writer pauses: show what there is before waiting for it.
      if (absl::Status status = calls.Start(std::move(next_call)); !status.ok()) return status;
      if (absl::Status status = calls.Finish(); !status.ok()) return status;
      next_call = std::make_unique<v1::ClassifyRequest>(settings);
      bytes = 0;
    }
    v1::TextInput input;
    const absl::StatusOr<bool> more = source.Next(&input);
    if (!more.ok()) source_status = more.status();
    if (!more.ok() || !*more) break;
    bytes += input.text().size() + input.text_pair().size();
    *next_call->add_inputs() = std::move(input);
    if (static_cast<size_t>(next_call->inputs_size()) >= split.texts_per_call ||
        bytes >= split.bytes_per_call) {
      if (absl::Status status = calls.Start(std::move(next_call)); !status.ok()) return status;
      next_call = std::make_unique<v1::ClassifyRequest>(settings);
      bytes = 0;
    }
  }
  if (absl::Status status = calls.Start(std::move(next_call)); !status.ok()) return status;
  if (absl::Status status = calls.Finish(); !status.ok()) return status;
  return source_status;
}

absl::StatusOr<v1::ClassifyResponse> ClassifyAll(const Client& client,
                                                 const v1::ClassifyRequest& request,
                                                 const SplitOptions& split) {
  v1::ClassifyResponse all;
  RequestSource source(request);
  const absl::Status status = ClassifyMany(
      client, request, source,
      [&all](const ClassifiedText& text) {
        if (all.results().empty()) {
          all.set_model_name(text.response.model_name());
          all.set_model_version(text.response.model_version());
        }
        *all.add_results() = text.result;
        return absl::OkStatus();
      },
      split);
  if (!status.ok()) return status;
  return all;
}

}  // namespace heed

// Classifies more texts than one call may hold: splits them into calls, keeps a bounded number of
// calls in flight, and gives the results back in the order of the texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/common.pb.h"

namespace heed {

// Texts one after another, so that a file of any length needs little memory. Used by one thread.
class InputSource {
 public:
  virtual ~InputSource() = default;

  // Puts the next text into `input`, which is empty before; false at the end.
  virtual absl::StatusOr<bool> Next(v1::TextInput* input) = 0;

  // Whether Next() would return without waiting for someone to write. What was read so far is then
  // classified at once rather than when a call is full.
  virtual bool Ready() { return true; }
};

struct SplitOptions {
  // Most texts of one call; servers take 4,096 by default (--max-texts-per-request).
  size_t texts_per_call = 256;
  // A call with this many bytes of text takes no further one.
  size_t bytes_per_call = size_t{1} << 20;
  // Calls in flight at once.
  size_t parallel_calls = 4;
};

struct ClassifiedText {
  uint64_t index = 0;  // among all texts, from 0
  const v1::TextInput& input;
  const v1::Classification& result;
  const v1::ClassifyResponse& response;  // of the call, for the model's name and version
  bool last_of_call = false;             // a good moment to show what has come
};

// Takes one result; an error ends the work and is returned.
using ResultSink = std::function<absl::Status(const ClassifiedText&)>;

// Classifies every text of `source` with the settings of `request` (its own inputs are ignored) and
// hands the results to `sink` in order, on the calling thread. At most
// parallel_calls * texts_per_call texts are held at once.
// On an error the results before it have been handed over: those before the call that failed, or
// those before the text that `source` could not give. In a server's error, "inputs[i]" counts over
// all texts.
absl::Status ClassifyMany(const Client& client, const v1::ClassifyRequest& request,
                          InputSource& source, const ResultSink& sink,
                          const SplitOptions& split = {});

// The same for the inputs of `request`, all results in one response. Its model name and version are
// those of the first call.
absl::StatusOr<v1::ClassifyResponse> ClassifyAll(const Client& client,
                                                 const v1::ClassifyRequest& request,
                                                 const SplitOptions& split = {});

}  // namespace heed

// Many variants of a text through the scheduler, a few at a time, so that a probe of a thousand
// texts neither fills the queue nor holds a thousand results.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/service_call.h"

namespace heed {

struct ProbeWaves {
  ServiceContext context;
  std::shared_ptr<Call> call;
  const ServedModel* model = nullptr;
  std::string field;  // of the request: where the text stands
  size_t count = 0;
  TextWants wants;  // of every text
  // Of the texts of a wave, unless one alone has more.
  size_t max_tokens = 4096;
  // The i-th text; called in order.
  std::function<TokenIds(size_t)> make;
  // What came of it; called in order, on the pool.
  std::function<absl::Status(size_t, ItemResult&)> take;
  // Called once, after the last or the first failure.
  std::function<void(const absl::Status&)> done;
};

// Starts the first wave.
void RunWaves(ProbeWaves waves);

}  // namespace heed

// `heed classify`: texts in, labels and scores or entities out, for one text or a million lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/client.h"
#include "client/commands/input.h"
#include "client/commands/io.h"
#include "heed/v1/classification.pb.h"

namespace heed::cli {

struct ClassifyCommand {
  InputOptions input;
  std::string model;              // empty: the server's default
  std::optional<uint32_t> top_k;  // 0: all; absent: 1 in a table, all in JSON
  bool logits = false;
  bool truncate = false;
  bool json = false;
  bool with_text = true;  // in JSON
  Style style;
  absl::Duration timeout;  // of one call, for messages
  // Of models that label tokens; unspecified: the server's default.
  v1::EntityAggregation entities = v1::ENTITY_AGGREGATION_UNSPECIFIED;
  // How much each token matters; unspecified: not asked for.
  v1::Importance importance = v1::IMPORTANCE_UNSPECIFIED;
};

// Returns the exit code. Results come in the order of the texts, as soon as those before are known.
int RunClassify(const ClassifyCommand& command, const Client& client, Io& io);

}  // namespace heed::cli

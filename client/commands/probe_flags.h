// The flags of `heed probe` and its five probes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/commands/probe.h"

namespace CLI {
class App;
}  // namespace CLI

namespace heed::cli {

// Where they land. Each probe uses some.
struct ProbeFlags {
  std::vector<std::string> texts;
  std::string pair;
  std::string model;
  uint32_t count = 64;    // permute
  uint32_t orders = 16;   // layers
  uint32_t repeats = 16;  // mask
  uint64_t seed = 0;
  std::string fractions = "0.1,0.25,0.5";
  bool drop = false;
  std::vector<std::string> positions;
  uint32_t position_count = 32;
  int32_t layer = 0;
  std::string encoding;
  bool json = false;
  std::string png;
};

// Adds the command to `app`; `flags` must outlive the parse.
CLI::App* AddProbe(CLI::App* app, ProbeFlags* flags);

// Runs the probe that was parsed and returns the exit code. INVALID_ARGUMENT with a message for the
// user, before anything is sent, for a flag that makes no sense.
absl::StatusOr<int> RunProbe(const CLI::App& probe, ProbeFlags flags, const Style& style,
                             absl::Duration timeout, const Client& client, Io& io);

}  // namespace heed::cli

// Typed access to the fields of a config.json that remembers which were read, so that the rest can
// be judged: known to be harmless, or refused by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace heed {

// Errors are collected: the first one is kept, and reading goes on with defaults, so that a reader
// is a plain list of fields with one check at its end.
class ConfigFields {
 public:
  explicit ConfigFields(nlohmann::json object) : object_(std::move(object)) {}

  // Whether the field is there and not null. Counts as read.
  bool Has(absl::string_view name);
  // The raw value; null when absent. Counts as read.
  const nlohmann::json& Raw(absl::string_view name);

  // A required integer in [low, high].
  int64_t Int(absl::string_view name, int64_t low, int64_t high);
  // The same, or `fallback` when absent.
  int64_t Int(absl::string_view name, int64_t low, int64_t high, int64_t fallback);
  // A list of integers in [low, high]; absent: empty.
  std::vector<int64_t> Ints(absl::string_view name, int64_t low, int64_t high);
  // Fields that cannot change what is computed here, or that say again what another says.
  void Ignore(std::initializer_list<absl::string_view> names);
  // Every field that was not read yet and is neither null nor false.
  std::vector<std::string> Unread() const;
  // A number >= low, or `fallback` when absent.
  double Number(absl::string_view name, double low, double fallback);
  std::string String(absl::string_view name, absl::string_view fallback);
  bool Bool(absl::string_view name, bool fallback);

  // Refuses the model: `name` holds a value Heed cannot compute.
  void Unsupported(absl::string_view name, absl::string_view why);
  // Refuses the model: `name` holds nonsense.
  void Bad(absl::string_view name, absl::string_view why);

  // Refuses every field that was not read, unless it cannot change what inference computes.
  void RefuseUnread();

  // The first error, or OK.
  const absl::Status& status() const { return status_; }

 private:
  void Fail(absl::Status status);
  std::string Shown(absl::string_view name) const;

  nlohmann::json object_;
  std::set<std::string, std::less<>> read_;
  absl::Status status_;
};

}  // namespace heed

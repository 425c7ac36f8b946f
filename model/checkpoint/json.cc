#include "model/checkpoint/json.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {

using nlohmann::json;

absl::StatusOr<json> ParseJson(absl::string_view text) {
  std::vector<std::set<std::string>> names;  // of the objects that are open
  std::string duplicate;
  const auto watch = [&](int /*depth*/, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) {
      names.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      names.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names.back().insert(name).second && duplicate.empty()) duplicate = name;
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    return MakeError(absl::StatusCode::kInvalidArgument, "MALFORMED_JSON", error.what());
  }
  if (!duplicate.empty()) {
    return MakeError(absl::StatusCode::kInvalidArgument, "DUPLICATE_NAME",
                     absl::StrCat("\"", duplicate, "\" stands twice in one object"),
                     {{"name", duplicate}});
  }
  return value;
}

absl::StatusOr<json> ReadJsonFile(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path, ignored)) {
    return MakeError(absl::StatusCode::kNotFound, "FILE_NOT_FOUND",
                     absl::StrCat("cannot read ", path), {{"path", path}});
  }
  const std::string content(std::istreambuf_iterator<char>(file), {});
  absl::StatusOr<json> value = ParseJson(content);
  if (!value.ok()) return WithMessagePrefix(value.status(), absl::StrCat(path, ": "));
  return value;
}

}  // namespace heed

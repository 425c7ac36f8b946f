// What the writers of JSON share. Only sources include it: the JSON library costs every file that
// does some seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "heed/v1/classification.pb.h"
#include "heed/v1/common.pb.h"

namespace heed::cli {

using Json = nlohmann::ordered_json;

// `json` on one line, safe to print: control characters are escaped, also those that JSON allows.
std::string Dump(const Json& json);

// The double whose shortest decimals are those of the float: 0.9, not 0.8999999761581421. What is
// not finite has no JSON number and becomes null.
Json Shortest(float value);

Json UsageJson(const v1::TokenUsage& usage);
Json LabelsJson(const v1::Classification& result);
Json TokenJson(const v1::Token& token);

}  // namespace heed::cli

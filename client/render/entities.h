// The entities found in a text, as a table.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "client/render/terminal.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/common.pb.h"

namespace heed::cli {

// The part of `input` that `entity` names, as it is; empty where the offsets lie outside the text.
absl::string_view EntityText(const v1::TextInput& input, const v1::Entity& entity);

// The text and how many entities it has on one line, then one line an entity: label, score, bytes,
// code points, for pairs the segment, and the text of the entity. Texts are escaped, and elided to
// Style::columns. `index`: of the text; above 0 an empty line sets it apart from the one before.
std::string RenderEntities(uint64_t index, const v1::TextInput& input,
                           const v1::Classification& result, const Style& style);

}  // namespace heed::cli

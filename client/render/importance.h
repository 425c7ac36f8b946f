// How much each token of a text matters, shown over the text.
#pragma once

#include <string>

#include "client/render/terminal.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/common.pb.h"

namespace heed::cli {

// With colours: the text itself, each token on a shade of its importance, the largest of those that
// are not special the brightest. Without: a table of the tokens with a bar each. `result` has
// tokens and as many importances; empty otherwise.
std::string RenderImportance(const v1::TextInput& input, const v1::Classification& result,
                             const Style& style);

}  // namespace heed::cli

// Models as a table, or one of them in full.
#pragma once

#include <string>
#include <vector>

#include "client/render/terminal.h"
#include "heed/v1/model.pb.h"

namespace heed::cli {

// One line a model; "*" marks the default one.
std::string RenderModels(const v1::ListModelsResponse& response, const Style& style);

// One "name: value" line per property.
std::string RenderModel(const v1::Model& model, const Style& style);

// One line a token: where it stands, what it is.
std::string RenderTokens(const v1::TokenizedText& result, const Style& style);

}  // namespace heed::cli

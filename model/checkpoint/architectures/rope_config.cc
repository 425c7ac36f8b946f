#include "model/checkpoint/architectures/rope_config.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heed {
namespace {

using nlohmann::json;

// Every digit, so that the number read back is the same.
std::string Text(double value) { return absl::StrFormat("%.17g", value); }

// transformers' name to the encoding's option.
const std::map<std::string, std::string>& NumberOptions() {
  static const auto* const options = new std::map<std::string, std::string>{
      {"factor", "factor"},
      {"attention_factor", "attention_factor"},
      {"beta_fast", "beta_fast"},
      {"beta_slow", "beta_slow"},
      {"mscale", "mscale"},
      {"mscale_all_dim", "mscale_all_dim"},
      {"low_freq_factor", "low_freq_factor"},
      {"high_freq_factor", "high_freq_factor"},
      {"original_max_position_embeddings", "original_max_positions"},
  };
  return *options;
}

std::set<std::string> OptionsOf(const std::string& type) {
  if (type == "linear" || type == "dynamic") return {"factor"};
  if (type == "yarn") {
    return {"factor",
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "original_max_position_embeddings"};
  }
  if (type == "llama3") {
    return {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
  }
  return {};
}

// The type's own options; transformers leaves those of other types unread, and so does this.
void ReadScaling(ConfigFields& fields, absl::string_view field, const json& parameters,
                 const std::string& type, EncodingConfig& encoding) {
  encoding.options["scaling"] = type;
  if (!parameters.contains("factor") || !parameters["factor"].is_number()) {
    fields.Bad(field, absl::StrCat("has no number \"factor\" for rope type ", type));
    return;
  }
  for (const std::string& name : OptionsOf(type)) {
    if (!parameters.contains(name) || parameters[name].is_null()) continue;
    if (!parameters[name].is_number()) {
      fields.Bad(field, absl::StrCat("has a \"", name, "\" that is not a number"));
      return;
    }
    encoding.options[NumberOptions().at(name)] = Text(parameters[name].get<double>());
  }
  if (type == "yarn" && parameters.contains("truncate") && !parameters["truncate"].is_null()) {
    if (!parameters["truncate"].is_boolean()) {
      fields.Bad(field, "has a \"truncate\" that is neither true nor false");
      return;
    }
    encoding.options["truncate"] = parameters["truncate"].get<bool>() ? "true" : "false";
  }
}

// rope_type, or type as it was called first; where both stand they must agree.
std::string ReadType(ConfigFields& fields, absl::string_view field, const json& parameters) {
  std::string type;
  for (const char* const name : {"type", "rope_type"}) {
    if (!parameters.contains(name) || parameters[name].is_null()) continue;
    if (!parameters[name].is_string()) {
      fields.Bad(field, absl::StrCat("has a \"", name, "\" that is not a string"));
    } else if (!type.empty() && parameters[name] != type) {
      fields.Bad(field, "has a \"type\" and a \"rope_type\" that contradict each other");
    } else {
      type = parameters[name].get<std::string>();
    }
  }
  return type.empty() ? "default" : type;
}

}  // namespace

EncodingConfig ReadRopeParameters(ConfigFields& fields, absl::string_view field,
                                  const json& parameters, double theta, double partial_factor,
                                  ModelConfig& config) {
  EncodingConfig encoding{"rope", {}, {}};
  if (!parameters.is_null() && !parameters.is_object()) {
    fields.Bad(field, "is not an object");
    return encoding;
  }
  const auto number = [&](const char* name, double fallback) {
    if (!parameters.contains(name) || parameters[name].is_null()) return fallback;
    if (!parameters[name].is_number() || !(parameters[name].get<double>() > 0)) {
      fields.Bad(field, absl::StrCat("has a \"", name, "\" that is not a number above 0"));
      return fallback;
    }
    return parameters[name].get<double>();
  };
  encoding.options["base"] = Text(number("rope_theta", theta));
  const double partial = number("partial_rotary_factor", partial_factor);
  if (partial != 1) {
    encoding.options["dims"] =
        absl::StrCat(static_cast<int64_t>(static_cast<double>(config.head_width()) * partial));
  }
  const std::string type = ReadType(fields, field, parameters);
  if (type == "linear" || type == "dynamic" || type == "yarn" || type == "llama3") {
    ReadScaling(fields, field, parameters, type, encoding);
  } else if (type != "default") {
    fields.Unsupported(field, absl::StrCat("rope type \"", type,
                                           "\" is not one of default, linear, dynamic, yarn, "
                                           "llama3"));
  }
  if (type != "dynamic") config.max_tokens = config.position_count;
  return encoding;
}

void RefuseContradiction(ConfigFields& fields, absl::string_view field, const json& parameters,
                         const char* parameter) {
  if (!fields.Has(field) || !parameters.is_object() || !parameters.contains(parameter)) return;
  if (parameters[parameter].is_null() || parameters[parameter] == fields.Raw(field)) return;
  fields.Bad(field, absl::StrCat("contradicts the \"", parameter, "\" of the rotary parameters, ",
                                 parameters[parameter].dump()));
}

EncodingConfig ReadRope(ConfigFields& fields, double default_theta, ModelConfig& config) {
  const double theta = fields.Number("rope_theta", 1e-300, default_theta);
  const double partial = fields.Number("partial_rotary_factor", 1e-300, 1);
  const bool new_form = fields.Has("rope_parameters");
  const bool old_form = fields.Has("rope_scaling");
  if (new_form && old_form && fields.Raw("rope_scaling") != fields.Raw("rope_parameters")) {
    fields.Bad("rope_scaling", "contradicts rope_parameters");
  }
  const char* const field = old_form ? "rope_scaling" : "rope_parameters";
  const json& parameters = fields.Raw(field);
  RefuseContradiction(fields, "rope_theta", parameters, "rope_theta");
  RefuseContradiction(fields, "partial_rotary_factor", parameters, "partial_rotary_factor");
  return ReadRopeParameters(fields, field, parameters, theta, partial, config);
}

}  // namespace heed

#include "client/commands/attend_flags.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/commands/arguments.h"
#include "client/commands/selector.h"
#include "client/render/attention_arrays.h"

namespace heed::cli {
namespace {

constexpr char kFooter[] =
    R"(Without --json or a file: a heatmap of the last layer, the mean over its heads; the largest weights
between tokens that are not special; and of each layer the entropy in nats, the distance in tokens
and the share on special tokens, of the mean over the heads.

Layers, heads, rows (tokens that look) and columns (tokens looked at) are lists such as 0,2,-1 or
0:4; -1 is the last, and the end of a range is not part of it.

Examples:
  heed attend "An unforgettable film, tender and funny."
  heed attend "A man sleeps." --pair "A man is awake." --model nli --layers -1 --heads 3
  heed attend "Dull from start to end." --reduction rollout
  heed attend "Dull from start to end." --positions off
  heed attend "Dull from start to end." --npz attention.npz
  heed attend "Dull from start to end." --png attention.png --html attention.html)";

std::optional<v1::AttentionReduction> ParseReduction(const std::string& name) {
  for (const auto reduction :
       {v1::ATTENTION_REDUCTION_UNSPECIFIED, v1::ATTENTION_REDUCTION_MEAN_HEADS,
        v1::ATTENTION_REDUCTION_ROLLOUT, v1::ATTENTION_REDUCTION_FLOW,
        v1::ATTENTION_REDUCTION_ENTROPY, v1::ATTENTION_REDUCTION_MEAN_DISTANCE}) {
    if (name == ReductionName(reduction)) return reduction;
  }
  return std::nullopt;
}

std::optional<v1::TensorType> ParseType(const std::string& name) {
  if (name == "fp32") return v1::TENSOR_TYPE_FLOAT32;
  if (name == "fp16") return v1::TENSOR_TYPE_FLOAT16;
  if (name == "uint8") return v1::TENSOR_TYPE_UINT8;
  return std::nullopt;
}

void AddSelector(CLI::App* app, const char* name, const char* help, std::string* value) {
  app->add_option(name, *value, help)->type_name("LIST");
}

void AddOutputs(CLI::App* app, AttendFlags* flags) {
  app->add_flag("--json", flags->json, "One JSON object: tokens, labels and all weights");
  app->add_option("--npz", flags->npz, "Write the arrays for numpy.load()")->type_name("FILE");
  app->add_option("--safetensors", flags->safetensors, "Write the arrays as safetensors")
      ->type_name("FILE");
  app->add_option("--png", flags->png, "Draw all layers and heads, or the only one, as a picture")
      ->type_name("FILE");
  app->add_option("--html", flags->html,
                  "Write a page that shows weights, rollout, entropy and importance; it needs no "
                  "network")
      ->type_name("FILE");
}

// An error's message behind the flag that is to blame.
absl::Status Blame(const char* flag, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", status.message()));
}

}  // namespace

CLI::App* AddAttend(CLI::App* app, AttendFlags* flags) {
  CLI::App* const attend = app->add_subcommand("attend", "Show where a model looks in a text");
  attend->add_option("TEXT", flags->text, "Text to read")->required();
  attend->add_option("--pair", flags->pair, "Second text, for models of pairs")->type_name("TEXT");
  attend->add_option("-m,--model", flags->model, "Model; the server's default if absent")
      ->type_name("NAME");
  attend->add_flag("--truncate", flags->truncate,
                   "Shorten a text that is too long rather than refuse it");
  AddSelector(attend, "--layers", "Layers (default: all)", &flags->layers);
  AddSelector(attend, "--heads", "Heads (default: all)", &flags->heads);
  AddSelector(attend, "--rows", "Tokens that look (default: all)", &flags->rows);
  AddSelector(attend, "--columns", "Tokens looked at (default: all)", &flags->columns);
  attend
      ->add_option("--reduction", flags->reduction,
                   "What the server makes of the weights: none, mean_heads, rollout, flow, entropy "
                   "or mean_distance (default: none; for the terminal mean_heads)")
      ->type_name("HOW")
      ->check([](const std::string& how) {
        return ParseReduction(how) ? std::string()
                                   : "none, mean_heads, rollout, flow, entropy or mean_distance "
                                     "is wanted";
      });
  attend->add_option("-k,--top-k", flags->top_k, "Keep only the N largest weights of each row")
      ->type_name("N");
  attend
      ->add_option("--dtype", flags->dtype,
                   "How numbers travel: fp32, fp16 or uint8 (default: fp32; for the terminal fp16)")
      ->type_name("TYPE")
      ->check([](const std::string& type) {
        return ParseType(type) ? std::string() : "fp32, fp16 or uint8 is wanted";
      });
  attend
      ->add_option("--positions", flags->positions,
                   "Other positions: off, +K (all K further) or one for each token, as 0,1,5:9")
      ->type_name("WHICH");
  AddOutputs(attend, flags);
  attend->footer(kFooter);
  return attend;
}

absl::StatusOr<AttendCommand> MakeAttend(const CLI::App& attend, AttendFlags flags) {
  for (std::string* value : {&flags.text, &flags.pair, &flags.model, &flags.layers, &flags.heads,
                             &flags.rows, &flags.columns, &flags.positions, &flags.npz,
                             &flags.safetensors, &flags.png, &flags.html}) {
    Unprotect(value);
  }
  AttendCommand command;
  v1::GetAttentionRequest& request = command.request;
  request.mutable_input()->set_text(flags.text);
  if (attend.count("--pair") > 0) request.mutable_input()->set_text_pair(flags.pair);
  if (!flags.model.empty()) request.mutable_model()->set_name(flags.model);
  struct Selector {
    const char* flag;
    const std::string& value;
    v1::IndexSelector* (v1::GetAttentionRequest::*field)();
  };
  const Selector selectors[] = {
      {"--layers", flags.layers, &v1::GetAttentionRequest::mutable_layers},
      {"--heads", flags.heads, &v1::GetAttentionRequest::mutable_heads},
      {"--rows", flags.rows, &v1::GetAttentionRequest::mutable_query_rows},
      {"--columns", flags.columns, &v1::GetAttentionRequest::mutable_key_columns}};
  for (const Selector& selector : selectors) {
    if (attend.count(selector.flag) == 0) continue;
    absl::StatusOr<v1::IndexSelector> parsed = ParseSelector(selector.value);
    if (!parsed.ok()) return Blame(selector.flag, parsed.status());
    *(request.*selector.field)() = *std::move(parsed);
  }
  if (attend.count("--positions") > 0) {
    absl::StatusOr<v1::PositionOverride> positions = ParsePositions(flags.positions);
    if (!positions.ok()) return Blame("--positions", positions.status());
    *request.mutable_position_override() = *std::move(positions);
  }
  command.has_reduction = attend.count("--reduction") > 0;
  command.has_type = attend.count("--dtype") > 0;
  request.set_reduction(
      ParseReduction(flags.reduction).value_or(v1::ATTENTION_REDUCTION_UNSPECIFIED));
  request.set_type(ParseType(flags.dtype).value_or(v1::TENSOR_TYPE_FLOAT32));
  request.set_top_k(flags.top_k);
  request.set_long_text_policy(flags.truncate ? v1::LONG_TEXT_POLICY_TRUNCATE
                                              : v1::LONG_TEXT_POLICY_ERROR);
  command.json = flags.json;
  command.npz = flags.npz;
  command.safetensors = flags.safetensors;
  command.png = flags.png;
  command.html = flags.html;
  if (!flags.html.empty() && request.reduction() != v1::ATTENTION_REDUCTION_UNSPECIFIED &&
      request.reduction() != v1::ATTENTION_REDUCTION_MEAN_HEADS) {
    return absl::InvalidArgumentError(
        "--html shows weights: it goes with --reduction none or mean_heads");
  }
  return command;
}

}  // namespace heed::cli

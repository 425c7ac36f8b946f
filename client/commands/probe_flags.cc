#include "client/commands/probe_flags.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/commands/arguments.h"
#include "client/commands/selector.h"

namespace heed::cli {
namespace {

constexpr char kFooter[] = R"(Examples:
  heed probe permute "Not good, but not bad." --count 200
  heed probe override "Not good, but not bad." --positions off --positions +20
  heed probe mask "Not good, but not bad." --fractions 0.2,0.4 --drop
  heed probe layers "A first text." "A second text."
  heed probe similarity --count 48 --layer -1)";

void AddModel(CLI::App* probe, ProbeFlags* flags) {
  probe->add_option("-m,--model", flags->model, "Model; the server's default if absent")
      ->type_name("NAME");
  probe->add_flag("--json", flags->json, "One JSON object");
  probe->footer("");
}

CLI::App* AddTextProbe(CLI::App* parent, const char* name, const char* help, bool many,
                       ProbeFlags* flags) {
  CLI::App* const probe = parent->add_subcommand(name, help);
  CLI::Option* const texts = probe->add_option("TEXT", flags->texts, "Text to read")->required();
  if (!many) texts->expected(1);
  probe->add_option("--pair", flags->pair, "Second text, for models of pairs")->type_name("TEXT");
  AddModel(probe, flags);
  return probe;
}

void AddPng(CLI::App* probe, ProbeFlags* flags) {
  probe->add_option("--png", flags->png, "Draw it as a picture instead")->type_name("FILE");
}

void AddSeed(CLI::App* probe, ProbeFlags* flags) {
  probe->add_option("--seed", flags->seed, "The same seed gives the same orders and tokens")
      ->type_name("N")
      ->capture_default_str();
}

void FillInput(const CLI::App& probe, const ProbeFlags& flags, const std::string& text,
               v1::TextInput* input) {
  input->set_text(text);
  if (probe.count("--pair") > 0) input->set_text_pair(flags.pair);
}

template <typename Request>
void FillModel(const ProbeFlags& flags, Request* request) {
  if (!flags.model.empty()) request->mutable_model()->set_name(flags.model);
}

absl::StatusOr<v1::ProbeMaskingRequest> MakeMasking(const CLI::App& probe,
                                                    const ProbeFlags& flags) {
  v1::ProbeMaskingRequest request;
  FillModel(flags, &request);
  FillInput(probe, flags, flags.texts[0], request.mutable_input());
  for (const absl::string_view part : absl::StrSplit(flags.fractions, ',')) {
    float fraction = 0.0f;
    if (!absl::SimpleAtof(part, &fraction) || !(fraction > 0.0f && fraction < 1.0f)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--fractions: \"", part, "\" is no number between 0 and 1"));
    }
    request.add_fractions(fraction);
  }
  request.set_repeat_count(flags.repeats);
  request.set_seed(flags.seed);
  request.set_drop(flags.drop);
  return request;
}

absl::StatusOr<OverrideProbe> MakeOverride(const CLI::App& probe, ProbeFlags flags) {
  OverrideProbe override;
  FillModel(flags, &override.request);
  FillInput(probe, flags, flags.texts[0], override.request.add_inputs());
  if (flags.positions.empty()) flags.positions = {"off"};
  for (const std::string& name : flags.positions) {
    const absl::StatusOr<v1::PositionOverride> positions = ParsePositions(name);
    if (!positions.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--positions: ", positions.status().message()));
    }
    override.positions.emplace_back(name, *positions);
  }
  return override;
}

}  // namespace

CLI::App* AddProbe(CLI::App* app, ProbeFlags* flags) {
  CLI::App* const probe =
      app->add_subcommand("probe", "Measure what order and positions do to a prediction");
  probe->require_subcommand(1);
  probe->footer(kFooter);
  CLI::App* const permute =
      AddTextProbe(probe, "permute", "Classify random orders of the tokens", false, flags);
  permute->add_option("--count", flags->count, "Orders")->type_name("N")->capture_default_str();
  AddSeed(permute, flags);

  CLI::App* const override = AddTextProbe(
      probe, "override", "Classify with other positions, or without any", false, flags);
  override
      ->add_option("--positions", flags->positions,
                   "off, +K (all K further) or one for each token, as 0,1,5:9; repeatable "
                   "(default: off)")
      ->type_name("WHICH")
      ->expected(1)
      ->take_all();

  CLI::App* const mask =
      AddTextProbe(probe, "mask", "Classify with some tokens masked or dropped", false, flags);
  mask->add_option("--fractions", flags->fractions, "Shares of the tokens")
      ->type_name("LIST")
      ->capture_default_str();
  mask->add_option("--repeats", flags->repeats, "Choices of tokens for each share")
      ->type_name("N")
      ->capture_default_str();
  mask->add_flag("--drop", flags->drop, "Drop tokens rather than mask them");
  AddSeed(mask, flags);

  CLI::App* const layers = AddTextProbe(
      probe, "layers", "Tell how much of the scores positions explain, by layer", true, flags);
  layers->add_option("--count", flags->orders, "Random orders of each text")
      ->type_name("N")
      ->capture_default_str();
  AddSeed(layers, flags);
  AddPng(layers, flags);

  CLI::App* const similarity =
      probe->add_subcommand("similarity", "Show how alike the encoding makes positions");
  AddModel(similarity, flags);
  AddPng(similarity, flags);
  similarity->add_option("--count", flags->position_count, "Positions, from 0")
      ->type_name("N")
      ->capture_default_str();
  similarity->add_option("--layer", flags->layer, "Layer, where layers differ; -1: the last")
      ->type_name("N")
      ->capture_default_str();
  similarity
      ->add_option("--encoding", flags->encoding, "Which, of a model that has several encodings")
      ->type_name("NAME");
  return probe;
}

absl::StatusOr<int> RunProbe(const CLI::App& probe, ProbeFlags flags, const Style& style,
                             absl::Duration timeout, const Client& client, Io& io) {
  for (std::string& text : flags.texts) Unprotect(&text);
  for (std::string& text : flags.positions) Unprotect(&text);
  for (std::string* text :
       {&flags.pair, &flags.model, &flags.fractions, &flags.encoding, &flags.png}) {
    Unprotect(text);
  }
  const CLI::App& chosen = *probe.get_subcommands().at(0);
  const std::string name = chosen.get_name();
  const ProbeOutput output = {flags.json, flags.png, style, timeout};
  if (name == "permute") {
    v1::ProbePermutationRequest request;
    FillModel(flags, &request);
    FillInput(chosen, flags, flags.texts[0], request.mutable_input());
    request.set_permutation_count(flags.count);
    request.set_seed(flags.seed);
    return RunProbePermute(request, output, client, io);
  }
  if (name == "override") {
    const absl::StatusOr<OverrideProbe> request = MakeOverride(chosen, flags);
    if (!request.ok()) return request.status();
    return RunProbeOverride(*request, output, client, io);
  }
  if (name == "mask") {
    const absl::StatusOr<v1::ProbeMaskingRequest> request = MakeMasking(chosen, flags);
    if (!request.ok()) return request.status();
    return RunProbeMask(*request, output, client, io);
  }
  if (name == "layers") {
    v1::GetLayerProfileRequest request;
    FillModel(flags, &request);
    for (const std::string& text : flags.texts)
      FillInput(chosen, flags, text, request.add_inputs());
    request.set_permutation_count(flags.orders);
    request.set_seed(flags.seed);
    return RunProbeLayers(request, output, client, io);
  }
  v1::GetPositionSimilarityRequest request;
  FillModel(flags, &request);
  request.set_position_count(flags.position_count);
  request.set_layer(flags.layer);
  request.set_encoding(flags.encoding);
  return RunProbeSimilarity(request, output, client, io);
}

}  // namespace heed::cli

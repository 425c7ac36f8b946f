#include "client/commands/cli.h"

// Narrower than CLI/CLI.hpp, which costs every file that includes it.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/commands/arguments.h"
#include "client/commands/attend_flags.h"
#include "client/commands/classify.h"
#include "client/commands/exit_code.h"
#include "client/commands/health.h"
#include "client/commands/models.h"
#include "client/commands/probe_flags.h"
#include "client/commands/tokenize.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr char kAbout[] = "Classify text with a Heed server, and see what it attends to.";

constexpr char kFooter[] = R"(Examples:
  heed classify "A film I would watch again."
  heed classify --file reviews.txt --top-k 2
  heed classify --json < reviews.txt > results.jsonl
  heed attend "A film I would watch again."
  heed --server heed.example:50051 models
  heed health --wait 30 && heed tokenize "How a model reads this."

Exit codes:
  0  done; health: the server is SERVING
  1  refused: bad input, unknown model, an error of the server; health: not SERVING
  2  wrong usage, or a file that cannot be opened
  3  no server at that address, or no answer in time

A text that begins with "-" goes after "--". Colours follow NO_COLOR.)";

constexpr char kClassifyFooter[] =
    R"(Texts come from the arguments, from --file, or from standard input, one a line; an empty line is
an empty text. Results come in the order of the texts; at an error those before it are printed.

Examples:
  heed classify "Dull from start to end." "A delight."
  heed classify --pair "A man sleeps." "A man is awake." --model nli
  heed classify --importance rollout_cls "A delight from start to end."
  heed classify --entities first "Ada lived in London." --model ner
  heed classify --file - --jsonl --json < pairs.jsonl)";

// "30", "1.5" (seconds), "500ms", "2m".
bool ParseSeconds(const std::string& text, absl::Duration* duration) {
  double seconds = 0.0;
  if (absl::SimpleAtod(text, &seconds)) {
    *duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, duration)) {
    return false;
  }
  return *duration >= absl::ZeroDuration() && *duration <= absl::Hours(24 * 365);
}

std::string CheckSeconds(const std::string& text) {
  absl::Duration duration;
  if (ParseSeconds(text, &duration)) return "";
  return absl::StrCat("\"", text, "\" is not a time: seconds are wanted, or a form like 500ms");
}

// "none", "simple" or "first", as the pipeline of transformers has it.
std::optional<v1::EntityAggregation> ParseEntities(absl::string_view name) {
  if (name == "none") return v1::ENTITY_AGGREGATION_NONE;
  if (name == "simple") return v1::ENTITY_AGGREGATION_SIMPLE;
  if (name == "first") return v1::ENTITY_AGGREGATION_FIRST;
  return std::nullopt;
}

std::optional<v1::Importance> ParseImportance(absl::string_view name) {
  if (name == "rollout_cls") return v1::IMPORTANCE_ROLLOUT_CLS;
  if (name == "mean_last_layer_cls") return v1::IMPORTANCE_MEAN_LAST_LAYER_CLS;
  return std::nullopt;
}

// Where the flags of all commands land.
struct Flags {
  std::string server = "127.0.0.1:50051";
  std::string timeout = "30";
  std::string wait = "0";
  std::string color = "auto";
  std::string pair;
  bool no_text = false;
  uint32_t top_k = 0;
  bool json = false;
  std::string model;
  bool truncate = false;
  InputOptions input;
  bool logits = false;
  std::string entities;
  std::string importance;
  std::string models_name;
  std::string service;
  AttendFlags attend;
  ProbeFlags probe;
};

void AddInputFlags(CLI::App* command, Flags* flags) {
  command->add_option("TEXT", flags->input.texts, "Texts to read");
  command
      ->add_option("-f,--file", flags->input.file,
                   "File with one text a line; \"-\": standard input")
      ->type_name("FILE");
  command->add_flag("--jsonl", flags->input.jsonl,
                    "Lines are JSON: {\"text\": ..., \"text_pair\": ...}");
  command->add_option("--pair", flags->pair, "Second text of every input, for models of pairs")
      ->type_name("TEXT");
  command->add_option("-m,--model", flags->model, "Model; the server's default if absent")
      ->type_name("NAME");
  command->add_flag("--truncate", flags->truncate,
                    "Shorten a text that is too long rather than refuse it");
}

void AddJsonFlag(CLI::App* command, Flags* flags) {
  command->add_flag("--json", flags->json, "JSON Lines: one object a line");
}

struct Commands {
  CLI::App* classify;
  CLI::App* models;
  CLI::App* tokenize;
  CLI::App* health;
  CLI::App* attend;
  CLI::App* probe;
};

Commands AddCommands(CLI::App* app, Flags* flags) {
  Commands commands = {app->add_subcommand("classify", "Label texts, with scores"),
                       app->add_subcommand("models", "List the models of the server, or show one"),
                       app->add_subcommand("tokenize", "Show the tokens a model reads"),
                       app->add_subcommand("health", "Tell whether the server serves"),
                       AddAttend(app, &flags->attend),
                       AddProbe(app, &flags->probe)};
  AddInputFlags(commands.classify, flags);
  commands.classify
      ->add_option("-k,--top-k", flags->top_k,
                   "Labels per text, best first; 0: all (default: 1, with --json all)")
      ->type_name("N");
  commands.classify->add_flag("--logits", flags->logits,
                              "Show the raw logits too; those of tokens only with --json");
  commands.classify
      ->add_option("--entities", flags->entities,
                   "How a model that labels tokens joins them: none, simple (default), first: "
                   "whole words by their first token")
      ->type_name("HOW")
      ->check([](const std::string& how) {
        return ParseEntities(how) ? std::string() : "none, simple or first are wanted";
      });
  commands.classify
      ->add_option("--importance", flags->importance,
                   "Show how much each token matters to the summary token: rollout_cls (attention "
                   "rollout through all layers) or mean_last_layer_cls")
      ->type_name("HOW")
      ->check([](const std::string& how) {
        return ParseImportance(how) ? std::string()
                                    : "rollout_cls or mean_last_layer_cls is wanted";
      });
  AddJsonFlag(commands.classify, flags);
  commands.classify->add_flag("--no-text", flags->no_text, "With --json: leave the texts out");
  commands.classify->footer(kClassifyFooter);

  commands.models->add_option("NAME", flags->models_name, "Model to show in full");
  AddJsonFlag(commands.models, flags);
  commands.models->footer("");

  AddInputFlags(commands.tokenize, flags);
  AddJsonFlag(commands.tokenize, flags);
  commands.tokenize->footer("");

  commands.health->add_option("SERVICE", flags->service,
                              "Service to ask for, e.g. heed.v1.ClassificationService; "
                              "none: the server as a whole");
  commands.health->add_option("--wait", flags->wait, "Ask again until it serves, at most this long")
      ->type_name("SECONDS")
      ->check(CheckSeconds);
  AddJsonFlag(commands.health, flags);
  commands.health->footer("");
  return commands;
}

void AddGlobalFlags(CLI::App* app, Flags* flags) {
  app->set_version_flag("--version", "heed " HEED_VERSION, "Print the version");
  app->add_option("-s,--server", flags->server, "Server to call")
      ->type_name("HOST:PORT")
      ->envname("HEED_SERVER")
      ->capture_default_str();
  app->add_option("-t,--timeout", flags->timeout, "Time for one call, retries included")
      ->type_name("SECONDS")
      ->check(CheckSeconds)
      ->capture_default_str();
  app->add_option("--color", flags->color, "When to use colours: auto, always, never")
      ->type_name("WHEN")
      ->check([](const std::string& when) {
        const bool known = when == "auto" || when == "always" || when == "never";
        return known ? std::string() : "auto, always or never are wanted";
      })
      ->capture_default_str();
  app->footer(kFooter);
  app->require_subcommand(1);
  app->fallthrough();
}

int Usage(absl::string_view message, Io& io) {
  PrintError(absl::StrCat(Escape(message), "\n  'heed --help' tells more"), io);
  return kUsage;
}

Style StyleOf(const Flags& flags, const Io& io) {
  Style style;
  style.color =
      flags.color == "always" || (flags.color == "auto" && io.out_is_terminal && !io.no_color);
  style.columns = io.columns;
  style.palette = io.palette;
  return style;
}

// Runs the command that was parsed into `flags`.
int Dispatch(const CLI::App& app, const Commands& commands, Flags flags, Io& io) {
  for (std::string& text : flags.input.texts) Unprotect(&text);
  for (std::string* text : {&flags.input.file, &flags.pair, &flags.model, &flags.models_name,
                            &flags.service, &flags.server}) {
    Unprotect(text);
  }
  ClientOptions options;
  options.user_agent = "heed/" HEED_VERSION;
  ParseSeconds(flags.timeout, &options.deadline);
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(flags.server, options);
  if (!client.ok()) return Usage(client.status().message(), io);
  const Style style = StyleOf(flags, io);
  const absl::Duration timeout = options.deadline;
  if (app.got_subcommand(commands.models)) {
    return RunModels({flags.models_name, flags.json, style, timeout}, **client, io);
  }
  if (app.got_subcommand(commands.health)) {
    absl::Duration wait;
    ParseSeconds(flags.wait, &wait);
    return RunHealth({flags.service, wait, flags.json, style, timeout}, **client, io);
  }
  if (app.got_subcommand(commands.attend)) {
    absl::StatusOr<AttendCommand> attend = MakeAttend(*commands.attend, flags.attend);
    if (!attend.ok()) return Usage(attend.status().message(), io);
    attend->style = style;
    attend->timeout = timeout;
    return RunAttend(*attend, **client, io);
  }
  if (app.got_subcommand(commands.probe)) {
    const absl::StatusOr<int> code =
        RunProbe(*commands.probe, flags.probe, style, timeout, **client, io);
    return code.ok() ? *code : Usage(code.status().message(), io);
  }
  CLI::App* const reader =
      app.got_subcommand(commands.classify) ? commands.classify : commands.tokenize;
  if (reader->count("--pair") > 0) flags.input.pair = flags.pair;
  if (reader == commands.tokenize) {
    return RunTokenize({flags.input, flags.model, flags.truncate, flags.json, style, timeout},
                       **client, io);
  }
  ClassifyCommand command = {flags.input,    flags.model,    std::nullopt,
                             flags.logits,   flags.truncate, flags.json,
                             !flags.no_text, style,          timeout};
  if (reader->count("--top-k") > 0) command.top_k = flags.top_k;
  command.entities = ParseEntities(flags.entities).value_or(v1::ENTITY_AGGREGATION_UNSPECIFIED);
  command.importance = ParseImportance(flags.importance).value_or(v1::IMPORTANCE_UNSPECIFIED);
  return RunClassify(command, **client, io);
}

}  // namespace

int RunCli(int argc, const char* const* argv, Io& io) {
  Flags flags;
  CLI::App app(kAbout, "heed");
  AddGlobalFlags(&app, &flags);
  const Commands commands = AddCommands(&app, &flags);
  try {
    app.parse(Protect(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, *io.out, *io.err);
      return Finish(kSuccess, io);
    }
    return Usage(UnprotectMessage(error.what()), io);
  }
  return Dispatch(app, commands, std::move(flags), io);
}

}  // namespace heed::cli

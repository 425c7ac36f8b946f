#include "client/commands/classify.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/classify_many.h"
#include "client/commands/exit_code.h"
#include "client/render/classification.h"
#include "client/render/entities.h"
#include "client/render/importance.h"
#include "client/render/json.h"
#include "client/rpc_error.h"

namespace heed::cli {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(200);

// "12,800 texts, 3,210/s" on one line of a terminal, while results go elsewhere.
class Progress {
 public:
  explicit Progress(const Io& io)
      : io_(io), shown_(io.err_is_terminal && !io.out_is_terminal), start_(io.now()) {}
  ~Progress() { Clear(); }

  void Update(uint64_t count) {
    if (!shown_) return;
    const absl::Time now = io_.now();
    if (now - last_ < kProgressInterval) return;
    last_ = now;
    drawn_ = true;
    const double seconds = absl::ToDoubleSeconds(now - start_);
    const double rate = seconds > 0.0 ? static_cast<double>(count) / seconds : 0.0;
    *io_.err << absl::StrCat("\r\x1b[K", FormatCount(count), " texts, ",
                             FormatCount(static_cast<size_t>(rate)), "/s");
    io_.err->flush();
  }

  void Clear() {
    if (drawn_) *io_.err << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }

 private:
  const Io& io_;
  const bool shown_;
  const absl::Time start_;
  absl::Time last_ = absl::InfinitePast();
  bool drawn_ = false;
};

// Writes results in the format that was asked for.
class ResultWriter {
 public:
  ResultWriter(const ClassifyCommand& command, Io& io)
      : command_(command), io_(io), table_(command.style, command.logits) {}

  absl::Status Write(const ClassifiedText& text) {
    if (command_.json) {
      *io_.out << ClassificationJson(text, command_.with_text) << '\n';
    } else if (text.result.labels().empty()) {
      // The model labels tokens; one that labels texts has at least one label.
      *io_.out << RenderEntities(text.index, text.input, text.result, command_.style);
      ShowImportance(text);
    } else {
      AddRow(text);
    }
    if (text.last_of_call) io_.out->flush();
    // Nobody reads any more, or the disk is full: Finish() says so.
    if (!io_.out->good()) return absl::DataLossError("cannot write");
    return absl::OkStatus();
  }

 private:
  void AddRow(const ClassifiedText& text) {
    rows_.push_back({text.input, text.result});
    auto& labels = *rows_.back().result.mutable_labels();
    if (!command_.top_k && labels.size() > 1) labels.DeleteSubrange(1, labels.size() - 1);
    // What belongs to one text stands right below it.
    const bool own_lines = command_.importance != v1::IMPORTANCE_UNSPECIFIED;
    if (!text.last_of_call && !own_lines) return;
    *io_.out << table_.Render(rows_);
    rows_.clear();
    ShowImportance(text);
  }

  void ShowImportance(const ClassifiedText& text) {
    *io_.out << RenderImportance(text.input, text.result, command_.style);
  }

  const ClassifyCommand& command_;
  Io& io_;
  ClassificationTable table_;
  std::vector<ResultRow> rows_;
};

v1::ClassifyRequest MakeRequest(const ClassifyCommand& command) {
  v1::ClassifyRequest request;
  if (!command.model.empty()) request.mutable_model()->set_name(command.model);
  // A model that labels tokens refuses a number of labels, so that a table's one is picked here.
  request.set_top_k(command.top_k.value_or(0));
  request.set_entity_aggregation(command.entities);
  request.set_importance(command.importance);
  request.set_return_logits(command.logits);
  request.set_long_text_policy(command.truncate ? v1::LONG_TEXT_POLICY_TRUNCATE
                                                : v1::LONG_TEXT_POLICY_ERROR);
  return request;
}

// Where the text at fault came from: "inputs[3].text" is "\n  inputs[3] is line 4 of FILE".
std::string ExplainFields(const absl::Status& status, const CommandInput& input) {
  std::string lines;
  for (const FieldViolation& violation : GetRpcErrorDetails(status).field_violations) {
    absl::string_view field = violation.field;
    uint64_t index = 0;
    if (!absl::ConsumePrefix(&field, "inputs[") ||
        !absl::SimpleAtoi(field.substr(0, field.find(']')), &index)) {
      continue;
    }
    absl::StrAppend(&lines, "\n  inputs[", index, "] is ", input.Describe(index));
  }
  return lines;
}

}  // namespace

int RunClassify(const ClassifyCommand& command, const Client& client, Io& io) {
  absl::StatusOr<std::unique_ptr<CommandInput>> input = OpenInput(command.input, io);
  if (!input.ok()) {
    PrintError(input.status().message(), io);
    return kUsage;
  }
  ResultWriter writer(command, io);
  Progress progress(io);
  const absl::Status status = ClassifyMany(client, MakeRequest(command), **input,
                                           [&](const ClassifiedText& text) -> absl::Status {
                                             progress.Update(text.index + 1);
                                             return writer.Write(text);
                                           });
  progress.Clear();
  if (!status.ok() && io.out->good()) {
    PrintError(absl::StrCat(DescribeError(status, client.target(), command.timeout),
                            ExplainFields(status, **input)),
               io);
  }
  return Finish(ExitCodeFor(status), io);
}

}  // namespace heed::cli

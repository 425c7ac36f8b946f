#include "client/commands/tokenize.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands/exit_code.h"
#include "client/render/json.h"
#include "client/render/models.h"
#include "client/render/text.h"
#include "client/rpc_error.h"

namespace heed::cli {
namespace {

// Offsets make an answer many times larger than its text, so the calls are small.
constexpr int kTextsPerCall = 64;
constexpr size_t kBytesPerCall = size_t{64} << 10;

class Tokenizing {
 public:
  Tokenizing(const TokenizeCommand& command, const Client& client, Io& io)
      : command_(command), client_(client), io_(io) {
    if (!command.model.empty()) request_.mutable_model()->set_name(command.model);
    request_.set_long_text_policy(command.truncate ? v1::LONG_TEXT_POLICY_TRUNCATE
                                                   : v1::LONG_TEXT_POLICY_ERROR);
  }

  absl::Status Run(CommandInput& input) {
    while (true) {
      v1::TextInput text;
      const absl::StatusOr<bool> more = input.Next(&text);
      if (!more.ok() || !*more) {
        const absl::Status sent = Send();
        return !sent.ok() ? sent : more.status();
      }
      bytes_ += text.text().size() + text.text_pair().size();
      *request_.add_inputs() = std::move(text);
      if (request_.inputs_size() < kTextsPerCall && bytes_ < kBytesPerCall && input.Ready()) {
        continue;
      }
      if (absl::Status status = Send(); !status.ok()) return status;
    }
  }

 private:
  absl::Status Send() {
    if (request_.inputs().empty()) return absl::OkStatus();
    const absl::StatusOr<v1::TokenizeResponse> response = client_.Tokenize(request_);
    if (!response.ok()) return ShiftInputIndexes(response.status(), first_index_);
    if (response->results_size() != request_.inputs_size()) {
      return absl::InternalError(absl::StrCat("the server answered ", request_.inputs_size(),
                                              " texts with ", response->results_size(),
                                              " results"));
    }
    for (int i = 0; i < response->results_size(); ++i) {
      Print(first_index_ + static_cast<uint64_t>(i), request_.inputs(i), response->results(i));
    }
    io_.out->flush();
    if (!io_.out->good()) return absl::DataLossError("cannot write");
    first_index_ += static_cast<uint64_t>(request_.inputs_size());
    request_.clear_inputs();
    bytes_ = 0;
    return absl::OkStatus();
  }

  void Print(uint64_t index, const v1::TextInput& input, const v1::TokenizedText& result) {
    if (command_.json) {
      *io_.out << TokenizedJson(index, input, result) << '\n';
      return;
    }
    const v1::TokenUsage& usage = result.usage();
    const std::string count =
        usage.truncated() ? absl::StrCat(usage.token_count(), " of ", usage.original_token_count(),
                                         " tokens (truncated)")
                          : absl::StrCat(usage.token_count(), " tokens");
    const size_t columns = command_.style.columns;
    const size_t room = columns > count.size() + 12 ? columns - count.size() - 2 : columns;
    *io_.out << (index > 0 ? "\n" : "") << Elide(Escape(input.text()), room) << "  "
             << Paint(count, Color::kDim, command_.style) << '\n'
             << RenderTokens(result, command_.style);
  }

  const TokenizeCommand& command_;
  const Client& client_;
  Io& io_;
  v1::TokenizeRequest request_;
  uint64_t first_index_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

int RunTokenize(const TokenizeCommand& command, const Client& client, Io& io) {
  absl::StatusOr<std::unique_ptr<CommandInput>> input = OpenInput(command.input, io);
  if (!input.ok()) {
    PrintError(input.status().message(), io);
    return kUsage;
  }
  const absl::Status status = Tokenizing(command, client, io).Run(**input);
  if (!status.ok() && io.out->good()) {
    PrintError(DescribeError(status, client.target(), command.timeout), io);
  }
  return Finish(ExitCodeFor(status), io);
}

}  // namespace heed::cli

#include "client/commands/attend.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/attend_files.h"
#include "client/commands/exit_code.h"
#include "client/render/attention.h"
#include "client/render/attention_json.h"

namespace heed::cli {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(100);
constexpr size_t kBarColumns = 30;

// "██████▌    1.2 MB of 3.4 MB" on one line of a terminal until all has come.
class ProgressBar {
 public:
  // What has come within one interval needs no bar.
  explicit ProgressBar(const Io& io) : io_(io), last_(io.now()) {}
  ~ProgressBar() { Clear(); }

  void Update(uint64_t received, uint64_t total) {
    if (!io_.err_is_terminal) return;
    const absl::Time now = io_.now();
    if (now - last_ < kProgressInterval) return;
    last_ = now;
    drawn_ = true;
    const double share =
        total > 0 ? static_cast<double>(received) / static_cast<double>(total) : 0.0;
    *io_.err << absl::StrCat("\r\x1b[K", Bar(share, kBarColumns), " ",
                             FormatBytes(static_cast<double>(received)), " of ",
                             FormatBytes(static_cast<double>(total)));
    io_.err->flush();
  }

  void Clear() {
    if (drawn_) *io_.err << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }

 private:
  const Io& io_;
  absl::Time last_;
  bool drawn_ = false;
};

bool IsForTerminal(const AttendCommand& command) {
  return !command.json && command.npz.empty() && command.safetensors.empty() &&
         command.png.empty() && command.html.empty();
}

v1::GetAttentionRequest Complete(const AttendCommand& command) {
  v1::GetAttentionRequest request = command.request;
  if (!IsForTerminal(command)) return request;
  // A picture needs one matrix a layer, and no more digits than the eye tells apart.
  if (!command.has_reduction) request.set_reduction(v1::ATTENTION_REDUCTION_MEAN_HEADS);
  if (!command.has_type) request.set_type(v1::TENSOR_TYPE_FLOAT16);
  return request;
}

}  // namespace

int RunAttend(const AttendCommand& command, const Client& client, Io& io) {
  ProgressBar progress(io);
  const absl::StatusOr<AttentionData> data = client.GetAttention(
      Complete(command),
      [&progress](uint64_t received, uint64_t total) { progress.Update(received, total); });
  progress.Clear();
  if (!data.ok()) {
    PrintError(DescribeError(data.status(), client.target(), command.timeout), io);
    return Finish(ExitCodeFor(data.status()), io);
  }
  // The files first: whoever reads the output may stop before its end.
  if (absl::Status status = WriteAttendFiles(command, *data, client, io); !status.ok()) {
    PrintError(status.message(), io);
    return kUsage;
  }
  if (IsForTerminal(command)) *io.out << RenderAttention(*data, command.style);
  if (command.json) *io.out << AttentionJson(command.request.input(), *data) << '\n';
  return Finish(kSuccess, io);
}

}  // namespace heed::cli

#include "client/commands/models.h"

#include "client/commands/exit_code.h"
#include "client/render/json.h"
#include "client/render/models.h"

namespace heed::cli {
namespace {

absl::Status PrintOne(const ModelsCommand& command, const Client& client, Io& io) {
  v1::GetModelRequest request;
  request.mutable_model()->set_name(command.name);
  const absl::StatusOr<v1::GetModelResponse> response = client.GetModel(request);
  if (!response.ok()) return response.status();
  if (command.json) {
    *io.out << ModelJson(response->model()) << '\n';
  } else {
    *io.out << RenderModel(response->model(), command.style);
  }
  return absl::OkStatus();
}

absl::Status PrintAll(const ModelsCommand& command, const Client& client, Io& io) {
  const absl::StatusOr<v1::ListModelsResponse> response = client.ListModels();
  if (!response.ok()) return response.status();
  if (!command.json) {
    *io.out << RenderModels(*response, command.style);
    return absl::OkStatus();
  }
  for (const v1::Model& model : response->models()) *io.out << ModelJson(model) << '\n';
  return absl::OkStatus();
}

}  // namespace

int RunModels(const ModelsCommand& command, const Client& client, Io& io) {
  const absl::Status status =
      command.name.empty() ? PrintAll(command, client, io) : PrintOne(command, client, io);
  if (!status.ok()) PrintError(DescribeError(status, client.target(), command.timeout), io);
  return Finish(ExitCodeFor(status), io);
}

}  // namespace heed::cli

// Handlers behind gRPC's callback API: one grpc::Service for each service of the contract, made
// from its descriptor so that no method can be forgotten.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "grpcpp/server_context.h"
#include "server/service_call.h"

namespace heed {

// The services of heed.v1.
std::vector<const google::protobuf::ServiceDescriptor*> ServiceDescriptors();

// "/package.Service/Method".
std::string MethodPath(const google::protobuf::MethodDescriptor& method);

// Every method of ServiceDescriptors().
std::vector<std::string> MethodPaths();

// A client's deadline by `clock`, or infinite.
absl::Time DeadlineOf(std::chrono::system_clock::time_point deadline, const Clock& clock);

// Serves each unary and server-streaming method with its handler; a method without one answers
// UNIMPLEMENTED. Requests and replies pass as bytes: gRPC's own decoding turns a string that is not
// UTF-8 into a bare UNIMPLEMENTED, where Decode can name the field.
class CallbackService : public grpc::Service {
 public:
  CallbackService(const google::protobuf::ServiceDescriptor& descriptor,
                  const ServiceContext& context, const HandlerMap& handlers);

 private:
  void AddUnary(int index, const ServiceContext& context, Handler handler);
  void AddServerStreaming(int index, const ServiceContext& context, Handler handler);
  void AddRefusal(int index, const google::protobuf::MethodDescriptor& method,
                  const ServiceContext& context);

  std::deque<std::string> paths_;  // gRPC keeps pointers to the method names
};

// Answers UNIMPLEMENTED to whatever no service has.
class UnknownMethods : public grpc::CallbackGenericService {
 public:
  explicit UnknownMethods(const ServiceContext& context) : context_(context) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override;

 private:
  const ServiceContext context_;
};

}  // namespace heed

// Times Heed's side of tests/bench/attention_bench.py: calls of a running server, in turn, so that
// what disturbs one disturbs all. Prints one JSON object of medians.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "heed/v1/attention.grpc.pb.h"
#include "heed/v1/classification.grpc.pb.h"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string server;
  std::string model;
  std::string text_file;
  int rounds = 20;
  int parallel = 32;
  uint64_t raw_bytes = uint64_t{256} << 20;
};

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << what << std::endl;
  std::exit(1);
}

double Seconds(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

class Bench {
 public:
  explicit Bench(Settings settings) : settings_(std::move(settings)) {
    const auto channel = grpc::CreateChannel(settings_.server, grpc::InsecureChannelCredentials());
    attention_ = v1::AttentionService::NewStub(channel);
    classification_ = v1::ClassificationService::NewStub(channel);
    std::ifstream file(settings_.text_file);
    for (std::string line; std::getline(file, line);) texts_.push_back(line);
    if (texts_.empty()) Fail("no text in " + settings_.text_file);
  }

  nlohmann::json Run() {
    std::map<std::string, std::function<uint64_t()>> cases;
    cases["classify"] = [this] { return Classify(1, v1::IMPORTANCE_UNSPECIFIED); };
    cases["importance_rollout"] = [this] { return Classify(1, v1::IMPORTANCE_ROLLOUT_CLS); };
    cases["importance_last_layer"] = [this] {
      return Classify(1, v1::IMPORTANCE_MEAN_LAST_LAYER_CLS);
    };
    cases["everything"] = [this] { return Attend(Request(0)); };
    cases["everything_parallel"] = [this] { return AttendParallel(); };
    cases["one_head"] = [this] {
      v1::GetAttentionRequest request = Request(0);
      request.mutable_layers()->add_indices(-1);
      request.mutable_heads()->add_indices(0);
      return Attend(request);
    };
    cases["mean_heads_of_one_row"] = [this] {
      v1::GetAttentionRequest request = Request(0);
      request.mutable_query_rows()->add_indices(0);
      request.set_reduction(v1::ATTENTION_REDUCTION_MEAN_HEADS);
      return Attend(request);
    };
    cases["rollout"] = [this] {
      v1::GetAttentionRequest request = Request(0);
      request.mutable_query_rows()->add_indices(0);
      request.set_reduction(v1::ATTENTION_REDUCTION_ROLLOUT);
      return Attend(request);
    };
    cases["entropy"] = [this] {
      v1::GetAttentionRequest request = Request(0);
      request.set_reduction(v1::ATTENTION_REDUCTION_ENTROPY);
      return Attend(request);
    };
    std::map<std::string, std::vector<double>> times;
    std::map<std::string, uint64_t> bytes;
    for (const auto& [name, body] : cases) body();  // warm
    for (int round = 0; round < settings_.rounds; ++round) {
      for (const auto& [name, body] : cases) {
        if (name == "everything_parallel" && round % 4 != 0) continue;
        times[name].push_back(Seconds([&, &body = body, &name = name] { bytes[name] = body(); }));
      }
    }
    nlohmann::json result;
    std::vector<double> streams;
    for (int round = 0; round < std::min(settings_.rounds, 8); ++round) {
      bytes["stream"] = Attend(Request(texts_.size() - 1), &streams);
    }
    times["stream"] = streams;
    for (const auto& [name, values] : times) {
      result[name] = {{"seconds", Median(values)}, {"bytes", bytes[name]}};
    }
    return result;
  }

 private:
  v1::GetAttentionRequest Request(size_t text) const {
    v1::GetAttentionRequest request;
    request.mutable_model()->set_name(settings_.model);
    request.mutable_input()->set_text(texts_[text % texts_.size()]);
    return request;
  }

  uint64_t Classify(int count, v1::Importance importance) {
    v1::ClassifyRequest request;
    request.mutable_model()->set_name(settings_.model);
    for (int i = 0; i < count; ++i) request.add_inputs()->set_text(texts_[i % texts_.size()]);
    request.set_importance(importance);
    v1::ClassifyResponse response;
    grpc::ClientContext context;
    const grpc::Status status = classification_->Classify(&context, request, &response);
    if (!status.ok()) Fail(status.error_message());
    return response.ByteSizeLong();
  }

  // streams: gets the seconds from the first message to the last.
  uint64_t Attend(const v1::GetAttentionRequest& request, std::vector<double>* streams = nullptr) {
    grpc::ClientContext context;
    const auto reader = attention_->GetAttention(&context, request);
    v1::GetAttentionResponse response;
    uint64_t bytes = 0;
    bool more = reader->Read(&response);
    const double seconds = Seconds([&] {
      while (more && reader->Read(&response)) bytes += response.tile().weights().data().size();
    });
    if (streams != nullptr) streams->push_back(seconds);
    const grpc::Status status = reader->Finish();
    if (!status.ok()) Fail(status.error_message());
    return bytes;
  }

  uint64_t AttendParallel() {
    std::vector<std::thread> threads;
    std::vector<uint64_t> bytes(static_cast<size_t>(settings_.parallel));
    for (size_t i = 0; i < bytes.size(); ++i) {
      threads.emplace_back([this, i, &bytes] { bytes[i] = Attend(Request(i)); });
    }
    uint64_t total = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      threads[i].join();
      total += bytes[i];
    }
    return total;
  }

  const Settings settings_;
  std::vector<std::string> texts_;
  std::unique_ptr<v1::AttentionService::Stub> attention_;
  std::unique_ptr<v1::ClassificationService::Stub> classification_;
};

// A server that streams bytes and does nothing else: what the transport alone can do.
class RawServer : public grpc::CallbackGenericService {
 public:
  explicit RawServer(uint64_t bytes) : bytes_(bytes) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) Fail("cannot listen");
  }
  ~RawServer() override { server_->Shutdown(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Reactor(bytes_);
  }

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(uint64_t bytes) : left_(bytes) { Next(); }
    void OnWriteDone(bool ok) override { ok ? Next() : Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    // A tile of the size that Heed sends, made anew as a real one would be.
    void Next() {
      if (left_ == 0) return Finish(grpc::Status::OK);
      v1::GetAttentionResponse message;
      const uint64_t bytes = std::min<uint64_t>(left_, (uint64_t{1} << 20) - 4096);
      message.mutable_tile()->mutable_weights()->mutable_data()->resize(bytes);
      left_ -= bytes;
      bool own = false;
      buffer_.Clear();
      grpc::SerializationTraits<v1::GetAttentionResponse>::Serialize(message, &buffer_, &own);
      StartWrite(&buffer_);
    }

    uint64_t left_;
    grpc::ByteBuffer buffer_;
  };

  const uint64_t bytes_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Seconds to read `bytes` from a RawServer.
double RawSeconds(uint64_t bytes, int rounds) {
  RawServer server(bytes);
  const auto stub = v1::AttentionService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    times.push_back(Seconds([&] {
      grpc::ClientContext context;
      const auto reader = stub->GetAttention(&context, v1::GetAttentionRequest());
      v1::GetAttentionResponse response;
      while (reader->Read(&response)) {
      }
      if (!reader->Finish().ok()) Fail("the raw stream failed");
    }));
  }
  times.erase(times.begin());  // warm
  return Median(std::move(times));
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Times calls for attention; see attention_bench.py", "heed-bench-attention");
  app.add_option("--server", settings.server, "HOST:PORT; none: the raw stream only");
  app.add_option("--model", settings.model, "Name of the model");
  app.add_option("--text-file", settings.text_file, "A text a line; the last is streamed whole");
  app.add_option("--rounds", settings.rounds, "Calls of each kind");
  app.add_option("--parallel", settings.parallel, "Calls at once where many are");
  app.add_option("--raw-bytes", settings.raw_bytes, "Size of the raw stream");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json result;
  if (!settings.server.empty()) result = Bench(settings).Run();
  result["raw_stream"] = {{"seconds", RawSeconds(settings.raw_bytes, std::min(settings.rounds, 8))},
                          {"bytes", settings.raw_bytes}};
  std::cout << result.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) { return heed::Main(argc, argv); }

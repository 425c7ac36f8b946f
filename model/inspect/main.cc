// heed-inspect: says what a model folder holds, and whether Heed can serve it.

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "model/inspect/report.h"

namespace heed {
namespace {

int Main(int argc, char** argv) {
  CLI::App app{"Says what a model folder holds: architecture, positional encoding, sizes, limits."};
  std::string path;
  LoadOptions options;
  bool as_json = false;
  app.add_option("model", path, "Model folder")->required();
  app.add_option("--precision", options.precision, "auto, fp32 or bf16")->capture_default_str();
  app.add_flag("--encoder", options.headless, "Leave any head aside");
  app.add_flag("--json", as_json, "Print JSON");
  CLI11_PARSE(app, argc, argv);

  const auto report = InspectModel(path, options);
  if (!report.ok()) {
    std::cerr << "heed-inspect: " << report.status().message() << "\n";
    return 1;
  }
  std::cout << (as_json ? report->dump(2) + "\n" : FormatReport(*report));
  return 0;
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  try {
    return heed::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "heed-inspect: " << error.what() << "\n";
    return 1;
  }
}

#include "server/options.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/option_table.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    std::string pattern = (fs::temp_directory_path() / "heed_options_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~OptionsTest() override { fs::remove_all(folder_); }

  ParsedOptions Parse(std::vector<const char*> args) {
    args.insert(args.begin(), "heed-server");
    return ParseOptions(static_cast<int>(args.size()), args.data(), [this](const char* name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }

  std::string WriteConfig(const std::string& text) {
    const std::string path = (folder_ / "heed.toml").string();
    std::ofstream(path) << text;
    return path;
  }

  static EffectiveValue Effective(const ParsedOptions& parsed, const std::string& name) {
    for (const EffectiveValue& value : parsed.effective) {
      if (value.name == name) return value;
    }
    return {};
  }

  fs::path folder_;
  std::map<std::string, std::string> environment_;
};

TEST_F(OptionsTest, Defaults) {
  const ParsedOptions parsed = Parse({});
  ASSERT_FALSE(parsed.exit_code) << parsed.text;
  EXPECT_EQ(parsed.options.listen, "127.0.0.1:50051");
  EXPECT_EQ(parsed.options.metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(parsed.options.drain_timeout, absl::Seconds(30));
  EXPECT_EQ(parsed.options.scheduler.batch.max_queue_delay, absl::ZeroDuration());
  EXPECT_EQ(parsed.options.scheduler.batch.max_batch_tokens, 16384u);
  EXPECT_EQ(parsed.options.max_texts_per_request, 4096u);
  EXPECT_EQ(parsed.options.max_text_bytes, size_t{2} << 20);
  EXPECT_EQ(parsed.options.max_attention_bytes, size_t{256} << 20);
  EXPECT_EQ(parsed.options.max_attention_memory, size_t{1} << 30);
  EXPECT_EQ(parsed.options.attention_stall_timeout, absl::Seconds(30));
  EXPECT_GE(parsed.options.threads, 1);
  EXPECT_EQ(parsed.effective.size(), OptionTable().size());
  EXPECT_EQ(Effective(parsed, "listen").source, "default");
}

TEST_F(OptionsTest, FlagOverEnvironmentOverFile) {
  const std::string config = WriteConfig(
      "listen = \"file:1\"\nmax-batch-tokens = 11\nqueue-timeout = \"3s\"\n"
      "model = [\"a=/m/a\", \"b=/m/b\"]\n");
  environment_ = {{"HEED_LISTEN", "env:2"}, {"HEED_MAX_BATCH_TOKENS", "22"}};
  const ParsedOptions parsed = Parse({"--config", config.c_str(), "--listen", "flag:3"});
  ASSERT_FALSE(parsed.exit_code) << parsed.text;
  EXPECT_EQ(parsed.options.listen, "flag:3");
  EXPECT_EQ(Effective(parsed, "listen").source, "flag");
  EXPECT_EQ(parsed.options.scheduler.batch.max_batch_tokens, 22u);
  EXPECT_EQ(Effective(parsed, "max-batch-tokens").source, "environment");
  EXPECT_EQ(parsed.options.scheduler.batch.queue_timeout, absl::Seconds(3));
  EXPECT_EQ(Effective(parsed, "queue-timeout").source, "file");
  ASSERT_EQ(parsed.options.models.size(), 2u);
  EXPECT_EQ(parsed.options.models[1].path, "/m/b");
}

TEST_F(OptionsTest, ConfigFileMayComeFromTheEnvironment) {
  environment_ = {{"HEED_CONFIG", WriteConfig("threads = 3\n")}};
  EXPECT_EQ(Parse({}).options.threads, 3);
}

TEST_F(OptionsTest, ModelsByNameOrFolder) {
  environment_ = {{"HEED_MODEL", "unused=/x"}};
  const ParsedOptions parsed =
      Parse({"--model", "first=/models/one", "--model", "/models/two/", "--model=a=b/three"});
  ASSERT_FALSE(parsed.exit_code) << parsed.text;
  ASSERT_EQ(parsed.options.models.size(), 3u);
  EXPECT_EQ(parsed.options.models[0].name, "first");
  EXPECT_EQ(parsed.options.models[0].path, "/models/one");
  EXPECT_EQ(parsed.options.models[1].name, "two");
  EXPECT_EQ(parsed.options.models[2].name, "a");
  EXPECT_EQ(parsed.options.models[2].path, "b/three");
  // Not a name before the sign: a path whose last part must then be a name.
  EXPECT_EQ(Parse({"--model", "x/y=z"}).exit_code, 2);
}

TEST_F(OptionsTest, SeveralModelsInOneVariable) {
  environment_ = {{"HEED_MODEL", "a=/m/a,b=/m/b"}};
  const ParsedOptions parsed = Parse({});
  ASSERT_EQ(parsed.options.models.size(), 2u);
  EXPECT_EQ(parsed.options.models[1].name, "b");
}

TEST_F(OptionsTest, PrecisionsOfTheEngine) {
  EXPECT_EQ(Parse({}).options.precision, "auto");
  for (const char* precision : {"auto", "fp32", "bf16"}) {
    const ParsedOptions parsed = Parse({"--precision", precision});
    ASSERT_FALSE(parsed.exit_code) << parsed.text;
    EXPECT_EQ(parsed.options.precision, precision);
  }
}

struct BadCase {
  std::vector<const char*> args;
  std::string named;  // what the message must name
};

TEST_F(OptionsTest, BadValuesNameTheirFlag) {
  const std::vector<BadCase> cases{
      {{"--listen", "nowhere"}, "--listen"},
      {{"--listen", "host:99999"}, "--listen"},
      {{"--metrics-listen", ":1"}, "--metrics-listen"},
      {{"--precision", "fp8"}, "--precision"},
      {{"--device", "cuda"}, "--device"},
      {{"--device", "tpu"}, "--device"},
      {{"--threads", "0"}, "--threads"},
      {{"--threads", "many"}, "--threads"},
      {{"--drain-timeout", "-1s"}, "--drain-timeout"},
      {{"--drain-timeout", "5"}, "--drain-timeout"},
      {{"--queue-timeout", "0"}, "--queue-timeout"},
      {{"--max-attention-bytes", "0"}, "--max-attention-bytes"},
      {{"--max-attention-memory", "1TiB"}, "--max-attention-memory"},
      {{"--attention-stall-timeout", "0s"}, "--attention-stall-timeout"},
      {{"--max-batch-tokens", "0"}, "--max-batch-tokens"},
      {{"--max-queue-tokens", "-3"}, "--max-queue-tokens"},
      {{"--max-message-bytes", "3GiB"}, "--max-message-bytes"},
      {{"--max-text-bytes", "99999999999999999999"}, "--max-text-bytes"},
      {{"--log-level", "loud"}, "--log-level"},
      {{"--log-format", "xml"}, "--log-format"},
      {{"--model", "bad name=/x"}, "--model"},
      {{"--model", "name="}, "--model"},
      {{"--no-such-flag"}, "--no-such-flag"},
      {{"--listen"}, "--listen"},
      {{"stray"}, "stray"},
      {{"--config", "/no/such/file"}, "/no/such/file"},
  };
  for (const BadCase& bad : cases) {
    const ParsedOptions parsed = Parse(bad.args);
    ASSERT_TRUE(parsed.exit_code) << bad.args[0];
    EXPECT_EQ(*parsed.exit_code, 2) << bad.args[0];
    EXPECT_NE(parsed.text.find(bad.named), std::string::npos) << parsed.text;
  }
}

TEST_F(OptionsTest, CudaIsRefusedWithItsReason) {
  EXPECT_NE(Parse({"--device", "cuda"}).text.find("serves on the CPU only"), std::string::npos);
}

TEST_F(OptionsTest, BadVariableNamesTheVariable) {
  environment_ = {{"HEED_THREADS", "x"}};
  const ParsedOptions parsed = Parse({});
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_NE(parsed.text.find("HEED_THREADS"), std::string::npos) << parsed.text;
}

TEST_F(OptionsTest, UnknownConfigKeyIsAnError) {
  const std::string config = WriteConfig("max-batch-token = 3\n");
  const ParsedOptions parsed = Parse({"--config", config.c_str()});
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_NE(parsed.text.find("\"max-batch-token\""), std::string::npos) << parsed.text;
}

TEST_F(OptionsTest, BadConfigValueNamesKeyAndFile) {
  const std::string config = WriteConfig("threads = none\n");
  const ParsedOptions parsed = Parse({"--config", config.c_str()});
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_NE(parsed.text.find("threads in " + config), std::string::npos) << parsed.text;
}

TEST_F(OptionsTest, HelpNamesEveryFlagAndVersionIsANumber) {
  const ParsedOptions help = Parse({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_NE(help.text.find("--" + spec.name), std::string::npos) << spec.name;
  }
  const ParsedOptions version = Parse({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.text.rfind("heed-server ", 0), 0u) << version.text;
}

TEST_F(OptionsTest, SizesTakeUnits) {
  EXPECT_EQ(Parse({"--max-message-bytes", "3KiB"}).options.max_message_bytes, 3072u);
  EXPECT_EQ(Parse({"--max-message-bytes", "1GiB"}).options.max_message_bytes, size_t{1} << 30);
  EXPECT_EQ(Parse({"--metrics-listen", "off"}).options.metrics_listen, "");
}

TEST_F(OptionsTest, RepositoryGivesEachFolderWithAConfig) {
  for (const char* name : {"b", "a", "empty"}) fs::create_directory(folder_ / name);
  for (const char* name : {"b", "a"}) std::ofstream(folder_ / name / "config.json") << "{}";
  Options options;
  options.models = {{"z", "/z"}};
  options.model_repository = folder_.string();
  auto sources = ListModelSources(options);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_EQ(sources->size(), 3u);
  EXPECT_EQ((*sources)[0].name, "z");
  EXPECT_EQ((*sources)[1].name, "a");
  EXPECT_EQ((*sources)[2].name, "b");
  options.models = {{"a", "/z"}};
  EXPECT_FALSE(ListModelSources(options).ok());
}

TEST_F(OptionsTest, NoModelIsAnError) {
  EXPECT_NE(ListModelSources({}).status().message().find("--model"), std::string::npos);
  Options options;
  options.model_repository = (folder_ / "missing").string();
  EXPECT_NE(ListModelSources(options).status().message().find("--model-repository"),
            std::string::npos);
}

}  // namespace
}  // namespace heed

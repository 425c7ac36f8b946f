// GetAttention under pressure: readers that are slow, stand still or leave, memory that is short,
// and a server that drains.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/attention_fixture.h"

namespace heed {
namespace {

// 8 maps of 4 MB: 32 tiles or more, far beyond what gRPC and the network take in.
constexpr int kManyTokens = 1000;
constexpr size_t kLeastTiles = 32;

class ServiceAttentionStreamTest : public AttentionFixture {
 protected:
  // Starts the large request and reads its header.
  Reader Begin(grpc::ClientContext& context) {
    Reader reader = attention_->GetAttention(&context, LongRequest(kManyTokens));
    v1::GetAttentionResponse part;
    EXPECT_TRUE(reader->Read(&part));
    EXPECT_TRUE(part.has_header());
    return reader;
  }

  // Room for one capture of the large request, and no second one.
  static constexpr size_t kMemoryOfOne = (size_t{3} << 20) + 2 * 2 * kManyTokens * 8 * 4;
};

TEST_F(ServiceAttentionStreamTest, SlowReaderHoldsUpTheTilesAndNothingElse) {
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  // Time in which a server without flow control would make them all.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const size_t reads = long_->reads().count();
  EXPECT_LE(reads, 8u);
  EXPECT_TRUE(HasMetric("heed_attention_streams_active 1"));
  // Others are served meanwhile.
  EXPECT_TRUE(Ask("input { text: 'a' }").status.ok());
  const AttentionAnswer rest = ReadAll(*reader);
  EXPECT_TRUE(rest.status.ok());
  EXPECT_GE(rest.tiles.size(), kLeastTiles);
  uint64_t bytes = 0;
  for (const v1::AttentionTile& tile : rest.tiles) bytes += tile.weights().data().size();
  EXPECT_EQ(bytes, uint64_t{8} * kManyTokens * kManyTokens * 4);
  AwaitMetric("heed_attention_streams_active 0");
  AwaitMetric("heed_attention_reserved_bytes 0");
  EXPECT_EQ(long_->reads().alive(), 0);
}

TEST_F(ServiceAttentionStreamTest, TilesAreMadeWhileTheStreamRuns) {
  long_->reads().Close();
  grpc::ClientContext context;
  const Reader reader = Begin(context);  // the header is out before any weight is read
  long_->reads().AwaitReads(1);
  EXPECT_TRUE(HasMetric("heed_attention_tiles_total 0"));
  long_->reads().Open();
  EXPECT_TRUE(ReadAll(*reader).status.ok());
}

TEST_F(ServiceAttentionStreamTest, CancelledStreamStopsReading) {
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  context.TryCancel();
  EXPECT_EQ(ReadAll(*reader).status.error_code(), grpc::StatusCode::CANCELLED);
  AwaitMetric("heed_attention_cancelled_total 1");
  AwaitMetric("heed_attention_reserved_bytes 0");
  const size_t reads = long_->reads().count();
  EXPECT_LT(reads, kLeastTiles);
  EXPECT_EQ(long_->reads().alive(), 0);
  EXPECT_TRUE(HasMetric("heed_attention_streams_active 0"));
  EXPECT_TRUE(lifecycle_.AwaitIdle(absl::InfiniteFuture()));
  EXPECT_EQ(long_->reads().count(), reads);
}

TEST_F(ServiceAttentionStreamTest, ClientThatDiesWhileATileIsMade) {
  long_->reads().Close();
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  long_->reads().AwaitReads(1);
  context.TryCancel();
  EXPECT_EQ(ReadAll(*reader).status.error_code(), grpc::StatusCode::CANCELLED);
  long_->reads().Open();
  AwaitMetric("heed_attention_cancelled_total 1");
  // The client knows of its own cancellation before the server does.
  EXPECT_LT(long_->reads().count(), kLeastTiles);
}

TEST_F(ServiceAttentionStreamTest, DeadlineEndsAStream) {
  long_->reads().Close();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  const Reader reader = Begin(context);
  EXPECT_EQ(ReadAll(*reader).status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  long_->reads().Open();
  AwaitMetric("heed_attention_cancelled_total 1");
}

TEST_F(ServiceAttentionStreamTest, DrainFinishesStreams) {
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  lifecycle_.SetDraining();
  EXPECT_EQ(Read(Ask("input { text: 'a' }").status).reason, "DRAINING");
  EXPECT_FALSE(lifecycle_.AwaitIdle(clock_.Now()));
  EXPECT_TRUE(ReadAll(*reader).status.ok());
  EXPECT_TRUE(lifecycle_.AwaitIdle(absl::InfiniteFuture()));
}

class ServiceAttentionStallTest : public ServiceAttentionStreamTest {
 protected:
  ServiceAttentionStallTest() { limits_.attention_stall_timeout = absl::Seconds(1); }
};

TEST_F(ServiceAttentionStallTest, StalledReaderIsEndedWithAClearStatus) {
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  AwaitMetric("heed_attention_stalled_total 1");
  const AttentionAnswer rest = ReadAll(*reader);
  EXPECT_EQ(rest.status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_NE(rest.status.error_message().find("READER_STALLED"), std::string::npos);
  EXPECT_LT(rest.tiles.size(), kLeastTiles);
  AwaitMetric("heed_attention_reserved_bytes 0");
  EXPECT_TRUE(HasMetric("heed_attention_cancelled_total 0"));
  EXPECT_TRUE(lifecycle_.AwaitIdle(absl::InfiniteFuture()));
  EXPECT_EQ(long_->reads().alive(), 0);
}

TEST_F(ServiceAttentionStallTest, ReaderThatIsOnlySlowIsNot) {
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  v1::GetAttentionResponse part;
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    ASSERT_TRUE(reader->Read(&part));
  }
  EXPECT_TRUE(ReadAll(*reader).status.ok());
  EXPECT_TRUE(HasMetric("heed_attention_stalled_total 0"));
}

class ServiceAttentionMemoryTest : public ServiceAttentionStreamTest {
 protected:
  ServiceAttentionMemoryTest() { attention_memory_bytes_ = kMemoryOfOne + 1000; }
};

TEST_F(ServiceAttentionMemoryTest, WhatDoesNotFitNowIsRefusedWithADelay) {
  long_->reads().Close();
  grpc::ClientContext context;
  const Reader reader = Begin(context);
  EXPECT_EQ(attention_memory_->used(), kMemoryOfOne);
  const Error error = Read(Ask("input { text: 'a' }").status);
  EXPECT_EQ(error.code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.reason, "ATTENTION_MEMORY");
  EXPECT_TRUE(error.retry);
  long_->reads().Open();
  EXPECT_TRUE(ReadAll(*reader).status.ok());
  EXPECT_EQ(attention_memory_->used(), 0u);
  EXPECT_TRUE(Ask("input { text: 'a' }").status.ok());
}

TEST_F(ServiceAttentionMemoryTest, WhatNeverFitsIsInvalid) {
  const Error error = Read(Ask(LongRequest(kManyTokens + 500)).status);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "ATTENTION_TOO_LARGE");
  EXPECT_TRUE(long_->batches().empty());
}

class ServiceAttentionLimitTest : public ServiceAttentionStreamTest {
 protected:
  ServiceAttentionLimitTest() {
    limits_.max_attention_bytes = 2 * 4 * 300 * 300 * 4;
    attention_memory_bytes_ = size_t{32} << 20;
  }
};

TEST_F(ServiceAttentionLimitTest, TooLargeIsRefusedBeforeCompute) {
  const Error error = Read(Ask(LongRequest(301)).status);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "ATTENTION_TOO_LARGE");
  EXPECT_EQ(error.metadata.at("byteCount"), std::to_string(8 * 301 * 301 * 4));
  EXPECT_EQ(error.metadata.at("limit"), std::to_string(8 * 300 * 300 * 4));
  EXPECT_TRUE(long_->batches().empty());
}

TEST_F(ServiceAttentionLimitTest, SixtyFourLargestRequestsAtOnce) {
  std::vector<std::thread> clients;
  std::atomic<int> refused{0};
  for (int client = 0; client < 64; ++client) {
    clients.emplace_back([&] {
      while (true) {
        const AttentionAnswer answer = Ask(LongRequest(300));
        EXPECT_LE(attention_memory_->used(), attention_memory_->limit());
        if (answer.status.ok()) {
          EXPECT_EQ(answer.tiles.size(), 8u);
          return;
        }
        ASSERT_EQ(Read(answer.status).reason, "ATTENTION_MEMORY");
        ++refused;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  AwaitMetric("heed_attention_reserved_bytes 0");
  EXPECT_EQ(long_->reads().alive(), 0);
  EXPECT_TRUE(HasMetric("heed_attention_tiles_total 512"));
  EXPECT_TRUE(HasMetric(absl::StrCat("heed_attention_bytes_total ", 64 * 8 * 300 * 300 * 4)));
}

}  // namespace
}  // namespace heed

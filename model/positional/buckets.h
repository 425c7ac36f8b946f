// Buckets of relative distance: near ones one each, far ones on a logarithmic scale.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/positional/encoding.h"

namespace heed {

// T5's bidirectional buckets. distances: int64, key position - query position. Half of the buckets
// are for keys after the query; of each half, the first half hold one distance each, the others
// grow logarithmically up to max_distance, and the last holds everything beyond. Source: Raffel et
// al., 2020, arXiv:1910.10683, section 2.1; Mesh TensorFlow defines the formula.
at::Tensor T5Buckets(const at::Tensor& distances, int64_t bucket_count, int64_t max_distance);

// DeBERTa-v2's buckets, signed. distances: int64, query position - key position. Up to
// mid = bucket_count / 2 the distance itself, beyond that mid + a logarithmic step, which reaches
// 2 mid - 1 at max_position - 1 and goes on from there; callers clamp.
// Source: He et al., 2021, arXiv:2111.09543; the formula is in the authors' code only.
at::Tensor LogBuckets(const at::Tensor& distances, int64_t bucket_count, int64_t max_position);

// The bias of each pair's T5 bucket. table: [H, R] with R >= bucket_count. Returns [H, m, n].
at::Tensor T5BucketBias(const Tile& tile, const at::Tensor& table, int64_t bucket_count,
                        int64_t max_distance);

}  // namespace heed

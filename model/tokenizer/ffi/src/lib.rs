//! The `tokenizers` crate behind a thin C interface. heed_tokenizer.h states the contract of every
//! function; this file keeps it. No panic crosses the boundary, and a call never changes the
//! tokenizer, so that any number of threads may encode with one.

mod boundary;
mod encode;
mod load;

pub use boundary::{
    heed_encoding_free, heed_encoding_view, heed_tokenizer_encode, heed_tokenizer_free,
    heed_tokenizer_highest_id, heed_tokenizer_load,
};

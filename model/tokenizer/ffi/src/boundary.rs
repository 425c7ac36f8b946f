//! The functions C sees: pointers in, codes out.

use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

use tokenizers::utils::truncation::TruncationDirection;
use tokenizers::TruncationStrategy;

use crate::encode::{encode, Encoded, Failure, Request};
use crate::load::{load, Loaded};

const OK: i32 = 0;
const BAD_ARGUMENT: i32 = 1;
const MALFORMED: i32 = 2;
const INVALID_UTF8: i32 = 3;
const TOO_MANY_TOKENS: i32 = 4;
const LIMIT_TOO_SMALL: i32 = 5;
const NO_SECOND_TEXT: i32 = 6;
const TEXT_TOO_SHORT: i32 = 7;
const ENCODE_FAILED: i32 = 8;
const PANICKED: i32 = 9;

pub struct HeedTokenizer(Loaded);
pub struct HeedEncoding(Encoded);

#[repr(C)]
pub struct HeedTokenizerError {
    token_count: usize,
    special_count: usize,
    message: [u8; 512],
}

#[repr(C)]
pub struct HeedHighestId {
    id: u32,
    added: u8,
    token: *const u8,
    token_size: usize,
}

#[repr(C)]
pub struct HeedEncodeRequest {
    text: *const u8,
    text_size: usize,
    pair: *const u8,
    pair_size: usize,
    limit: usize,
    has_pair: u8,
    truncate: u8,
    strategy: u8,
    truncate_left: u8,
    with_tokens: u8,
}

#[repr(C)]
pub struct HeedEncodingView {
    size: usize,
    original_count: usize,
    ids: *const u32,
    type_ids: *const u32,
    special: *const u8,
    char_offsets: *const u32,
    byte_offsets: *const u32,
    segments: *const u32,
    words: *const i64,
    pieces: *const u8,
    piece_ends: *const usize,
    truncated: u8,
    has_tokens: u8,
}

struct Error {
    code: i32,
    message: String,
    token_count: usize,
    special_count: usize,
}

impl Error {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            token_count: 0,
            special_count: 0,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let counted = |code, token_count, special_count| Error {
            code,
            message: String::new(),
            token_count,
            special_count,
        };
        match failure {
            Failure::TooManyTokens { count } => counted(TOO_MANY_TOKENS, count, 0),
            Failure::LimitTooSmall { count, added } => counted(LIMIT_TOO_SMALL, count, added),
            Failure::NoSecondText { count } => counted(NO_SECOND_TEXT, count, 0),
            Failure::TextTooShort { count } => counted(TEXT_TOO_SHORT, count, 0),
            Failure::Crate(message) => Error::new(ENCODE_FAILED, message),
        }
    }
}

/// Runs `body`; turns its error, or its panic, into a code and fills `error` where one is given.
///
/// # Safety
/// `error` is null or points to writable memory of its type.
unsafe fn guarded(
    error: *mut HeedTokenizerError,
    body: impl FnOnce() -> Result<(), Error>,
) -> i32 {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let text = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            Error::new(PANICKED, text.unwrap_or("panic without a message"))
        }
    };
    if let Some(error) = unsafe { error.as_mut() } {
        error.token_count = failure.token_count;
        error.special_count = failure.special_count;
        write_message(&mut error.message, &failure.message);
    }
    failure.code
}

/// Copies `text` NUL-terminated, cut between characters if it is too long.
fn write_message(buffer: &mut [u8; 512], text: &str) {
    let mut size = text.len().min(buffer.len() - 1);
    while !text.is_char_boundary(size) {
        size -= 1;
    }
    buffer[..size].copy_from_slice(&text.as_bytes()[..size]);
    buffer[size] = 0;
}

/// # Safety
/// `data` points to `size` readable bytes that outlive the result, or `size` is 0.
unsafe fn bytes<'a>(data: *const u8, size: usize) -> Result<&'a [u8], Error> {
    if size == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::new(BAD_ARGUMENT, "null data with a size above 0"));
    }
    Ok(unsafe { std::slice::from_raw_parts(data, size) })
}

/// # Safety
/// As for `bytes`.
unsafe fn text<'a>(data: *const u8, size: usize) -> Result<&'a str, Error> {
    if u32::try_from(size).is_err() {
        return Err(Error::new(BAD_ARGUMENT, "text of 4 GiB or more"));
    }
    std::str::from_utf8(unsafe { bytes(data, size) }?)
        .map_err(|error| Error::new(INVALID_UTF8, error.to_string()))
}

/// A panic is reported by its code; printing it too would put the crate's words into the server's
/// log. The crate's thread pool stays unused: callers bring their own threads.
fn set_up_process() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_hook(Box::new(|_| {}));
        tokenizers::parallelism::set_parallelism(false);
    });
}

/// # Safety
/// See heed_tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn heed_tokenizer_load(
    json: *const u8,
    json_size: usize,
    out: *mut *mut HeedTokenizer,
    error: *mut HeedTokenizerError,
) -> i32 {
    unsafe {
        guarded(error, || {
            set_up_process();
            let out = out
                .as_mut()
                .ok_or_else(|| Error::new(BAD_ARGUMENT, "null result pointer"))?;
            let loaded = load(bytes(json, json_size)?)
                .map_err(|message| Error::new(MALFORMED, message))?;
            *out = Box::into_raw(Box::new(HeedTokenizer(loaded)));
            Ok(())
        })
    }
}

/// # Safety
/// See heed_tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn heed_tokenizer_free(tokenizer: *mut HeedTokenizer) {
    if !tokenizer.is_null() {
        let owned = unsafe { Box::from_raw(tokenizer) };
        let _ = catch_unwind(AssertUnwindSafe(move || drop(owned)));
    }
}

/// # Safety
/// See heed_tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn heed_tokenizer_highest_id(
    tokenizer: *const HeedTokenizer,
    out: *mut HeedHighestId,
) -> i32 {
    match unsafe { (tokenizer.as_ref(), out.as_mut()) } {
        (Some(tokenizer), Some(out)) => {
            let highest = &tokenizer.0.highest;
            out.id = highest.id;
            out.added = u8::from(highest.added);
            out.token = highest.token.as_ptr();
            out.token_size = highest.token.len();
            OK
        }
        _ => BAD_ARGUMENT,
    }
}

/// # Safety
/// `request` holds valid pointers, as heed_tokenizer.h states.
unsafe fn read_request<'a>(request: &HeedEncodeRequest) -> Result<Request<'a>, Error> {
    let strategy = match request.strategy {
        0 => TruncationStrategy::LongestFirst,
        1 => TruncationStrategy::OnlyFirst,
        2 => TruncationStrategy::OnlySecond,
        _ => return Err(Error::new(BAD_ARGUMENT, "unknown truncation strategy")),
    };
    Ok(Request {
        text: unsafe { text(request.text, request.text_size) }?,
        pair: if request.has_pair != 0 {
            Some(unsafe { text(request.pair, request.pair_size) }?)
        } else {
            None
        },
        limit: request.limit,
        truncate: request.truncate != 0,
        strategy,
        direction: if request.truncate_left != 0 {
            TruncationDirection::Left
        } else {
            TruncationDirection::Right
        },
        with_tokens: request.with_tokens != 0,
    })
}

/// # Safety
/// See heed_tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn heed_tokenizer_encode(
    tokenizer: *const HeedTokenizer,
    request: *const HeedEncodeRequest,
    out: *mut *mut HeedEncoding,
    error: *mut HeedTokenizerError,
) -> i32 {
    unsafe {
        guarded(error, || {
            match (tokenizer.as_ref(), request.as_ref(), out.as_mut()) {
                (Some(tokenizer), Some(request), Some(out)) => {
                    let encoded = encode(&tokenizer.0.tokenizer, &read_request(request)?)?;
                    *out = Box::into_raw(Box::new(HeedEncoding(encoded)));
                    Ok(())
                }
                _ => Err(Error::new(BAD_ARGUMENT, "null pointer")),
            }
        })
    }
}

/// # Safety
/// See heed_tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn heed_encoding_view(
    encoding: *const HeedEncoding,
    out: *mut HeedEncodingView,
) -> i32 {
    match unsafe { (encoding.as_ref(), out.as_mut()) } {
        (Some(HeedEncoding(encoded)), Some(out)) => {
            let details = &encoded.details;
            *out = HeedEncodingView {
                size: encoded.ids.len(),
                original_count: encoded.original_count,
                ids: encoded.ids.as_ptr(),
                type_ids: encoded.type_ids.as_ptr(),
                special: encoded.special.as_ptr(),
                char_offsets: details.char_offsets.as_ptr().cast(),
                byte_offsets: details.byte_offsets.as_ptr().cast(),
                segments: details.segments.as_ptr(),
                words: details.words.as_ptr(),
                pieces: details.pieces.as_ptr(),
                piece_ends: details.piece_ends.as_ptr(),
                truncated: u8::from(encoded.truncated),
                has_tokens: u8::from(details.segments.len() == encoded.ids.len()),
            };
            OK
        }
        _ => BAD_ARGUMENT,
    }
}

/// # Safety
/// See heed_tokenizer.h.
#[no_mangle]
pub unsafe extern "C" fn heed_encoding_free(encoding: *mut HeedEncoding) {
    if !encoding.is_null() {
        let owned = unsafe { Box::from_raw(encoding) };
        let _ = catch_unwind(AssertUnwindSafe(move || drop(owned)));
    }
}

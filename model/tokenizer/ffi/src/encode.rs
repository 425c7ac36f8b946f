//! One text or pair to ids, in the order Hugging Face does it: encode each text, cut, then add the
//! special tokens. The crate's own `encode` cuts only by a setting stored in the tokenizer, which
//! would make the limit of one call visible to another.

use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::utils::truncation::{truncate_encodings, TruncationDirection};
use tokenizers::{
    Encoding, Model, OffsetType, PostProcessor, PreTokenizer, Tokenizer, TruncationParams,
    TruncationStrategy,
};

pub struct Request<'a> {
    pub text: &'a str,
    pub pair: Option<&'a str>,
    /// Tokens at most, special tokens included; 0 means no limit.
    pub limit: usize,
    pub truncate: bool,
    pub strategy: TruncationStrategy,
    pub direction: TruncationDirection,
    pub with_tokens: bool,
}

#[derive(Default)]
pub struct Encoded {
    pub ids: Vec<u32>,
    pub type_ids: Vec<u32>,
    pub special: Vec<u8>,
    pub original_count: usize,
    pub truncated: bool,
    pub details: Details,
}

/// One entry per token; empty unless asked for. Offsets are start, end.
#[derive(Default)]
pub struct Details {
    pub char_offsets: Vec<[u32; 2]>,
    pub byte_offsets: Vec<[u32; 2]>,
    pub segments: Vec<u32>,
    /// The word of its text that the pre-tokenizer made the token from; -1 for special tokens.
    pub words: Vec<i64>,
    /// The token strings end to end, and where each ends.
    pub pieces: String,
    pub piece_ends: Vec<usize>,
}

pub enum Failure {
    TooManyTokens { count: usize },
    /// The limit leaves no room for the `added` special tokens.
    LimitTooSmall { count: usize, added: usize },
    NoSecondText { count: usize },
    /// The text that may be cut would have to lose all its tokens.
    TextTooShort { count: usize },
    Crate(String),
}

impl Failure {
    fn from_crate(error: impl ToString) -> Self {
        Failure::Crate(error.to_string())
    }
}

pub fn encode(tokenizer: &Tokenizer, request: &Request) -> Result<Encoded, Failure> {
    let first = encode_text(tokenizer, request.text, 0)?;
    let second = match request.pair {
        Some(pair) => Some(encode_text(tokenizer, pair, 1)?),
        None => None,
    };
    let added = tokenizer
        .get_post_processor()
        .map_or(0, |processor| processor.added_tokens(second.is_some()));
    let count = first.len() + second.as_ref().map_or(0, Encoding::len) + added;
    let truncated = request.limit > 0 && count > request.limit;
    let (mut first, mut second) = if truncated {
        truncate(first, second, count, added, request)?
    } else {
        (first, second)
    };
    if request.with_tokens {
        to_char_offsets(&mut first, request.text);
        if let (Some(encoding), Some(text)) = (second.as_mut(), request.pair) {
            to_char_offsets(encoding, text);
        }
    }
    let encoding = tokenizer
        .post_process(first, second, true)
        .map_err(Failure::from_crate)?;
    let special = encoding.get_special_tokens_mask();
    Ok(Encoded {
        ids: encoding.get_ids().to_vec(),
        type_ids: encoding.get_type_ids().to_vec(),
        special: special.iter().map(|flag| u8::from(*flag != 0)).collect(),
        original_count: count,
        truncated,
        details: if request.with_tokens {
            details(&encoding, request)
        } else {
            Details::default()
        },
    })
}

/// Ids of one text without special tokens; offsets in bytes.
fn encode_text(tokenizer: &Tokenizer, text: &str, type_id: u32) -> Result<Encoding, Failure> {
    let mut pieces = tokenizer
        .get_added_vocabulary()
        .extract_and_normalize(tokenizer.get_normalizer(), text);
    let pre_tokenizer: Option<&PreTokenizerWrapper> = tokenizer.get_pre_tokenizer();
    if let Some(pre_tokenizer) = pre_tokenizer {
        pre_tokenizer
            .pre_tokenize(&mut pieces)
            .map_err(Failure::from_crate)?;
    }
    let model = tokenizer.get_model();
    pieces
        .tokenize(|piece| model.tokenize(piece.get()))
        .map_err(Failure::from_crate)?;
    pieces
        .into_encoding(None, type_id, OffsetType::Byte)
        .map_err(Failure::from_crate)
}

fn truncate(
    first: Encoding,
    second: Option<Encoding>,
    count: usize,
    added: usize,
    request: &Request,
) -> Result<(Encoding, Option<Encoding>), Failure> {
    if !request.truncate {
        return Err(Failure::TooManyTokens { count });
    }
    if request.limit < added {
        return Err(Failure::LimitTooSmall { count, added });
    }
    if request.strategy == TruncationStrategy::OnlySecond && second.is_none() {
        return Err(Failure::NoSecondText { count });
    }
    let params = TruncationParams {
        direction: request.direction,
        max_length: request.limit - added,
        strategy: request.strategy,
        stride: 0,
    };
    // The crate's only other error is a text too short to be cut far enough.
    let (mut first, mut second) = truncate_encodings(first, second, &params)
        .map_err(|_| Failure::TextTooShort { count })?;
    // What was cut off stays attached as chunks, which adding special tokens would combine each
    // with each: two long texts would cost the product of their lengths.
    first.take_overflowing();
    if let Some(second) = second.as_mut() {
        second.take_overflowing();
    }
    Ok((first, second))
}

/// Offsets of `encoding` from bytes of `text` to code points, rounded down inside a character.
fn to_char_offsets(encoding: &mut Encoding, text: &str) {
    if text.is_ascii() {
        return;
    }
    let mut char_of_byte = Vec::with_capacity(text.len() + 1);
    let mut chars = 0usize;
    for character in text.chars() {
        char_of_byte.extend(std::iter::repeat_n(chars, character.len_utf8()));
        chars += 1;
    }
    for (start, end) in encoding.get_offsets_mut() {
        *start = char_of_byte.get(*start).copied().unwrap_or(chars);
        *end = char_of_byte.get(*end).copied().unwrap_or(chars);
    }
}

fn details(encoding: &Encoding, request: &Request) -> Details {
    let tables = [
        byte_of_char(request.text),
        byte_of_char(request.pair.unwrap_or("")),
    ];
    let mut out = Details::default();
    let sequences = encoding.get_sequence_ids();
    let mut segment = 0usize;
    for (i, token) in encoding.get_tokens().iter().enumerate() {
        let special = encoding.get_special_tokens_mask()[i] != 0;
        let sequence = sequences.get(i).copied().flatten();
        // A special token belongs to the text before it; the type id tells where that is empty.
        segment = match sequence {
            Some(sequence) => sequence,
            None if request.pair.is_some() => {
                segment.max(encoding.get_type_ids()[i].min(1) as usize)
            }
            None => segment,
        };
        let table = &tables[segment.min(1)];
        let (start, end) = if special {
            (0, 0)
        } else {
            encoding.get_offsets()[i]
        };
        let last = table.len() - 1;
        let (start, end) = (start.min(last), end.min(last));
        out.char_offsets.push([start as u32, end as u32]);
        out.byte_offsets.push([table[start], table[end]]);
        out.segments.push(segment as u32);
        let word = encoding.get_word_ids().get(i).copied().flatten();
        out.words
            .push(word.filter(|_| !special).map_or(-1, i64::from));
        out.pieces.push_str(token);
        out.piece_ends.push(out.pieces.len());
    }
    out
}

/// Byte at which each code point of `text` starts, and the length at the end.
fn byte_of_char(text: &str) -> Vec<u32> {
    let starts = text.char_indices().map(|(byte, _)| byte as u32);
    starts.chain(std::iter::once(text.len() as u32)).collect()
}

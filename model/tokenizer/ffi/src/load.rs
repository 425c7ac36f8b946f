//! From the bytes of a tokenizer.json to a tokenizer that does nothing but encode.

use tokenizers::models::ModelWrapper;
use tokenizers::Tokenizer;

/// The largest id a tokenizer knows, and the token that has it.
pub struct HighestId {
    pub id: u32,
    pub token: String,
    pub added: bool,
}

pub struct Loaded {
    pub tokenizer: Tokenizer,
    pub highest: HighestId,
}

/// Parses `json`. Truncation and padding that the file carries are switched off: the caller
/// chooses the limit per call, and nothing here may add pad tokens.
pub fn load(json: &[u8]) -> Result<Loaded, String> {
    let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(None)
        .map_err(|error| error.to_string())?;
    disable_dropout(&mut tokenizer);
    let highest = highest_id(&tokenizer)?;
    Ok(Loaded { tokenizer, highest })
}

/// BPE dropout is noise for training; with it one text would get different ids each time.
fn disable_dropout(tokenizer: &mut Tokenizer) {
    if let ModelWrapper::BPE(bpe) = tokenizer.get_model() {
        if bpe.dropout.is_some() {
            let mut bpe = bpe.clone();
            bpe.dropout = None;
            tokenizer.with_model(ModelWrapper::BPE(bpe));
        }
    }
}

fn highest_id(tokenizer: &Tokenizer) -> Result<HighestId, String> {
    let mut highest = HighestId {
        id: 0,
        token: String::new(),
        added: false,
    };
    for (token, id) in tokenizer.get_vocab(false) {
        if id >= highest.id {
            highest = HighestId {
                id,
                token,
                added: false,
            };
        }
    }
    for (id, token) in tokenizer.get_added_tokens_decoder() {
        if id > highest.id {
            highest = HighestId {
                id,
                token: token.content,
                added: true,
            };
        }
    }
    // The post-processor carries ids of its own, which need not be in the vocabulary.
    for input in [("", None), ("", Some(""))] {
        let encoding = match input {
            (text, Some(pair)) => tokenizer.encode((text, pair), true),
            (text, None) => tokenizer.encode(text, true),
        }
        .map_err(|error| error.to_string())?;
        for (id, token) in encoding.get_ids().iter().zip(encoding.get_tokens()) {
            if *id > highest.id {
                highest = HighestId {
                    id: *id,
                    token: token.clone(),
                    added: true,
                };
            }
        }
    }
    Ok(highest)
}

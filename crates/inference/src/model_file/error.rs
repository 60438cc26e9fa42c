//! Why a file does not describe a model.

use thiserror::Error;

/// Why a file does not describe a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The file is too long.
    #[error("model file: expected at most {max} bytes, got {got}")]
    Length {
        /// The most bytes.
        max: usize,
        /// Its length.
        got: usize,
    },
    /// It is not JSON, has an unknown field or lacks one.
    #[error("model file: {reason}")]
    Json {
        /// The parser's error, with line and column, on one line of at most 500 characters.
        reason: String,
    },
    /// A value is out of range, or a layer does not take the results of the layer before it.
    #[error("model file: {place}: expected {expected}, got {got}")]
    Value {
        /// The field, after the layer that has it.
        place: String,
        /// The allowed values.
        expected: String,
        /// The value, escaped.
        got: String,
    },
}

impl ModelFileError {
    /// The error for bytes that the parser refuses.
    ///
    /// Control characters are escaped. A long error is truncated before its line and column.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let (text, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
        let (quote, place) = match text.strip_suffix(&place) {
            Some(quote) => (quote, &place[..]),
            None => (&text[..], ""),
        };
        Self::Json { reason: one_line(quote) + place }
    }
}

/// The most characters of a text from a file that an error quotes.
const MAX_CHARACTERS: usize = 400;

/// A text with control characters escaped, truncated if it is long.
pub(crate) fn one_line(text: &str) -> String {
    let mut escaped = text.chars().flat_map(escaped);
    let mut line: String = escaped.by_ref().take(MAX_CHARACTERS).collect();
    if escaped.next().is_some() {
        line.push_str("..");
    }
    line
}

/// A control character by its escape, any other character as it is.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let escape = character.is_control().then(|| character.escape_default());
    let plain = escape.is_none().then_some(character);
    escape.into_iter().flatten().chain(plain)
}

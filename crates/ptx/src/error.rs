//! Why a text is not PTX that the parser accepts.

use thiserror::Error;

/// Why a PTX text was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The error there.
    pub kind: ParseErrorKind,
}

/// The kind of error at the place that a [`ParseError`] names.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A byte that starts no token.
    #[error("unexpected byte 0x{0:02x}")]
    Byte(u8),
    /// A comment or string that is still open at the end of the text.
    #[error("unterminated {0}")]
    Unterminated(&'static str),
    /// Digits that form no number of the kind they announce.
    #[error("malformed number `{0}`")]
    Number(String),
    /// A number outside the range of the thing it counts.
    #[error("{what} out of range: `{got}`")]
    Range {
        /// The meaning of the number.
        what: &'static str,
        /// The number as written.
        got: String,
    },
    /// Another token than the grammar allows.
    #[error("expected {expected}, got {got}")]
    Expected {
        /// What may stand there.
        expected: &'static str,
        /// The token as written, or `end of text`.
        got: String,
    },
    /// A `%` name that is neither a declared register nor a special one.
    #[error("undeclared register `{0}`")]
    Register(String),
    /// A name that no declaration of the module or function introduces.
    #[error("undefined name `{0}`")]
    Undefined(String),
    /// A second declaration of a name in one scope.
    #[error("`{0}` is declared twice")]
    Duplicate(String),
    /// A declaration after a use that meant something else by the same name.
    #[error("`{0}` is used before its declaration")]
    Late(String),
    /// Scopes nested deeper than the limit.
    #[error("scopes nested deeper than {0}")]
    Nesting(u32),
    /// Text longer than the parser's positions can count.
    #[error("text of {0} bytes is too long")]
    Length(usize),
}

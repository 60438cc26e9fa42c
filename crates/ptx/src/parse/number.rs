//! Numbers: integers of four radices, floats by bits, decimal floats.

use super::Parser;
use crate::{
    ParseError, ParseErrorKind,
    lex::{Token, TokenKind, excerpt},
};

/// A number as written, sign applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    F32(u32),
    F64(u64),
}

impl<'text> Parser<'text> {
    /// An unsigned number without sign, of at most `limit`.
    pub(super) fn count(&mut self, what: &'static str, limit: u64) -> Result<u64, ParseError> {
        let token = self.expect_kind(TokenKind::Number, "a number")?;
        match magnitude(&token)? {
            Number::Int(value) if value.cast_unsigned() <= limit => Ok(value.cast_unsigned()),
            _ => Err(token.error(ParseErrorKind::Range { what, got: excerpt(token.text) })),
        }
    }

    pub(super) fn count32(&mut self, what: &'static str) -> Result<u32, ParseError> {
        Ok(self.count(what, u64::from(u32::MAX))? as u32)
    }

    /// A power of two below 2^31.
    pub(super) fn alignment(&mut self) -> Result<u32, ParseError> {
        let token = self.ahead;
        let value = self.count32("alignment")?;
        if value.is_power_of_two() {
            return Ok(value);
        }
        Err(token.error(ParseErrorKind::Range { what: "alignment", got: excerpt(token.text) }))
    }

    /// Whether a number may start here.
    pub(super) fn number_ahead(&self) -> bool {
        self.ahead.kind == TokenKind::Number || self.ahead.is(b'-')
    }

    /// A number with any count of minus signs before it.
    pub(super) fn number(&mut self) -> Result<Number, ParseError> {
        let mut negative = false;
        while self.eat(b'-')? {
            negative = !negative;
        }
        let token = self.expect_kind(TokenKind::Number, "a number")?;
        let number = magnitude(&token)?;
        Ok(match number {
            Number::Int(value) if negative => Number::Int(value.wrapping_neg()),
            Number::F64(bits) if negative && !is_bits(token.text) => Number::F64(bits ^ 1 << 63),
            _ if negative => return Err(token.error(ParseErrorKind::Number(excerpt(token.text)))),
            number => number,
        })
    }

    /// `+4`, `+-4`, `+4*2` or nothing.
    pub(super) fn offset(&mut self) -> Result<i64, ParseError> {
        if self.eat(b'+')? { self.integer("offset") } else { Ok(0) }
    }
}

/// Whether a number is the bits of a float: `0f` or `0d` and digits.
///
/// Such numbers take no sign.
fn is_bits(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0', b'f' | b'F' | b'd' | b'D', ..])
}

/// The value of a number token.
fn magnitude(token: &Token<'_>) -> Result<Number, ParseError> {
    let text = token.text;
    let malformed = || token.error(ParseErrorKind::Number(excerpt(text)));
    let bits = |digits: &str, len: usize| {
        if digits.len() == len { u64::from_str_radix(digits, 16).ok() } else { None }
    };
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => {
            return bits(&text[2..], 8).map(|bits| Number::F32(bits as u32)).ok_or_else(malformed);
        }
        [b'0', b'd' | b'D', ..] => return bits(&text[2..], 16).map(Number::F64).ok_or_else(malformed),
        _ => {}
    }
    if text.contains('.') || (text.contains(['e', 'E']) && !text.starts_with("0x") && !text.starts_with("0X")) {
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        return value.map(|value| Number::F64(value.to_bits())).ok_or_else(malformed);
    }
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    let value = u64::from_str_radix(digits, radix).map_err(|_| malformed())?;
    Ok(Number::Int(value.cast_signed()))
}

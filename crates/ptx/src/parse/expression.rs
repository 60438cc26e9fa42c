//! Constant expressions of integers, as in `[%rd1+4*2]`, with the precedence of C.

use super::{Parser, number::Number};
use crate::{
    ParseError, ParseErrorKind,
    lex::{Token, excerpt},
};

/// Most parentheses and signs around a number.
const DEPTH: u32 = 64;

/// An operator of two integers; the first character tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operator {
    first: u8,
    /// Greater ones are applied first.
    precedence: u8,
}

impl Operator {
    /// The operator that begins with a token, if one does.
    fn at(token: &Token<'_>) -> Option<Self> {
        const LEVELS: [&[u8]; 6] = [b"|", b"^", b"&", b"<>", b"+-", b"*/"];
        let of_level = |(precedence, firsts): (usize, &&[u8])| {
            let first = *firsts.iter().find(|&&first| token.is(first))?;
            Some(Self { first, precedence: precedence as u8 })
        };
        LEVELS.iter().enumerate().find_map(of_level)
    }

    /// The result in 64 bits; none for a division by zero or a shift by more bits than there are.
    fn apply(self, a: i64, b: i64) -> Option<i64> {
        let shift = || u32::try_from(b).ok().filter(|&bits| bits < 64);
        Some(match self.first {
            b'|' => a | b,
            b'^' => a ^ b,
            b'&' => a & b,
            b'<' => a.wrapping_shl(shift()?),
            b'>' => a.wrapping_shr(shift()?),
            b'+' => a.wrapping_add(b),
            b'-' => a.wrapping_sub(b),
            b'*' => a.wrapping_mul(b),
            _ if b == 0 => return None,
            _ => a.wrapping_div(b),
        })
    }
}

impl Parser<'_> {
    /// The value of an expression.
    pub(super) fn integer(&mut self, what: &'static str) -> Result<i64, ParseError> {
        self.binary(what, 0, DEPTH)
    }

    /// Operators of at least this precedence and their operands.
    fn binary(&mut self, what: &'static str, least: u8, depth: u32) -> Result<i64, ParseError> {
        let mut value = self.unary(what, depth)?;
        while let Some(operator) = Operator::at(&self.ahead).filter(|operator| operator.precedence >= least) {
            let token = self.take()?;
            if matches!(operator.first, b'<' | b'>') {
                self.expect(operator.first, "`<<` or `>>`")?;
            }
            let right = self.binary(what, operator.precedence + 1, depth)?;
            let range = || token.error(ParseErrorKind::Range { what, got: right.to_string() });
            value = operator.apply(value, right).ok_or_else(range)?;
        }
        Ok(value)
    }

    /// A number, or an expression in parentheses, with signs before it.
    fn unary(&mut self, what: &'static str, depth: u32) -> Result<i64, ParseError> {
        let token = self.ahead;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(token.error(ParseErrorKind::Range { what, got: excerpt(token.text) }));
        };
        if self.eat(b'-')? {
            return Ok(self.unary(what, depth)?.wrapping_neg());
        }
        if self.eat(b'~')? {
            return Ok(!self.unary(what, depth)?);
        }
        if self.eat(b'(')? {
            let value = self.binary(what, 0, depth)?;
            self.expect(b')', "`)`")?;
            return Ok(value);
        }
        match self.number()? {
            Number::Int(value) => Ok(value),
            Number::F32(_) | Number::F64(_) => {
                Err(token.error(ParseErrorKind::Range { what, got: excerpt(token.text) }))
            }
        }
    }
}

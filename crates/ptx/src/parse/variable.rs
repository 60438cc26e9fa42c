//! Variables and their initial values.

use super::{Parser, number::Number};
use crate::{
    ParseError, ParseErrorKind,
    ast::{Initialiser, Linkage, Shape, Space, Variable},
    lex::{Token, TokenKind, excerpt},
};

/// Most bytes of a variable; more than the memory of any device.
const MAX_BYTES: u64 = 1 << 42;

/// A variable and the token of its name.
pub(super) type Declared<'text> = (Token<'text>, Variable);

impl<'text> Parser<'text> {
    /// A declaration from its space directive to its semicolon.
    pub(super) fn variables(&mut self, line: u32, linkage: Linkage) -> Result<Vec<Declared<'text>>, ParseError> {
        let Some(space) = self.directive().and_then(Space::from_name) else {
            return Err(self.ahead.expected("a state space"));
        };
        self.take()?;
        let mut align = None;
        let mut lanes = 1;
        while self.eat_directive(".align")? {
            align = Some(self.alignment()?);
        }
        if self.eat_directive(".v2")? {
            lanes = 2;
        } else if self.eat_directive(".v4")? {
            lanes = 4;
        }
        let ty = self.type_name()?;
        let mut variables = Vec::new();
        loop {
            let token = self.new_name("a variable name")?;
            let name = self.name(token.text);
            let shape = Shape::Scalar;
            let mut variable =
                Variable { line, linkage, space, align, lanes, ty, name, shape, initialiser: Vec::new() };
            self.shape(&token, &mut variable)?;
            variables.push((token, variable));
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';', "`;`, `,`, `[` or `=`")?;
        Ok(variables)
    }

    /// Dimensions and initial values, checked against each other.
    fn shape(&mut self, token: &Token<'text>, variable: &mut Variable) -> Result<(), ParseError> {
        let range = |what| token.error(ParseErrorKind::Range { what, got: excerpt(token.text) });
        let mut count: Option<u64> = None;
        let mut dimensions = 0;
        let mut open = false;
        while self.eat(b'[')? {
            if self.ahead.is(b']') && count.is_none() && !open {
                open = true;
            } else {
                let dimension = self.count("array length", MAX_BYTES)?;
                count = Some(count.unwrap_or(1).checked_mul(dimension).ok_or_else(|| range("variable size"))?);
            }
            self.expect(b']', "`]`")?;
            dimensions += 1;
        }
        if self.eat(b'=')? {
            // Rows and vectors within an array have braces of their own, which no compiler of kernels writes.
            let braces = dimensions + u32::from(variable.lanes > 1);
            variable.initialiser = match braces {
                0 => vec![self.initial_value()?],
                1 => self.initial_values()?,
                _ => return Err(range("dimensions of initial values")),
            };
            if dimensions == 0 && variable.initialiser.len() != variable.lanes as usize {
                return Err(range("number of initial values"));
            }
        }
        let given = variable.initialiser.len() as u64;
        variable.shape = match (open, count) {
            (false, None) => Shape::Scalar,
            (false, Some(count)) => Shape::Array(count),
            (true, None) if given > 0 => Shape::Array(given / u64::from(variable.lanes)),
            (true, None) => Shape::Unsized,
            (true, Some(_)) => return Err(range("array dimension")),
        };
        if let Shape::Array(elements) = variable.shape {
            if elements.checked_mul(variable.element_bytes()).is_none_or(|bytes| bytes > MAX_BYTES) {
                return Err(range("variable size"));
            }
            if given > elements * u64::from(variable.lanes) {
                return Err(range("number of initial values"));
            }
        }
        Ok(())
    }

    /// Values in braces, one at least.
    fn initial_values(&mut self) -> Result<Vec<Initialiser>, ParseError> {
        self.expect(b'{', "`{`")?;
        let mut values = Vec::new();
        loop {
            values.push(self.initial_value()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b'}', "`,` or `}`")?;
        Ok(values)
    }

    fn initial_value(&mut self) -> Result<Initialiser, ParseError> {
        if !self.number_ahead() {
            return self.initial_address(None);
        }
        let token = self.ahead;
        match self.number()? {
            Number::Int(mask) if self.eat(b'(')? => {
                if mask == 0 {
                    return Err(token.error(ParseErrorKind::Range { what: "address mask", got: excerpt(token.text) }));
                }
                let value = self.initial_address(Some(mask.cast_unsigned()))?;
                self.expect(b')', "`)`")?;
                Ok(value)
            }
            Number::Int(value) => Ok(Initialiser::Int(value)),
            Number::F32(bits) => Ok(Initialiser::F32(bits)),
            Number::F64(bits) => Ok(Initialiser::F64(bits)),
        }
    }

    /// `symbol`, `symbol+4`, `generic(symbol)+4`.
    fn initial_address(&mut self, mask: Option<u64>) -> Result<Initialiser, ParseError> {
        let mut token = self.expect_kind(TokenKind::Word, "an initial value")?;
        let generic = token.text == "generic" && self.eat(b'(')?;
        if generic {
            token = self.identifier("a symbol")?;
            self.expect(b')', "`)`")?;
        }
        let symbol = self.module_name(token)?;
        let offset = self.offset()?;
        Ok(Initialiser::Address { symbol, offset, generic, mask })
    }
}

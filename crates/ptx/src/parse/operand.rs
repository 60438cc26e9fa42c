//! Instructions and their operands.

use super::{
    Parser,
    body::{BodyBuilder, Local, Place},
    number::Number,
};
use crate::{
    ParseError, ParseErrorKind,
    ast::{Address, AddressBase, Guard, Instruction, Opcode, Operand, Reg, Special, Symbol},
    lex::{Token, TokenKind, excerpt},
};

/// Lanes of a warp, the value of `WARP_SZ`.
const WARP_SIZE: i64 = 32;

/// The meaning of a word among the operands.
enum Meaning {
    Operand(Operand),
    /// Nothing yet: a label or a name of the module.
    Unknown,
}

impl<'text> Parser<'text> {
    /// Parses an instruction from its guard to its semicolon.
    ///
    /// If `opcode` has been taken, it parses from the operands on.
    pub(super) fn instruction(
        &mut self,
        builder: &mut BodyBuilder<'text>,
        opcode: Option<Token<'text>>,
    ) -> Result<(), ParseError> {
        let mut guard = None;
        let opcode = match opcode {
            Some(opcode) => opcode,
            None => {
                guard = Some(self.guard(builder)?);
                self.expect_kind(TokenKind::Word, "an opcode")?
            }
        };
        if !opcode.text.as_bytes()[0].is_ascii_alphabetic() {
            return Err(opcode.expected("an opcode"));
        }
        let at = builder.body.instructions.len();
        let mut operands = Vec::new();
        if !self.ahead.is(b';') {
            loop {
                let operand = self.operand(builder, at, operands.len())?;
                operands.push(operand);
                if !self.eat(b',')? {
                    break;
                }
            }
        }
        self.expect(b';', "`,` or `;`")?;
        let (line, source) = (opcode.line, builder.source);
        let opcode = Opcode::new(self.opcode(opcode.text));
        builder.body.instructions.push(Instruction { line, source, guard, opcode, operands });
        Ok(())
    }

    /// `@p` or `@!p`.
    fn guard(&mut self, builder: &mut BodyBuilder<'text>) -> Result<Guard, ParseError> {
        self.expect(b'@', "`@`")?;
        let negated = self.eat(b'!')?;
        let register = self.register(builder)?;
        Ok(Guard { register, negated })
    }

    /// A declared register.
    fn register(&mut self, builder: &mut BodyBuilder<'text>) -> Result<Reg, ParseError> {
        let token = self.expect_kind(TokenKind::Word, "a register")?;
        match builder.lookup(self, token.text) {
            Some(Local::Reg(reg)) => Ok(reg),
            _ => Err(token.error(ParseErrorKind::Register(excerpt(token.text)))),
        }
    }

    fn operand(
        &mut self,
        builder: &mut BodyBuilder<'text>,
        instruction: usize,
        index: usize,
    ) -> Result<Operand, ParseError> {
        match self.ahead.kind {
            TokenKind::Punct(b'[') => self.address_operand(builder),
            TokenKind::Punct(b'{') => Ok(Operand::Vector(self.items(builder, b'}')?)),
            TokenKind::Punct(b'(') => Ok(Operand::List(self.items(builder, b')')?)),
            TokenKind::Word => {
                let token = self.take()?;
                match self.meaning(builder, token)? {
                    Meaning::Unknown if self.ahead.is(b'+') => {
                        let symbol = builder.module_symbol(self, token)?;
                        Ok(Operand::Symbol { symbol, offset: self.offset()? })
                    }
                    Meaning::Unknown => {
                        builder.postpone(Place::Operand(instruction, index), token);
                        Ok(Operand::Sink)
                    }
                    Meaning::Operand(Operand::Symbol { symbol, .. }) => {
                        Ok(Operand::Symbol { symbol, offset: self.offset()? })
                    }
                    Meaning::Operand(first @ (Operand::Reg(_) | Operand::Sink)) if self.eat(b'|')? => {
                        self.pair(builder, &first)
                    }
                    Meaning::Operand(operand) => Ok(operand),
                }
            }
            _ => self.simple(builder),
        }
    }

    /// The second half of `p|q`.
    fn pair(&mut self, builder: &mut BodyBuilder<'text>, first: &Operand) -> Result<Operand, ParseError> {
        let half = |operand: &Operand| match operand {
            Operand::Reg(reg) => Some(*reg),
            _ => None,
        };
        let token = self.ahead;
        let second = self.simple(builder)?;
        match (half(first), half(&second)) {
            (None, None) => Err(token.expected("a predicate")),
            _ if !matches!(second, Operand::Reg(_) | Operand::Sink) => Err(token.expected("a predicate")),
            (first, second) => Ok(Operand::Pair(first, second)),
        }
    }

    /// Simple operands up to `close`, the opening token still ahead.
    fn items(&mut self, builder: &mut BodyBuilder<'text>, close: u8) -> Result<Vec<Operand>, ParseError> {
        self.take()?;
        let mut items = Vec::new();
        if self.eat(close)? {
            return Ok(items);
        }
        loop {
            items.push(self.simple(builder)?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(close, "`,` or the end of the list")?;
        Ok(items)
    }

    /// An operand without inner operands.
    fn simple(&mut self, builder: &mut BodyBuilder<'text>) -> Result<Operand, ParseError> {
        if self.eat(b'!')? {
            return Ok(Operand::NotReg(self.register(builder)?));
        }
        if self.number_ahead() {
            return Ok(match self.number()? {
                Number::Int(value) => Operand::Int(value),
                Number::F32(bits) => Operand::F32(bits),
                Number::F64(bits) => Operand::F64(bits),
            });
        }
        let token = self.expect_kind(TokenKind::Word, "an operand")?;
        Ok(match self.meaning(builder, token)? {
            Meaning::Operand(Operand::Symbol { symbol, .. }) => Operand::Symbol { symbol, offset: self.offset()? },
            Meaning::Operand(operand) => operand,
            Meaning::Unknown => Operand::Symbol { symbol: builder.module_symbol(self, token)?, offset: self.offset()? },
        })
    }

    fn meaning(&mut self, builder: &mut BodyBuilder<'text>, token: Token<'text>) -> Result<Meaning, ParseError> {
        let symbol = |symbol| Ok(Meaning::Operand(Operand::Symbol { symbol, offset: 0 }));
        match builder.lookup(self, token.text) {
            Some(Local::Reg(reg)) => return Ok(Meaning::Operand(Operand::Reg(reg))),
            Some(Local::Variable(index)) => return symbol(Symbol::Local(index)),
            Some(Local::Param(index)) => return symbol(Symbol::Param(index)),
            Some(Local::Return(index)) => return symbol(Symbol::Return(index)),
            // A label of an inner scope may still hide this one.
            Some(Local::Label(_) | Local::Targets(_) | Local::Prototype(_)) => return Ok(Meaning::Unknown),
            None => {}
        }
        match token.text {
            "_" => return Ok(Meaning::Operand(Operand::Sink)),
            "WARP_SZ" => return Ok(Meaning::Operand(Operand::Int(WARP_SIZE))),
            _ => {}
        }
        if token.text.starts_with('%') {
            let special = Special::from_name(token.text);
            let undeclared = || token.error(ParseErrorKind::Register(excerpt(token.text)));
            return special.map(|special| Meaning::Operand(Operand::Special(special))).ok_or_else(undeclared);
        }
        if token.text.contains(['.', ':']) {
            return Err(token.expected("an operand"));
        }
        Ok(Meaning::Unknown)
    }

    /// `[base+offset]` or `[base, {x, y}]`.
    fn address_operand(&mut self, builder: &mut BodyBuilder<'text>) -> Result<Operand, ParseError> {
        self.take()?;
        let address = if self.number_ahead() {
            Address { base: AddressBase::Absolute, offset: self.integer("address")? }
        } else {
            let token = self.expect_kind(TokenKind::Word, "a register, symbol or number")?;
            let base = match self.meaning(builder, token)? {
                Meaning::Operand(Operand::Reg(reg)) => AddressBase::Reg(reg),
                Meaning::Operand(Operand::Symbol { symbol, .. }) => AddressBase::Symbol(symbol),
                Meaning::Operand(_) => return Err(token.expected("a register, symbol or number")),
                Meaning::Unknown => AddressBase::Symbol(builder.module_symbol(self, token)?),
            };
            Address { base, offset: self.offset()? }
        };
        if self.eat(b',')? {
            if !self.ahead.is(b'{') {
                return Err(self.ahead.expected("`{` before the coordinates"));
            }
            let coordinates = self.items(builder, b'}')?;
            self.expect(b']', "`]`")?;
            return Ok(Operand::TensorAddress(address, coordinates));
        }
        self.expect(b']', "`]`")?;
        Ok(Operand::Address(address))
    }
}

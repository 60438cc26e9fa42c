//! Recursive descent over the tokens.

mod body;
mod expression;
mod function;
mod module;
mod number;
mod operand;
mod variable;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    ParseError, ParseErrorKind,
    ast::{Module, Name, Type},
    lex::{Lexer, Token, TokenKind, excerpt},
    opcodes,
};

/// Parses one PTX module. Modifiers of opcodes are put in the order of the opcode table.
///
/// Memory is linear in the length of `text`, whatever counts it declares.
///
/// # Errors
/// [`ParseError`] with the place of the first thing that is not PTX: bad tokens, bad grammar, names
/// that are not declared, numbers out of range.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser::new(text)?;
    parser.module()
}

/// The tokens left, one looked ahead.
struct Parser<'text> {
    lexer: Lexer<'text>,
    ahead: Token<'text>,
    names: HashSet<Name>,
    /// Opcodes as written, with the same opcode in the table's order.
    opcodes: HashMap<&'text str, Name>,
    /// What `.loc` has named so far: file, line and column.
    locations: HashSet<[u32; 3]>,
    /// Indices of `.file` entries.
    files: HashSet<u32>,
    /// Variables and functions of module scope that are declared so far.
    declared: HashSet<Name>,
    /// Variables and functions of module scope that are defined so far, not just declared.
    defined: HashSet<Name>,
}

impl<'text> Parser<'text> {
    fn new(text: &'text str) -> Result<Self, ParseError> {
        let mut lexer = Lexer::new(text)?;
        let ahead = lexer.next()?;
        Ok(Self {
            lexer,
            ahead,
            names: HashSet::new(),
            opcodes: HashMap::new(),
            locations: HashSet::new(),
            files: HashSet::new(),
            declared: HashSet::new(),
            defined: HashSet::new(),
        })
    }

    /// Takes the next token.
    fn take(&mut self) -> Result<Token<'text>, ParseError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.ahead, next))
    }

    /// Takes the next token if it is `punct`.
    fn eat(&mut self, punct: u8) -> Result<bool, ParseError> {
        let found = self.ahead.is(punct);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punct: u8, expected: &'static str) -> Result<(), ParseError> {
        if self.eat(punct)? { Ok(()) } else { Err(self.ahead.expected(expected)) }
    }

    fn expect_kind(&mut self, kind: TokenKind, expected: &'static str) -> Result<Token<'text>, ParseError> {
        if self.ahead.kind == kind { self.take() } else { Err(self.ahead.expected(expected)) }
    }

    /// Takes the next token if it is the directive `text`, dot included.
    fn eat_directive(&mut self, text: &str) -> Result<bool, ParseError> {
        let found = self.ahead.kind == TokenKind::Directive && self.ahead.text == text;
        if found {
            self.take()?;
        }
        Ok(found)
    }

    /// The next token's text without its dot, if it is a directive.
    fn directive(&self) -> Option<&'text str> {
        if self.ahead.kind == TokenKind::Directive { self.ahead.text.strip_prefix('.') } else { None }
    }

    /// A name without dots.
    fn identifier(&mut self, expected: &'static str) -> Result<Token<'text>, ParseError> {
        if self.ahead.text.contains(['.', ':']) {
            return Err(self.ahead.expected(expected));
        }
        self.expect_kind(TokenKind::Word, expected)
    }

    /// A name that is declared; `_` is none.
    fn new_name(&mut self, expected: &'static str) -> Result<Token<'text>, ParseError> {
        if self.ahead.text == "_" {
            return Err(self.ahead.expected(expected));
        }
        self.identifier(expected)
    }

    /// The type of a register, variable or parameter.
    fn type_name(&mut self) -> Result<Type, ParseError> {
        let of_opcodes = [Type::Bf16, Type::Bf16x2, Type::Tf32];
        let Some(ty) = self.directive().and_then(Type::from_name).filter(|ty| !of_opcodes.contains(ty)) else {
            return Err(self.ahead.expected("a type such as `.b32`"));
        };
        self.take()?;
        Ok(ty)
    }

    /// The text between quotes.
    fn quoted(&mut self) -> Result<Name, ParseError> {
        let token = self.expect_kind(TokenKind::Text, "a quoted string")?;
        Ok(self.name(token.text.trim_matches('"')))
    }

    /// The shared copy of `text`.
    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name: Name = Arc::from(text);
        self.names.insert(name.clone());
        name
    }

    /// The shared copy of an opcode, its modifiers in the table's order.
    fn opcode(&mut self, text: &'text str) -> Name {
        if let Some(opcode) = self.opcodes.get(text) {
            return opcode.clone();
        }
        let known = opcodes::form(text).is_some();
        let opcode = self.name(if known { text } else { opcodes::canonical(text).unwrap_or(text) });
        self.opcodes.insert(text, opcode.clone());
        opcode
    }

    /// A name that the module has declared before.
    fn module_name(&mut self, token: Token<'text>) -> Result<Name, ParseError> {
        match self.declared.get(token.text) {
            Some(name) => Ok(name.clone()),
            None => Err(token.error(ParseErrorKind::Undefined(excerpt(token.text)))),
        }
    }

    fn duplicate(token: &Token<'_>) -> ParseError {
        token.error(ParseErrorKind::Duplicate(excerpt(token.text)))
    }
}

//! Function headers: linkage, parameters, directives.

use super::Parser;
use crate::{
    ParseError, ParseErrorKind,
    ast::{Directive, Function, FunctionKind, Linkage, Param, Pointer, Space},
    lex::{Token, TokenKind, excerpt},
};

/// Most bytes of one parameter; the parameter space of any device is smaller.
const MAX_PARAM_BYTES: u64 = 1 << 20;
/// Most alignment of one parameter.
const MAX_PARAM_ALIGN: u32 = 1 << 12;

impl<'text> Parser<'text> {
    /// A function or declaration from `.entry` or `.func` on.
    pub(super) fn function(&mut self, linkage: Linkage) -> Result<Function, ParseError> {
        let start = self.take()?;
        let kind = if start.text == ".entry" { FunctionKind::Entry } else { FunctionKind::Func };
        let (return_names, returns) = self.named_params()?;
        let token = self.identifier("a function name")?;
        let name = self.name(token.text);
        self.declared.insert(name.clone());
        let (param_names, params) = self.named_params()?;
        let mut directives = Vec::new();
        while let Some(text) = self.directive() {
            self.take()?;
            let directive = self.function_directive(text)?;
            directives.push(directive);
        }
        let mut function = Function { line: start.line, linkage, kind, name, returns, params, directives, body: None };
        if self.ahead.is(b'{') {
            function.body = Some(self.body(&return_names, &param_names)?);
        } else {
            self.expect(b';', "`;`, `{` or a directive")?;
        }
        Ok(function)
    }

    fn function_directive(&mut self, text: &'text str) -> Result<Directive, ParseError> {
        Ok(match text {
            "noreturn" => Directive::NoReturn,
            "pragma" => {
                let text = self.quoted()?;
                self.expect(b';', "`;`")?;
                Directive::Pragma(text)
            }
            "maxntid" => Directive::MaxThreads(self.triple()?),
            "reqntid" => Directive::RequiredThreads(self.triple()?),
            "minnctapersm" => Directive::MinBlocks(self.count32("blocks per multiprocessor")?),
            "maxnreg" => Directive::MaxRegisters(self.count32("registers")?),
            _ => Directive::Other(self.name(text), self.counts()?),
        })
    }

    /// Up to three numbers; those left out are 1.
    fn triple(&mut self) -> Result<[u32; 3], ParseError> {
        let mut triple = [self.count32("threads of a block")?, 1, 1];
        for extent in &mut triple[1..] {
            if self.eat(b',')? {
                *extent = self.count32("threads of a block")?;
            }
        }
        Ok(triple)
    }

    /// Numbers with commas between them, possibly none.
    fn counts(&mut self) -> Result<Vec<u32>, ParseError> {
        let mut counts = Vec::new();
        if self.ahead.kind == TokenKind::Number {
            counts.push(self.count32("directive argument")?);
            while self.eat(b',')? {
                counts.push(self.count32("directive argument")?);
            }
        }
        Ok(counts)
    }

    /// A parenthesised parameter list or nothing, and the tokens of the names.
    pub(super) fn named_params(&mut self) -> Result<(Vec<Token<'text>>, Vec<Param>), ParseError> {
        let (mut names, mut params) = (Vec::new(), Vec::new());
        if !self.eat(b'(')? || self.eat(b')')? {
            return Ok((names, params));
        }
        loop {
            let (name, param) = self.param()?;
            names.push(name);
            params.push(param);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b')', "`,` or `)`")?;
        Ok((names, params))
    }

    fn param(&mut self) -> Result<(Token<'text>, Param), ParseError> {
        if !self.eat_directive(".param")? {
            return Err(self.ahead.expected("`.param`"));
        }
        let mut align = None;
        if self.eat_directive(".align")? {
            align = Some(self.param_alignment()?);
        }
        let ty = self.type_name()?;
        let pointer = if self.eat_directive(".ptr")? { Some(self.pointer()?) } else { None };
        let token = self.identifier("a parameter name")?;
        let mut count = None;
        if self.eat(b'[')? {
            count = Some(self.count("parameter length", MAX_PARAM_BYTES / ty.bytes())?);
            self.expect(b']', "`]`")?;
        }
        let name = self.name(token.text);
        Ok((token, Param { name, ty, align, count, pointer }))
    }

    fn param_alignment(&mut self) -> Result<u32, ParseError> {
        let token = self.ahead;
        let align = self.alignment()?;
        if align <= MAX_PARAM_ALIGN {
            return Ok(align);
        }
        Err(token.error(ParseErrorKind::Range { what: "parameter alignment", got: excerpt(token.text) }))
    }

    /// What follows `.ptr`.
    fn pointer(&mut self) -> Result<Pointer, ParseError> {
        let mut pointer = Pointer { space: None, align: None };
        if let Some(space) = self.directive().and_then(Space::from_name).filter(|space| *space != Space::Param) {
            self.take()?;
            pointer.space = Some(space);
        }
        if self.eat_directive(".align")? {
            pointer.align = Some(self.alignment()?);
        }
        Ok(pointer)
    }
}

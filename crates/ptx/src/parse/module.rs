//! Module scope.

use super::Parser;
use crate::{
    ParseError, ParseErrorKind,
    ast::{Linkage, Module, Name, Space},
    lex::{Token, TokenKind, excerpt},
};

impl<'text> Parser<'text> {
    pub(super) fn module(&mut self) -> Result<Module, ParseError> {
        let mut module = self.header()?;
        while self.ahead.kind != TokenKind::End {
            self.item(&mut module)?;
        }
        Ok(module)
    }

    /// `.version`, `.target` and `.address_size`.
    fn header(&mut self) -> Result<Module, ParseError> {
        if !self.eat_directive(".version")? {
            return Err(self.ahead.expected("`.version`"));
        }
        let token = self.expect_kind(TokenKind::Number, "a version such as `7.0`")?;
        let version = token
            .text
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
            .ok_or_else(|| token.error(ParseErrorKind::Number(excerpt(token.text))))?;
        if !self.eat_directive(".target")? {
            return Err(self.ahead.expected("`.target`"));
        }
        let mut target = Vec::new();
        loop {
            let word = self.identifier("a target such as `sm_80`")?;
            target.push(self.name(word.text));
            if !self.eat(b',')? {
                break;
            }
        }
        let address_size = if self.eat_directive(".address_size")? {
            let token = self.ahead;
            match self.count32("address size")? {
                size @ (32 | 64) => size,
                _ => return Err(token.error(ParseErrorKind::Range { what: "address size", got: excerpt(token.text) })),
            }
        } else {
            32
        };
        Ok(Module {
            version,
            target,
            address_size,
            has_sections: false,
            files: Vec::new(),
            globals: Vec::new(),
            functions: Vec::new(),
        })
    }

    fn item(&mut self, module: &mut Module) -> Result<(), ParseError> {
        let start = self.ahead;
        let mut linkage = Linkage::Internal;
        if let Some(found) = self.directive().and_then(Linkage::from_name) {
            linkage = found;
            self.take()?;
        }
        match self.directive() {
            Some("entry" | "func") => {
                let function = self.function(linkage)?;
                if function.body.is_some() {
                    self.define(&start, &function.name)?;
                }
                module.functions.push(function);
            }
            Some("file") if linkage == Linkage::Internal => {
                let (index, path) = self.file()?;
                if !self.files.insert(index) {
                    return Err(Self::duplicate(&start));
                }
                module.files.push((index, path));
            }
            Some("section") if linkage == Linkage::Internal => {
                module.has_sections = true;
                self.skip_section()?;
            }
            Some(name) if Space::from_name(name).is_some_and(|space| space != Space::Param) => {
                for (token, variable) in self.variables(start.line, linkage)? {
                    if linkage != Linkage::Extern {
                        self.define(&token, &variable.name)?;
                    }
                    self.declared.insert(variable.name.clone());
                    module.globals.push(variable);
                }
            }
            _ => return Err(self.ahead.expected("a variable, function, `.file` or `.section`")),
        }
        Ok(())
    }

    /// Records a definition; a name has at most one.
    fn define(&mut self, token: &Token<'_>, name: &Name) -> Result<(), ParseError> {
        if self.defined.insert(name.clone()) {
            return Ok(());
        }
        Err(token.error(ParseErrorKind::Duplicate(excerpt(name))))
    }

    /// `.file index "path"`, with an optional time and size.
    fn file(&mut self) -> Result<(u32, Name), ParseError> {
        self.take()?;
        let index = self.count32("file index")?;
        let path = self.quoted()?;
        while self.eat(b',')? {
            self.count("file attribute", u64::MAX)?;
        }
        Ok((index, path))
    }

    /// Passes a debug section.
    fn skip_section(&mut self) -> Result<(), ParseError> {
        self.take()?;
        self.expect_kind(TokenKind::Directive, "a section name")?;
        self.expect(b'{', "`{`")?;
        loop {
            let token = self.take()?;
            match token.kind {
                TokenKind::Punct(b'}') => return Ok(()),
                TokenKind::Punct(b'{') | TokenKind::End => return Err(token.expected("`}` at the end of the section")),
                _ => {}
            }
        }
    }
}

//! Function bodies: scopes, declarations, labels and the resolution of names.

use std::collections::{HashMap, HashSet};

use super::{Parser, variable::Declared};
use crate::{
    ParseError, ParseErrorKind,
    ast::{
        Body, Label, LabelId, Linkage, Operand, PragmaAt, Prototype, PrototypeId, Reg, Register, RegisterDeclaration,
        Scope, SourceLine, Space, Symbol, TargetKind, TargetList, TargetListId, Type,
    },
    lex::{Token, TokenKind, excerpt},
};

/// Most braces within each other, the body's own included.
const MAX_NESTING: usize = 64;

/// The meaning of a name in a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    Reg(Reg),
    Variable(u32),
    Param(u32),
    Return(u32),
    Label(LabelId),
    Targets(TargetListId),
    Prototype(PrototypeId),
}

/// A name known in a scope.
#[derive(Clone, Copy, Debug)]
struct Known {
    local: Local,
    /// Whether an outer scope declares it; noted once the name is used.
    outer: bool,
}

/// The names of one scope.
#[derive(Default)]
struct ScopeNames<'text> {
    names: HashMap<&'text str, Known>,
    /// Declared ranges of registers: count and type by prefix.
    ranges: HashMap<&'text str, (u32, Type)>,
}

impl ScopeNames<'_> {
    /// The type of `name` if a range declares it.
    fn in_range(&self, name: &str) -> Option<Type> {
        if self.ranges.is_empty() {
            return None;
        }
        // All digits are the index, so a range whose name ends in one declares nothing that can be used.
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, index) = name.split_at(name.len() - digits);
        let (count, ty) = self.ranges.get(prefix)?;
        let plain = digits == 1 || !index.starts_with('0');
        (plain && index.parse::<u32>().is_ok_and(|index| index < *count)).then_some(*ty)
    }
}

/// Where a name stands that may be a label declared later.
pub(super) enum Place {
    /// Operand of an instruction.
    Operand(usize, usize),
    /// Entry of a target list.
    Target(usize, usize),
}

/// A name to resolve once all labels are known.
struct Pending<'text> {
    place: Place,
    scope: usize,
    token: Token<'text>,
}

/// A body under construction.
pub(super) struct BodyBuilder<'text> {
    pub(super) body: Body,
    scopes: Vec<ScopeNames<'text>>,
    /// The innermost open scope.
    scope: usize,
    depth: usize,
    pub(super) source: Option<SourceLine>,
    pending: Vec<Pending<'text>>,
    /// Names taken for labels or names of the module.
    ///
    /// No register or variable may claim them afterwards.
    early: HashSet<&'text str>,
}

impl<'text> BodyBuilder<'text> {
    fn new() -> Self {
        Self {
            body: Body { scopes: vec![Scope::default()], ..Body::default() },
            scopes: vec![ScopeNames::default()],
            scope: 0,
            depth: 1,
            source: None,
            pending: Vec::new(),
            early: HashSet::new(),
        }
    }

    fn declare(&mut self, token: &Token<'text>, local: Local) -> Result<(), ParseError> {
        let scope = &mut self.scopes[self.scope];
        let late = matches!(local, Local::Reg(_) | Local::Variable(_)) && self.early.contains(token.text);
        let known = scope.names.get(token.text);
        if late || known.is_some_and(|known| known.outer) {
            return Err(token.error(ParseErrorKind::Late(excerpt(token.text))));
        }
        if known.is_some() || scope.in_range(token.text).is_some() {
            return Err(Parser::duplicate(token));
        }
        scope.names.insert(token.text, Known { local, outer: false });
        Ok(())
    }

    fn declare_range(&mut self, token: &Token<'text>, count: u32, ty: Type) -> Result<(), ParseError> {
        let scope = &mut self.scopes[self.scope];
        if scope.ranges.insert(token.text, (count, ty)).is_some() {
            return Err(Parser::duplicate(token));
        }
        // Ranges come first in a scope, as a rule, so there is little to look through.
        let mut names = scope.names.keys().chain(&self.early);
        match names.find(|name| name.starts_with(token.text) && scope.in_range(name).is_some()) {
            Some(name) => Err(token.error(ParseErrorKind::Late(excerpt(name)))),
            None => Ok(()),
        }
    }

    /// The meaning of `name` in the open scopes, innermost first.
    pub(super) fn lookup(&mut self, parser: &mut Parser<'text>, name: &'text str) -> Option<Local> {
        let mut scope = Some(self.scope);
        while let Some(index) = scope {
            let found = match self.scopes[index].names.get(name) {
                Some(known) => Some(known.local),
                None => self.scopes[index].in_range(name).map(|ty| {
                    let local = Local::Reg(self.add_register(parser, name, ty));
                    self.scopes[index].names.insert(name, Known { local, outer: false });
                    local
                }),
            };
            if let Some(local) = found {
                let label = matches!(local, Local::Label(_) | Local::Targets(_) | Local::Prototype(_));
                if index != self.scope && !label {
                    self.scopes[self.scope].names.insert(name, Known { local, outer: true });
                }
                return found;
            }
            scope = self.body.scopes[index].parent;
        }
        None
    }

    fn add_register(&mut self, parser: &mut Parser<'text>, name: &str, ty: Type) -> Reg {
        self.body.registers.push(Register { name: parser.name(name), ty });
        Reg(self.body.registers.len() as u32 - 1)
    }

    /// Notes a name that only the end of the body can resolve.
    pub(super) fn postpone(&mut self, place: Place, token: Token<'text>) {
        self.pending.push(Pending { place, scope: self.scope, token });
        self.early.insert(token.text);
    }

    /// Takes a name for one of the module's.
    pub(super) fn module_symbol(
        &mut self,
        parser: &mut Parser<'text>,
        token: Token<'text>,
    ) -> Result<Symbol, ParseError> {
        self.early.insert(token.text);
        Ok(Symbol::Module(parser.module_name(token)?))
    }

    /// The meaning of a postponed name.
    ///
    /// It is a label, list or prototype of an enclosing scope, else a name of the module.
    fn resolve(&self, parser: &mut Parser<'text>, scope: usize, token: Token<'text>) -> Result<Operand, ParseError> {
        let mut scope = Some(scope);
        while let Some(index) = scope {
            match self.scopes[index].names.get(token.text).map(|known| known.local) {
                Some(Local::Label(label)) => return Ok(Operand::Label(label)),
                Some(Local::Targets(list)) => return Ok(Operand::Targets(list)),
                Some(Local::Prototype(prototype)) => return Ok(Operand::Prototype(prototype)),
                _ => scope = self.body.scopes[index].parent,
            }
        }
        Ok(Operand::Symbol { symbol: Symbol::Module(parser.module_name(token)?), offset: 0 })
    }

    fn close_scope(&mut self) {
        let scope = &mut self.body.scopes[self.scope];
        scope.instructions.end = self.body.instructions.len();
        self.scope = scope.parent.unwrap_or_default();
        self.depth -= 1;
    }

    fn add_variables(&mut self, variables: Vec<Declared<'text>>) -> Result<(), ParseError> {
        for (token, variable) in variables {
            let index = self.body.variables.len();
            self.declare(&token, Local::Variable(index as u32))?;
            self.body.scopes[self.scope].variables.push(index);
            self.body.variables.push(variable);
        }
        Ok(())
    }

    fn finish(mut self, parser: &mut Parser<'text>) -> Result<Body, ParseError> {
        for Pending { place, scope, token } in std::mem::take(&mut self.pending) {
            let operand = self.resolve(parser, scope, token)?;
            match place {
                Place::Operand(instruction, index) => self.body.instructions[instruction].operands[index] = operand,
                Place::Target(list, index) => self.body.targets[list].targets[index] = operand,
            }
        }
        Ok(self.body)
    }
}

impl<'text> Parser<'text> {
    /// A body from its opening to its closing brace; the tokens name the parameters.
    pub(super) fn body(&mut self, returns: &[Token<'text>], params: &[Token<'text>]) -> Result<Body, ParseError> {
        self.expect(b'{', "`{`")?;
        let mut builder = BodyBuilder::new();
        for (index, token) in returns.iter().enumerate() {
            builder.declare(token, Local::Return(index as u32))?;
        }
        for (index, token) in params.iter().enumerate() {
            builder.declare(token, Local::Param(index as u32))?;
        }
        while builder.depth > 0 {
            self.statement(&mut builder)?;
        }
        builder.finish(self)
    }

    fn statement(&mut self, builder: &mut BodyBuilder<'text>) -> Result<(), ParseError> {
        match self.ahead.kind {
            TokenKind::Punct(b'{') => self.open_scope(builder),
            TokenKind::Punct(b'}') => {
                self.take()?;
                builder.close_scope();
                Ok(())
            }
            TokenKind::Directive => self.body_directive(builder),
            TokenKind::Punct(b'@') => self.instruction(builder, None),
            TokenKind::Word => {
                let word = self.take()?;
                if word.text != "_" && !word.text.contains(['.', ':']) && self.eat(b':')? {
                    self.labelled(builder, word)
                } else {
                    self.instruction(builder, Some(word))
                }
            }
            _ => Err(self.ahead.expected("a statement or `}`")),
        }
    }

    fn open_scope(&mut self, builder: &mut BodyBuilder<'text>) -> Result<(), ParseError> {
        if builder.depth == MAX_NESTING {
            return Err(self.ahead.error(ParseErrorKind::Nesting(MAX_NESTING as u32)));
        }
        self.take()?;
        let at = builder.body.instructions.len();
        let parent = Some(builder.scope);
        builder.body.scopes.push(Scope { parent, instructions: at..at, ..Scope::default() });
        builder.scopes.push(ScopeNames::default());
        builder.scope = builder.scopes.len() - 1;
        builder.depth += 1;
        Ok(())
    }

    fn body_directive(&mut self, builder: &mut BodyBuilder<'text>) -> Result<(), ParseError> {
        let start = self.ahead;
        match self.directive() {
            Some("reg") => self.registers(builder),
            Some("loc") => {
                builder.source = Some(self.location()?);
                Ok(())
            }
            Some("pragma") => {
                self.take()?;
                let text = self.quoted()?;
                self.expect(b';', "`;`")?;
                builder.body.pragmas.push(PragmaAt { at: builder.body.instructions.len(), scope: builder.scope, text });
                Ok(())
            }
            Some(name) if Space::from_name(name).is_some() => {
                let variables = self.variables(start.line, Linkage::Internal)?;
                builder.add_variables(variables)
            }
            _ => Err(start.expected("`.reg`, `.loc`, `.pragma` or a variable")),
        }
    }

    /// `.reg .b32 %r<4>, %x;`
    fn registers(&mut self, builder: &mut BodyBuilder<'text>) -> Result<(), ParseError> {
        self.take()?;
        let ty = self.type_name()?;
        loop {
            let token = self.new_name("a register name")?;
            let count = if self.eat(b'<')? {
                let count = self.count32("number of registers")?;
                self.expect(b'>', "`>`")?;
                builder.declare_range(&token, count, ty)?;
                Some(count)
            } else {
                let reg = builder.add_register(self, token.text, ty);
                builder.declare(&token, Local::Reg(reg))?;
                None
            };
            let declaration = RegisterDeclaration { ty, name: self.name(token.text), count };
            builder.body.scopes[builder.scope].registers.push(declaration);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';', "`;`, `,` or `<`")
    }

    /// `.loc file line column`, with further attributes that are not kept.
    fn location(&mut self) -> Result<SourceLine, ParseError> {
        self.take()?;
        let file = self.count32("file index")?;
        let line = self.count32("line")?;
        let column = self.count32("column")?;
        while self.eat(b',')? {
            let word = self.identifier("`function_name` or `inlined_at`")?;
            if word.text == "inlined_at" {
                let caller = [self.count32("file index")?, self.count32("line")?, self.count32("column")?];
                if !self.locations.contains(&caller) {
                    return Err(word.error(ParseErrorKind::Undefined(format!("{caller:?}"))));
                }
            } else {
                self.identifier("a label")?;
                self.offset()?;
            }
        }
        self.locations.insert([file, line, column]);
        Ok(SourceLine { file, line, column })
    }

    /// What follows `name:`.
    fn labelled(&mut self, builder: &mut BodyBuilder<'text>, word: Token<'text>) -> Result<(), ParseError> {
        let (at, scope) = (builder.body.instructions.len(), builder.scope);
        let name = self.name(word.text);
        let kind = if self.eat_directive(".branchtargets")? {
            Some(TargetKind::Branch)
        } else if self.eat_directive(".calltargets")? {
            Some(TargetKind::Call)
        } else {
            None
        };
        if let Some(kind) = kind {
            let list = builder.body.targets.len();
            builder.declare(&word, Local::Targets(TargetListId(list as u32)))?;
            let mut targets = Vec::new();
            loop {
                let token = self.identifier("a label")?;
                builder.postpone(Place::Target(list, targets.len()), token);
                targets.push(Operand::Sink);
                if !self.eat(b',')? {
                    break;
                }
            }
            builder.body.targets.push(TargetList { kind, name, at, scope, targets });
            return self.expect(b';', "`;` or `,`");
        }
        if self.eat_directive(".callprototype")? {
            let id = PrototypeId(builder.body.prototypes.len() as u32);
            builder.declare(&word, Local::Prototype(id))?;
            let (_, returns) = self.named_params()?;
            if self.ahead.text != "_" {
                return Err(self.ahead.expected("`_`"));
            }
            self.take()?;
            let (_, params) = self.named_params()?;
            let noreturn = self.eat_directive(".noreturn")?;
            builder.body.prototypes.push(Prototype { name, at, scope, returns, params, noreturn });
            return self.expect(b';', "`;`");
        }
        let label = LabelId(builder.body.labels.len() as u32);
        builder.declare(&word, Local::Label(label))?;
        builder.body.labels.push(Label { name, at, scope });
        Ok(())
    }
}

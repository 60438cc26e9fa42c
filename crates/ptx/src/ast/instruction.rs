//! Instructions and their operands.

use super::{LabelId, Name, PrototypeId, Reg, Special, TargetListId};

/// One instruction of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// The `.loc` in force, if any.
    pub source: Option<SourceLine>,
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The dotted opcode.
    pub opcode: Opcode,
    /// Operands in text order, destinations first.
    pub operands: Vec<Operand>,
}

/// A place in the source the compiler read, from `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Index of the `.file` entry.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// The predicate an instruction runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: Reg,
    /// Whether the instruction runs where the predicate is false.
    pub negated: bool,
}

/// A dotted opcode such as `ld.global.v4.b32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(Name);

impl Opcode {
    /// The opcode of the text `name`, modifiers included.
    #[must_use]
    pub fn new(name: Name) -> Self {
        Self(name)
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The part before the first dot.
    #[must_use]
    pub fn base(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// All dotted parts, the base first.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.split('.')
    }

    /// The dotted parts after the base.
    pub fn modifiers(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        let mut parts = self.0.split('.');
        parts.next();
        parts
    }

    /// Whether `modifier` is among the parts after the base.
    #[must_use]
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers().any(|part| part == modifier)
    }
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register of the body.
    Reg(Reg),
    /// `!p`: a negated predicate.
    NotReg(Reg),
    /// `p|q`: two destinations; `None` stands for `_`.
    Pair(Option<Reg>, Option<Reg>),
    /// `_`: a discarded value.
    Sink,
    /// A special register.
    Special(Special),
    /// An integer, 64 bits; unsigned ones above `i64::MAX` wrap.
    Int(i64),
    /// `0f...`: bits of an `f32`.
    F32(u32),
    /// `0d...` or a decimal number: bits of an `f64`.
    F64(u64),
    /// `{a, b}`: registers, numbers or `_`.
    Vector(Vec<Operand>),
    /// `(a, b)`: results or arguments of a call.
    List(Vec<Operand>),
    /// `[base+offset]`.
    Address(Address),
    /// `[base, {x, y}]`: a tensor map and coordinates.
    TensorAddress(Address, Vec<Operand>),
    /// A variable, parameter or function, plus a byte offset.
    Symbol {
        /// The named symbol.
        symbol: Symbol,
        /// Bytes added to its address.
        offset: i64,
    },
    /// A branch target.
    Label(LabelId),
    /// The `.branchtargets` or `.calltargets` of an indexed branch or call.
    Targets(TargetListId),
    /// The `.callprototype` of an indirect call.
    Prototype(PrototypeId),
}

/// The place a load, store or copy names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The base of the offset.
    pub base: AddressBase,
    /// Bytes.
    pub offset: i64,
}

/// The base of an [`Address`] offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// A register.
    Reg(Reg),
    /// A variable or parameter.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Absolute,
}

/// A name that is neither register nor label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// Index into the variables of the body.
    Local(u32),
    /// Index into the parameters of the function.
    Param(u32),
    /// Index into the return parameters of the function.
    Return(u32),
    /// A variable or function of the module.
    Module(Name),
}

impl Instruction {
    /// The registers it writes.
    pub fn destinations(&self) -> impl Iterator<Item = Reg> + '_ {
        self.operands[..self.results()].iter().flat_map(Operand::registers)
    }

    /// The registers it reads, including bases of addresses but not its guard.
    pub fn sources(&self) -> impl Iterator<Item = Reg> + '_ {
        self.operands[self.results()..].iter().flat_map(Operand::registers)
    }

    /// How many leading operands are written: 0 or 1.
    fn results(&self) -> usize {
        let writes = match self.opcode.base() {
            "bar" | "barrier" => self.opcode.has("red"),
            "bra" | "brx" | "call" | "nanosleep" => false,
            _ => true,
        };
        let place = matches!(self.operands.first(), Some(Operand::Reg(_) | Operand::Pair(..) | Operand::Vector(_)));
        usize::from(writes && place)
    }
}

impl Operand {
    /// Every register the operand names, predicates of pairs and bases of addresses included.
    pub fn registers(&self) -> impl Iterator<Item = Reg> + '_ {
        let (own, nested): ([Option<Reg>; 2], &[Operand]) = match self {
            Self::Reg(reg) | Self::NotReg(reg) => ([Some(*reg), None], &[]),
            Self::Pair(first, second) => ([*first, *second], &[]),
            Self::Vector(items) | Self::List(items) => ([None, None], items),
            Self::Address(address) => ([address.register(), None], &[]),
            Self::TensorAddress(address, items) => ([address.register(), None], items),
            _ => ([None, None], &[]),
        };
        let nested = nested.iter().filter_map(|item| match item {
            Self::Reg(reg) | Self::NotReg(reg) => Some(*reg),
            _ => None,
        });
        own.into_iter().flatten().chain(nested)
    }
}

impl Address {
    /// The base register, if the base is one.
    #[must_use]
    pub const fn register(&self) -> Option<Reg> {
        match self.base {
            AddressBase::Reg(reg) => Some(reg),
            AddressBase::Symbol(_) | AddressBase::Absolute => None,
        }
    }
}

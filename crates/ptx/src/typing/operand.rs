//! One operand, checked against the role that the signature gives it.

use std::collections::HashSet;

use super::{
    Reason,
    expected::expected,
    gates::{Release, special_lacks},
    known::Known,
    symbols::{Named, Symbols},
    types::{Meaning, holds, holds_within, is_number_of, meaning, special_widths},
};
use crate::{
    ast::{Body, Function, Instruction, Operand, Reg, Special, TargetKind, Type},
    opcodes::{Role, Ty},
    print::operand_text,
};

/// Most characters of an operand in a message.
const EXCERPT: usize = 40;
/// Barriers of a block.
const BARRIERS: u32 = 16;
/// Threads of a warp.
const WARP: u32 = 32;
/// The version that lets a predicate stand for the source's size.
const IGNORED_SOURCE: (u32, u32) = (7, 5);

/// The operands of one instruction, and what they refer to.
pub(super) struct Operands<'at> {
    pub(super) symbols: &'at Symbols<'at>,
    pub(super) release: Release,
    pub(super) function: &'at Function,
    pub(super) body: &'at Body,
    /// The variables that calls before have put their results into.
    pub(super) results: &'at HashSet<u32>,
    pub(super) known: &'at Known,
    pub(super) instruction: &'at Instruction,
    /// The number of the instruction in the body.
    pub(super) index: usize,
}

impl Operands<'_> {
    /// The mistake in the operand at `place`, if it does not play `role`.
    pub(super) fn check(&self, place: usize, role: Role) -> Option<Reason> {
        let operand = &self.instruction.operands[place];
        if !self.plays(place, operand, role) {
            return Some(self.refuse(place, expected(self.known, role)));
        }
        match operand {
            Operand::Special(special) => special_lacks(*special, self.release),
            Operand::Reg(_) | Operand::NotReg(_) if role == Role::CopySource && self.is_pred(operand) => {
                self.release.lacks(IGNORED_SOURCE, 0, || "a predicate as size of the source".to_owned())
            }
            _ => None,
        }
    }

    /// The operand at `place` does not match `expected`.
    pub(super) fn refuse(&self, place: usize, expected: String) -> Reason {
        Reason::Operand { number: place + 1, expected, got: self.text(&self.instruction.operands[place]) }
    }

    /// An operand for a message.
    pub(super) fn text(&self, operand: &Operand) -> String {
        let text: String = operand_text(self.function, self.body, operand).chars().take(EXCERPT).collect();
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) => format!("`{text}` of type .{}", self.type_of(*reg).name()),
            _ => format!("`{text}`"),
        }
    }

    pub(super) fn type_of(&self, reg: Reg) -> Type {
        self.body.register(reg).ty
    }

    /// Whether `operand` is a register that `fits`.
    fn is_register(&self, operand: &Operand, ty: Type, fits: fn(Type, Type) -> bool) -> bool {
        matches!(operand, Operand::Reg(reg) if fits(self.type_of(*reg), ty))
    }

    fn is_pred(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Reg(reg) | Operand::NotReg(reg) if self.type_of(*reg) == Type::Pred)
    }

    /// A register of 32 bits, or a number that `takes`.
    fn is_word(&self, operand: &Operand, takes: impl Fn(i64) -> bool) -> bool {
        match operand {
            Operand::Int(value) => takes(*value),
            _ => self.is_register(operand, Type::U32, holds),
        }
    }

    fn plays(&self, place: usize, operand: &Operand, role: Role) -> bool {
        let ty = |ty| self.known.ty(ty);
        let to = |operand: &Operand, ty| self.is_register(operand, ty, holds);
        let to_pred = |operand: &Operand| self.is_register(operand, Type::Pred, holds);
        let from = |operand: &Operand, ty| to(operand, ty) || is_number_of(operand, ty);
        let from_wider =
            |operand: &Operand, ty| self.is_register(operand, ty, holds_within) || is_number_of(operand, ty);
        let is_sink = *operand == Operand::Sink;
        match role {
            Role::To(of) => to(operand, ty(of)),
            Role::ToOrSink(of) => is_sink || to(operand, ty(of)),
            Role::ToWider(of) => self.is_register(operand, ty(of), holds_within),
            Role::ToAndPred(of) => match operand {
                Operand::Pair(Some(first), second) => self.is_pair(Some(*first), ty(of), *second),
                _ => to(operand, ty(of)),
            },
            Role::ToAndPredOrSink(of) => match operand {
                Operand::Pair(first, second) => self.is_pair(*first, ty(of), *second),
                _ => is_sink || to(operand, ty(of)),
            },
            Role::ToPred => to_pred(operand),
            Role::ToPredOrSink => is_sink || to_pred(operand),
            Role::ToPreds => match operand {
                Operand::Pair(first, second) => self.is_pair(*first, Type::Pred, *second),
                _ => is_sink || to_pred(operand),
            },
            Role::ToParts(of) => match operand {
                Operand::Vector(parts) => self.are_parts(parts, ty(of), true),
                _ => to(operand, ty(of)),
            },
            Role::ToVector(count, of) => self.is_vector(operand, count, true, |element| to(element, ty(of))),
            Role::Loaded => {
                self.is_data(operand, true, |element| self.is_register(element, ty(Ty::Last), holds_within))
            }
            Role::From(of) => from(operand, ty(of)),
            Role::FromWider(of) => from_wider(operand, ty(of)),
            Role::FromWiderOrSpecial(of) => match operand {
                Operand::Special(special) => is_converted(*special, ty(of)),
                _ => from_wider(operand, ty(of)),
            },
            Role::FromParts(of) => self.is_moved(operand, ty(of)),
            Role::FromBits(of) => to(operand, ty(of)) || matches!(operand, Operand::F32(_)),
            Role::FromPred => self.is_pred(operand) || matches!(operand, Operand::Int(_)),
            Role::FromPredOrSpecial => {
                let special = matches!(operand, Operand::Special(Special::IsExplicitCluster));
                special || self.is_pred(operand) || matches!(operand, Operand::Int(_))
            }
            Role::FromVector(count, of) => self.is_vector(operand, count, false, |element| from(element, ty(of))),
            Role::FromRegisters(count, of) => self.is_vector(operand, count, false, |element| to(element, ty(of))),
            Role::Stored => self.is_data(operand, false, |element| from_wider(element, ty(Ty::Last))),
            Role::Pointer => to(operand, Type::U32) || from(operand, Type::U64),
            Role::AddressOf(space) => match operand {
                Operand::Symbol { symbol, .. } => {
                    let named = self.symbols.named(self.body, symbol);
                    named.is_some_and(|named| named != Named::Argument && named.space() == Some(space))
                }
                _ => from(operand, Type::U64),
            },
            Role::Read | Role::Write | Role::Update => self.is_place(operand, self.known.space, role),
            Role::Place(space) => self.is_place(operand, Some(space), role),
            Role::Number => matches!(operand, Operand::Int(_)),
            Role::OneOf(values) => matches!(operand, Operand::Int(value) if values.contains(value)),
            Role::Byte => self.is_word(operand, |value| (0..=255).contains(&value)),
            Role::Barrier => self.is_word(operand, |value| (value as u32) < BARRIERS),
            Role::Threads => self.is_word(operand, |value| (value as u32).is_multiple_of(WARP)),
            Role::SomeThreads => self.is_word(operand, |value| value != 0 && (value as u32).is_multiple_of(WARP)),
            Role::CopySource => {
                let most = match self.instruction.operands.get(place.wrapping_sub(1)) {
                    Some(Operand::Int(bytes)) => *bytes,
                    _ => 0,
                };
                self.is_pred(operand) || self.is_word(operand, |value| (0..=most).contains(&value))
            }
            Role::Label => matches!(operand, Operand::Label(_)),
            Role::Targets => match operand {
                Operand::Targets(list) => {
                    let list = &self.body.targets[list.0 as usize];
                    list.kind == TargetKind::Branch && list.at <= self.index
                }
                _ => false,
            },
        }
    }

    /// `d|p`, with `_` for either.
    fn is_pair(&self, first: Option<Reg>, ty: Type, second: Option<Reg>) -> bool {
        first.is_none_or(|first| holds(self.type_of(first), ty))
            && second.is_none_or(|second| self.type_of(second) == Type::Pred)
    }

    /// A value that `mov` takes.
    fn is_moved(&self, operand: &Operand, ty: Type) -> bool {
        let address = matches!(meaning(ty), Meaning::Bits | Meaning::Integer);
        match operand {
            Operand::Special(special) => address && special_widths(*special).contains(&ty.bytes()),
            Operand::Symbol { symbol, offset } => address && self.is_address(symbol, *offset, ty),
            Operand::Vector(parts) => {
                let whole = !matches!(self.instruction.operands.first(), Some(Operand::Vector(_)));
                whole && self.are_parts(parts, ty, false)
            }
            _ => self.is_register(operand, ty, holds) || is_number_of(operand, ty),
        }
    }
}

/// Whether a conversion from `ty` takes the special register.
fn is_converted(special: Special, ty: Type) -> bool {
    let widest = special_widths(special).iter().max();
    widest.is_some_and(|widest| *widest >= ty.bytes())
}

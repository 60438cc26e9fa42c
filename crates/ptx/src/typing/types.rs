//! Which registers and numbers stand for a value of a type.

use crate::ast::{Operand, Special, Type};

/// The interpretation of a type's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing by themselves.
    Bits,
    Integer,
    Float,
    /// Formats that have no registers of their own.
    Packed,
    Predicate,
}

pub(super) const fn meaning(ty: Type) -> Meaning {
    match ty {
        Type::Pred => Meaning::Predicate,
        Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => Meaning::Bits,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S8 | Type::S16 | Type::S32 | Type::S64 => Meaning::Integer,
        Type::F16 | Type::F16x2 | Type::F32 | Type::F64 => Meaning::Float,
        Type::Bf16 | Type::Bf16x2 | Type::Tf32 => Meaning::Packed,
    }
}

/// Whether a register of type `register` may stand for an operand of type `ty`.
///
/// The widths must be equal.
pub(super) fn holds(register: Type, ty: Type) -> bool {
    register.bytes() == ty.bytes() && agrees(register, ty)
}

/// As [`holds`], for loads, stores and conversions.
///
/// They take wider registers too, if these are typed by size or alike.
pub(super) fn holds_within(register: Type, ty: Type) -> bool {
    if meaning(ty) == Meaning::Packed {
        return holds(register, ty);
    }
    register.bytes() >= ty.bytes() && agrees(register, ty)
}

fn agrees(register: Type, ty: Type) -> bool {
    match (meaning(ty), meaning(register)) {
        (_, Meaning::Packed) => false,
        (Meaning::Predicate, of_register) => of_register == Meaning::Predicate,
        (_, Meaning::Predicate) => false,
        (Meaning::Bits, _) | (_, Meaning::Bits) => true,
        (Meaning::Integer, of_register) => of_register == Meaning::Integer,
        (Meaning::Float, _) => register == ty,
        (Meaning::Packed, _) => false,
    }
}

/// Whether a number, as it is written, may stand for a `ty`.
pub(super) fn is_number_of(operand: &Operand, ty: Type) -> bool {
    match operand {
        Operand::Int(_) => matches!(meaning(ty), Meaning::Bits | Meaning::Integer),
        Operand::F32(_) => matches!(ty, Type::F32 | Type::F64 | Type::B32),
        Operand::F64(_) => matches!(ty, Type::F32 | Type::F64 | Type::B64),
        _ => false,
    }
}

/// Widths in bytes that a move of a special register takes; none for the predicate.
pub(super) const fn special_widths(special: Special) -> &'static [u64] {
    match special {
        Special::IsExplicitCluster => &[],
        Special::Tid(_) | Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_) => &[2, 4],
        Special::Gridid => &[2, 4, 8],
        Special::Clock64 | Special::Globaltimer => &[8],
        _ => &[4],
    }
}

/// `a 32-bit integer register`, for messages.
pub(super) fn register_name(ty: Type, wider: bool) -> String {
    let wider = if wider { " or wider" } else { "" };
    match meaning(ty) {
        Meaning::Predicate => "a predicate".to_owned(),
        Meaning::Bits => format!("a register of {} bits{wider}", 8 * ty.bytes()),
        Meaning::Integer => format!("an integer register of {} bits{wider}", 8 * ty.bytes()),
        Meaning::Float | Meaning::Packed => format!("a register for .{}{wider}", ty.name()),
    }
}

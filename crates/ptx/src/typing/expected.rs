//! Roles in words, for messages.

use super::{known::Known, types::register_name};
use crate::{
    ast::Space,
    opcodes::{Role, Ty},
};

/// What would play `role` in an instruction.
pub(super) fn expected(known: &Known, role: Role) -> String {
    let register = |ty, wider| register_name(known.ty(ty), wider);
    let last = || register(Ty::Last, true);
    let place = |space: Option<Space>| match space {
        Some(Space::Global) => "a place in .global memory, by name or 64-bit address".to_owned(),
        Some(space) => format!("a place in .{} memory", space.name()),
        None => "a place in memory, by name or 64-bit address".to_owned(),
    };
    match role {
        Role::To(ty) => register(ty, false),
        Role::ToOrSink(ty) => format!("{} or `_`", register(ty, false)),
        Role::ToWider(ty) => register(ty, true),
        Role::ToAndPred(ty) | Role::ToAndPredOrSink(ty) => {
            format!("{}, and perhaps `|` and a predicate", register(ty, false))
        }
        Role::ToPred => "a predicate register".to_owned(),
        Role::ToPredOrSink => "a predicate register or `_`".to_owned(),
        Role::ToPreds => "one or two predicate registers".to_owned(),
        Role::ToParts(ty) => format!("{}, or its parts in braces", register(ty, false)),
        Role::ToVector(count, ty) | Role::FromRegisters(count, ty) | Role::FromVector(count, ty) => {
            format!("{count} times {} in braces", register(ty, false))
        }
        Role::Loaded if known.lanes > 1 => format!("{} times {} in braces", known.lanes, last()),
        Role::Loaded => last(),
        Role::From(ty) | Role::FromBits(ty) => format!("{} or such a number", register(ty, false)),
        Role::FromWider(ty) | Role::FromWiderOrSpecial(ty) => format!("{} or such a number", register(ty, true)),
        Role::FromParts(ty) => format!("{}, such a number, or an address", register(ty, false)),
        Role::FromPred | Role::FromPredOrSpecial => "a predicate or an integer".to_owned(),
        Role::Stored if known.lanes > 1 => format!("{} times {} in braces", known.lanes, last()),
        Role::Stored => format!("{} or such a number", last()),
        Role::Pointer => "an integer register of 32 or 64 bits, or an integer".to_owned(),
        Role::AddressOf(space) => format!("an address in .{} memory", space.name()),
        Role::Read | Role::Write | Role::Update => place(known.space),
        Role::Place(space) => place(Some(space)),
        Role::Number => "an integer".to_owned(),
        Role::OneOf(values) => format!("one of {values:?}"),
        Role::Byte => "an integer register of 32 bits, or a number from 0 to 255".to_owned(),
        Role::Barrier => "an integer register of 32 bits, or a barrier from 0 to 15".to_owned(),
        Role::Threads => "an integer register of 32 bits, or a multiple of 32".to_owned(),
        Role::SomeThreads => "an integer register of 32 bits, or a multiple of 32 above 0".to_owned(),
        Role::CopySource => "an integer register of 32 bits, a number up to the size, or a predicate".to_owned(),
        Role::Label => "a label".to_owned(),
        Role::Targets => "a list of branch targets that stands before".to_owned(),
    }
}

//! The operand rules of an opcode.

use std::{collections::HashMap, rc::Rc};

use super::{
    Reason,
    gates::{self, Release},
};
use crate::{
    ast::{Opcode, Space, Type},
    opcodes::{self, Form, Ty},
};

/// An opcode of the table, taken apart.
pub(super) struct Known {
    pub(super) form: &'static Form,
    last: Type,
    before: Type,
    /// Elements of a vector, by `.v2` or `.v4`.
    pub(super) lanes: usize,
    /// The first state space it names; generic without.
    pub(super) space: Option<Space>,
    /// The feature that the module's version or target lacks for it.
    pub(super) lacks: Option<Reason>,
}

impl Known {
    fn new(opcode: &Opcode, release: Release) -> Option<Self> {
        let form = opcodes::form(opcode.text())?;
        let mut types = opcode.modifiers().rev().filter_map(Type::from_name);
        let last = types.next().unwrap_or(Type::B32);
        let before = types.next().unwrap_or(last);
        let lanes = if opcode.has("v4") { 4 } else { 1 + usize::from(opcode.has("v2")) };
        let space = opcode.modifiers().find_map(Space::from_name);
        Some(Self { form, last, before, lanes, space, lacks: gates::lacks(opcode, release) })
    }

    /// The type that a signature means.
    pub(super) const fn ty(&self, ty: Ty) -> Type {
        match ty {
            Ty::Last => self.last,
            Ty::Before => self.before,
            Ty::Wide => twice_as_wide(self.last),
            Ty::Of(ty) => ty,
        }
    }
}

const fn twice_as_wide(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        other => other,
    }
}

/// The opcodes of a module, each taken apart once.
pub(super) struct Opcodes<'module> {
    release: Release,
    known: HashMap<&'module str, Option<Rc<Known>>>,
}

impl<'module> Opcodes<'module> {
    pub(super) fn new(release: Release) -> Self {
        Self { release, known: HashMap::new() }
    }

    /// The entry of `opcode`, if the table has it.
    pub(super) fn get(&mut self, opcode: &'module Opcode) -> Option<Rc<Known>> {
        let known = self.known.entry(opcode.text());
        known.or_insert_with(|| Known::new(opcode, self.release).map(Rc::new)).clone()
    }
}

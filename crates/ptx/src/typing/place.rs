//! Places in memory, and their addresses.

use super::{
    operand::Operands,
    symbols::{Named, is_there},
    types::{Meaning, meaning},
};
use crate::{
    ast::{AddressBase, Operand, Reg, Space, Symbol, Type},
    opcodes::Role,
};

/// Bytes of an address of global or generic memory.
///
/// Offsets within other spaces may be shorter.
const ADDRESS: u64 = 8;

impl Operands<'_> {
    /// Whether `operand` is a place in brackets within `space`; generic addresses name none.
    pub(super) fn is_place(&self, operand: &Operand, space: Option<Space>, role: Role) -> bool {
        let Operand::Address(address) = operand else { return false };
        match &address.base {
            AddressBase::Reg(reg) => self.is_base(*reg, space, role),
            AddressBase::Absolute => space == Some(Space::Local),
            AddressBase::Symbol(symbol) => {
                let Some(named) = self.symbols.named(self.body, symbol) else { return false };
                let allowed = match named {
                    Named::Variable(_) => true,
                    Named::Parameter => role == Role::Read,
                    Named::Return => role == Role::Write,
                    Named::Argument => self.is_passed(symbol, role),
                    Named::Function(_) => false,
                };
                let generic = match named.space() {
                    Some(Space::Global | Space::Shared) => true,
                    Some(Space::Local) => role != Role::Update,
                    _ => false,
                };
                allowed && if space.is_none() { generic } else { named.space() == space }
            }
        }
    }

    /// Whether a variable of a call may be stored to or loaded from.
    ///
    /// Neither hangs on a predicate, and a loaded variable is the result of a call before.
    fn is_passed(&self, symbol: &Symbol, role: Role) -> bool {
        let loaded = role != Role::Write;
        let result = matches!(symbol, Symbol::Local(index) if self.results.contains(index));
        self.instruction.guard.is_none() && (!loaded || result)
    }

    /// Whether a register holds addresses within `space`.
    fn is_base(&self, reg: Reg, space: Option<Space>, role: Role) -> bool {
        let ty = self.type_of(reg);
        let wide = match space {
            None | Some(Space::Global) => ty.bytes() == ADDRESS,
            // Arguments and results of a call have a name.
            Some(Space::Param) if role != Role::Read => false,
            Some(_) => ty.bytes() <= ADDRESS,
        };
        wide && matches!(meaning(ty), Meaning::Bits | Meaning::Integer)
    }

    /// Whether the address of `symbol` may be moved to a register for `ty`.
    pub(super) fn is_address(&self, symbol: &Symbol, offset: i64, ty: Type) -> bool {
        match self.symbols.named(self.body, symbol) {
            Some(Named::Variable(Space::Global)) => ty.bytes() == ADDRESS,
            Some(Named::Function(function)) => is_there(function) && offset == 0 && ty.bytes() >= 4,
            Some(Named::Argument) | None => false,
            Some(_) => true,
        }
    }
}

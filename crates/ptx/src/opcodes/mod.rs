//! The opcodes that the executor runs and the kernel build admits.
//!
//! One table serves both: a kernel that needs an opcode outside it does not pass the lints, so the
//! simulator cannot fall behind the compiler unnoticed.

mod forms;
mod order;
mod pattern;
mod role;

pub use forms::FORMS;
pub use order::canonical;
pub use role::{Role, Signature, Ty};

/// A family of opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Moves, selects and address conversion.
    Move,
    /// Integer arithmetic.
    Integer,
    /// Bitwise operations and shifts.
    Bits,
    /// Correctly rounded floats.
    Float,
    /// Approximate floats.
    Approx,
    /// Comparisons.
    Compare,
    /// Conversions.
    Convert,
    /// Loads and stores.
    Memory,
    /// Atomics and fences.
    Atomic,
    /// Branches, calls and exits.
    Control,
    /// Barriers and warp collectives.
    Sync,
    /// Matrix operations and asynchronous copies.
    Tensor,
}

/// A set of admitted opcodes, with their modifiers in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The family.
    pub group: Group,
    /// The opcodes.
    ///
    /// The text is literal, with `{a,b,}` for one of several texts, the last one here empty.
    pub pattern: &'static str,
    /// The operands that the opcodes take, by their number; none where other rules say it.
    pub signatures: &'static [Signature],
}

impl Form {
    /// Whether the form admits `opcode`.
    #[must_use]
    pub fn admits(&self, opcode: &str) -> bool {
        pattern::matches(self.pattern, opcode)
    }

    /// Every opcode that the form admits.
    #[must_use]
    pub fn opcodes(&self) -> Vec<String> {
        pattern::expand(self.pattern)
    }
}

/// The form that admits `opcode`, if one does.
#[must_use]
pub fn form(opcode: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.admits(opcode))
}

/// The family of `opcode`, or `None` if it is not admitted.
#[must_use]
pub fn group(opcode: &str) -> Option<Group> {
    form(opcode).map(|form| form.group)
}

/// Every admitted opcode with its family.
pub fn all() -> impl Iterator<Item = (Group, String)> {
    FORMS.iter().flat_map(|form| form.opcodes().into_iter().map(|opcode| (form.group, opcode)))
}

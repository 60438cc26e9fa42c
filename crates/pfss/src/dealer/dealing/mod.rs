//! The secrets that the dealer draws for each kind of gate.

mod comparisons;
mod products;
mod shifts;
mod suf;

use core_types::Ring;

use super::{draw::Draw, secrets::Secrets};
use crate::{Gate, gate::each_gate};

/// Draws the secrets of a gate's keys, in the rows of its shape.
pub(super) trait GateDealing {
    /// Draws the dealer's secrets. `ring` is the ring of the gate's input.
    ///
    /// The input mask, which is already the first row of words, and the threshold of every tree are
    /// given. The order of the draws decides the bytes of bundles.
    fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets);
}

/// The dealing of `gate`, by its kind.
pub(super) fn dealing(gate: &Gate) -> &dyn GateDealing {
    each_gate!(gate.definition(), gate => gate)
}

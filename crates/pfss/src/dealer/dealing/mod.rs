//! The secrets that the dealer draws for each kind of gate.

mod comparisons;
mod products;
mod shifts;
mod suf;

use super::{draw::Draw, secrets::Secrets};
use crate::{Gate, gate::AnyGate};

/// Draws the secrets of the keys of `gate`, in the rows of its shape.
///
/// The input mask, which is already the first row of words, and the threshold of every tree are
/// given. The order of the draws decides the bytes of bundles.
pub(super) fn draw(gate: &Gate, draw: &mut Draw<'_>, secrets: &mut Secrets) {
    let ring = gate.ring();
    match gate.definition() {
        AnyGate::FullPredicates(gate) => gate.draw(draw, secrets),
        AnyGate::SignPredicates(gate) => gate.draw(ring, draw, secrets),
        AnyGate::LowPredicates(gate) => gate.draw(draw, secrets),
        AnyGate::Relu(gate) => gate.draw(ring, draw, secrets),
        AnyGate::TruncateReduce(gate) => gate.draw(ring, draw, secrets),
        AnyGate::GapArs(gate) => gate.draw(ring, draw, secrets),
        AnyGate::IntervalPowers(gate) => gate.draw(ring, draw, secrets),
        AnyGate::Lrs(gate) => gate.draw(ring, draw, secrets),
        AnyGate::Ars(gate) => gate.draw(ring, draw, secrets),
        AnyGate::ReluArs(gate) => gate.draw(ring, draw, secrets),
        AnyGate::Suf(gate) => secrets.suf(&gate.program, draw),
        AnyGate::Lut(gate) => gate.draw(ring, draw, secrets),
        AnyGate::Product(_) => products::product(ring, draw, secrets),
    }
}

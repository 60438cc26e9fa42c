//! Handles of wires: masks of outputs that a dealer keeps for the gates that read them.
//!
//! # Safety
//! As said [at the top](crate#safety).

use pfss::{Inputs, Wire};

use crate::{
    Backend, Bytes, DealerHandle, GateHandle,
    memory::{BothPlaces, check, free, in_turn, put_handle, shared},
    status::{CallFailure, Status, guard},
};

/// The masks `r_out` of a gate's output words.
///
/// The dealer needs them to deal keys for the gates that take the opened words as their inputs.
/// They are held only by the dealer, and are as secret as the dealer.
pub struct Wires {
    wires: Vec<Wire>,
}

/// Deals keys of a gate inside a circuit.
///
/// If `inputs` is null, the keys are for inputs under fresh masks. Otherwise they are for the
/// opened output word `word` of the gate that `inputs` came from, `haty = y + r_out`, which is then
/// the `hatx`. The second kind of keys masks no inputs. Several gates may take the same word.
///
/// If the gate has masked outputs, writes the wires of its own output words to `outputs`; for other
/// gates `outputs` may be null and is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_deal_wired(
    dealer: *mut DealerHandle,
    backend: *mut Backend,
    gate: *mut GateHandle,
    count: usize,
    inputs: *mut Wires,
    word: usize,
    party_0: *mut *mut Bytes,
    party_1: *mut *mut Bytes,
    outputs: *mut *mut Wires,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (mut dealer, backend, gate) =
            unsafe { (in_turn("dealer", dealer)?, shared("backend", backend)?, shared("gate", gate)?) };
        let places = BothPlaces::new(party_0, party_1)?;
        let gate = gate.operation.gate();
        if gate.masks_outputs() {
            check("outputs", outputs, 1)?;
        }
        let held;
        let wire;
        let inputs = if inputs.is_null() {
            Inputs::Fresh(count)
        } else {
            // SAFETY: the caller's promise.
            held = unsafe { shared("inputs", inputs) }?;
            let of = &held.wires;
            let words = of.len();
            let unknown = || CallFailure::argument(format!("expected an output word below {words}, got {word}"));
            wire = [of.get(word).ok_or_else(unknown)?];
            CallFailure::unless_len("elements of the wire", wire[0].count(), count)?;
            Inputs::Open(&wire)
        };
        let (bundles, wires) = dealer.dealer.deal_wired(&*backend.queue, gate, inputs)?;
        // SAFETY: the caller's promise.
        unsafe {
            if gate.masks_outputs() {
                put_handle("outputs", Wires { wires }, outputs)?;
            }
            places.put(bundles.map(|bundle| Bytes::of(bundle.to_bytes())))
        }
    })
}

/// Wipes and frees wires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_wires_free(wires: *mut Wires) {
    // SAFETY: the caller's promise.
    unsafe { free(wires) };
}

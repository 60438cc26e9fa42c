//! Making keys and evaluating them, from the caller's pointers to results.

use core::ffi::c_int;

use pfss::Party;

use super::{
    context::SigmaContext,
    peer::{PeerChannel, SigmaPeer, SigmaStats},
    place::CallContext,
    request::Request,
};
use crate::{
    arrays::{Arrays, CallerArray},
    memory::{array, put},
    status::{CallFailure, Status, guard},
};

/// Two arrays of a word for each of `n` elements, in host or device memory.
#[derive(Clone, Copy)]
pub(super) struct WordArrays {
    pub(super) input: *const u64,
    pub(super) n: usize,
    pub(super) output: *mut u64,
}

/// The same arrays, checked.
struct Found {
    input: CallerArray<u64>,
    output: CallerArray<u64>,
    names: [&'static str; 2],
}

impl WordArrays {
    /// Refuses what cannot be two arrays that share no memory.
    fn find(self, arrays: &Arrays, names: [&'static str; 2]) -> Result<Found, CallFailure> {
        let input = CallerArray::new(names[0], self.input, self.n)?;
        let output = CallerArray::new(names[1], self.output.cast_const(), self.n)?;
        apart(names, [input.span(), output.span()])?;
        Ok(Found { input: input.located_by(arrays)?, output: output.located_by(arrays)?, names })
    }
}

impl Found {
    /// Refuses arrays that share memory with the context's buffer of keys.
    fn apart_from_keys(&self, context: &SigmaContext) -> Result<(), CallFailure> {
        let Some(buffer) = context.span() else { return Ok(()) };
        let mut arrays = self.names.into_iter().zip([self.input.span(), self.output.span()]);
        arrays.try_for_each(|(name, span)| apart([name, "the buffer of keys"], [span, buffer]))
    }
}

/// Makes keys for inputs under the masks of the input, and writes the masks of the outputs.
///
/// # Safety
/// As said at the top of the crate, for a handle and both arrays.
pub(super) unsafe fn keygen(
    place: CallContext,
    party: c_int,
    request: impl FnOnce() -> Result<Request, CallFailure>,
    words: WordArrays,
) -> Status {
    let names = ["input_mask", "output_mask"];
    guard(|| {
        let (request, party) = (request()?, party_of(party)?);
        let make = |context: &mut SigmaContext| {
            let found = words.find(context.arrays(), names)?;
            found.apart_from_keys(context)?;
            // SAFETY: the caller's promise.
            let masks = unsafe { found.input.read() }?;
            // SAFETY: the caller's promise.
            context.keygen(party, request, &masks, |output_masks| unsafe { found.output.fill(output_masks) })
        };
        // SAFETY: the caller's promise.
        unsafe { place.with(make) }
    })
}

/// Evaluates a function with the next keys of a context, which is free during the exchanges.
///
/// # Safety
/// As said at the top of the crate, for a handle, `peer`, both arrays and `stats`, which may be
/// null.
pub(super) unsafe fn evaluate(
    place: CallContext,
    peer: *const SigmaPeer,
    party: c_int,
    request: impl FnOnce() -> Result<Request, CallFailure>,
    words: WordArrays,
    stats: *mut SigmaStats,
) -> Status {
    let names = ["input_masked", "output_masked"];
    guard(|| {
        // All pointers are looked at before keys are taken.
        let (request, party) = (request()?, party_of(party)?);
        // SAFETY: the caller's promise.
        let channel = unsafe { PeerChannel::new(party, peer) }?;
        // SAFETY: the caller's promise.
        let before = if stats.is_null() { None } else { Some(unsafe { array("stats", stats, 1) }?[0]) };
        // SAFETY: the caller's promise.
        let found = unsafe { place.with(|context| words.find(context.arrays(), names)) }?;
        // The context is free while this waits for the stream.
        // SAFETY: the caller's promise.
        let x_hat = unsafe { found.input.read() }?;
        let take = |context: &mut SigmaContext| {
            found.apart_from_keys(context)?;
            context.take(party, request, words.n)
        };
        // SAFETY: the caller's promise.
        let (y_hat, traffic) = unsafe { place.with(take) }?.run(channel, &x_hat)?;
        // Results are written last.
        // SAFETY: the caller's promise.
        unsafe { found.output.fill(&y_hat) }?;
        if let Some(before) = before {
            // SAFETY: the caller's promise.
            unsafe { put("stats", before.plus(traffic), stats) }?;
        }
        Ok(())
    })
}

fn party_of(party: c_int) -> Result<Party, CallFailure> {
    match party {
        0 => Ok(Party::Zero),
        1 => Ok(Party::One),
        _ => Err(CallFailure::argument(format!("expected party 0 or 1, got {party}"))),
    }
}

/// Refuses two arrays that share memory.
///
/// Each is given by its first address and its length in bytes.
fn apart([first, second]: [&str; 2], [a, b]: [(usize, usize); 2]) -> Result<(), CallFailure> {
    let ends_before = |a: (usize, usize), b: (usize, usize)| a.0.saturating_add(a.1) <= b.0;
    if a.1 == 0 || b.1 == 0 || ends_before(a, b) || ends_before(b, a) {
        return Ok(());
    }
    Err(CallFailure::argument(format!("{first} and {second} overlap")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_apart_unless_they_share_a_byte() {
        let overlap = |a, b| apart(["a", "b"], [a, b]).is_err();
        for (a, b) in [((8, 8), (16, 8)), ((8, 0), (8, 8)), ((12, 0), (8, 8)), ((0, 8), (usize::MAX, 1))] {
            assert!(!overlap(a, b) && !overlap(b, a), "{a:?} {b:?}");
        }
        for (a, b) in [((8, 8), (8, 8)), ((8, 9), (16, 8)), ((8, 80), (16, 8)), ((8, 8), (12, 1))] {
            assert!(overlap(a, b) && overlap(b, a), "{a:?} {b:?}");
        }
    }
}

//! Making keys and evaluating them, from the caller's pointers to results.

use core::ffi::c_int;

use pfss::Party;

use super::{
    arrays::{Arrays, Input, Output},
    context::SigmaContext,
    peer::{PeerChannel, SigmaPeer, SigmaStats},
    place::Place,
    request::Request,
};
use crate::{
    memory::{array, check, put},
    status::{CallFailure, Status, guard},
};

/// Two arrays of a word for each of `n` elements, in host or device memory.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) input: *const u64,
    pub(super) n: usize,
    pub(super) output: *mut u64,
}

impl Words {
    /// Refuses what cannot be two arrays that share no memory.
    fn check(self, [input, output]: [&str; 2]) -> Result<(), CallFailure> {
        check(input, self.input, self.n)?;
        check(output, self.output, self.n)?;
        apart([input, output], self.spans())
    }

    /// The input and the place for the output, which are checked before.
    ///
    /// # Safety
    /// As said at the top of the crate, for both arrays, or they are in device memory as
    /// [`Arrays::input`] requires.
    unsafe fn open<'a>(
        self,
        arrays: &Arrays,
        [input, output]: [&'static str; 2],
    ) -> Result<(Input<'a>, Output), CallFailure> {
        let output = arrays.output(output, self.output, self.n)?;
        // SAFETY: the caller's promise.
        Ok((unsafe { arrays.input(input, self.input, self.n) }?, output))
    }

    /// Refuses arrays that share memory with the context's buffer of keys.
    ///
    /// Both are checked before.
    fn apart_from_keys(self, context: &SigmaContext, names: [&str; 2]) -> Result<(), CallFailure> {
        let Some(buffer) = context.span() else { return Ok(()) };
        let mut arrays = names.into_iter().zip(self.spans());
        arrays.try_for_each(|(name, span)| apart([name, "the buffer of keys"], [span, buffer]))
    }

    /// First address and length in bytes of both arrays.
    fn spans(self) -> [(usize, usize); 2] {
        let bytes = self.n * size_of::<u64>(); // `check` found that they fit memory
        [(self.input.addr(), bytes), (self.output.addr(), bytes)]
    }
}

/// Makes keys for inputs under the masks of the input, and writes the masks of the outputs.
///
/// # Safety
/// As said at the top of the crate, for a handle and both arrays.
pub(super) unsafe fn keygen(
    place: Place,
    party: c_int,
    request: impl FnOnce() -> Result<Request, CallFailure>,
    words: Words,
) -> Status {
    let names = ["input_mask", "output_mask"];
    guard(|| {
        let (request, party) = (request()?, party_of(party)?);
        words.check(names)?;
        let make = |context: &mut SigmaContext| {
            words.apart_from_keys(context, names)?;
            // SAFETY: the caller's promise.
            let (masks, output) = unsafe { words.open(context.arrays(), names) }?;
            // SAFETY: the caller's promise.
            context.keygen(party, request, &masks, |output_masks| unsafe { output.fill(output_masks) })
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
    place: Place,
    peer: *const SigmaPeer,
    party: c_int,
    request: impl FnOnce() -> Result<Request, CallFailure>,
    words: Words,
    stats: *mut SigmaStats,
) -> Status {
    let names = ["input_masked", "output_masked"];
    guard(|| {
        // All pointers are looked at before keys are taken.
        let (request, party) = (request()?, party_of(party)?);
        // SAFETY: the caller's promise.
        let channel = unsafe { PeerChannel::new(party, peer) }?;
        words.check(names)?;
        // SAFETY: the caller's promise.
        let before = if stats.is_null() { None } else { Some(unsafe { array("stats", stats, 1) }?[0]) };
        // SAFETY: the caller's promise.
        let arrays = unsafe { place.with(|context| Ok(context.arrays().clone())) }?;
        // The context is free while this waits for the stream.
        // SAFETY: the caller's promise.
        let (x_hat, output) = unsafe { words.open(&arrays, names) }?;
        let take = |context: &mut SigmaContext| {
            words.apart_from_keys(context, names)?;
            context.take(party, request, words.n)
        };
        // SAFETY: the caller's promise.
        let (y_hat, traffic) = unsafe { place.with(take) }?.run(channel, &x_hat)?;
        // Results are written last.
        // SAFETY: the caller's promise.
        unsafe { output.fill(&y_hat) }?;
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

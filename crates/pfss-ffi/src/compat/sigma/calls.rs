//! Making keys and evaluating them, from the caller's pointers to results.

use core::ffi::c_int;

use pfss::{DealerSeed, Party};

use super::{
    context::{Evaluation, SigmaContext},
    peer::{PeerChannel, SigmaPeer, SigmaStats},
    request::Request,
};
use crate::{
    memory::{array, check, fill, put},
    status::CallFailure,
};

/// Two arrays of a word for each of `n` elements.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) input: *const u64,
    pub(super) n: usize,
    pub(super) output: *mut u64,
}

impl Words {
    /// The input, once both arrays and their distance are checked.
    ///
    /// # Safety
    /// As said at the top of the crate, for both arrays.
    unsafe fn checked<'a>(self, [input, output]: [&str; 2]) -> Result<&'a [u64], CallFailure> {
        // SAFETY: the caller's promise.
        let words = unsafe { array(input, self.input, self.n) }?;
        check(output, self.output, self.n)?;
        apart([input, output], self.spans())?;
        Ok(words)
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
/// As said at the top of the crate, for both arrays.
pub(super) unsafe fn keygen(
    context: &mut SigmaContext,
    party: c_int,
    request: Request,
    words: Words,
) -> Result<(), CallFailure> {
    let party = party_of(party)?;
    // SAFETY: the caller's promise.
    let masks = unsafe { words.checked(["input_mask", "output_mask"]) }?;
    words.apart_from_keys(context, ["input_mask", "output_mask"])?;
    let output = context.keygen(party, request, masks)?;
    // SAFETY: the caller's promise.
    unsafe { fill("output_mask", output.masks(), words.output, words.n) }
}

/// The next keys of a context, for an evaluation on arrays that are checked before.
pub(super) fn next_keys(
    context: &mut SigmaContext,
    party: Party,
    request: Request,
    words: Words,
) -> Result<Evaluation, CallFailure> {
    words.apart_from_keys(context, ["input_masked", "output_masked"])?;
    context.take(party, request, words.n)
}

/// Evaluates a function with the keys that `take` gives.
///
/// # Safety
/// As said at the top of the crate, for `peer`, both arrays and `stats`, which may be null.
pub(super) unsafe fn evaluate(
    take: impl FnOnce(Party, Request, Words) -> Result<Evaluation, CallFailure>,
    peer: *const SigmaPeer,
    party: c_int,
    request: Request,
    words: Words,
    stats: *mut SigmaStats,
) -> Result<(), CallFailure> {
    // All pointers are looked at before keys are taken.
    let party = party_of(party)?;
    // SAFETY: the caller's promise.
    let channel = unsafe { PeerChannel::new(party, peer) }?;
    // SAFETY: the caller's promise.
    let x_hat = unsafe { words.checked(["input_masked", "output_masked"]) }?;
    // SAFETY: the caller's promise.
    let before = if stats.is_null() { None } else { Some(unsafe { array("stats", stats, 1) }?[0]) };
    let (y_hat, traffic) = take(party, request, words)?.run(channel, x_hat)?;
    // SAFETY: the caller's promise.
    unsafe { fill("output_masked", &y_hat, words.output, words.n) }?;
    if let Some(before) = before {
        // SAFETY: the caller's promise.
        unsafe { put("stats", before.plus(traffic), stats) }?;
    }
    Ok(())
}

/// The seed that a caller gives, or one from the operating system for null and no bytes.
///
/// # Safety
/// As said at the top of the crate.
pub(super) unsafe fn seed_of(seed: *const u8, len: usize) -> Result<DealerSeed, CallFailure> {
    if seed.is_null() && len == 0 {
        return Ok(DealerSeed::from_os()?);
    }
    CallFailure::unless_len("bytes of the seed", DealerSeed::BYTES, len)?;
    // SAFETY: the caller's promise.
    let bytes = unsafe { array("seed", seed.cast::<[u8; DealerSeed::BYTES]>(), 1) }?;
    Ok(DealerSeed::from_bytes(&bytes[0]))
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
        for (a, b) in
            [((8, 8), (16, 8)), ((16, 8), (8, 8)), ((8, 0), (8, 8)), ((8, 8), (8, 0)), ((0, 8), (usize::MAX, 1))]
        {
            assert!(!overlap(a, b), "{a:?} {b:?}");
        }
        for (a, b) in [((8, 8), (8, 8)), ((8, 9), (16, 8)), ((16, 8), (8, 9)), ((8, 80), (16, 8)), ((16, 8), (8, 80))] {
            assert!(overlap(a, b), "{a:?} {b:?}");
        }
    }
}

//! Rejected operands: lengths and widths that a plan would have caught earlier.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::fss::{
        CmpEvalAll, CmpEvalWindow, CmpGen, CmpKeys, DcfEvalWindow, DcfGen, DcfKeys, FssOps, PackBits, UnpackBits,
    },
};
use core_types::{
    Label, PrgKeys,
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, PackParams},
};

use super::batch::NONCE;
use crate::{Case, Conditioned, Failure, OpSpec};

/// Lengths of the views of an evaluation by [`cmp_params`].
const CMP_LENS: [usize; 6] = [64, 2 * 64, 2 * 64, 33, 2, 2 * 2];

/// Lengths of the views of an evaluation by [`dcf_params`].
const DCF_LENS: [usize; 7] = [64, 3 * 64, 9 * 64, 3 * 64, 33, 2, 6 * 33];

fn cmp_params() -> CmpWindowParams {
    let key = PrgKeys::from_nonce(NONCE).child;
    CmpWindowParams { key, bits: 10, party: 0, count: 33, points: 2, window: 8, reserved: [0; 3] }
}

fn dcf_params() -> DcfWindowParams {
    let keys = PrgKeys::from_nonce(NONCE);
    DcfWindowParams { keys, bits: 3, party: 0, count: 33, points: 2, words: 3, width: 64, window: 2, reserved: 0 }
}

/// Makes keys in buffers for 33 keys of 10 bits.
///
/// The buffers are alphas, roots, corrections and leaves.
fn cmp_gen(q: &Conditioned, bits: u32, count: u32) -> Result<(), BackendError> {
    let (alphas, roots) = (q.zeros(33)?, q.zeros::<Label>(128)?);
    let (mut corrections, mut leaves) = (q.zeros(128)?, q.zeros(128)?);
    let params = CmpGenParams { key: PrgKeys::from_nonce(NONCE).child, bits, count, reserved: [0; 2] };
    let (corrections, leaves) = (corrections.view_mut(), leaves.view_mut());
    q.cmp_gen(CmpGen { params: &params, alphas: alphas.view(), roots: roots.view(), corrections, leaves })
}

/// Makes keys in buffers for 33 keys of 3 bits with 3 words.
///
/// The buffers are alphas, betas, roots, corrections, values and last.
fn dcf_gen(q: &Conditioned, [bits, count, words, width]: [u32; 4]) -> Result<(), BackendError> {
    let (alphas, betas, roots) = (q.zeros(33)?, q.zeros(99)?, q.zeros::<Label>(128)?);
    let (mut corrections, mut values, mut last) = (q.zeros(192)?, q.zeros(576)?, q.zeros(192)?);
    let params = DcfGenParams { keys: PrgKeys::from_nonce(NONCE), bits, count, words, width };
    let (alphas, betas, roots) = (alphas.view(), betas.view(), roots.view());
    let (corrections, values, last) = (corrections.view_mut(), values.view_mut(), last.view_mut());
    q.dcf_gen(DcfGen { params: &params, alphas, betas, roots, corrections, values, last })
}

fn expect_generation_checked(q: &Conditioned) -> Result<(), Failure> {
    cmp_gen(q, 10, 33)?;
    dcf_gen(q, [3, 33, 3, 64])?;
    for bits in [0, 65, u32::MAX] {
        Failure::unless_refused(&format!("cmp_gen of {bits} bits"), cmp_gen(q, bits, 33))?;
        Failure::unless_refused(&format!("dcf_gen of {bits} bits"), dcf_gen(q, [bits, 33, 3, 64]))?;
        Failure::unless_refused(&format!("dcf_gen, words of {bits} bits"), dcf_gen(q, [3, 33, 3, bits]))?;
    }
    for words in [0, 9, u32::MAX] {
        Failure::unless_refused(&format!("dcf_gen of {words} words"), dcf_gen(q, [3, 33, words, 64]))?;
    }
    Failure::unless_refused("cmp_gen of 2^32 - 1 keys", cmp_gen(q, 10, u32::MAX))?;
    Failure::unless_refused("dcf_gen of 2^32 - 1 keys", dcf_gen(q, [64, u32::MAX, 8, 64]))
}

fn cmp_all_params() -> CmpAllParams {
    let CmpWindowParams { key, bits, party, count, .. } = cmp_params();
    CmpAllParams { key, bits, party, count, first: 32, keys: 1, reserved: [0; 3] }
}

/// Evaluates zero keys at every point in buffers of lengths `lens`.
///
/// The buffers are roots, corrections, leaves and units.
fn cmp_eval_all(q: &Conditioned, params: CmpAllParams, lens: [usize; 4]) -> Result<(), BackendError> {
    let (roots, mut units) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[3])?);
    let (corrections, leaves) = (q.zeros(lens[1])?, q.zeros(lens[2])?);
    let keys = CmpKeys { roots: roots.view(), corrections: corrections.view(), leaves: leaves.view() };
    q.cmp_eval_all(CmpEvalAll { params: &params, keys, units: units.view_mut() })
}

/// The same at some points for roots, corrections, leaves, masked inputs, offsets, shares.
fn cmp_eval_window(q: &Conditioned, params: CmpWindowParams, lens: [usize; 6]) -> Result<(), BackendError> {
    let (roots, mut shares) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[5])?);
    let (corrections, leaves) = (q.zeros(lens[1])?, q.zeros(lens[2])?);
    let (x_hat, offsets) = (q.zeros(lens[3])?, q.zeros(lens[4])?);
    let keys = CmpKeys { roots: roots.view(), corrections: corrections.view(), leaves: leaves.view() };
    let (x_hat, offsets, shares) = (x_hat.view(), offsets.view(), shares.view_mut());
    q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets, shares })
}

/// The same for roots, corrections, values, last, masked inputs, offsets, shares.
fn dcf_eval_window(q: &Conditioned, params: DcfWindowParams, lens: [usize; 7]) -> Result<(), BackendError> {
    let (roots, mut shares) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[6])?);
    let (corrections, values, last) = (q.zeros(lens[1])?, q.zeros(lens[2])?, q.zeros(lens[3])?);
    let (x_hat, offsets) = (q.zeros(lens[4])?, q.zeros(lens[5])?);
    let (roots, corrections) = (roots.view(), corrections.view());
    let keys = DcfKeys { roots, corrections, values: values.view(), last: last.view() };
    let (x_hat, offsets, shares) = (x_hat.view(), offsets.view(), shares.view_mut());
    q.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets, shares })
}

/// Runs an op, which must accept views of lengths `lens`.
///
/// It must refuse each view with one element more or less, or with none.
pub(super) fn expect_lens<const N: usize>(
    op: &str,
    lens: [usize; N],
    run: impl Fn([usize; N]) -> Result<(), BackendError>,
) -> Result<(), Failure> {
    run(lens)?;
    for i in 0..N {
        for len in [0, lens[i] - 1, lens[i] + 1] {
            let mut wrong = lens;
            wrong[i] = len;
            Failure::unless_refused(&format!("view {i} of {op} with {len} elements"), run(wrong))?;
        }
    }
    Ok(())
}

fn expect_lengths_checked(q: &Conditioned) -> Result<(), Failure> {
    expect_lens("cmp_eval_all", [64, 2 * 64, 2 * 64, 8], |lens| cmp_eval_all(q, cmp_all_params(), lens))?;
    expect_lens("cmp_eval_window", CMP_LENS, |lens| cmp_eval_window(q, cmp_params(), lens))?;
    expect_lens("dcf_eval_window", DCF_LENS, |lens| dcf_eval_window(q, dcf_params(), lens))
}

fn expect_ranges_checked(q: &Conditioned) -> Result<(), Failure> {
    for bits in [0, 65, u32::MAX] {
        let params = CmpWindowParams { bits, window: bits, ..cmp_params() };
        Failure::unless_refused(&format!("cmp_eval_window of {bits} bits"), cmp_eval_window(q, params, CMP_LENS))?;
        let params = DcfWindowParams { width: bits, ..dcf_params() };
        let refused = dcf_eval_window(q, params, DCF_LENS);
        Failure::unless_refused(&format!("dcf_eval_window, words of {bits} bits"), refused)?;
        let (source, mut words) = (q.zeros(1)?, q.zeros(1)?);
        let params = PackParams { count: 1, bits };
        let refused = q.pack_bits(PackBits { params: &params, elements: source.view(), words: words.view_mut() });
        Failure::unless_refused("pack_bits", refused)?;
        let refused = q.unpack_bits(UnpackBits { params: &params, words: source.view(), elements: words.view_mut() });
        Failure::unless_refused("unpack_bits", refused)?;
    }
    let all = cmp_all_params();
    for params in [
        CmpAllParams { bits: 0, ..all },
        CmpAllParams { bits: 14, ..all },
        CmpAllParams { party: 2, ..all },
        CmpAllParams { first: 31, ..all },
        CmpAllParams { keys: 2, ..all },
        CmpAllParams { first: 64, keys: 0, ..all },
        CmpAllParams { first: u32::MAX - 31, keys: 33, ..all },
    ] {
        let CmpAllParams { bits, party, first, keys, .. } = params;
        let what = format!("cmp_eval_all of {bits} bits by party {party}, {keys} keys from {first} on");
        Failure::unless_refused(&what, cmp_eval_all(q, params, [64, 128, 128, 8 * keys.min(2) as usize]))?;
    }
    for window in [0, 6, 11, u32::MAX] {
        let params = CmpWindowParams { window, ..cmp_params() };
        let refused = cmp_eval_window(q, params, CMP_LENS);
        Failure::unless_refused(&format!("cmp_eval_window of 2^{window} points of 10 bits"), refused)?;
        let params = DcfWindowParams { window: window.max(4), ..dcf_params() };
        let refused = dcf_eval_window(q, params, DCF_LENS);
        Failure::unless_refused(&format!("dcf_eval_window of 2^{} points of 3 bits", window.max(4)), refused)?;
    }
    let params = CmpWindowParams { party: 2, ..cmp_params() };
    Failure::unless_refused("cmp_eval_window of party 2", cmp_eval_window(q, params, CMP_LENS))?;
    let params = DcfWindowParams { party: 2, ..dcf_params() };
    Failure::unless_refused("dcf_eval_window of party 2", dcf_eval_window(q, params, DCF_LENS))?;
    for words in [0, 9, u32::MAX] {
        let params = DcfWindowParams { words, ..dcf_params() };
        let refused = dcf_eval_window(q, params, [64, 192, 0, 0, 33, 2, 0]);
        Failure::unless_refused(&format!("dcf_eval_window of {words} words"), refused)?;
    }
    Ok(())
}

/// Parameters whose products exceed the address space are refused like other wrong lengths.
fn expect_no_overflow(q: &Conditioned) -> Result<(), Failure> {
    let params = CmpWindowParams { count: u32::MAX, points: u32::MAX, ..cmp_params() };
    Failure::unless_refused("cmp_eval_window of 2^64 points", cmp_eval_window(q, params, CMP_LENS))?;
    let params = DcfWindowParams { count: u32::MAX, points: u32::MAX, words: 8, bits: 64, window: 64, ..dcf_params() };
    Failure::unless_refused("dcf_eval_window of 2^64 points", dcf_eval_window(q, params, DCF_LENS))?;
    let (source, mut words) = (q.zeros(1)?, q.zeros(1)?);
    let params = PackParams { count: u32::MAX, bits: 64 };
    let refused = q.pack_bits(PackBits { params: &params, elements: source.view(), words: words.view_mut() });
    Failure::unless_refused("pack_bits of 2^38 bits", refused)
}

pub(super) fn specs() -> OpSpec {
    OpSpec {
        op: "fss.refusals",
        cases: vec![
            Case::new("views of wrong lengths", expect_lengths_checked),
            Case::new("widths, parties and payloads out of range", expect_ranges_checked),
            Case::new("lengths beyond the address space", expect_no_overflow),
            Case::new("keys to be made out of range", expect_generation_checked),
        ],
    }
}

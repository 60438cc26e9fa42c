//! What the ops refuse: lengths and widths that a plan would not have let through.

use backend_api::{
    BackendError, Buffer as _,
    ops::fss::{
        AesCtrFill, CmpEval, CmpEvalAll, CmpEvalWindow, CmpKeys, DcfEval, DcfEvalWindow, DcfKeys, FssOps, PackBits,
        UnpackBits,
    },
};
use core_types::{
    Label, PrgKeys,
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
};

use super::batch::NONCE;
use crate::{Case, Failure, OpSpec};

fn cmp_params() -> CmpParams {
    CmpParams { key: PrgKeys::from_nonce(NONCE).child, bits: 10, party: 0, count: 33, points: 2 }
}

fn dcf_params() -> DcfParams {
    let keys = PrgKeys::from_nonce(NONCE);
    DcfParams { keys, bits: 3, party: 0, count: 33, points: 2, words: 3, width: 64, reserved: [0; 2] }
}

/// Evaluates zero keys in buffers of these lengths: roots, corrections, leaves, points, shares.
fn cmp_eval<Q: FssOps>(q: &Q, params: CmpParams, lens: [usize; 5]) -> Result<(), BackendError> {
    let (roots, mut shares) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[4])?);
    let (corrections, leaves, points) = (q.zeros(lens[1])?, q.zeros(lens[2])?, q.zeros(lens[3])?);
    let keys = CmpKeys { roots: roots.view(), corrections: corrections.view(), leaves: leaves.view() };
    q.cmp_eval(CmpEval { params: &params, keys, points: points.view(), shares: shares.view_mut() })
}

fn cmp_all_params() -> CmpAllParams {
    let CmpParams { key, bits, party, count, .. } = cmp_params();
    CmpAllParams { key, bits, party, count, first: 32, keys: 1, reserved: [0; 3] }
}

/// The same at every point for roots, corrections, leaves, units.
fn cmp_eval_all<Q: FssOps>(q: &Q, params: CmpAllParams, lens: [usize; 4]) -> Result<(), BackendError> {
    let (roots, mut units) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[3])?);
    let (corrections, leaves) = (q.zeros(lens[1])?, q.zeros(lens[2])?);
    let keys = CmpKeys { roots: roots.view(), corrections: corrections.view(), leaves: leaves.view() };
    q.cmp_eval_all(CmpEvalAll { params: &params, keys, units: units.view_mut() })
}

/// The same for roots, corrections, values, last, points, shares.
fn dcf_eval<Q: FssOps>(q: &Q, params: DcfParams, lens: [usize; 6]) -> Result<(), BackendError> {
    let (roots, mut shares) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[5])?);
    let (corrections, values) = (q.zeros(lens[1])?, q.zeros(lens[2])?);
    let (last, points) = (q.zeros(lens[3])?, q.zeros(lens[4])?);
    let (roots, corrections) = (roots.view(), corrections.view());
    let keys = DcfKeys { roots, corrections, values: values.view(), last: last.view() };
    q.dcf_eval(DcfEval { params: &params, keys, points: points.view(), shares: shares.view_mut() })
}

fn cmp_window_params() -> CmpWindowParams {
    let CmpParams { key, bits, party, count, points } = cmp_params();
    CmpWindowParams { key, bits, party, count, points, window: 8, reserved: [0; 3] }
}

/// The same at clustered points for roots, corrections, leaves, masked inputs, offsets, shares.
fn cmp_eval_window<Q: FssOps>(q: &Q, params: CmpWindowParams, lens: [usize; 6]) -> Result<(), BackendError> {
    let (roots, mut shares) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[5])?);
    let (corrections, leaves) = (q.zeros(lens[1])?, q.zeros(lens[2])?);
    let (x_hat, offsets) = (q.zeros(lens[3])?, q.zeros(lens[4])?);
    let keys = CmpKeys { roots: roots.view(), corrections: corrections.view(), leaves: leaves.view() };
    let (x_hat, offsets, shares) = (x_hat.view(), offsets.view(), shares.view_mut());
    q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets, shares })
}

fn dcf_window_params() -> DcfWindowParams {
    let DcfParams { keys, bits, party, count, points, words, width, .. } = dcf_params();
    DcfWindowParams { keys, bits, party, count, points, words, width, window: 2, reserved: 0 }
}

/// The same for roots, corrections, values, last, masked inputs, offsets, shares.
fn dcf_eval_window<Q: FssOps>(q: &Q, params: DcfWindowParams, lens: [usize; 7]) -> Result<(), BackendError> {
    let (roots, mut shares) = (q.zeros::<Label>(lens[0])?, q.zeros(lens[6])?);
    let (corrections, values, last) = (q.zeros(lens[1])?, q.zeros(lens[2])?, q.zeros(lens[3])?);
    let (x_hat, offsets) = (q.zeros(lens[4])?, q.zeros(lens[5])?);
    let (roots, corrections) = (roots.view(), corrections.view());
    let keys = DcfKeys { roots, corrections, values: values.view(), last: last.view() };
    let (x_hat, offsets, shares) = (x_hat.view(), offsets.view(), shares.view_mut());
    q.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets, shares })
}

/// Runs an op, which must take `lens` and refuse one element more or less, or none, of each view.
fn expect_lens<const N: usize>(
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

fn expect_lengths_checked<Q: FssOps>(q: &Q) -> Result<(), Failure> {
    expect_lens("cmp_eval", [64, 2 * 64, 2 * 64, 2 * 33, 2 * 2], |lens| cmp_eval(q, cmp_params(), lens))?;
    expect_lens("cmp_eval_all", [64, 2 * 64, 2 * 64, 8], |lens| cmp_eval_all(q, cmp_all_params(), lens))?;
    let lens = [64, 2 * 64, 2 * 64, 33, 2, 2 * 2];
    expect_lens("cmp_eval_window", lens, |lens| cmp_eval_window(q, cmp_window_params(), lens))?;
    expect_lens("dcf_eval", [64, 3 * 64, 9 * 64, 3 * 64, 2 * 33, 6 * 33], |lens| dcf_eval(q, dcf_params(), lens))?;
    let lens = [64, 3 * 64, 9 * 64, 3 * 64, 33, 2, 6 * 33];
    expect_lens("dcf_eval_window", lens, |lens| dcf_eval_window(q, dcf_window_params(), lens))
}

fn expect_ranges_checked<Q: FssOps>(q: &Q) -> Result<(), Failure> {
    for bits in [0, 65, u32::MAX] {
        let params = CmpParams { bits, ..cmp_params() };
        Failure::unless_refused(&format!("cmp_eval of {bits} bits"), cmp_eval(q, params, [64, 0, 64, 66, 4]))?;
        let params = DcfParams { width: bits, ..dcf_params() };
        Failure::unless_refused(
            &format!("dcf_eval, words of {bits} bits"),
            dcf_eval(q, params, [64, 192, 576, 192, 66, 198]),
        )?;
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
        let params = CmpWindowParams { window, ..cmp_window_params() };
        let refused = cmp_eval_window(q, params, [64, 128, 128, 33, 2, 4]);
        Failure::unless_refused(&format!("cmp_eval_window of 2^{window} points of 10 bits"), refused)?;
        let params = DcfWindowParams { window: window.max(4), ..dcf_window_params() };
        let refused = dcf_eval_window(q, params, [64, 192, 576, 192, 33, 2, 198]);
        Failure::unless_refused(&format!("dcf_eval_window of 2^{} points of 3 bits", window.max(4)), refused)?;
    }
    let params = CmpParams { party: 2, ..cmp_params() };
    Failure::unless_refused("cmp_eval of party 2", cmp_eval(q, params, [64, 128, 128, 66, 4]))?;
    for words in [0, 9, u32::MAX] {
        let params = DcfParams { words, ..dcf_params() };
        Failure::unless_refused(&format!("dcf_eval of {words} words"), dcf_eval(q, params, [64, 192, 0, 0, 66, 0]))?;
    }
    Ok(())
}

/// Parameters whose products pass the address space are refused like other wrong lengths.
fn expect_no_overflow<Q: FssOps>(q: &Q) -> Result<(), Failure> {
    let params = CmpParams { count: u32::MAX, points: u32::MAX, ..cmp_params() };
    Failure::unless_refused("cmp_eval of 2^64 points", cmp_eval(q, params, [64, 128, 128, 66, 4]))?;
    let params = CmpWindowParams { count: u32::MAX, points: u32::MAX, ..cmp_window_params() };
    Failure::unless_refused("cmp_eval_window of 2^64 points", cmp_eval_window(q, params, [64, 128, 128, 33, 2, 4]))?;
    let params = DcfParams { count: u32::MAX, points: u32::MAX, words: 8, bits: 64, ..dcf_params() };
    Failure::unless_refused("dcf_eval of 2^64 points", dcf_eval(q, params, [64, 192, 576, 192, 66, 198]))?;
    let (source, mut words) = (q.zeros(1)?, q.zeros(1)?);
    let params = PackParams { count: u32::MAX, bits: 64 };
    let refused = q.pack_bits(PackBits { params: &params, elements: source.view(), words: words.view_mut() });
    Failure::unless_refused("pack_bits of 2^38 bits", refused)?;
    let params = AesCtrParams { key: PrgKeys::from_nonce(NONCE).child, first: 0 };
    q.aes_ctr_fill(AesCtrFill { params: &params, words: words.view_mut() })?;
    Ok(())
}

pub(super) fn specs<Q: FssOps + 'static>() -> OpSpec<Q> {
    OpSpec {
        op: "fss.refusals",
        cases: vec![
            Case::new("views of wrong lengths", expect_lengths_checked),
            Case::new("widths, parties and payloads out of range", expect_ranges_checked),
            Case::new("lengths beyond the address space", expect_no_overflow),
        ],
    }
}

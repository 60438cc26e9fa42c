//! A small call of every op on keys, packed bits and shares, to be refused with any of its views an element short.

use backend_api::{
    BackendError, Buffer,
    ops::{
        fss::{
            CmpEvalAll, CmpEvalWindow, CmpGen, CmpKeys, DcfEvalWindow, DcfGen, DcfKeys, FssOps, PackBits, UnpackBits,
        },
        share::{CombineBits, CombineWords},
    },
};
use core_types::{
    Label, PrgKeys,
    params::{
        fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, PackParams},
        share::{BitParams, BitTerm, Threshold, WordParams, WordTerm},
    },
};

use super::case;
use crate::Case;

/// 33 keys, in rows of 64.
const COUNT: u32 = 33;
const ROW: usize = 64;

fn prg() -> PrgKeys {
    PrgKeys::from_nonce(*b"conformance fss.")
}

fn cmp_params() -> CmpGenParams {
    CmpGenParams { key: prg().child, bits: 10, count: COUNT, reserved: [0; 2] }
}

fn dcf_params() -> DcfGenParams {
    DcfGenParams { keys: prg(), bits: 3, count: COUNT, words: 3, width: 64 }
}

/// The sections of keys of [`cmp_params`].
struct Cmp<Q: FssOps> {
    roots: Q::Buf<Label>,
    corrections: Q::Buf<u128>,
    leaves: Q::Buf<u128>,
}

impl<Q: FssOps> Cmp<Q> {
    fn new(q: &Q) -> Result<Self, BackendError> {
        Ok(Self { roots: q.zeros(ROW)?, corrections: q.zeros(2 * ROW)?, leaves: q.zeros(2 * ROW)? })
    }

    fn keys(&self) -> CmpKeys<'_, Q> {
        CmpKeys { roots: self.roots.view(), corrections: self.corrections.view(), leaves: self.leaves.view() }
    }
}

/// The sections of keys of [`dcf_params`].
struct Dcf<Q: FssOps> {
    roots: Q::Buf<Label>,
    corrections: Q::Buf<u128>,
    values: Q::Buf<u64>,
    last: Q::Buf<u64>,
}

impl<Q: FssOps> Dcf<Q> {
    fn new(q: &Q) -> Result<Self, BackendError> {
        let (roots, corrections) = (q.zeros(ROW)?, q.zeros(3 * ROW)?);
        Ok(Self { roots, corrections, values: q.zeros(9 * ROW)?, last: q.zeros(3 * ROW)? })
    }

    fn keys(&self) -> DcfKeys<'_, Q> {
        let (roots, corrections) = (self.roots.view(), self.corrections.view());
        DcfKeys { roots, corrections, values: self.values.view(), last: self.last.view() }
    }
}

pub(super) fn cases<Q: FssOps + 'static>() -> Vec<Case<Q>> {
    let mut all = cmp_cases();
    all.extend(dcf_cases());
    all.extend(word_cases());
    all
}

fn cmp_cases<Q: FssOps + 'static>() -> Vec<Case<Q>> {
    vec![
        case("cmp_eval_window", |q: &Q, short| {
            let (keys, x_hat, offsets, mut shares) = (Cmp::new(q)?, q.zeros(33)?, q.zeros(2)?, q.zeros(4)?);
            let CmpGenParams { key, bits, count, .. } = cmp_params();
            let params = CmpWindowParams { key, bits, party: 0, count, points: 2, window: 8, reserved: [0; 3] };
            let (keys, x_hat, offsets, shares) = (keys.keys(), x_hat.view(), offsets.view(), shares.view_mut());
            q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets, shares }.map(short)?)
        }),
        case("cmp_eval_all", |q: &Q, short| {
            let (keys, mut units) = (Cmp::new(q)?, q.zeros(8)?);
            let CmpGenParams { key, bits, count, .. } = cmp_params();
            let params = CmpAllParams { key, bits, party: 0, count, first: 32, keys: 1, reserved: [0; 3] };
            let (keys, units) = (keys.keys(), units.view_mut());
            q.cmp_eval_all(CmpEvalAll { params: &params, keys, units }.map(short)?)
        }),
        case("cmp_gen", |q: &Q, short| {
            let (alphas, roots) = (q.zeros(33)?, q.zeros(2 * ROW)?);
            let (mut corrections, mut leaves) = (q.zeros(2 * ROW)?, q.zeros(2 * ROW)?);
            let (alphas, roots) = (alphas.view(), roots.view());
            let (corrections, leaves) = (corrections.view_mut(), leaves.view_mut());
            q.cmp_gen(CmpGen { params: &cmp_params(), alphas, roots, corrections, leaves }.map(short)?)
        }),
    ]
}

fn dcf_cases<Q: FssOps + 'static>() -> Vec<Case<Q>> {
    vec![
        case("dcf_eval_window", |q: &Q, short| {
            let (keys, x_hat, offsets, mut shares) = (Dcf::new(q)?, q.zeros(33)?, q.zeros(2)?, q.zeros(198)?);
            let DcfGenParams { keys: prg, bits, count, words, width } = dcf_params();
            let (party, points, window) = (0, 2, 2);
            let params = DcfWindowParams { keys: prg, bits, party, count, points, words, width, window, reserved: 0 };
            let (keys, x_hat, offsets, shares) = (keys.keys(), x_hat.view(), offsets.view(), shares.view_mut());
            q.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets, shares }.map(short)?)
        }),
        case("dcf_gen", |q: &Q, short| {
            let (alphas, betas, roots) = (q.zeros(33)?, q.zeros(99)?, q.zeros(2 * ROW)?);
            let (mut corrections, mut values, mut last) = (q.zeros(3 * ROW)?, q.zeros(9 * ROW)?, q.zeros(3 * ROW)?);
            let (alphas, betas, roots) = (alphas.view(), betas.view(), roots.view());
            let (corrections, values, last) = (corrections.view_mut(), values.view_mut(), last.view_mut());
            q.dcf_gen(DcfGen { params: &dcf_params(), alphas, betas, roots, corrections, values, last }.map(short)?)
        }),
    ]
}

fn word_cases<Q: FssOps + 'static>() -> Vec<Case<Q>> {
    let packed = PackParams { count: COUNT, bits: 10 };
    vec![
        case("pack_bits", move |q: &Q, short| {
            let (elements, mut words) = (q.zeros(33)?, q.zeros(6)?);
            let (elements, words) = (elements.view(), words.view_mut());
            q.pack_bits(PackBits { params: &packed, elements, words }.map(short)?)
        }),
        case("unpack_bits", move |q: &Q, short| {
            let (words, mut elements) = (q.zeros(6)?, q.zeros(33)?);
            let (words, elements) = (words.view(), elements.view_mut());
            q.unpack_bits(UnpackBits { params: &packed, words, elements }.map(short)?)
        }),
        case("combine_bits", |q: &Q, short| {
            let (x, rows, mut sums) = (q.zeros(33)?, q.zeros(2)?, q.zeros(2)?);
            let terms = [BitTerm { public: Threshold::default(), row: 0, last: 1 }];
            let params = BitParams { count: COUNT, party: 0 };
            let (x, rows, sums) = (x.view(), rows.view(), sums.view_mut());
            q.combine_bits(CombineBits { params: &params, terms: &terms, x, rows, sums }.map(short)?)
        }),
        case("combine_words", |q: &Q, short| {
            let (x, padded, rows) = (q.zeros(33)?, q.zeros(ROW)?, q.zeros(33)?);
            let (opened, mut sums) = (q.zeros(2)?, q.zeros(33)?);
            let terms = [WordTerm { last: 1, ..WordTerm::word(1) }];
            let (x, padded, rows) = (x.view(), padded.view(), rows.view());
            let (opened, sums) = (opened.view(), sums.view_mut());
            let params = word_params();
            q.combine_words(CombineWords { params: &params, terms: &terms, x, padded, rows, opened, sums }.map(short)?)
        }),
    ]
}

fn word_params() -> WordParams {
    WordParams {
        offset: 0,
        count: COUNT,
        party: 1,
        bits: 64,
        shift: 0,
        width: 64,
        padded_rows: 1,
        rows: 1,
        opened_rows: 1,
        interleaved: 0,
        reserved: 0,
    }
}

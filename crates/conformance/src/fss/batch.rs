//! Batches of keys on a queue, with everything that is needed to check them on the host.

use core::ops::Range;

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::fss::{CmpEvalAll, CmpEvalWindow, CmpGen, CmpKeys, DcfEvalWindow, DcfGen, DcfKeys, FssOps},
};
use core_types::{
    Label, PrgKeys,
    cmp::{cmp_blocks, cmp_leaves, cmp_levels},
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, padded},
};

use super::model::{AesBlock, CmpKey, DcfKey, Prg};
use crate::{Buf, Conditioned, circle::model::ElementStream, list::ListIterator as _};

/// The nonce of every batch but the known answers.
pub(super) const NONCE: [u8; 16] = *b"conformance fss.";

/// Words that look random, the same for the same seed.
pub(super) fn words(seed: u64, len: usize) -> Vec<u64> {
    let mut stream = ElementStream::new(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x5851_f42d_4c95_7f2d);
    (0..len).map(|_| stream.word()).list()
}

/// Roots of both parties, `[2][padded(count)]`.
pub(super) fn roots(seed: u64, count: u32) -> Vec<Label> {
    let words = words(seed, 4 * padded(count));
    words.chunks_exact(2).map(|pair| Label::new(u128::from(pair[0]) | u128::from(pair[1]) << 64)).list()
}

/// The rows of points, one point of each of `count` keys; one empty row if there are no keys.
fn rows(points: &[u64], count: u32) -> impl Iterator<Item = &[u64]> {
    let none = (count == 0).then_some(points);
    none.into_iter().chain(points.chunks(count.max(1) as usize))
}

/// Offsets that turn the masked input 0 into each of the points 0 .. `points`.
pub(super) fn every_point(points: u64) -> Vec<u64> {
    (0..points).map(u64::wrapping_neg).list()
}

/// The bits of each of `count` keys.
///
/// A large batch has fewer: each level is walked as in a small one.
pub(super) fn levels(bits: u32, count: u32) -> u32 {
    const MOST_IN_LARGE: u32 = 17;
    if count > 33 { bits.min(MOST_IN_LARGE) } else { bits }
}

/// Rows of points of the given `kinds`, one point per key in each row.
///
/// A kind computes the point from the key's secret and a random word.
///
/// Few keys have one row for each kind. Many share one row, in which neighbouring keys have
/// different kinds: every kind is seen next to every other in a warp, for a fraction of the
/// evaluations.
pub(super) fn mixed_rows<const N: usize>(kinds: [fn(u64, u64) -> u64; N], alphas: &[u64], seed: u64) -> Vec<u64> {
    const MANY: usize = 31;
    let others = words(seed, alphas.len());
    let rows = if alphas.len() < MANY { N } else { 1 };
    let row = |j: usize| {
        let others = &others;
        alphas.iter().enumerate().map(move |(e, &alpha)| kinds[(e + j) % N](alpha, others[e]))
    };
    (0..rows).flat_map(row).list()
}

/// Generated CMP keys.
pub(super) struct GeneratedCmp {
    pub(super) params: CmpGenParams,
    pub(super) roots: Vec<Label>,
    device_roots: Buf<Label>,
    corrections: Buf<u128>,
    leaves: Buf<u128>,
}

impl GeneratedCmp {
    /// Keys of `bits` bits for `alphas` under `params.key`.
    pub(super) fn generate(
        q: &Conditioned,
        params: CmpGenParams,
        alphas: &[u64],
        roots: Vec<Label>,
    ) -> Result<Self, BackendError> {
        let row = padded(params.count);
        let device_roots = q.upload(&roots)?;
        let mut corrections = q.zeros(cmp_levels(params.bits) as usize * row)?;
        let mut leaves = q.zeros(2 * row)?;
        let alphas = q.upload(alphas)?;
        q.cmp_gen(CmpGen {
            params: &params,
            alphas: alphas.view(),
            roots: device_roots.view(),
            corrections: corrections.view_mut(),
            leaves: leaves.view_mut(),
        })?;
        Ok(Self { params, roots, device_roots, corrections, leaves })
    }

    /// Keys of `bits` bits for `alphas` under the keys of [`NONCE`].
    pub(super) fn random(q: &Conditioned, bits: u32, alphas: &[u64]) -> Result<Self, BackendError> {
        let count = alphas.len() as u32;
        let key = PrgKeys::from_nonce(NONCE).child;
        let params = CmpGenParams { key, bits, count, reserved: [0; 2] };
        Self::generate(q, params, alphas, roots(u64::from(bits), count))
    }

    /// The root of a party for key `e`.
    pub(super) fn seed(&self, party: usize, e: usize) -> AesBlock {
        self.roots[party * padded(self.params.count) + e].bits().to_le_bytes()
    }

    /// The model's keys, the unused ones of a row included.
    pub(super) fn model(&self, alphas: &[u64]) -> Vec<CmpKey> {
        let prg = Prg::from_nonce(NONCE);
        let alpha = |e: usize| alphas.get(e).copied().unwrap_or(0);
        let key = |e| CmpKey::generate(&prg, self.params.bits, alpha(e), [self.seed(0, e), self.seed(1, e)]);
        (0..padded(self.params.count)).map(key).list()
    }

    /// The correction words and the leaf words.
    pub(super) fn sections(&self, q: &Conditioned) -> Result<[Vec<u128>; 2], BackendError> {
        Ok([q.download(&self.corrections)?, q.download(&self.leaves)?])
    }

    /// The packed shares of `party` at `points`, `[m][count]`, which may lie anywhere.
    pub(super) fn evaluate(&self, q: &Conditioned, party: usize, points: &[u64]) -> Result<Vec<u32>, BackendError> {
        let rows = rows(points, self.params.count);
        let shares = rows.map(|row| self.evaluate_window(q, party, self.params.bits, row, &[0]));
        Ok(shares.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The packed shares of `party` at `x_hat` less each of `offsets`, `[m][count]`.
    ///
    /// They are evaluated by windows of 2^`window` points.
    pub(super) fn evaluate_window(
        &self,
        q: &Conditioned,
        party: usize,
        window: u32,
        x_hat: &[u64],
        offsets: &[u64],
    ) -> Result<Vec<u32>, BackendError> {
        let CmpGenParams { key, bits, count, .. } = self.params;
        let (points, reserved) = (offsets.len() as u32, [0; 3]);
        let params = CmpWindowParams { key, bits, party: party as u32, count, points, window, reserved };
        let keys = self.of_party(party)?;
        let mut shares = q.upload(&vec![0xdead_beef_u32; offsets.len() * padded(count) / 32])?;
        let (x_hat, offsets) = (q.upload(x_hat)?, q.upload(offsets)?);
        q.cmp_eval_window(CmpEvalWindow {
            params: &params,
            keys,
            x_hat: x_hat.view(),
            offsets: offsets.view(),
            shares: shares.view_mut(),
        })?;
        q.download(&shares)
    }

    /// The shares of `party` at every point, of the keys in `range`: `[blocks][keys]`.
    pub(super) fn evaluate_all(
        &self,
        q: &Conditioned,
        party: usize,
        range: Range<u32>,
    ) -> Result<Vec<u128>, BackendError> {
        let CmpGenParams { key, bits, count, .. } = self.params;
        let (first, keys) = (range.start, range.len() as u32);
        let params = CmpAllParams { key, bits, party: party as u32, count, first, keys, reserved: [0; 3] };
        let keys = self.of_party(party)?;
        let mut units = q.upload(&vec![u128::MAX / 3; cmp_blocks(bits) as usize * range.len()])?;
        q.cmp_eval_all(CmpEvalAll { params: &params, keys, units: units.view_mut() })?;
        q.download(&units)
    }

    /// The keys of one party.
    fn of_party(&self, party: usize) -> Result<CmpKeys<'_, Conditioned>, BackendError> {
        let row = padded(self.params.count);
        let mine = party * row..(party + 1) * row;
        let leaves = match cmp_leaves(self.params.bits) {
            1 => self.leaves.slice(mine.clone())?,
            _ => self.leaves.view(),
        };
        Ok(CmpKeys { roots: self.device_roots.slice(mine)?, corrections: self.corrections.view(), leaves })
    }
}

/// The bit of key `e` at point `j` in packed shares.
pub(super) fn bit(shares: &[u32], count: u32, j: usize, e: usize) -> bool {
    shares[j * padded(count) / 32 + e / 32] >> (e % 32) & 1 == 1
}

/// Generated DCF keys.
pub(super) struct GeneratedDcf {
    pub(super) params: DcfGenParams,
    roots: Vec<Label>,
    device_roots: Buf<Label>,
    corrections: Buf<u128>,
    values: Buf<u64>,
    last: Buf<u64>,
}

/// The sections of a batch of DCF keys.
pub(super) struct DcfSections {
    pub(super) corrections: Vec<u128>,
    pub(super) values: Vec<u64>,
    pub(super) last: Vec<u64>,
}

impl GeneratedDcf {
    /// Keys of `bits` bits for `alphas` and `betas`, `[len][count]`, modulo 2^width.
    ///
    /// They are made under the keys of [`NONCE`].
    pub(super) fn random(
        q: &Conditioned,
        (bits, width): (u32, u32),
        len: u32,
        alphas: &[u64],
        betas: &[u64],
    ) -> Result<Self, BackendError> {
        let count = alphas.len() as u32;
        let keys = PrgKeys::from_nonce(NONCE);
        let params = DcfGenParams { keys, bits, count, words: len, width };
        let row = padded(count);
        let roots = roots(u64::from(bits * 8 + len), count);
        let device_roots = q.upload(&roots)?;
        let mut corrections = q.zeros(bits as usize * row)?;
        let mut values = q.zeros((bits * len) as usize * row)?;
        let mut last = q.zeros(len as usize * row)?;
        let (alphas, betas) = (q.upload(alphas)?, q.upload(betas)?);
        q.dcf_gen(DcfGen {
            params: &params,
            alphas: alphas.view(),
            betas: betas.view(),
            roots: device_roots.view(),
            corrections: corrections.view_mut(),
            values: values.view_mut(),
            last: last.view_mut(),
        })?;
        Ok(Self { params, roots, device_roots, corrections, values, last })
    }

    /// The root of a party for key `e`.
    pub(super) fn seed(&self, party: usize, e: usize) -> AesBlock {
        self.roots[party * padded(self.params.count) + e].bits().to_le_bytes()
    }

    /// The model's keys, the unused ones of a row included.
    pub(super) fn model(&self, alphas: &[u64], betas: &[u64]) -> Vec<DcfKey> {
        let (prg, DcfGenParams { bits, count, words, width, .. }) = (Prg::from_nonce(NONCE), self.params);
        let make = |e: usize| {
            let at = |word: usize| if e < alphas.len() { betas[word * alphas.len() + e] } else { 0 };
            let (alpha, beta) = (alphas.get(e).copied().unwrap_or(0), (0..words as usize).map(at).list());
            DcfKey::generate(&prg, (bits, width), alpha, &beta, [self.seed(0, e), self.seed(1, e)])
        };
        (0..padded(count)).map(make).list()
    }

    /// What was generated.
    pub(super) fn sections(&self, q: &Conditioned) -> Result<DcfSections, BackendError> {
        let (corrections, values) = (q.download(&self.corrections)?, q.download(&self.values)?);
        Ok(DcfSections { corrections, values, last: q.download(&self.last)? })
    }

    /// The shares of `party` at `points`, `[m][len][count]`, which may lie anywhere.
    pub(super) fn evaluate(&self, q: &Conditioned, party: usize, points: &[u64]) -> Result<Vec<u64>, BackendError> {
        let rows = rows(points, self.params.count);
        let shares = rows.map(|row| self.evaluate_window(q, party, self.params.bits, row, &[0]));
        Ok(shares.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The shares of `party` at `x_hat` less each of `offsets`, `[m][len][count]`.
    ///
    /// They are evaluated by windows of 2^`window` points.
    pub(super) fn evaluate_window(
        &self,
        q: &Conditioned,
        party: usize,
        window: u32,
        x_hat: &[u64],
        offsets: &[u64],
    ) -> Result<Vec<u64>, BackendError> {
        let DcfGenParams { keys, bits, count, words, width, .. } = self.params;
        let (number, points) = (party as u32, offsets.len() as u32);
        let params = DcfWindowParams { keys, bits, party: number, count, points, words, width, window, reserved: 0 };
        let keys = self.of_party(party)?;
        let mut shares = q.upload(&vec![0xdead_beef_u64; offsets.len() * (words * count) as usize])?;
        let (x_hat, offsets) = (q.upload(x_hat)?, q.upload(offsets)?);
        q.dcf_eval_window(DcfEvalWindow {
            params: &params,
            keys,
            x_hat: x_hat.view(),
            offsets: offsets.view(),
            shares: shares.view_mut(),
        })?;
        q.download(&shares)
    }

    /// The keys of one party.
    fn of_party(&self, party: usize) -> Result<DcfKeys<'_, Conditioned>, BackendError> {
        let row = padded(self.params.count);
        Ok(DcfKeys {
            roots: self.device_roots.slice(party * row..(party + 1) * row)?,
            corrections: self.corrections.view(),
            values: self.values.view(),
            last: self.last.view(),
        })
    }
}

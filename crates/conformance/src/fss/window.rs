//! `cmp_eval_window` and `dcf_eval_window`.

use core_types::params::fss::padded;

use super::{
    batch::{GeneratedCmp, GeneratedDcf, NONCE, bit, words},
    dcf::expect_shares,
    model::Prg,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// The size of one case.
///
/// It has `count` keys of `bits` bits at `points` points, in a window of 2^`window`.
#[derive(Clone, Copy)]
struct WindowSize {
    bits: u32,
    window: u32,
    points: u32,
    count: u32,
}

const fn size(bits: u32, window: u32, points: u32, count: u32) -> WindowSize {
    WindowSize { bits, window, points, count }
}

/// Masked inputs, and offsets at most 2^window past the first, both ends among them.
struct Cluster {
    mask: u64,
    x_hat: Vec<u64>,
    offsets: Vec<u64>,
}

impl Cluster {
    fn new(size: WindowSize) -> Self {
        let WindowSize { bits, window, points, count } = size;
        let mask = u64::MAX >> (64 - bits);
        let span = 1u64.checked_shl(window).unwrap_or(u64::MAX);
        let past = words(31, points as usize).into_iter().map(|word| word % span);
        let base = words(u64::from(bits), 1)[0];
        let mut offsets: Vec<u64> = past.map(|past| base.wrapping_add(past) & mask).list();
        offsets.iter_mut().zip([0, span]).for_each(|(offset, end)| *offset = base.wrapping_add(end) & mask);
        // clusters that begin at the start of the ring and of a block, straddle them, and lie anywhere; bits above the
        // width must not matter
        let firsts = [0, span, span - 1, span / 2, mask, span.wrapping_add(1)];
        let mut x_hat = words(32, count as usize);
        x_hat.iter_mut().zip(firsts).for_each(|(x, first)| *x = base.wrapping_add(first));
        Self { mask, x_hat, offsets }
    }

    /// The points, `[points][count]`.
    fn points(&self) -> Vec<u64> {
        let row = |&offset: &u64| self.x_hat.iter().map(move |x| x.wrapping_sub(offset) & self.mask);
        self.offsets.iter().flat_map(row).list()
    }

    /// Secrets near points of their keys, below and above, and elsewhere.
    fn alphas(&self) -> Vec<u64> {
        let others = words(33, self.x_hat.len());
        let near = |(e, &x): (usize, &u64)| {
            let offset = self.offsets.get(e % self.offsets.len().max(1)).copied().unwrap_or(0);
            let y = x.wrapping_sub(offset);
            [y, y.wrapping_add(1), y.wrapping_sub(1), others[e]][e % 4] & self.mask
        };
        self.x_hat.iter().enumerate().map(near).list()
    }
}

/// Checks each party's shares at the points of a window.
///
/// They equal the model's if keys have trees, and else the shares evaluated point by point. The
/// shares reconstruct.
fn expect_comparisons(q: &Conditioned, size: WindowSize) -> Result<(), Failure> {
    let WindowSize { bits, window, count, .. } = size;
    let cluster = Cluster::new(size);
    let (points, alphas) = (cluster.points(), cluster.alphas());
    let batch = GeneratedCmp::random(q, bits, &alphas)?;
    let (prg, row, keys) = (Prg::from_nonce(NONCE), padded(count), alphas.len());
    let trees = if bits > 7 { batch.model(&alphas) } else { Vec::new() };
    let mut sums = vec![false; points.len()];
    for party in 0..2 {
        let shares = batch.evaluate_window(q, party, window, &cluster.x_hat, &cluster.offsets)?;
        // Where there is a model, the first and the last row of points are enough.
        let step = if bits > 7 { cluster.offsets.len().saturating_sub(1).max(1) } else { 1 };
        let rows = points.chunks(keys.max(1)).zip(shares.chunks((row / 32).max(1)));
        for (points, shares) in rows.step_by(step) {
            Failure::unless_equal(&batch.evaluate(q, party, points)?, shares)?;
        }
        let got: Vec<bool> = (0..points.len()).map(|i| bit(&shares, count, i / keys, i % keys)).list();
        if bits > 7 {
            let share = |(i, &y): (usize, &u64)| {
                let e = i % keys;
                trees[e].evaluate(&prg, bits, party, batch.seed(party, e), y)
            };
            let expected: Vec<bool> = points.iter().enumerate().map(share).list();
            Failure::unless_equal(&expected, &got)?;
        }
        sums.iter_mut().zip(got).for_each(|(sum, share)| *sum ^= share);
    }
    let expected: Vec<bool> = points.iter().enumerate().map(|(i, &y)| alphas[i % keys] <= y).list();
    Failure::unless_equal(&expected, &sums)
}

/// The same for payloads of `len` words modulo 2^`width`.
fn expect_payloads(q: &Conditioned, size: WindowSize, (len, width): (u32, u32)) -> Result<(), Failure> {
    let WindowSize { bits, window, .. } = size;
    let cluster = Cluster::new(size);
    let (points, alphas) = (cluster.points(), cluster.alphas());
    let betas = words(34, alphas.len() * len as usize);
    let batch = GeneratedDcf::random(q, (bits, width), len, &alphas, &betas)?;
    expect_shares(&batch, &batch.model(&alphas, &betas), [&alphas, &betas], &points, |party| {
        batch.evaluate_window(q, party, window, &cluster.x_hat, &cluster.offsets)
    })
}

impl WindowSize {
    fn name(&self) -> String {
        let Self { bits, window, points, count } = self;
        format!("{count} keys of {bits} bits at {points} points within 2^{window}")
    }

    fn evaluations(&self) -> u64 {
        u64::from(self.points) * u64::from(self.count)
    }
}

pub(super) fn cmp_specs() -> OpSpec {
    let sizes = [
        size(9, 8, 3, 1),
        size(10, 7, 5, 31),
        size(8, 7, 2, 33),
        size(12, 12, 3, 33),
        size(6, 6, 4, 33),
        size(9, 7, 0, 33),
        size(64, 10, 2, 0),
        size(64, 63, 3, 4),
        size(64, 64, 1, 33),
        size(16, 9, 1, 257),
        // with points enough for every part of a GPU's grid to walk to its window
        size(10, 7, 20, 31),
        size(8, 7, 12, 33),
        size(10, 8, 24, 257),
        size(25, 10, 34, 33),
        size(64, 9, 34, 3),
    ];
    let mut cases = Vec::new();
    for size in sizes {
        let case = Case::new(size.name(), move |q| expect_comparisons(q, size));
        cases.push(case.on_elements(size.evaluations()));
    }
    OpSpec { op: "fss.cmp_window", cases }
}

pub(super) fn dcf_specs() -> OpSpec {
    let sizes = [
        (size(5, 0, 2, 1), (1, 64)),
        (size(9, 4, 3, 33), (2, 64)),
        (size(6, 6, 2, 33), (8, 13)),
        (size(7, 3, 0, 33), (1, 64)),
        (size(64, 10, 2, 0), (1, 64)),
        (size(10, 7, 1, 257), (1, 37)),
        (size(64, 63, 3, 3), (3, 64)),
        (size(64, 64, 1, 31), (3, 64)),
        // with points enough for every part of a GPU's grid to walk to its window
        (size(5, 0, 12, 1), (1, 64)),
        (size(9, 4, 24, 33), (3, 50)),
        (size(64, 6, 34, 2), (3, 64)),
    ];
    let mut cases = Vec::new();
    for (size, (len, width)) in sizes {
        let name = format!("{}, {len} words of {width} bits", size.name());
        let case = Case::new(name, move |q| expect_payloads(q, size, (len, width)));
        cases.push(case.on_elements(size.evaluations()));
    }
    OpSpec { op: "fss.dcf_window", cases }
}

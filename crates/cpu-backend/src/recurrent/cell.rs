//! A step of a gated recurrent unit for some rows of a member.
//!
//! It takes two or three products, with the gates between them.
//!
//! With `s(v) = 1 / (1 + exp(-v))`, a step takes `h` to `h + z (c - h)` (Cho et al., 2014, whose z
//! is `1 - z` here), where `z = s(x W_z + b_z + h U_z)`, `r = s(x W_r + b_r + h U_r)`, and `c` is
//! `tanh(x W_c + b_c + (r h) U_c)` or `tanh(x W_c + b_c + r (h U_c + bu))`.

use backend_api::ops::recurrent::GruLayer;
use core_types::params::recurrent::{GruParams, GruVariant};

use super::gates::{sigmoid, tanh};
use crate::{
    CpuQueue, Simd,
    panels::{PanelProduct, Start},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The weights of one member.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) w: &'a [f32],
    pub(super) u: &'a [f32],
    pub(super) b: &'a [f32],
    /// There if the reset comes after the product.
    pub(super) bu: Option<&'a [f32]>,
}

impl<'a> Weights<'a> {
    /// The weights of `member`, as slices of the weights of all members.
    pub(super) fn of(p: &GruParams, member: usize, layer: &GruLayer<'a, CpuQueue, f32>) -> Self {
        let (input, hidden) = (p.input as usize, p.hidden as usize);
        let of = |all: &'a [f32], len| &all[member * len..][..len];
        let bu = layer.bu.filter(|_| p.variant == GruVariant::ResetAfter).map(|bu| of(bu, hidden));
        let (w, u, b) = (of(layer.w, 3 * input * hidden), of(layer.u, 3 * hidden * hidden), of(layer.b, 3 * hidden));
        Self { input, hidden, w, u, b, bu }
    }
}

/// Results of a step other than the new state.
pub(super) struct CellResults {
    /// z, r and c of each row; before a step, the contribution of the input to them.
    pub(super) gates: Vec<f32>,
    /// `r h` of each row, or `h U_c + bu`.
    pub(super) reset: Vec<f32>,
}

impl CellResults {
    /// Elements of `rows` rows.
    pub(super) const fn elements(rows: usize, hidden: usize) -> usize {
        4 * rows * hidden
    }

    pub(super) fn new(rows: usize, hidden: usize) -> Self {
        Self { gates: vec![0.0; 3 * rows * hidden], reset: vec![0.0; rows * hidden] }
    }

    /// Steps the state `h` of all its rows, from the gates' share of the input.
    pub(super) fn step(&mut self, simd: Simd, weights: &Weights<'_>, h: &mut [f32]) {
        let hidden = weights.hidden;
        let (rows, b_row) = (h.len() / hidden, 3 * hidden);
        let (u, c_u) = (weights.u, &weights.u[2 * hidden..]);
        let (gates, reset) = (&mut self.gates[..], &mut self.reset[..]);
        let (k, a_row, start) = (hidden, hidden, Start::Result);
        dispatch(
            simd,
            PanelProduct { rows, k, n: 2 * hidden, a: h, a_row, b: u, b_row, start, c: gates, c_row: b_row },
        );
        if let Some(bu) = weights.bu {
            let start = Start::Row(bu);
            dispatch(
                simd,
                PanelProduct { rows, k, n: hidden, a: h, a_row, b: c_u, b_row, start, c: reset, c_row: hidden },
            );
            dispatch(simd, Gates::<true> { hidden, h, gates, reset });
        } else {
            dispatch(simd, Gates::<false> { hidden, h, gates, reset });
            let c = &mut gates[2 * hidden..];
            dispatch(simd, PanelProduct { rows, k, n: hidden, a: reset, a_row, b: c_u, b_row, start, c, c_row: b_row });
        }
        dispatch(simd, Update { hidden, gates, h });
    }
}

/// The gates' share of rows `x` of inputs, from the input `first` on.
pub(super) fn project(simd: Simd, weights: &Weights<'_>, first: usize, x: &[f32], gates: &mut [f32]) {
    let n = 3 * weights.hidden;
    let (k, a, b) = (weights.input - first, x.get(first..).unwrap_or_default(), &weights.w[first * n..]);
    let start = Start::Row(weights.b);
    dispatch(
        simd,
        PanelProduct { rows: gates.len() / n, k, n, a, a_row: weights.input, b, b_row: n, start, c: gates, c_row: n },
    );
}

/// A vector of the first elements of `s`, zero-filled if `s` is shorter.
#[inline(always)]
pub(super) fn load<L: Floats>(l: L, s: &[f32]) -> L::V {
    if s.len() >= L::N { l.load(s) } else { l.load_partial(s, 0.0) }
}

/// Writes the first `s.len()` elements of `v`, at most all.
#[inline(always)]
pub(super) fn store<L: Floats>(l: L, s: &mut [f32], v: L::V) {
    if s.len() >= L::N {
        l.store(s, v);
    } else {
        l.store_partial(s, v);
    }
}

/// z and r from their sums, and the product of the reset.
///
/// If `AFTER`, the candidate's sum as well.
struct Gates<'a, const AFTER: bool> {
    hidden: usize,
    h: &'a [f32],
    gates: &'a mut [f32],
    reset: &'a mut [f32],
}

impl<L: Floats, const AFTER: bool> LaneKernel<L> for Gates<'_, AFTER> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let n = self.hidden;
        let rows = self.h.chunks_exact(n).zip(self.gates.chunks_exact_mut(3 * n)).zip(self.reset.chunks_exact_mut(n));
        for ((h, gates), reset) in rows {
            let (z, rest) = gates.split_at_mut(n);
            let (r, c) = rest.split_at_mut(n);
            for at in (0..n).step_by(L::N) {
                let (z, r, c, reset) = (&mut z[at..], &mut r[at..], &mut c[at..], &mut reset[at..]);
                let update = sigmoid(l, load(l, z));
                store(l, z, update);
                let gate = sigmoid(l, load(l, r));
                store(l, r, gate);
                if AFTER {
                    let sum = l.mul_add(gate, load(l, reset), load(l, c));
                    store(l, c, sum);
                } else {
                    store(l, reset, l.mul(gate, load(l, &h[at..])));
                }
            }
        }
    }
}

/// c from its sum, and the new state.
struct Update<'a> {
    hidden: usize,
    gates: &'a mut [f32],
    h: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for Update<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let n = self.hidden;
        for (h, gates) in self.h.chunks_exact_mut(n).zip(self.gates.chunks_exact_mut(3 * n)) {
            let (z, rest) = gates.split_at_mut(n);
            let c = &mut rest[n..];
            for at in (0..n).step_by(L::N) {
                let (h, c) = (&mut h[at..], &mut c[at..]);
                let candidate = tanh(l, load(l, c));
                store(l, c, candidate);
                let old = load(l, h);
                store(l, h, l.mul_add(load(l, &z[at..]), l.sub(candidate, old), old));
            }
        }
    }
}

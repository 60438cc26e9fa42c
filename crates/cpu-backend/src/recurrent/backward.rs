//! The backward pass of gated recurrent units.
//!
//! With `d` the gradient of the new state, the gates' sums have `d_z = d (c - h) z (1 - z)`,
//! `d_c = d z (1 - c^2)`, and with `e = d_c U_c^T`, `d_r = e h r (1 - r)`; the old state has
//! `d (1 - z) + e r + d_z U_z^T + d_r U_r^T`. With the reset after the product,
//! `d_r = d_c (h U_c + bu) r (1 - r)`, and `(d_c r) U_c^T` replaces `e r`.

use backend_api::{BackendError, Buffer, Queue, ops::recurrent::GruBackward};
use core_types::params::recurrent::{GRU_SAVED, GruParams, GruVariant};

use super::{
    blocks::RowBlocks,
    cell::{load, store},
};
use crate::{
    CpuQueue, Simd,
    panels::{PanelProduct, Start},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Some rows of a member, through all steps from the last on.
struct GruBackwardTask<'a> {
    member: usize,
    first: usize,
    /// The gradients of the state.
    dh: &'a mut [f32],
    /// The gradients of the gates' sums at each step.
    gates: Vec<&'a mut [f32]>,
}

/// The five matrices of a forward pass, from the rows of a task on.
#[derive(Clone, Copy)]
struct SavedMatrices<'a> {
    z: &'a [f32],
    r: &'a [f32],
    c: &'a [f32],
    h: &'a [f32],
    reset: &'a [f32],
}

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, op: GruBackward<'_, CpuQueue>) -> Result<(), BackendError> {
    let GruBackward { params: p, u, saved, d_states, d_h_t, d_gates, d_h0 } = op;
    let (blocks, hidden) = (RowBlocks::of(p), p.hidden as usize);
    if d_h0.is_empty() {
        return Ok(());
    }
    // Products with U^T read the rows of a transposed copy.
    let mut turned = q.zeros::<f32>(u.len())?;
    q.for_chunks(turned.view_mut(), 3 * hidden * hidden, |member, turned| {
        transpose(&u[member * turned.len()..][..turned.len()], hidden, turned);
    });
    // A task has some rows of a member at all steps.
    let _scratch = q.reserve_scratch::<f32>(blocks.count(), (blocks.most_rows() + 1) * hidden)?;
    let _lists = q.reserve(blocks.list_bytes(1))?;
    let mut of_gates = blocks.lists();
    blocks.deal(d_gates, 3 * hidden, &mut of_gates);
    let tasks = blocks.places().zip(blocks.states(d_h0, hidden)).zip(of_gates);
    let tasks = tasks.map(|(((member, first), dh), gates)| GruBackwardTask { member, first, dh, gates });
    let (simd, turned) = (q.simd(), turned.view());
    q.for_jobs(tasks.collect(), |_, task| {
        let GruBackwardTask { member, first, dh, gates } = task;
        // Gradients of the last states, or zeros.
        match d_h_t {
            Some(d_h_t) => dh.copy_from_slice(&d_h_t[(member * blocks.batch + first) * hidden..][..dh.len()]),
            None => dh.fill(0.0),
        }
        let len = 3 * hidden * hidden;
        let mut unit = MemberScratch { simd, p, turned: &turned[member * len..][..len], reset: vec![0.0; dh.len()] };
        let zeros = vec![0.0; hidden];
        // From the last step to the first, gradients of each state join the running ones.
        for (step, gates) in gates.into_iter().enumerate().rev() {
            let at = ((member * blocks.steps + step) * blocks.batch + first) * hidden;
            if let Some(d_states) = d_states {
                dh.iter_mut().zip(&d_states[at..]).for_each(|(dh, d)| *dh += d);
            }
            let plane = saved.len() / GRU_SAVED as usize;
            let of = |i: usize| &saved[i * plane + at..][..dh.len()];
            let saved = SavedMatrices { z: of(0), r: of(1), c: of(2), h: of(3), reset: of(4) };
            unit.step(saved, &zeros, dh, gates);
        }
    });
    Ok(())
}

/// The columns of `[hidden, 3 hidden]` as rows.
fn transpose(u: &[f32], hidden: usize, turned: &mut [f32]) {
    for (column, row) in turned.chunks_exact_mut(hidden).enumerate() {
        row.iter_mut().zip(u[column..].iter().step_by(3 * hidden)).for_each(|(to, &from)| *to = from);
    }
}

/// A member and the scratch of a task.
struct MemberScratch<'a> {
    simd: Simd,
    p: &'a GruParams,
    /// The transpose of U.
    turned: &'a [f32],
    /// Gradients of the state after the reset.
    reset: Vec<f32>,
}

impl MemberScratch<'_> {
    /// Takes the gradients `dh` of the states after a step to those before it.
    fn step(&mut self, saved: SavedMatrices<'_>, zeros: &[f32], dh: &mut [f32], gates: &mut [f32]) {
        let n = self.p.hidden as usize;
        let (simd, rows, reset) = (self.simd, dh.len() / n, &mut self.reset[..]);
        let of_c = &self.turned[2 * n * n..];
        if self.p.variant == GruVariant::ResetAfter {
            dispatch(simd, Candidate::<true> { hidden: n, saved, dh, gates, reset });
            let start = Start::Result;
            dispatch(
                simd,
                PanelProduct { rows, k: n, n, a: reset, a_row: n, b: of_c, b_row: n, start, c: dh, c_row: n },
            );
        } else {
            dispatch(simd, Candidate::<false> { hidden: n, saved, dh, gates, reset });
            let (a, start) = (&gates[2 * n..], Start::Row(zeros));
            dispatch(
                simd,
                PanelProduct { rows, k: n, n, a, a_row: 3 * n, b: of_c, b_row: n, start, c: reset, c_row: n },
            );
            dispatch(simd, Reset { hidden: n, saved, dh, gates, reset });
        }
        let (k, b, start) = (2 * n, self.turned, Start::Result);
        dispatch(simd, PanelProduct { rows, k, n, a: gates, a_row: 3 * n, b, b_row: n, start, c: dh, c_row: n });
    }
}

/// The gradients of the sums of z and c.
///
/// If the reset comes `AFTER` the product, also the gradients of the sums of r and of the product.
struct Candidate<'a, const AFTER: bool> {
    hidden: usize,
    saved: SavedMatrices<'a>,
    dh: &'a mut [f32],
    gates: &'a mut [f32],
    reset: &'a mut [f32],
}

impl<L: Floats, const AFTER: bool> LaneKernel<L> for Candidate<'_, AFTER> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let (n, SavedMatrices { z, r, c, h, reset }) = (self.hidden, self.saved);
        let one = l.splat(1.0);
        for (row, gates) in self.gates.chunks_exact_mut(3 * n).enumerate() {
            for at in (0..n).step_by(L::N) {
                let place = row * n + at..(row + 1) * n;
                let dh = &mut self.dh[place.clone()];
                let (z, c, h) = (load(l, &z[place.clone()]), load(l, &c[place.clone()]), load(l, &h[place.clone()]));
                let d = load(l, dh);
                let d_c = l.mul(l.mul(d, z), l.neg_mul_add(c, c, one));
                let d_z = l.mul(l.mul(d, l.sub(c, h)), l.neg_mul_add(z, z, z));
                store(l, dh, l.neg_mul_add(d, z, d));
                store(l, &mut gates[at..n], d_z);
                store(l, &mut gates[2 * n + at..], d_c);
                if AFTER {
                    let (r, of_reset) = (load(l, &r[place.clone()]), load(l, &reset[place.clone()]));
                    store(l, &mut gates[n + at..2 * n], l.mul(l.mul(d_c, of_reset), l.neg_mul_add(r, r, r)));
                    store(l, &mut self.reset[place], l.mul(d_c, r));
                }
            }
        }
    }
}

/// The gradients of the sums of r, and of the state through the reset.
///
/// They are computed from the gradients of `r h`.
struct Reset<'a> {
    hidden: usize,
    saved: SavedMatrices<'a>,
    dh: &'a mut [f32],
    gates: &'a mut [f32],
    reset: &'a [f32],
}

impl<L: Floats> LaneKernel<L> for Reset<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let (n, SavedMatrices { r, h, .. }) = (self.hidden, self.saved);
        for (row, gates) in self.gates.chunks_exact_mut(3 * n).enumerate() {
            for at in (0..n).step_by(L::N) {
                let place = row * n + at..(row + 1) * n;
                let dh = &mut self.dh[place.clone()];
                let (r, h, d) = (load(l, &r[place.clone()]), load(l, &h[place.clone()]), load(l, &self.reset[place]));
                store(l, dh, l.mul_add(d, r, load(l, dh)));
                store(l, &mut gates[n + at..2 * n], l.mul(l.mul(d, h), l.neg_mul_add(r, r, r)));
            }
        }
    }
}

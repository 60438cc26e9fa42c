//! Functions of two tensors, with broadcasting.

use backend_api::Real;
use core_types::params::elementwise::{Binary, BinaryParams};

use super::{
    axes::{Axes, Cursor},
    convert::{BLOCK, as_f32, as_f32_mut, narrow, widen},
};
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{Kernel, dispatch, floats::Floats},
};

/// `y = f(a, b)`, or `y = f(y, b)` without `a`. The parameters fit the views.
pub(crate) fn binary<T: Real>(q: &CpuQueue, p: &BinaryParams, a: Option<&[T]>, b: &[T], y: &mut [T]) {
    if y.is_empty() {
        return;
    }
    let axes = Axes::merged(p.rank, &p.shape, [&p.a_strides, &p.b_strides]);
    q.for_chunks(y, CHUNK, |task, y| {
        let cursor = axes.cursor(task * CHUNK);
        dispatch(q.simd(), Task { op: p.op, steps: axes.steps(), cursor, a, b, y });
    });
}

/// A part of the output in row-major order, and the place of its first element.
struct Task<'a, T> {
    op: Binary,
    steps: [usize; 2],
    cursor: Cursor<'a, 2>,
    a: Option<&'a [T]>,
    b: &'a [T],
    y: &'a mut [T],
}

impl<T: Real, L: Floats> Kernel<L> for Task<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        match self.op {
            Binary::Add => self.rows(l, |a, b| Binary::Add.value(a, b)),
            Binary::Sub => self.rows(l, |a, b| Binary::Sub.value(a, b)),
            Binary::Mul => self.rows(l, |a, b| Binary::Mul.value(a, b)),
            Binary::Div => self.rows(l, |a, b| Binary::Div.value(a, b)),
            Binary::Max => self.rows(l, |a, b| Binary::Max.value(a, b)),
            Binary::Min => self.rows(l, |a, b| Binary::Min.value(a, b)),
        }
    }
}

impl<T: Real> Task<'_, T> {
    /// The output in pieces of one row: whole ones where the operands need no conversion.
    #[inline(always)]
    fn rows<L: Floats>(self, l: L, f: impl Fn(f32, f32) -> f32) {
        let Self { steps: [a_step, b_step], mut cursor, a, b, mut y, .. } = self;
        let (mut wide_a, mut wide_b, mut wide_y) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        let direct = as_f32(b).is_some() && a_step <= 1 && b_step <= 1;
        let most = if direct { usize::MAX } else { BLOCK };
        while !y.is_empty() {
            let n = cursor.left().min(y.len()).min(most);
            let [at_a, at_b] = cursor.at();
            let (now, later) = y.split_at_mut(n);
            let b = Operand::new(l, &b[at_b..], b_step, n, &mut wide_b);
            let a = a.map(|a| Operand::new(l, &a[at_a..], a_step, n, &mut wide_a));
            if let Some(now) = as_f32_mut(now) {
                combine(a, b, now, &f);
            } else {
                let wide_y = &mut wide_y[..n];
                widen(l, now, wide_y);
                combine(a, b, wide_y, &f);
                narrow(l, wide_y, now);
            }
            cursor.step(n);
            y = later;
        }
    }
}

/// The elements of an operand that a piece of the output takes.
enum Operand<'a> {
    /// One for all.
    Constant(f32),
    /// One for each.
    Each(&'a [f32]),
}

impl<'a> Operand<'a> {
    /// `n` elements of `data`, `step` apart. Those that need it are brought to `wide`, and then `n` is at most its length.
    #[inline(always)]
    fn new<L: Floats, T: Real>(l: L, data: &'a [T], step: usize, n: usize, wide: &'a mut [f32; BLOCK]) -> Self {
        match step {
            0 => Self::Constant(data[0].to_f32()),
            1 => match as_f32(data) {
                Some(data) => Self::Each(&data[..n]),
                None => {
                    widen(l, &data[..n], &mut wide[..n]);
                    Self::Each(&wide[..n])
                }
            },
            _ => {
                for (wide, x) in wide[..n].iter_mut().zip(data.iter().step_by(step)) {
                    *wide = x.to_f32();
                }
                Self::Each(&wide[..n])
            }
        }
    }
}

/// `y = f(a, b)`, or `y = f(y, b)` without `a`.
#[inline(always)]
fn combine(a: Option<Operand<'_>>, b: Operand<'_>, y: &mut [f32], f: &impl Fn(f32, f32) -> f32) {
    use Operand::{Constant, Each};

    match (a, b) {
        (Some(Each(a)), Each(b)) => {
            for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
                *y = f(a, b);
            }
        }
        (Some(Each(a)), Constant(b)) => {
            for (y, &a) in y.iter_mut().zip(a) {
                *y = f(a, b);
            }
        }
        (Some(Constant(a)), Each(b)) => {
            for (y, &b) in y.iter_mut().zip(b) {
                *y = f(a, b);
            }
        }
        (Some(Constant(a)), Constant(b)) => y.fill(f(a, b)),
        (None, Each(b)) => {
            for (y, &b) in y.iter_mut().zip(b) {
                *y = f(*y, b);
            }
        }
        (None, Constant(b)) => {
            for y in y {
                *y = f(*y, b);
            }
        }
    }
}

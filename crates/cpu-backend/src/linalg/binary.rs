//! Functions of two tensors, with broadcasting.

use backend_api::Real;
use core_types::params::elementwise::{Binary, BinaryParams};

use super::{
    axes::{Axes, AxesCursor},
    convert::{BLOCK, narrow, widen},
    reals::{Reals, RealsMut},
};
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// `y = f(a, b)`, or `y = f(y, b)` without `a`. The parameters fit the views.
pub(super) fn binary<T: Real>(q: &CpuQueue, p: &BinaryParams, a: Option<&[T]>, b: &[T], y: &mut [T]) {
    if y.is_empty() {
        return;
    }
    let axes = Axes::merged(p.rank, &p.shape, [&p.a_strides, &p.b_strides]);
    let (a, b) = (a.map(Reals::from), Reals::from(b));
    q.for_chunks(y, CHUNK, |task, y| {
        let cursor = axes.cursor(task * CHUNK);
        dispatch(q.simd(), BinaryTask { op: p.op, steps: axes.steps(), cursor, a, b, y: y.into() });
    });
}

/// A part of the output in row-major order, and the place of its first element.
struct BinaryTask<'a> {
    op: Binary,
    steps: [usize; 2],
    cursor: AxesCursor<'a, 2>,
    a: Option<Reals<'a>>,
    b: Reals<'a>,
    y: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for BinaryTask<'_> {
    type Out = ();

    /// The output in pieces of one row: whole ones where the operands need no conversion.
    #[inline(always)]
    fn run(self, l: L) {
        let Self { op, steps: [a_step, b_step], mut cursor, a, b, mut y } = self;
        let (mut wide_a, mut wide_b, mut wide_y) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        let direct = b.as_f32().is_some() && a_step <= 1 && b_step <= 1;
        let most = if direct { usize::MAX } else { BLOCK };
        let mut first = 0;
        while first < y.len() {
            let n = cursor.left().min(y.len() - first).min(most);
            let [at_a, at_b] = cursor.at();
            let b = Operand::new(l, b.after(at_b), b_step, n, &mut wide_b);
            let a = a.map(|a| Operand::new(l, a.after(at_a), a_step, n, &mut wide_a));
            let (results, rounded) = match y.range(first..first + n) {
                RealsMut::F32(y) => (y, None),
                y => {
                    widen(l, y.shared(), &mut wide_y[..n]);
                    (&mut wide_y[..n], Some(y))
                }
            };
            combine(op, a, b, results);
            if let Some(y) = rounded {
                narrow(l, results, y);
            }
            cursor.step(n);
            first += n;
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
    /// `n` elements of `data`, `step` apart.
    ///
    /// Those that need it are brought to `wide`, and then `n` is at most its length.
    #[inline(always)]
    fn new<L: Floats>(l: L, data: Reals<'a>, step: usize, n: usize, wide: &'a mut [f32; BLOCK]) -> Self {
        match step {
            0 => Self::Constant(data.get(0)),
            1 => match data.as_f32() {
                Some(data) => Self::Each(&data[..n]),
                None => {
                    widen(l, data.range(0..n), &mut wide[..n]);
                    Self::Each(&wide[..n])
                }
            },
            _ => {
                for (i, wide) in wide[..n].iter_mut().enumerate() {
                    *wide = data.get(i * step);
                }
                Self::Each(&wide[..n])
            }
        }
    }
}

/// `y = op(a, b)`, or `y = op(y, b)` without `a`. The function is selected once for a piece.
#[inline(always)]
fn combine(op: Binary, a: Option<Operand<'_>>, b: Operand<'_>, y: &mut [f32]) {
    match op {
        Binary::Add => each(a, b, y, |a, b| Binary::Add.value(a, b)),
        Binary::Sub => each(a, b, y, |a, b| Binary::Sub.value(a, b)),
        Binary::Mul => each(a, b, y, |a, b| Binary::Mul.value(a, b)),
        Binary::Div => each(a, b, y, |a, b| Binary::Div.value(a, b)),
        Binary::Max => each(a, b, y, |a, b| Binary::Max.value(a, b)),
        Binary::Min => each(a, b, y, |a, b| Binary::Min.value(a, b)),
    }
}

/// `y = f(a, b)`, or `y = f(y, b)` without `a`.
#[inline(always)]
fn each(a: Option<Operand<'_>>, b: Operand<'_>, y: &mut [f32], f: impl Fn(f32, f32) -> f32) {
    use Operand::{Constant, Each};

    // A loop for each form of the operands, so that the compiler uses vectors.
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

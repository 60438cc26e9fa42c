//! Functions of single elements.

use core_types::{
    float::{abs, clamp, huber, ln},
    params::tensor::{Function, MapParams},
};

use crate::{
    linalg::vmath::exp,
    simd::{LaneKernel, floats::Floats},
};

/// `y = f(x)`, or `y = f(y)` without `x`, which is as long.
pub(super) struct MapValues<'a> {
    pub(super) p: &'a MapParams,
    pub(super) x: Option<&'a [f32]>,
    pub(super) y: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for MapValues<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { p: &MapParams { f, low, high }, x, y } = self;
        match f {
            Function::Neg => each(x, y, |x| -x),
            Function::Abs => each(x, y, abs),
            Function::Exp => exponentials(l, x, y),
            Function::Log => each(x, y, ln),
            Function::Sqrt => each(x, y, f32::sqrt),
            Function::Rsqrt => each(x, y, |x| 1.0 / x.sqrt()),
            Function::Recip => each(x, y, |x| 1.0 / x),
            Function::Clamp => each(x, y, |x| clamp(x, low, high)),
            Function::Huber => each(x, y, |x| huber(x, high)),
        }
    }
}

/// A plain loop: the compiler may use the level's instructions.
#[inline(always)]
fn each(x: Option<&[f32]>, y: &mut [f32], f: impl Fn(f32) -> f32) {
    if let Some(x) = x {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = f(x);
        }
    } else {
        for y in y {
            *y = f(*y);
        }
    }
}

#[inline(always)]
fn exponentials<L: Floats>(l: L, x: Option<&[f32]>, y: &mut [f32]) {
    let whole = y.len() / L::N * L::N;
    for i in (0..whole).step_by(L::N) {
        let y = &mut y[i..i + L::N];
        let v = l.load(x.map_or(&*y, |x| &x[i..i + L::N]));
        l.store(y, exp(l, v));
    }
    let y = &mut y[whole..];
    if !y.is_empty() {
        let v = l.load_partial(x.map_or(&*y, |x| &x[whole..]), 0.0);
        l.store_partial(y, exp(l, v));
    }
}

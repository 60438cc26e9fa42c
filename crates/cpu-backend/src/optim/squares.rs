//! Sums of squares, and gradients times the loss scale.

use backend_api::Real;
use core_types::params::optim::PART;

use crate::{
    CpuQueue,
    linalg::{
        convert::{BLOCK, narrowed, widen},
        reals::Reals,
    },
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Sums that a part is dealt to, so that they need not wait for each other.
const LANES: usize = 32;

/// The sum of the squares of a part.
struct Squares<'a>(Reals<'a>);

impl<L: Floats> LaneKernel<L> for Squares<'_> {
    type Out = f64;

    #[inline(always)]
    fn run(self, l: L) -> f64 {
        let (mut sums, mut wide) = ([0.0; LANES], [0.0; BLOCK]);
        for block in self.0.chunks(BLOCK) {
            match block.as_f32() {
                Some(block) => add(&mut sums, block),
                None => {
                    widen(l, block, &mut wide[..block.len()]);
                    add(&mut sums, &wide[..block.len()]);
                }
            }
        }
        sums.iter().sum()
    }
}

/// Adds the squares of a block, dealt to the sums from the first on.
#[inline(always)]
fn add(sums: &mut [f64; LANES], block: &[f32]) {
    let (rows, rest) = block.as_chunks::<LANES>();
    for row in rows {
        for (sum, &x) in sums.iter_mut().zip(row) {
            *sum += f64::from(x) * f64::from(x);
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum += f64::from(x) * f64::from(x);
    }
}

impl CpuQueue {
    /// The sum of the squares of each part of `g`.
    pub(super) fn squares<T: Real>(&self, g: &[T], sums: &mut [f64]) {
        let parts = CHUNK / PART;
        self.for_chunks(sums, parts, |task, sums| {
            for (sum, g) in sums.iter_mut().zip(g[task * CHUNK..].chunks(PART)) {
                *sum = dispatch(self.simd(), Squares(g.into()));
            }
        });
    }

    /// `y = scale x`.
    pub(super) fn scale_gradient<T: Real>(&self, scale: f32, x: &[f32], y: &mut [T]) {
        self.for_chunks(y, CHUNK, |task, y| {
            let mut wide = [0.0; BLOCK];
            for (x, y) in x[task * CHUNK..].chunks(BLOCK).zip(y.chunks_mut(BLOCK)) {
                let wide = &mut wide[..y.len()];
                wide.iter_mut().zip(x).for_each(|(wide, x)| *wide = scale * x);
                narrowed(self.simd(), wide, y);
            }
        });
    }
}

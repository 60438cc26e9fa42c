//! Twiddles of canonic domains.
//!
//! Entry `h` of layer `j` is the x-coordinate of `2^j g (1 + 4 bitrev(h))` times the generator,
//! with `g = 2^(30-n)` and `n-2-j` reversed bits: the layer's first point plus the steps of the set
//! bits of `h`, and the step of a bit is the same in every layer. So every entry is a sum of two
//! points: one from its lowest bits, shared by all layers, and one from the other bits (circle FFT,
//! <https://eprint.iacr.org/2024/278>).

use core::ops::Range;

use core_types::{
    circle::{CirclePoint, CirclePointIndex},
    field::{M31, Twiddle},
};

use super::inverse::{CHUNK, invert_m31};
use crate::{
    CpuQueue, Simd,
    simd::{LaneKernel, dispatch, words::WordVectors},
};

/// Bits of an entry's place that the table for all layers has.
const LOG_LOW: u32 = 10;

/// Entries of a job.
const GRAIN: usize = 1 << 16;

/// Partial sums of points; every entry is the sum of two of them.
struct PointSums {
    log_size: u32,
    /// The first point of each layer.
    first: Vec<CirclePoint<M31>>,
    /// Coordinates of the sums of the steps of the lowest bits.
    low: [Vec<M31>; 2],
    /// The sums of the steps of the bits above.
    high: Vec<CirclePoint<M31>>,
}

impl PointSums {
    fn new(log_size: u32) -> Self {
        let log_len = log_size.saturating_sub(2);
        let unit = CirclePointIndex::subgroup_generator(log_size + 1);
        let first = core::iter::successors(Some(unit.to_point()), |point| Some(point.double()));
        // Bit `bit` of the place is bit `log_len - 1 - bit` of the natural index.
        let step = |bit: u32| (unit * (4 << (log_len - 1 - bit))).to_point();
        let low = sums(0..log_len.min(LOG_LOW), step);
        Self {
            log_size,
            first: first.take(log_size as usize).collect(),
            low: [low.iter().map(|point| point.x).collect(), low.iter().map(|point| point.y).collect()],
            high: sums(log_len.min(LOG_LOW)..log_len, step),
        }
    }

    /// Number of points, at most.
    fn count(log_size: u32) -> usize {
        (1 << LOG_LOW) + (1 << log_size.saturating_sub(2 + LOG_LOW)) + log_size as usize
    }

    /// Writes the entries from `at` on, counted over all layers.
    fn write_entries(&self, simd: Simd, mut at: usize, mut entries: &mut [M31]) {
        while !entries.is_empty() {
            let left = (1usize << (self.log_size - 1)) - at;
            if left == 1 {
                entries[0] = M31::ONE; // padding
                return;
            }
            // Layer j starts where 2^(log_size - 1 - j) entries are left, and has half of them.
            let log_layer = (left - 1).ilog2();
            let first = self.first[(self.log_size - 2 - log_layer) as usize];
            let place = (2 << log_layer) - left;
            let low = place % self.low[0].len();
            let count = (self.low[0].len() - low).min(left - (1 << log_layer)).min(entries.len());
            let (own, rest) = entries.split_at_mut(count);
            let base = first + self.high[place / self.low[0].len()];
            dispatch(
                simd,
                Xs { base, steps: [&self.low[0][low..low + count], &self.low[1][low..low + count]], xs: own },
            );
            (at, entries) = (at + count, rest);
        }
    }
}

/// The sums of all subsets of the steps of `bits`, by the bits of their index.
fn sums(bits: Range<u32>, step: impl Fn(u32) -> CirclePoint<M31>) -> Vec<CirclePoint<M31>> {
    let mut sums = Vec::with_capacity(1 << bits.len());
    sums.push(CirclePoint::NEUTRAL);
    for step in bits.map(step) {
        for i in 0..sums.len() {
            sums.push(sums[i] + step);
        }
    }
    sums
}

/// The x-coordinates of sums of a point with others.
struct Xs<'a> {
    base: CirclePoint<M31>,
    /// The coordinates of the other points, one per sum.
    steps: [&'a [M31]; 2],
    xs: &'a mut [M31],
}

impl<L: WordVectors> LaneKernel<L> for Xs<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { base, steps: [step_xs, step_ys], xs } = self;
        let (x, y) = (l.doubled(l.splat(base.x.word())), l.doubled(l.splat(base.y.word())));
        let whole = xs.len().min(step_xs.len()).min(step_ys.len()) >> L::LOG << L::LOG;
        for at in (0..whole).step_by(L::WIDTH) {
            // SAFETY: whole vectors lie in all three slices; an element is a word, and results are canonical.
            unsafe {
                let step_x = l.load(step_xs.as_ptr().add(at).cast());
                let step_y = l.load(step_ys.as_ptr().add(at).cast());
                let sum = l.sub(l.mul_splat(step_x, x), l.mul_splat(step_y, y));
                l.store(xs.as_mut_ptr().add(at).cast(), sum);
            }
        }
        let steps = step_xs[whole..].iter().zip(&step_ys[whole..]);
        for (sum, (&step_x, &step_y)) in xs[whole..].iter_mut().zip(steps) {
            *sum = step_x * base.x - step_y * base.y;
        }
    }
}

/// Doubled twiddles, in the layout that transforms read.
struct Doubled<'a> {
    plain: &'a [M31],
    twiddles: &'a mut [Twiddle],
}

impl<L> LaneKernel<L> for Doubled<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        for (twiddle, &plain) in self.twiddles.iter_mut().zip(self.plain) {
            *twiddle = Twiddle::new(plain);
        }
    }
}

impl CpuQueue {
    /// Writes the twiddles of a domain and their inverses.
    ///
    /// The domain has `2^log_size` points. There are `2^(log_size - 1)` twiddles, and the same
    /// number of inverses.
    pub(super) fn write_twiddles(
        &self,
        log_size: u32,
        twiddles: &mut [Twiddle],
        inverse_twiddles: &mut [Twiddle],
    ) -> Result<(), backend_api::BackendError> {
        let _scratch = self.reserve_scratch::<CirclePoint<M31>>(1, PointSums::count(log_size))?;
        let points = PointSums::new(log_size);
        let simd = self.simd();
        let jobs = twiddles.chunks_mut(GRAIN).zip(inverse_twiddles.chunks_mut(GRAIN)).collect();
        self.for_jobs(jobs, |job, (twiddles, inverse_twiddles)| {
            let (mut plain, mut inverses) = ([M31::ZERO; CHUNK], [M31::ZERO; CHUNK]);
            let chunks = twiddles.chunks_mut(CHUNK).zip(inverse_twiddles.chunks_mut(CHUNK));
            for (chunk, (twiddles, inverse_twiddles)) in chunks.enumerate() {
                let (plain, inverses) = (&mut plain[..twiddles.len()], &mut inverses[..twiddles.len()]);
                points.write_entries(simd, job * GRAIN + chunk * CHUNK, plain);
                invert_m31(simd, plain, inverses);
                dispatch(simd, Doubled { plain, twiddles });
                dispatch(simd, Doubled { plain: inverses, twiddles: inverse_twiddles });
            }
        });
        Ok(())
    }
}

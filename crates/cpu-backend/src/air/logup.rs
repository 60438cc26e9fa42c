//! Columns of lookups: fractions divided and added up along each row, then along the rows.
//!
//! Column `k` has `S_k(r) = S_(k-1)(r) + n_k(r) / d_k(r)` in row `r`. The last, `S`, becomes the
//! running sum `R(r) = R(r-1) + S(r) - mean` with `mean = sum over r of S(r) / 2^log_rows`, so that
//! `R` ends with zero (Haboeck, <https://eprint.iacr.org/2022/1530>; stwo 2.3's constraint
//! framework, `logup.rs`).

use core_types::{
    circle::bit_reversed,
    field::{M31, QM31},
    params::air::LogUpColumnsParams,
};

use crate::simd::{
    LaneKernel,
    words::{Norms, WordVectors, invert_lanes, secure_product},
};

/// Positions whose denominators are inverted at once.
pub(super) const TILE: usize = 1 << 10;

/// Words of memory that a tile takes.
pub(super) const SCRATCH: usize = 4 * TILE;

/// Fractions of positions that follow each other, and the columns that they make.
pub(super) struct LogupSums<'a> {
    /// For each column, four planes of numerators and four of denominators, a tile of each.
    pub(super) fractions: &'a [M31],
    /// Positions of a plane of fractions.
    pub(super) len: usize,
    /// The first position.
    pub(super) first: usize,
    /// Four planes for each column.
    pub(super) columns: Vec<&'a mut [M31]>,
}

impl<L: WordVectors> LaneKernel<L> for LogupSums<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let count = self.columns.first().map_or(0, |plane| plane.len());
        let mut notes = vec![0u32; SCRATCH];
        let plane = |k: usize| &self.fractions[k * self.len + self.first..][..count];
        for k in 0..self.columns.len() / 4 {
            let mut numerators: [&[M31]; 4] = [&[]; 4];
            let mut denominators: [&[M31]; 4] = [&[]; 4];
            for c in 0..4 {
                (numerators[c], denominators[c]) = (plane(8 * k + c), plane(8 * k + 4 + c));
            }
            let (before, here) = self.columns.split_at_mut(4 * k);
            let mut previous: Option<[&[M31]; 4]> = None;
            if let [.., x0, x1, x2, x3] = before {
                previous = Some([x0, x1, x2, x3]);
            }
            let [x0, x1, x2, x3, ..] = here else { return };
            let targets = [&mut **x0, &mut **x1, &mut **x2, &mut **x3];
            divide(l, numerators, denominators, previous, targets, &mut notes);
        }
    }
}

/// Writes the quotients, plus `previous`, to `targets`.
///
/// `notes` keeps, for each denominator, its norms and the product of all norms before it in its
/// lane.
#[inline(always)]
fn divide<L: WordVectors>(
    l: L,
    numerators: [&[M31]; 4],
    denominators: [&[M31]; 4],
    previous: Option<[&[M31]; 4]>,
    targets: [&mut [M31]; 4],
    notes: &mut [u32],
) {
    // Norms of each denominator, and the product of all norms before it in its lane.
    let count = targets[0].len();
    let whole = count / L::WIDTH * L::WIDTH;
    let mut product = l.splat(1);
    for at in (0..whole).step_by(L::WIDTH) {
        let Norms { complex: [real, imaginary], word } = Norms::of(l, load(l, denominators, at));
        for (part, v) in [real, imaginary, word, product].into_iter().enumerate() {
            // SAFETY: there are four notes of a tile each.
            unsafe { l.store(notes[part * TILE + at..].as_mut_ptr(), v) };
        }
        product = l.mul(product, l.doubled(word));
    }
    // One inversion for all norms; a zero among them is left to single divisions.
    let Some(mut inverse) = invert_lanes(l, product) else {
        return divide_singly(numerators, denominators, previous, targets, 0);
    };
    let [t0, t1, t2, t3] = targets;
    // From the end: inverse, quotient, and the sum with the previous column.
    for at in (0..whole).step_by(L::WIDTH).rev() {
        let mut note = [inverse; 4];
        for (part, note) in note.iter_mut().enumerate() {
            // SAFETY: there are four notes of a tile each.
            *note = unsafe { l.load(notes[part * TILE + at..].as_ptr()) };
        }
        let [real, imaginary, word, prefix] = note;
        let factor = l.doubled(inverse);
        let norms = Norms { complex: [real, imaginary], word };
        let inverses = norms.inverses(l, load(l, denominators, at), l.mul(prefix, factor));
        inverse = l.mul(word, factor);
        let quotient = secure_product(l, inverses, load(l, numerators, at));
        let mut sum = quotient;
        if let Some(previous) = previous {
            let before = load(l, previous, at);
            for c in 0..4 {
                sum[c] = l.add(quotient[c], before[c]);
            }
        }
        // SAFETY: whole vectors lie in the planes; sums are canonical.
        unsafe {
            l.store(t0[at..].as_mut_ptr().cast(), sum[0]);
            l.store(t1[at..].as_mut_ptr().cast(), sum[1]);
            l.store(t2[at..].as_mut_ptr().cast(), sum[2]);
            l.store(t3[at..].as_mut_ptr().cast(), sum[3]);
        }
    }
    // The rest is less than a vector.
    divide_singly(numerators, denominators, previous, [t0, t1, t2, t3], whole);
}

#[inline(always)]
fn load<L: WordVectors>(l: L, planes: [&[M31]; 4], at: usize) -> [L::V; 4] {
    let mut v = [l.splat(0); 4];
    for c in 0..4 {
        let words = &planes[c][at..at + L::WIDTH];
        // SAFETY: `words` holds one vector of words; an element is a word.
        v[c] = unsafe { l.load(words.as_ptr().cast()) };
    }
    v
}

/// [`divide`] from position `first` on, one at a time; a division by zero gives zero.
fn divide_singly(
    numerators: [&[M31]; 4],
    denominators: [&[M31]; 4],
    previous: Option<[&[M31]; 4]>,
    targets: [&mut [M31]; 4],
    first: usize,
) {
    let element = |planes: [&[M31]; 4], at: usize| QM31::from_coordinates(planes.map(|plane| plane[at]));
    let [t0, t1, t2, t3] = targets;
    for at in first..t0.len() {
        let inverse = element(denominators, at).inverse().unwrap_or(QM31::ZERO);
        let before = previous.map_or(QM31::ZERO, |previous| element(previous, at));
        [t0[at], t1[at], t2[at], t3[at]] = (before + element(numerators, at) * inverse).coordinates();
    }
}

/// Most runs of rows.
pub(super) const RUNS: usize = LogUpColumnsParams::MOST_RUNS as usize;

/// The last column of look-ups: four planes of coordinates.
///
/// Runs are added up side by side, so that each cache line that is fetched is used as a whole.
#[derive(Clone, Copy)]
pub(super) struct LastColumn {
    planes: [*mut u32; 4],
    params: LogUpColumnsParams,
}

// SAFETY: the threads of one op read and write disjoint pairs through it.
unsafe impl Send for LastColumn {}
// SAFETY: as above.
unsafe impl Sync for LastColumn {}

impl LastColumn {
    /// The last of these columns, which an op has checked.
    pub(super) fn new(params: LogUpColumnsParams, columns: &mut [M31]) -> Self {
        let len = 1usize << params.log_rows;
        let first = columns.len() - 4 * len;
        let last = columns[first..].as_mut_ptr().cast::<u32>();
        // SAFETY: a column is four planes.
        Self { planes: [0, 1, 2, 3].map(|c| unsafe { last.add(c * len) }), params }
    }

    const fn runs(&self) -> usize {
        self.params.runs() as usize
    }

    /// The positions of the rows of pair `at` of a run.
    fn positions(&self, run: usize, at: usize) -> [usize; 2] {
        let i = run * self.params.pairs() as usize + at;
        let even = bit_reversed(i as u32, self.params.log_rows) as usize;
        [even, even ^ ((1 << self.params.log_rows) - 1)]
    }

    /// The sums of pairs `from..to` of each run.
    ///
    /// # Safety
    /// The planes live, and no other thread writes these pairs meanwhile.
    pub(super) unsafe fn sums(&self, from: usize, to: usize) -> [QM31; RUNS] {
        let mut sums = [[0u64; 4]; RUNS];
        for at in from..to {
            for (run, sums) in sums.iter_mut().enumerate().take(self.runs()) {
                let [even, odd] = self.positions(run, at);
                for (sum, plane) in sums.iter_mut().zip(self.planes) {
                    // SAFETY: both are positions of the planes. Sums of 2^31 words fit.
                    *sum += unsafe { u64::from(*plane.add(even)) + u64::from(*plane.add(odd)) };
                }
            }
        }
        sums.map(|sums| QM31::from_coordinates(sums.map(M31::from_u64)))
    }

    /// Replaces pairs `from..to` of each run by their running sums, less `mean` for each row.
    ///
    /// The running sums begin with `sums`.
    ///
    /// # Safety
    /// The planes live, and no other thread reads or writes these pairs meanwhile.
    pub(super) unsafe fn add_up(&self, from: usize, to: usize, sums: &[QM31; RUNS], mean: QM31) {
        let mut sums = sums.map(QM31::coordinates);
        let mean = mean.coordinates();
        for at in from..to {
            for (run, sums) in sums.iter_mut().enumerate().take(self.runs()) {
                let positions = self.positions(run, at);
                for ((sum, plane), mean) in sums.iter_mut().zip(self.planes).zip(mean) {
                    for position in positions {
                        // SAFETY: this is a position of the plane; words are canonical before and after.
                        unsafe {
                            let word = plane.add(position).cast::<M31>();
                            *sum += *word - mean;
                            *word = *sum;
                        }
                    }
                }
            }
        }
    }
}

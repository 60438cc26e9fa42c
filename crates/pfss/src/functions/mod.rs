//! Elementary functions in fixed point, as descriptors.
//!
//! They are splines fitted in the clear and evaluated exactly on shares.
//!
//! A value `v` is the integer `v 2^f`. Each piece is a polynomial with integer coefficients at a
//! scale so large that rounding them does not matter; one exact shift then reduces the result to
//! `f` fraction bits. Only the fit is approximate, and it is public: [`FixedFn::eval`] is the
//! function that shares compute, bit for bit.
//!
//! ```
//! use pfss::{Dealer, functions, suf::SufModes};
//!
//! let q = runtime::cpu()?;
//! let gelu = functions::gelu(functions::Accuracy::CUBIC_16)?;
//! let gates = gelu.gates(SufModes::default())?;
//!
//! // 1.5 with 12 fraction bits, split into two additive shares.
//! let shares = [[77], [6144 - 77]];
//! let bundles = Dealer::from_os()?.deal_function(&q, &gates, 1)?;
//! let y = functions::run_function_lockstep(&q, &gates, bundles, [&shares[0], &shares[1]])?;
//! let y = y[0][0].wrapping_add(y[1][0]) as i64;
//! assert_eq!(y, gelu.eval(6144));
//! assert!((y as f64 / 4096.0 - 1.39979).abs() < 0.62 / 4096.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`FixedFn`] is a spline. A [`TableFn`] is GeLU, SiLU or `exp(-t)` by a table of lines: its
//! keys have a third of the bytes and take a fifth of the AES blocks, but it takes nine rounds in
//! place of four and opens more bits. Tables suit where keys are stored or sent, splines where
//! rounds take long. `docs/pfss.md` has the figures. A [`WiredFn`] takes the masked output of an
//! earlier gate to a masked output, in rings of fewer bits too.
//!
//! Piecewise polynomials for secure inference follow SUF (FuseFSS, ICML 2026), tables SIGMA (PETS
//! 2024).

mod fit;
mod library;
pub(crate) mod memory;
mod minimax;
pub(crate) mod run;
mod special;
mod table;
mod wired;

use core::ops::RangeInclusive;

use core_types::Ring;

use crate::{
    AutoTrunc, Cost, Gate, PfssError, RangeError, SignedRange,
    suf::{SufDesc, SufError, SufModes, SufProgram},
};

pub use library::{Accuracy, gelu, neg_exp, reciprocal, rsqrt, rsqrt_octaves, silu};
pub(crate) use library::{reciprocal_octaves, rsqrt_of_quotient, softmax_exp};
pub use run::{FixedBundles, run_function_lockstep};
pub use table::{TableBundles, TableFn, TableGates, run_table_lockstep};
pub use wired::{WiredBundles, WiredFn, WiredGates};

/// A function of one fixed-point number: a descriptor with one word, and the shift after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedFn {
    desc: SufDesc,
    shift: u32,
    inputs: SignedRange,
    outputs: Outputs,
}

/// Gates of a function: the descriptor, then the shift of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedGates {
    /// The gate of the descriptor.
    pub suf: Gate,
    /// The shift, with the proof that the spline's coefficients give.
    ///
    /// It takes the descriptor's word modulo `2^k` for the smallest `k` in which that range leaves
    /// a gap, so that `k` bits are opened, and gives 64 bits.
    pub shift: AutoTrunc,
}

impl FixedFn {
    /// The spline before the shift.
    #[must_use]
    pub const fn desc(&self) -> &SufDesc {
        &self.desc
    }

    /// Bits shifted off the descriptor's word.
    #[must_use]
    pub const fn shift(&self) -> u32 {
        self.shift
    }

    /// The fixed-point inputs for which the function is meaningful and no value wraps around.
    #[must_use]
    pub const fn inputs(&self) -> SignedRange {
        self.inputs
    }

    /// A proven range of the descriptor's word on a proven range of inputs, before the shift.
    ///
    /// ```
    /// use pfss::{SignedRange, functions::{Accuracy, gelu}};
    ///
    /// // Far above zero, GeLU is its input: up to 2^12 in general, up to 16 here.
    /// let gelu = gelu(Accuracy::QUADRATIC_32)?;
    /// let all = gelu.outputs_within(gelu.inputs())?;
    /// let few = gelu.outputs_within(SignedRange::new(-(16 << 12), 16 << 12)?)?;
    /// assert_eq!([all, few].map(|range| range.max() >> gelu.shift()), [(1 << 24) - 1, 16 << 12]);
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    ///
    /// # Errors
    /// [`PfssError::Range`] for a range that is not within [`inputs`](Self::inputs).
    pub fn outputs_within(&self, inputs: SignedRange) -> Result<SignedRange, PfssError> {
        self.inputs.holds(inputs)?;
        self.outputs.within(inputs)
    }

    /// The function in the clear, exactly as shares compute it. Not for secrets: branches on `x`.
    #[must_use]
    pub fn eval(&self, x: i64) -> i64 {
        let ring = self.desc.ring();
        let word = self.desc.eval(ring.reduce(x.cast_unsigned())).words[0]; // one word by construction
        ring.signed(word) >> self.shift
    }

    /// The gates that evaluate the function on its whole range of [`inputs`](Self::inputs).
    ///
    /// # Errors
    /// [`PfssError::Suf`] for modes that do not go with the descriptor.
    pub fn gates(&self, modes: SufModes) -> Result<FixedGates, PfssError> {
        self.gates_within(modes, self.inputs)
    }

    /// The gates that evaluate the function on a proven range of inputs.
    ///
    /// The smaller the range, the smaller the keys, and the fewer bits the shift opens.
    ///
    /// # Errors
    /// [`PfssError::Suf`] for modes that do not go with the descriptor, [`PfssError::Range`] for a
    /// range that is not within [`inputs`](Self::inputs).
    pub fn gates_within(&self, modes: SufModes, inputs: SignedRange) -> Result<FixedGates, PfssError> {
        let outputs = self.outputs_within(inputs)?;
        let suf = Gate::suf(SufProgram::within(self.desc.clone(), modes, inputs)?);
        Ok(FixedGates { suf, shift: AutoTrunc::narrowest(self.shift, RING_BITS, outputs)? })
    }
}

impl FixedGates {
    /// The same gates with a gap shift [in one round](Gate::in_one_round).
    ///
    /// With a descriptor by [`CoeffMode::IntervalLut`](crate::suf::CoeffMode::IntervalLut), which
    /// takes one round too, the function takes two rounds in place of four.
    ///
    /// # Errors
    /// As [`AutoTrunc::in_one_round`].
    pub fn in_one_round(self) -> Result<Self, PfssError> {
        Ok(Self { shift: self.shift.in_one_round()?, ..self })
    }

    /// The gates that need keys, in the order of [`FixedBundles`].
    pub fn gates(&self) -> impl Iterator<Item = &Gate> {
        [&self.suf].into_iter().chain(self.shift.gate())
    }

    /// Bits that one element sends each party, rounds, and bits of keys: the sum over both gates.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.gates().map(Gate::cost).fold(Cost::default(), Cost::then)
    }

    /// Bytes that each party sends for `count` elements, step digests included, and rounds.
    pub(crate) fn traffic(&self, count: usize) -> (u64, u64) {
        total_traffic(self.gates().map(|gate| gate.traffic(count)))
    }
}

/// The sums of bytes and rounds.
pub(crate) fn total_traffic(each: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64) {
    each.into_iter().fold((0, 0), |(bytes, rounds), each| (bytes + each.0, rounds + each.1))
}

/// The range of a function before its shift: its fitted pieces, and the tail above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outputs {
    /// A range that holds 0 and every value on the pieces.
    fitted: SignedRange,
    /// The slope of the tail above the pieces, at least 0.
    ///
    /// The tail below is 0.
    slope: i64,
}

impl Outputs {
    /// A range that holds every value on `inputs`.
    fn within(self, inputs: SignedRange) -> Result<SignedRange, PfssError> {
        let tail = SignedRange::new(0, inputs.max().max(0))?.checked_mul(SignedRange::new(self.slope, self.slope)?)?;
        Ok(self.fitted.hull(tail))
    }
}

/// The value of a spline outside its fitted pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    Zero,
    /// `x` itself.
    Identity,
}

/// The ring of inputs and results in bits.
pub(crate) const RING_BITS: u32 = 64;

/// Greatest number of fraction bits of a result.
///
/// A function that takes the value 1 then still fits the ring.
const MAX_OUTPUT_BITS: u32 = 61;

/// Fraction bits of inputs.
const FRACTION_BITS: RangeInclusive<u32> = 8..=20;

/// Refuses fraction bits that no function has.
fn check_fraction_bits(got: u32) -> Result<(), SufError> {
    check_parameter("fraction bits (at least 8)", FRACTION_BITS, got)
}

/// Refuses a parameter outside its range.
fn check_parameter(what: &'static str, range: RangeInclusive<u32>, got: u32) -> Result<(), SufError> {
    if range.contains(&got) {
        return Ok(());
    }
    Err(SufError::Cap { what, max: *range.end() as usize, got: got as usize })
}

/// What to fit.
struct Spline<'a> {
    n: u32,
    /// Fraction bits of input and output.
    input_bits: u32,
    output_bits: u32,
    degree: u32,
    /// Bits after the point of the leading coefficient, if there is room for them.
    leading_bits: u32,
    /// Starts of the fitted pieces and the end of the last, as fixed-point integers, ascending.
    ///
    /// If some are negative, 0 is among them.
    cuts: &'a [i64],
    /// How far beyond the pieces they are fitted on the first and the last polynomial are used.
    margins: (i64, i64),
    /// The value above the pieces; below them it is 0.
    above: Tail,
    /// Inputs for which the result is meant, tails included.
    inputs: SignedRange,
    function: &'a dyn Fn(f64) -> f64,
}

impl Spline<'_> {
    /// Fits every piece and builds the descriptor.
    fn build(&self) -> Result<FixedFn, PfssError> {
        let ring = Ring::new(self.n).ok_or(SufError::RingWidth { got: self.n })?;
        if self.output_bits > MAX_OUTPUT_BITS {
            return Err(RangeError::Overflow { bits: 64, end: 1 << self.output_bits.min(126) }.into());
        }
        let scale = (self.leading_bits + self.input_bits * self.degree).min(self.room()).max(self.output_bits);
        let shift = scale - self.output_bits;
        // Each piece is fitted at the scale and rounded by half a unit.
        let mut fitted = Vec::new();
        let mut range = SignedRange::new(0, 0)?;
        for cut in self.cuts.windows(2) {
            let piece = fit::FittedPiece::new(cut[0], cut[1], self.degree, |x| {
                (self.function)(self.real(x)) * 2f64.powi(scale as i32)
            });
            let below = if fitted.is_empty() { self.margins.0 } else { 0 };
            let above = if fitted.len() + 2 == self.cuts.len() { self.margins.1 } else { 0 };
            let piece = piece.rounding(shift).reaching(below, above);
            range = range.hull(piece.range()?);
            fitted.push((cut[0] - below, piece.expand(ring)));
        }
        // The range of all inputs leaves room for the shift, and the pieces cover the ring.
        let slope = match self.above {
            Tail::Zero => 0,
            Tail::Identity => 1i64 << (scale - self.input_bits), // at most 61 - 8
        };
        let outputs = Outputs { fitted: range, slope };
        outputs.within(self.inputs)?.gap_cert(self.n)?;
        let pieces = self.order(ring, fitted, slope.cast_unsigned());
        let desc = SufDesc::of_polynomials(self.n, self.degree, "y", pieces)?;
        Ok(FixedFn { desc, shift, inputs: self.inputs, outputs })
    }

    /// The number that the fixed-point input `x` stands for.
    fn real(&self, x: f64) -> f64 {
        x / 2f64.powi(self.input_bits as i32)
    }

    /// The greatest scale at which the gap holds the values.
    fn room(&self) -> u32 {
        let value = |&x: &i64| (self.function)(self.real(x as f64)).abs();
        let largest = self.cuts.iter().map(value).fold(1.0, f64::max);
        // the sum of the ranges of a polynomial's terms may be twice as wide as its values
        let fitted = self.n - 3 - largest.log2().ceil() as u32;
        match self.above {
            Tail::Zero => fitted,
            Tail::Identity => fitted.min(self.n - 1 + self.input_bits - self.inputs.bits()),
        }
    }

    /// All pieces in the unsigned order of their starts.
    fn order(&self, ring: Ring, fitted: Vec<(i64, Vec<u64>)>, slope: u64) -> Vec<(u64, Vec<u64>)> {
        let above = match self.above {
            Tail::Zero => Vec::new(),
            Tail::Identity => vec![0, slope],
        };
        let first = self.cuts[0] - self.margins.0;
        let last = self.cuts[self.cuts.len() - 1] + self.margins.1;
        let half = 1u64 << (ring.bits() - 1);
        let mut all: Vec<(u64, Vec<u64>)> = Vec::new();
        if first > 0 {
            all.push((0, Vec::new()));
        }
        all.extend(fitted.into_iter().map(|(start, poly)| (ring.reduce(start.cast_unsigned()), poly)));
        all.push((ring.reduce(last.cast_unsigned()), above));
        all.push((half, Vec::new()));
        all.sort_by_key(|&(start, _)| start);
        all
    }
}

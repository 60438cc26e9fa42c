//! Softmax of packed rows, built from maximum, exponential, reciprocal and product.
//!
//! With `m` the maximum of a row and `E_i = exp(-(m - x_i))`, the result is
//! `E_i / sum over j of E_j`. In fixed point it is `floor((E_i V + 2^29) / 2^30)`, where `E_i` has
//! 24 fraction bits, and `V`, the reciprocal of the sum, has 18.
//!
//! 24 bits are for the sum: in a row of 1,024 elements it may be off by 1,023 times the rounding of
//! an exponential, so that the result may be off by 0.13 units of `2^-12`. The product needs fewer.
//! Exponentials from 16 on are 0, by table from 511/32 on, which changes such a row by at most 0.49
//! units.
//!
//! The product has a proven range: its factors and the shift after it are opened in the smallest
//! ring in which that range leaves a gap, 45 bits. Maxima are found in the ring that exponentials
//! take distances in.
//!
//! Exponentials are splines or, with fewer bytes of keys and more rounds, tables of lines
//! ([`TableFn`](crate::functions::TableFn)). Everything else is the same.
//!
//! Steps that have few elements, next to the exponentials, can use keys with payloads: larger keys
//! that save a round of opened bits. They are the reciprocals and the last comparisons.
//!
//! Neither logits nor their distances from the maximum are ever opened. All gates run on the active
//! elements only, so causal attention costs about half as much as a full square (SIGMA, PETS 2024,
//! packs the same way).

mod exponential;
mod layout;
mod moves;
mod rows;
mod run;

pub use layout::{LayoutError, RowLayout};

use crate::{
    AutoTrunc, GapCert, Gate, PfssError, RangeError, SignedRange,
    error::check_len,
    functions::{Accuracy, FixedFn, FixedGates, RING_BITS, reciprocal_octaves, total_traffic},
    suf::{BoolMode, CoeffMode, PredProgram, SufDesc, SufError, SufModes, SufProgram},
};
use exponential::Exponential;

/// Ring of logits and results in bits.
const N: u32 = 64;
/// Fraction bits of exponentials and their sums, so that long rows keep their precision.
const EXP_BITS: u32 = 24;
/// Fraction bits of the reciprocal.
const INVERSE_BITS: u32 = 18;
/// The shift that leaves 12 fraction bits of a product, and half a unit of its result.
const SHIFT: u32 = EXP_BITS + INVERSE_BITS - 12;
const HALF: i64 = 1 << (SHIFT - 1);
/// The reciprocal's pieces: quadratic, since the ring has no room for cubes of 34 bits.
const INVERSE: Accuracy = Accuracy::new(2, 8).with_fraction_bits(EXP_BITS);
/// Elements for each comparison of a round of the tournament that takes larger keys.
const ELEMENTS_OF_LAST: usize = 16;
/// Polynomials selected by a key with a payload, without a round.
const BY_PAYLOAD: SufModes =
    SufModes { preds: PredProgram::SharedAlpha, coeffs: CoeffMode::IntervalLut, bools: BoolMode::Additive };

/// The public plan of one softmax.
///
/// It has the layout, the functions, and the gates in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureSoftmaxPlan {
    layout: RowLayout,
    logits: SignedRange,
    exp: Exponential,
    inverse: FixedFn,
    inverse_gates: FixedGates,
    /// Comparisons in each round of the tournament for the maxima.
    tournament: Vec<usize>,
    /// In the ring that the exponentials take distances in.
    relu: Gate,
    /// The same function without a round of opened bits, for rounds with few comparisons.
    last_relu: Option<Gate>,
    /// In the ring of the shift.
    product: Gate,
    shift: (Gate, GapCert),
}

impl SecureSoftmaxPlan {
    /// The longest row that the reciprocal's range allows.
    pub const MAX_COLS: usize = 1024;

    /// Plans the softmax of logits with 12 fraction bits, given a range that holds every logit.
    ///
    /// `modes` apply to the exponential and to the reciprocal.
    ///
    /// # Errors
    /// [`PfssError::Range`] if differences of logits may wrap around, [`PfssError::Suf`] for a row
    /// longer than [`MAX_COLS`](Self::MAX_COLS).
    pub fn new(layout: RowLayout, logits: SignedRange, modes: SufModes) -> Result<Self, PfssError> {
        let exp = Exponential::spline(distances(logits)?.relu(), modes)?;
        Self::with_exponential(layout, logits, modes, exp)
    }

    /// As [`new`](Self::new), with the exponentials [by table](crate::functions::TableFn).
    ///
    /// An exponential has two fifths of the bytes of keys, but takes five rounds more. `modes`
    /// apply to the reciprocal alone.
    ///
    /// ```
    /// use pfss::{SignedRange, softmax::{RowLayout, SecureSoftmaxPlan}, suf::SufModes};
    ///
    /// // 64 rows of 128 logits of magnitude at most 64.
    /// let layout = RowLayout::ragged(128, &[128; 64])?;
    /// let logits = SignedRange::new(-64 << 12, 64 << 12)?;
    /// let splines = SecureSoftmaxPlan::new(layout.clone(), logits, SufModes::default())?;
    /// let tables = SecureSoftmaxPlan::by_table(layout, logits, SufModes::default())?;
    /// assert_eq!((splines.traffic().1, tables.traffic().1), (25, 30));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn by_table(layout: RowLayout, logits: SignedRange, modes: SufModes) -> Result<Self, PfssError> {
        let exp = Exponential::table(distances(logits)?.relu())?;
        Self::with_exponential(layout, logits, modes, exp)
    }

    /// Plans everything around the exponentials.
    fn with_exponential(
        layout: RowLayout,
        logits: SignedRange,
        modes: SufModes,
        exp: Exponential,
    ) -> Result<Self, PfssError> {
        // Rows must fit the reciprocal.
        let longest = layout.ranges().map(|range| range.len()).max().unwrap_or_default();
        if longest > Self::MAX_COLS {
            return Err(SufError::Cap { what: "elements of a row", max: Self::MAX_COLS, got: longest }.into());
        }
        // The reciprocal, and the proven range of its product with an exponential and the rounding.
        let octaves = longest.next_power_of_two().ilog2().max(1); // a sum is at least 1 and at most `longest`
        let inverse = reciprocal_octaves(INVERSE, INVERSE_BITS, octaves)?;
        let inverses = inverse.outputs_within(inverse.inputs())?.floor_shift(inverse.shift())?;
        let product = exp.results()?.checked_mul(inverses)?.checked_add(SignedRange::new(HALF, HALF)?)?;
        let AutoTrunc::Gap { gate, cert } = AutoTrunc::narrowest(SHIFT, RING_BITS, product)? else {
            return Err(RangeError::NoGap { n: N, min: product.min(), max: product.max() }.into());
        };
        // The gates in the order in which they run.
        let distance_bits = distances(logits)?.bits().max(2);
        Ok(Self {
            inverse_gates: inverse.gates(modes)?,
            tournament: tournament(&layout),
            relu: Gate::relu_within(exp.input_bits().max(distance_bits), distance_bits)?,
            last_relu: None,
            product: Gate::product(gate.n())?,
            shift: (gate, cert),
            layout,
            logits,
            exp,
            inverse,
        })
    }

    /// The same softmax in fewer rounds, with larger keys for reciprocals and last comparisons.
    ///
    /// Reciprocals take two rounds less, with their `modes` replaced by [`CoeffMode::IntervalLut`].
    /// A round of the tournament for the maxima takes one less if it has at most one comparison for
    /// 16 elements: the last four of seven for rows of 128 elements. Results are the same.
    ///
    /// ```
    /// use pfss::{SignedRange, softmax::{RowLayout, SecureSoftmaxPlan}, suf::SufModes};
    ///
    /// let layout = RowLayout::ragged(128, &[128; 64])?;
    /// let logits = SignedRange::new(-64 << 12, 64 << 12)?;
    /// let tables = SecureSoftmaxPlan::by_table(layout, logits, SufModes::default())?;
    /// let fewer = tables.clone().in_fewer_rounds()?;
    /// assert_eq!((tables.traffic().1, fewer.traffic().1), (30, 24));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// None is expected here: the functions and ranges are the plan's.
    pub fn in_fewer_rounds(self) -> Result<Self, PfssError> {
        let last_relu = relu_by_payload(self.relu.n(), distances(self.logits)?.bits().max(2))?;
        Ok(Self { inverse_gates: self.inverse.gates(BY_PAYLOAD)?.in_one_round()?, last_relu: Some(last_relu), ..self })
    }

    /// Which elements are active.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The gate of a round of the tournament if its `count` comparisons have larger keys.
    fn last_relu(&self, count: usize) -> Option<&Gate> {
        self.last_relu.as_ref().filter(|_| count <= self.layout.active() / ELEMENTS_OF_LAST)
    }

    /// The comparisons of each round of the tournament, with their gate.
    fn comparisons(&self) -> impl Iterator<Item = (&Gate, usize)> {
        self.tournament.iter().map(|&count| (self.last_relu(count).unwrap_or(&self.relu), count))
    }

    /// Rows with something in them.
    fn live_rows(&self) -> usize {
        self.layout.ranges().filter(|range| !range.is_empty()).count()
    }

    /// The gates and numbers of elements to deal keys for.
    ///
    /// They are in the order of the bundles that [`Session::softmax`](crate::Session::softmax)
    /// takes.
    #[must_use]
    pub fn deals(&self) -> Vec<(Gate, usize)> {
        let (active, rows) = (self.layout.active(), self.live_rows());
        let mut deals: Vec<(Gate, usize)> = self.comparisons().map(|(gate, count)| (gate.clone(), count)).collect();
        deals.extend(self.exp.gates().into_iter().map(|gate| (gate.clone(), active)));
        deals.extend(self.inverse_gates.gates().map(|gate| (gate.clone(), rows)));
        deals.extend([(self.product.clone(), active), (self.shift.0.clone(), active)]);
        deals
    }

    /// Bytes that each party sends, including step digests, and rounds: a function of the layout.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        let (active, rows) = (self.layout.active(), self.live_rows());
        let tournament = self.comparisons().map(|(gate, count)| gate.traffic(count));
        let functions = [self.exp.traffic(active), self.inverse_gates.traffic(rows)];
        let products = [self.product.traffic(active), self.shift.0.traffic(active)];
        total_traffic(tournament.chain(functions).chain(products))
    }

    /// The softmax of packed logits in the clear, exactly as shares compute it.
    ///
    /// Every result is within 1.1 units of `2^-12` of the real softmax. Not for secrets: branches
    /// on `x`.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless there is one logit per active element.
    pub fn eval(&self, x: &[i64]) -> Result<Vec<i64>, PfssError> {
        self.check_len(x.len())?;
        let mut out = Vec::with_capacity(x.len());
        for range in self.layout.ranges() {
            let row = &x[range];
            let Some(max) = row.iter().max() else { continue };
            let exps: Vec<i64> = row.iter().map(|x| self.exp.eval(max - x)).collect();
            let inverse = self.inverse.eval(exps.iter().sum());
            out.extend(exps.iter().map(|e| (e * inverse + HALF) >> SHIFT));
        }
        Ok(out)
    }

    fn check_len(&self, got: usize) -> Result<(), PfssError> {
        check_len("active elements", self.layout.active(), got)
    }
}

/// The range of the differences of logits, which must not wrap around.
fn distances(logits: SignedRange) -> Result<SignedRange, PfssError> {
    let distances = logits.checked_sub(logits)?;
    distances.fits(N)?;
    Ok(distances)
}

/// `max(x, 0)` of `bits` bits in a ring of `n` bits, as a descriptor of one round.
fn relu_by_payload(n: u32, bits: u32) -> Result<Gate, PfssError> {
    let desc = SufDesc::of_polynomials(n, 1, "y", [(0, vec![0, 1]), (1 << (n - 1), Vec::new())])?;
    Ok(Gate::suf(SufProgram::within(desc, BY_PAYLOAD, SignedRange::of_bits(bits))?))
}

/// Comparisons per round of the tournament: half the elements left in each row, rounded down.
fn tournament(layout: &RowLayout) -> Vec<usize> {
    let mut left: Vec<usize> = layout.ranges().map(|range| range.len()).collect();
    let mut rounds = Vec::new();
    while left.iter().any(|&len| len > 1) {
        rounds.push(left.iter().map(|len| len / 2).sum());
        left.iter_mut().for_each(|len| *len = len.div_ceil(2));
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    type New = fn(RowLayout, SignedRange, SufModes) -> Result<SecureSoftmaxPlan, PfssError>;

    fn plan(new: New, cols: usize) -> SecureSoftmaxPlan {
        let layout = RowLayout::ragged(cols, &[cols]).unwrap();
        new(layout, SignedRange::new(-(1 << 20), 1 << 20).unwrap(), SufModes::default()).unwrap()
    }

    /// Bits of keys of one exponential.
    fn exponential_bits(plan: &SecureSoftmaxPlan) -> u64 {
        plan.exp.gates().into_iter().map(|gate| gate.cost().key_bits).sum()
    }

    /// The bytes of keys in docs/pfss.md.
    #[test]
    fn keys_of_a_row_grow_with_its_length_and_those_of_an_element_do_not() {
        for (cols, bytes, opened) in [(8, 1664, 27), (128, 2496, 59), (1024, 3120, 83)] {
            let news: [New; 2] = [SecureSoftmaxPlan::new, SecureSoftmaxPlan::by_table];
            let [splines, tables] = news.map(|new| plan(new, cols));
            for plan in [&splines, &tables] {
                let row = plan.inverse_gates.cost();
                assert_eq!((row.key_bits, row.masked_bits), (8 * bytes + opened, opened), "{cols}");
                // a product and a shift by 30 bits
                let [product, shift] = [&plan.product, &plan.shift.0].map(|gate| gate.cost().key_bits);
                assert_eq!([product, shift], [8 * 24, 8 * 432 + 1], "{cols}");
            }
            // the descriptor of 17 thresholds on 23 bits, and a shift by 32
            assert_eq!(exponential_bits(&splines), 8 * (856 + 464) + 17 + 1, "{cols}");
            // a shift by 7 bits, a descriptor of one threshold on 15, two look-ups of 9, a product, a shift by 7; their
            // carries, the selector and the signs of the look-ups
            let bytes = 40 + (160 + 24) + 2 * (64 + 32) + 24 + 48;
            assert_eq!(exponential_bits(&tables), 8 * bytes + 5, "{cols}");
        }
        // eight pieces an octave, at least one octave, and one for each doubling
        for (cols, octaves) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            let plan = plan(SecureSoftmaxPlan::by_table, cols);
            assert_eq!(plan.inverse_gates.cost().masked_bits, 8 * octaves + 3, "{cols}");
        }
    }

    /// Each element sends its bits, and each round a digest of 16 bytes.
    #[test]
    fn exponentials_by_table_take_nine_rounds_and_225_bits() {
        let plan = plan(SecureSoftmaxPlan::by_table, 8);
        // lines below 2^31, with a sign and a gap
        let word = 33;
        // inputs of the truncation, the descriptor, two look-ups, a product and a shift
        let inputs = 22 + 15 + 2 * 9 + 2 * word + word;
        // carry, selector, two words with their signs, carry
        let masked = 1 + 1 + 2 * (word + 1) + 1;
        assert_eq!(plan.exp.traffic(800), (100 * (inputs + masked) + 9 * 16, 9));
        assert_eq!(inputs + masked, 225);
    }

    #[test]
    fn exponentials_by_spline_take_four_rounds_and_141_bits() {
        let plan = plan(SecureSoftmaxPlan::new, 8);
        // the input, 17 selectors, a word of at most 3/2 at the scale of 56 bits, and a carry
        let bits = 64 + 17 + 59 + 1;
        assert_eq!(plan.exp.traffic(800), (100 * bits + 4 * 16, 4));
        assert_eq!(bits, 141);
    }

    #[test]
    fn maxima_and_products_open_the_bits_that_their_ranges_need() {
        for cols in [2, 128, 1024] {
            let news: [New; 2] = [SecureSoftmaxPlan::new, SecureSoftmaxPlan::by_table];
            let [splines, tables] = news.map(|new| plan(new, cols));
            // Distances have 22 bits and a sign; splines take 64 bits of them, tables the bits of the product of a line.
            for (plan, bits) in [(&splines, 64), (&tables, 33)] {
                assert_eq!((plan.relu.n(), plan.relu.f()), (bits, 23));
                // The product of an exponential, below 2^25, and a reciprocal of 18 fraction bits, a little above 1.
                let (shift, cert) = &plan.shift;
                assert_eq!([plan.product.n(), shift.n(), cert.n(), shift.out_ring().bits()], [45, 45, 45, 64]);
            }
        }
    }

    /// Narrow ranges far from zero and next to it, and a wide range.
    #[test]
    fn maxima_have_a_ring_that_holds_their_distances() {
        let layout = RowLayout::ragged(4, &[4]).unwrap();
        for (min, max, bits, distance_bits) in
            [(1 << 40, (1 << 40) + 5, 33, 4), (-1, 0, 33, 2), (0, 0, 33, 2), (-(1 << 50), 1 << 50, 53, 0)]
        {
            let logits = SignedRange::new(min, max).unwrap();
            let plan = SecureSoftmaxPlan::by_table(layout.clone(), logits, SufModes::default()).unwrap();
            assert_eq!((plan.relu.n(), plan.relu.f()), (bits, distance_bits), "{min}..={max}");
            assert!(plan.relu.n() >= plan.exp.input_bits());
        }
    }
}

//! Softmax of packed rows, built from maximum, exponential, reciprocal and product.
//!
//! With `m` the maximum of a row and `E_i = exp(-(m - x_i))`, the result is
//! `E_i / sum over j of E_j`. In fixed point it is `floor((E_i V + 2^29) / 2^30)`, where `E_i` has
//! 24 fraction bits, and `V`, the reciprocal of the sum, has 18.
//!
//! 24 bits are for the sum: in a row of 1,024 elements it may be off by 1,023 times the rounding of
//! an exponential, so that the result may be off by 0.13 units of `2^-12`. The product needs fewer.
//! Exponentials from 16 on are 0, which changes such a row by at most 0.47 units.
//!
//! Neither logits nor their distances from the maximum are ever opened. All gates run on the active
//! elements only, so causal attention costs about half as much as a full square (SIGMA, PETS 2024,
//! packs the same way).

mod layout;
mod run;

pub use layout::{LayoutError, RowLayout};

use crate::{
    AutoTrunc, GapCert, Gate, PfssError, RangeClaim, SignedRange,
    functions::{Accuracy, FixedFn, FixedGates, reciprocal_octaves, softmax_exp},
    suf::{SufError, SufModes},
};

/// Ring of all values.
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

/// The public plan of one softmax.
///
/// It has the layout, the functions, and the gates in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecureSoftmaxPlan {
    layout: RowLayout,
    logits: SignedRange,
    exp: FixedFn,
    inverse: FixedFn,
    exp_gates: FixedGates,
    inverse_gates: FixedGates,
    /// Comparisons in each round of the tournament for the maxima.
    tournament: Vec<usize>,
    relu: Gate,
    product: Gate,
    shift: (Gate, GapCert),
}

impl SecureSoftmaxPlan {
    /// The longest row that the reciprocal's range allows.
    pub const MAX_COLS: usize = 1024;

    /// Plans the softmax of logits with 12 fraction bits, given a range that holds every logit.
    ///
    /// # Errors
    /// [`PfssError::Range`] if differences of logits may wrap around, [`PfssError::Suf`] for a row
    /// longer than [`MAX_COLS`](Self::MAX_COLS).
    pub fn new(layout: RowLayout, logits: SignedRange, modes: SufModes) -> Result<Self, PfssError> {
        // Distances of logits must not wrap, and rows must fit the reciprocal.
        let distances = logits.checked_sub(logits)?;
        distances.fits(N)?;
        let longest = layout.ranges().map(|range| range.len()).max().unwrap_or(0);
        if longest > Self::MAX_COLS {
            return Err(SufError::Cap { what: "elements of a row", max: Self::MAX_COLS, got: longest }.into());
        }
        // The functions, and the proven range of their product with its rounding.
        let exp = softmax_exp(EXP_BITS)?;
        let octaves = longest.next_power_of_two().ilog2().max(1); // a sum is at least 1 and at most `longest`
        let inverse = reciprocal_octaves(INVERSE, INVERSE_BITS, octaves)?;
        let result = |f: &FixedFn| f.outputs().floor_shift(f.shift());
        let product = result(&exp)?.checked_mul(result(&inverse)?)?.checked_add(SignedRange::new(HALF, HALF)?)?;
        let AutoTrunc::Gap { gate, cert } = AutoTrunc::choose(N, SHIFT, RangeClaim::Proof(product))? else {
            return Err(crate::RangeError::NoGap { n: N, min: product.min(), max: product.max() }.into());
        };
        // The gates in the order in which they run.
        Ok(Self {
            exp_gates: exp.gates_within(modes, distances.relu())?,
            inverse_gates: inverse.gates(modes)?,
            tournament: tournament(&layout),
            relu: Gate::relu_within(N, distances.bits().max(2))?,
            product: Gate::product(N)?,
            shift: (gate, cert),
            layout,
            logits,
            exp,
            inverse,
        })
    }

    /// Which elements are active.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
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
        let mut deals: Vec<(Gate, usize)> = self.tournament.iter().map(|&count| (self.relu.clone(), count)).collect();
        let functions = [(&self.exp_gates, active), (&self.inverse_gates, rows)];
        for (gates, count) in functions {
            deals.extend(gates.with_keys().map(|gate| (gate.clone(), count)));
        }
        deals.extend([(self.product.clone(), active), (self.shift.0.clone(), active)]);
        deals
    }

    /// Bytes that each party sends, including step digests, and rounds: a function of the layout.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        let deals = self.deals().into_iter().map(|(gate, count)| gate.traffic(count));
        deals.fold((0, 0), |sum, (bytes, rounds)| (sum.0 + bytes, sum.1 + rounds))
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
        let expected = self.layout.active();
        if expected == got { Ok(()) } else { Err(PfssError::Length { what: "active elements", expected, got }) }
    }
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

    fn plan(cols: usize) -> SecureSoftmaxPlan {
        let layout = RowLayout::ragged(cols, &[cols]).unwrap();
        SecureSoftmaxPlan::new(layout, SignedRange::new(-(1 << 20), 1 << 20).unwrap(), SufModes::default()).unwrap()
    }

    /// The bytes of keys in docs/pfss.md.
    #[test]
    fn keys_of_a_row_grow_with_its_length_and_those_of_an_element_do_not() {
        for (cols, bytes, opened) in [(8, 1664, 27), (128, 2496, 59), (1024, 3120, 83)] {
            let plan = plan(cols);
            let row = plan.inverse_gates.cost();
            assert_eq!((row.key_bits, row.masked_bits), (8 * bytes + opened, opened), "{cols}");
            // the descriptor of 17 thresholds on 23 bits, shifts by 32 and 30, a product
            let of_elements = [plan.exp_gates.cost(), plan.product.cost(), plan.shift.0.cost()];
            let bits: u64 = of_elements.iter().map(|cost| cost.key_bits).sum();
            assert_eq!(bits, 8 * (856 + 464 + 24 + 432) + 17 + 2, "{cols}");
        }
    }
}

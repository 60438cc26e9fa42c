//! The functions by table: their cells, tails and accuracies.

use core::f64::consts::LN_2;

use super::{TableFn, lines::Lines};
use crate::{
    PfssError, SignedRange,
    functions::{Tail, check_fraction_bits, special::normal_cdf},
};

/// The greatest error of a tail of [`TableFn::gelu`] and [`TableFn::silu`] in units.
const TAIL_ERROR: f64 = 0.6;

/// The width of the last inputs of `exp(-t)` above half a unit, which share one line.
///
/// The line is constant there: 1 is the nearest integer.
const LAST_WIDTH: f64 = 1.08;

/// Fraction bits of the logits of a softmax.
const SOFTMAX_BITS: u32 = 12;

impl TableFn {
    /// GeLU, `x Φ(x)`, for `|x| < 2^12`, with 8 to 20 fraction bits.
    ///
    /// With 12 fraction bits the table has 256 lines, 254 of them on `-127/32 <= x < 127/32`. The
    /// function is 0 below and `x` above. The error is at most 0.83 units of the last place.
    ///
    /// # Errors
    /// [`PfssError::Suf`] for another number of fraction bits.
    pub fn gelu(fraction_bits: u32) -> Result<Self, PfssError> {
        two_sided(fraction_bits, &|x| x * normal_cdf(x))
    }

    /// SiLU, `x / (1 + exp(-x))`, for `|x| < 2^12`, with 8 to 18 fraction bits.
    ///
    /// With 12 fraction bits the table has 1,024 lines, 722 of them in use, 720 on
    /// `-45/4 <= x < 45/4`. The function is 0 below and `x` above. The error is at most 0.76 units
    /// of the last place.
    ///
    /// # Errors
    /// [`PfssError::Suf`] for another number of fraction bits; with more the table would have more
    /// than [`MAX_LINES`](Self::MAX_LINES) lines.
    pub fn silu(fraction_bits: u32) -> Result<Self, PfssError> {
        two_sided(fraction_bits, &|x| x / (1.0 + (-x).exp()))
    }

    /// `exp(-t)` for `t >= 0`, with 8 to 20 fraction bits.
    ///
    /// With 12 fraction bits the table has 256 lines, 254 of them for `t < 127/16`; one more lasts
    /// up to half a unit, from where on the function is 0. The error is at most 0.83 units of the
    /// last place.
    ///
    /// # Errors
    /// [`PfssError::Suf`] for another number of fraction bits.
    pub fn neg_exp(fraction_bits: u32) -> Result<Self, PfssError> {
        check_fraction_bits(fraction_bits)?;
        let function = |t: f64| (-t).exp();
        let lines = Lines::new(fraction_bits, SignedRange::new(0, i64::MAX)?, &function)?;
        let half_unit = f64::from(fraction_bits + 1) * LN_2;
        let [last, end] = [half_unit - LAST_WIDTH, half_unit].map(|t| lines.cell_of(t));
        Ok(lines.each(0..last)?.one(last..end)?.tail(end, Tail::Zero)?.finish())
    }

    /// `exp(-t)` for the exponentials of a softmax, with 12 fraction bits in `t`.
    ///
    /// Up to 1,023 elements count as much together as the greatest one as long as `t < 7`, so the
    /// error has to be small relative to the value there: at most `10^-4` of it. The table has 512
    /// lines, 511 of them for `t < 511/32`, from where on the function is 0.
    pub(crate) fn softmax_exp(output_bits: u32) -> Result<Self, PfssError> {
        let function = |t: f64| (-t).exp();
        let inputs = SignedRange::new(0, i64::MAX)?;
        let lines = Lines::new(SOFTMAX_BITS, inputs, &function)?.with_output_bits(output_bits);
        // The line of the tail makes them a power of two.
        let end = lines.cell_of(16.0) - 1;
        Ok(lines.each(0..end)?.tail(end, Tail::Zero)?.finish())
    }
}

/// A function that comes near 0 at `-x` and near the identity at `x`, equally far from both.
fn two_sided(fraction_bits: u32, function: &dyn Fn(f64) -> f64) -> Result<TableFn, PfssError> {
    check_fraction_bits(fraction_bits)?;
    let far = 1i64 << (fraction_bits + 12);
    let inputs = SignedRange::new(-far, far - 1)?;
    let lines = Lines::new(fraction_bits, inputs, function)?;
    // Below -2 the functions rise to 0; the cells end where they have come near.
    let unit = 2f64.powi(-(fraction_bits as i32));
    let is_near = |&cell: &i64| function(-lines.value_at(cell)).abs() <= TAIL_ERROR * unit;
    let most = lines.cell_of(32.0);
    let end = (lines.cell_of(2.0)..most).find(is_near).unwrap_or(most);
    let least = -lines.cell_of(4096.0);
    Ok(lines.tail(least, Tail::Zero)?.each(-end..end)?.tail(end, Tail::Identity)?.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suf::SufError;

    fn gelu_of(x: f64) -> f64 {
        x * normal_cdf(x)
    }

    fn silu_of(x: f64) -> f64 {
        x / (1.0 + (-x).exp())
    }

    fn neg_exp_of(t: f64) -> f64 {
        (-t).exp()
    }

    /// The greatest error in units of the last place over numbers of `range` at a step.
    fn error(f: &TableFn, bits: u32, range: (i64, i64), step: usize, function: fn(f64) -> f64) -> f64 {
        let one = 1i64 << bits;
        (range.0 * one..=range.1 * one).step_by(step).fold(0.0, |worst, x| {
            let exact = function(x as f64 / one as f64) * one as f64;
            f64::max(worst, (f.eval(x) as f64 - exact).abs())
        })
    }

    /// Far beyond the cells on either side, every input.
    #[test]
    fn tables_hold_their_bounds_on_every_input() {
        let [gelu, silu, neg_exp] = [TableFn::gelu, TableFn::silu, TableFn::neg_exp].map(|table| table(12).unwrap());
        assert!(error(&gelu, 12, (-9, 9), 1, gelu_of) <= 0.83);
        assert!(error(&silu, 12, (-20, 20), 1, silu_of) <= 0.76);
        assert!(error(&neg_exp, 12, (0, 20), 1, neg_exp_of) <= 0.83);
        assert!((0..20 * 4096).all(|t| neg_exp.eval(t) >= 0));
    }

    #[test]
    fn tables_of_8_to_20_fraction_bits_hold_their_bound() {
        for bits in [8, 9, 10, 11, 13, 14, 16, 18, 20] {
            let step = ((1usize << bits) / 4096).max(1);
            let gelu = TableFn::gelu(bits).unwrap();
            assert!(error(&gelu, bits, (-9, 9), step, gelu_of) <= 0.85, "gelu of {bits} bits");
            let neg_exp = TableFn::neg_exp(bits).unwrap();
            assert!(error(&neg_exp, bits, (0, 20), step, neg_exp_of) <= 0.88, "exp of {bits} bits");
            // the worst inputs are near 0
            assert!(error(&neg_exp, bits, (0, 1), 1, neg_exp_of) <= 0.88, "exp of {bits} bits");
            if bits <= 18 {
                let silu = TableFn::silu(bits).unwrap();
                assert!(error(&silu, bits, (-25, 25), step, silu_of) <= 0.85, "silu of {bits} bits");
            }
        }
    }

    #[test]
    fn exponentials_of_a_softmax_are_exact_relative_to_their_value() {
        let (f, one) = (TableFn::softmax_exp(24).unwrap(), 1i64 << 12);
        assert_eq!(f.tables.each_ref().map(Vec::len), [512; 2]);
        for t in 0..17 * one {
            let (got, exact) = (f.eval(t), (-t as f64 / one as f64).exp() * f64::from(1u32 << 24));
            let error = (got as f64 - exact).abs();
            // from 7 on all of 1,023 elements count less than the greatest
            let bound = if t < 7 * one { 1e-4 * exact } else { 2.5 };
            assert!(got >= 0 && error <= bound, "{t}: {got} for {exact}");
        }
        assert!([511 << 7, 16 << 12, i64::MAX].into_iter().all(|t| f.eval(t) == 0));
    }

    #[test]
    fn tails_are_exact_up_to_the_ends_of_the_inputs() {
        for f in [TableFn::gelu(12).unwrap(), TableFn::silu(12).unwrap()] {
            let inputs = f.inputs();
            assert_eq!((inputs.min(), inputs.max()), (-(1 << 24), (1 << 24) - 1));
            for x in [12 << 12, (12 << 12) + 1, 1 << 20, inputs.max()] {
                assert_eq!((f.eval(x), f.eval(-x - 1)), (x, 0));
            }
        }
        let f = TableFn::neg_exp(12).unwrap();
        assert!([10 << 12, 16 << 12, i64::MAX].into_iter().all(|t| f.eval(t) == 0));
    }

    #[test]
    fn proven_ranges_hold_every_line() {
        let all = [TableFn::gelu(12), TableFn::silu(9), TableFn::neg_exp(8), TableFn::softmax_exp(24)];
        for f in all.map(Result::unwrap) {
            let inputs = f.inputs();
            let outputs = f.outputs_within(inputs).unwrap().floor_shift(f.shift()).unwrap();
            let ends = [inputs.min(), inputs.max()];
            for x in ends.into_iter().chain(-100_000..100_000).filter(|&x| inputs.min() <= x && x <= inputs.max()) {
                let y = f.eval(x);
                assert!(outputs.min() <= y && y <= outputs.max(), "{x}: {y} outside {outputs:?}");
            }
        }
    }

    #[test]
    fn fraction_bits_without_a_table_are_refused() {
        for bits in [0, 7, 21, u32::MAX] {
            for table in [TableFn::gelu, TableFn::silu, TableFn::neg_exp] {
                assert!(matches!(table(bits), Err(PfssError::Suf(SufError::Cap { max: 20, .. }))), "{bits}");
            }
        }
        for bits in [19, 20] {
            let refused = TableFn::silu(bits);
            assert!(matches!(refused, Err(PfssError::Suf(SufError::Cap { max: 8192, .. }))), "{bits}");
        }
    }
}

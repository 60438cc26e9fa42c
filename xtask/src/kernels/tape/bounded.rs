//! Running error analysis of f32 programs, with values in f64.
//!
//! Each value carries a bound of the error that the same operations make in f32 (Higham, Accuracy
//! and Stability of Numerical Algorithms, 2nd edition, section 3.3). The functions are the standard
//! library's in f64, not the kernels'.

/// Unit roundoff of f32: 2^-24.
const UNIT: f64 = 1.0 / 16_777_216.0;

/// Half of the smallest subnormal f32: 2^-150. A product that underflows loses at most that.
const TINY: f64 = UNIT * UNIT * UNIT * UNIT * UNIT * UNIT / 64.0;

/// An absolute error greater than the error of any function with a subnormal result.
const SMALLEST: f64 = 1e-36;

/// Relative error of `exp` of the kernels: 2 ulp.
const EXP: f64 = 4.0 * UNIT;

/// Relative error of `log` of the kernels for arguments from 1 up.
const LOG: f64 = 6.0 * UNIT;

/// Relative error of `sigmoid` of the kernels: the error of `exp`, and two roundings.
const SIGMOID: f64 = 8.0 * UNIT;

/// Relative error of `tanh` of the kernels, the largest at the seam of its two formulas.
const TANH: f64 = 16.0 * UNIT;

/// A real value, and how far its f32 counterpart may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Bounded {
    pub(in super::super) value: f64,
    pub(in super::super) bound: f64,
}

impl Bounded {
    /// A value that f32 represents.
    pub(in super::super) fn exact(value: f32) -> Self {
        Self { value: f64::from(value), bound: 0.0 }
    }

    /// A result that is rounded once, computed from operands with a joint error of `bound`.
    fn rounded(value: f64, bound: f64) -> Self {
        Self { value, bound: bound + UNIT * (value.abs() + bound) + TINY }
    }

    /// A result of a function with this relative error.
    fn approximated(value: f64, bound: f64, relative: f64) -> Self {
        Self { value, bound: bound + relative * (value.abs() + bound) + SMALLEST }
    }

    pub(in super::super) fn plus(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.bound + other.bound)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    /// The error of a product of these factors before it is rounded.
    fn product_bound(self, other: Self) -> f64 {
        self.value.abs() * other.bound + other.value.abs() * self.bound + self.bound * other.bound
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self::rounded(self.value * other.value, self.product_bound(other))
    }

    /// `self * factor + addend`, rounded once.
    pub(in super::super) fn fused(self, factor: Self, addend: Self) -> Self {
        let bound = self.product_bound(factor) + addend.bound;
        Self::rounded(self.value * factor.value + addend.value, bound)
    }

    /// The quotient; its bound is infinite if the divisor may be zero.
    pub(super) fn over(self, divisor: Self) -> Self {
        let quotient = self.value / divisor.value;
        let least = divisor.value.abs() - divisor.bound;
        let bound = if least > 0.0 { (self.bound + quotient.abs() * divisor.bound) / least } else { f64::INFINITY };
        Self::rounded(quotient, bound)
    }

    pub(super) fn negated(self) -> Self {
        Self { value: -self.value, bound: self.bound }
    }

    pub(super) fn magnitude(self) -> Self {
        Self { value: self.value.abs(), bound: self.bound }
    }

    /// The square root of a value that is not negative.
    pub(super) fn root(self) -> Self {
        let root = self.value.sqrt();
        // |sqrt(p) - sqrt(q)| is at most sqrt(|p - q|), and at most |p - q| / sqrt(q).
        let bound = self.bound.sqrt();
        let bound = if root > 0.0 { bound.min(self.bound / root) } else { bound };
        Self::rounded(root, bound)
    }

    pub(super) fn lesser(self, other: Self) -> Self {
        Self { value: self.value.min(other.value), bound: self.bound.max(other.bound) }
    }

    pub(super) fn greater(self, other: Self) -> Self {
        Self { value: self.value.max(other.value), bound: self.bound.max(other.bound) }
    }

    pub(super) fn exponential(self) -> Self {
        let value = self.value.exp();
        Self::approximated(value, value * self.bound.exp_m1(), EXP)
    }

    /// The logarithm of a value from 1 up.
    pub(super) fn logarithm(self) -> Self {
        Self::approximated(self.value.ln(), self.bound / (self.value - self.bound).max(0.5), LOG)
    }

    /// `1 / (1 + exp(-x))`, whose slope is at most 1/4.
    pub(super) fn logistic(self) -> Self {
        Self::approximated(1.0 / (1.0 + (-self.value).exp()), self.bound / 4.0, SIGMOID)
    }

    /// The hyperbolic tangent, whose slope is at most 1.
    pub(super) fn tangent(self) -> Self {
        Self::approximated(self.value.tanh(), self.bound, TANH)
    }

    /// Whether `self < other` in f32; `None` if the errors leave it open.
    pub(super) fn is_less(self, other: Self) -> Option<bool> {
        let apart = (self.value - other.value).abs() > self.bound + other.bound;
        apart.then_some(self.value < other.value)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::random::Random, *};

    fn sample(random: &mut Random) -> f32 {
        (random.below(8193) as f32 - 4096.0) / 1024.0
    }

    #[test]
    fn constants_are_powers_of_two() {
        assert_eq!(UNIT, 2f64.powi(-24));
        assert_eq!(TINY, 2f64.powi(-150));
    }

    #[test]
    fn f32_stays_within_the_bound_and_the_bound_is_not_idle() {
        let mut random = Random::new(5);
        let mut greatest = 0f64;
        for _ in 0..20_000 {
            let [a, b, c] = [(); 3].map(|()| sample(&mut random));
            let [x, y, z] = [a, b, c].map(Bounded::exact);
            let pairs = [
                (a * b + c, x.times(y).plus(z)),
                (a.mul_add(b, c), x.fused(y, z)),
                ((a + b) / (1.0 + c * c), x.plus(y).over(Bounded::exact(1.0).plus(z.times(z)))),
                ((a * b).abs().sqrt(), x.times(y).magnitude().root()),
                ((a - b).max(c * b).min(a), x.minus(y).greater(z.times(y)).lesser(x)),
                ((a * b).exp(), x.times(y).exponential()),
                ((1.0 + (a * b).abs()).ln(), Bounded::exact(1.0).plus(x.times(y).magnitude()).logarithm()),
                (1.0 / (1.0 + (-a * b).exp()), x.times(y).logistic()),
                ((a * b).tanh(), x.times(y).tangent()),
            ];
            for (number, (got, Bounded { value, bound })) in pairs.into_iter().enumerate() {
                let error = (f64::from(got) - value).abs();
                assert!(error <= bound, "operation {number} of {a}, {b}, {c}: error {error}, bound {bound}");
                greatest = greatest.max(error / bound);
            }
        }
        assert!(greatest > 0.4, "errors are at most {greatest} of their bounds");
    }

    #[test]
    fn close_values_are_not_compared() {
        let third = Bounded::exact(1.0).over(Bounded::exact(3.0));
        assert_eq!(third.is_less(third), None);
        assert_eq!(third.is_less(Bounded::exact(0.5)), Some(true));
        assert_eq!(Bounded::exact(0.5).is_less(third), Some(false));
        assert!(third.over(third.minus(third)).bound.is_infinite());
    }
}

//! Options of a decomposition.

/// How many power iterations a sketch gets.
///
/// Each takes two more products with the matrix, and raises the ratio of its singular values to a
/// power that is greater by two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SvdPower {
    /// Two. [`SvdPlan`](crate::SvdPlan) states the errors by rank.
    #[default]
    Auto,
    /// This number, at most 64; with none, the error may be half as large again as the best.
    Given(usize),
}

impl SvdPower {
    /// The number of iterations.
    pub(super) fn iterations(self) -> usize {
        match self {
            Self::Auto => 2,
            Self::Given(iterations) => iterations,
        }
    }
}

/// Options of a [`SvdPlan`](crate::SvdPlan).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SvdOptions {
    /// Columns of the sketch beyond the rank. A sketch has at most 1024 columns.
    pub oversample: usize,
    /// Power iterations.
    pub power: SvdPower,
    /// Seed of the sketch's signs, which are the same on every device.
    pub seed: u64,
}

impl Default for SvdOptions {
    /// 10 columns more, [`SvdPower::Auto`], seed 0.
    fn default() -> Self {
        Self { oversample: 10, power: SvdPower::Auto, seed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_documented_ones() {
        let SvdOptions { oversample, power, seed } = SvdOptions::default();
        assert_eq!((oversample, power.iterations(), seed), (10, 2, 0));
    }
}

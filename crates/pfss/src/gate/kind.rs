use core::fmt;

/// What the keys of a bundle are for. The number is the kind byte of the bundle header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GateKind {
    /// Comparisons of the whole `x` with public constants.
    FullPredicates,
    /// The sign of `x + c`.
    SignPredicates,
    /// Comparisons of the low `f` bits of `x` with public constants.
    LowPredicates,
    /// `max(x, 0)`.
    Relu,
    /// Truncation that drops the `f` low bits and reduces the ring to `n - f` bits.
    TruncateReduce,
    /// Arithmetic shift right by `f` for values with a proven gap.
    GapArs,
    /// Indicators of public intervals times powers of `-r`, without a round.
    IntervalPowers,
    /// Logical shift right by `f`, exact for every value.
    Lrs,
    /// Arithmetic shift right by `f`, exact for every value.
    Ars,
    /// `max(x, 0)` shifted right by `f`.
    ReluArs,
    /// A function given by a descriptor.
    Suf,
    /// A public table at a secret position.
    Lut,
    /// The product of two secrets.
    Product,
}

impl GateKind {
    /// Every kind, by number.
    pub(crate) const ALL: [Self; 13] = [
        Self::FullPredicates,
        Self::SignPredicates,
        Self::LowPredicates,
        Self::Relu,
        Self::TruncateReduce,
        Self::GapArs,
        Self::IntervalPowers,
        Self::Lrs,
        Self::Ars,
        Self::ReluArs,
        Self::Suf,
        Self::Lut,
        Self::Product,
    ];

    /// The number in the bundle header, from 1 on.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The kind of a header byte.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number.checked_sub(1)?)).copied()
    }
}

impl fmt::Display for GateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FullPredicates => "full predicates",
            Self::SignPredicates => "sign predicates",
            Self::LowPredicates => "low-bit predicates",
            Self::Relu => "relu",
            Self::TruncateReduce => "truncate-reduce",
            Self::GapArs => "gap ars",
            Self::IntervalPowers => "interval powers",
            Self::Lrs => "lrs",
            Self::Ars => "ars",
            Self::ReluArs => "relu ars",
            Self::Suf => "suf",
            Self::Lut => "lut",
            Self::Product => "product",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_number() {
        let known: Vec<_> = (0..=u8::MAX).filter_map(GateKind::from_number).collect();
        assert_eq!(known, GateKind::ALL);
        assert!(known.iter().all(|&kind| GateKind::from_number(kind.number()) == Some(kind)));
    }
}

//! The names of gates and their numbers in bundles: a line for each.

use core::fmt;

/// Makes the names of gates, and their numbers by position.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of a gate. The number is the kind byte of the bundle header.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum GateKind {
            $($(#[$doc])* $name,)*
        }

        impl GateKind {
            /// Every kind, by number.
            pub(crate) const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// Comparisons of the whole `x` with public constants.
    FullPredicates = "full predicates",
    /// The sign of `x + c`.
    SignPredicates = "sign predicates",
    /// Comparisons of the low bits of `x` with public constants.
    LowPredicates = "low-bit predicates",
    /// `max(x, 0)`.
    Relu = "relu",
    /// Truncation that drops `f` low bits and reduces the ring to `n - f` bits.
    TruncateReduce = "truncate-reduce",
    /// Arithmetic shift right for values with a proven gap.
    GapArs = "gap ars",
    /// Indicators of public intervals times powers of `-r`, without a round.
    IntervalPowers = "interval powers",
    /// Logical shift right, exact for every value.
    Lrs = "lrs",
    /// Arithmetic shift right, exact for every value.
    Ars = "ars",
    /// `max(x, 0)`, shifted right.
    ReluArs = "relu ars",
    /// A function given by a descriptor.
    Suf = "suf",
    /// A public table at a secret position.
    Lut = "lut",
    /// The product of two secrets.
    Product = "product",
}

impl GateKind {
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
        f.write_str(self.name())
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

//! The one list of gates: a line for each, with the file that says everything else about it.

use core::fmt;

use super::rule::{Bounds, Parameters, Rule};
use crate::gates::{intervals, lut, predicates, product, relu, shift, suf, truncate};

/// Makes the names of gates, their numbers by position, and the way from each to what it is.
macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident($rule:ty) = $text:literal,)*) => {
        /// What the keys of a bundle are for. The number is the kind byte of the bundle header.
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

            /// What its parameters may be.
            pub(super) const fn bounds(self) -> Bounds {
                match self {
                    $(Self::$name => <$rule>::BOUNDS,)*
                }
            }

            /// The gate with parameters within the bounds; none if they do not say what it is.
            pub(super) fn with(self, parameters: Parameters) -> Option<AnyRule> {
                match self {
                    $(Self::$name => <$rule>::of(parameters).map(AnyRule::$name),)*
                }
            }
        }

        /// A gate with the parameters of its own.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum AnyRule {
            $($name($rule),)*
        }

        impl AnyRule {
            pub(super) const fn kind(&self) -> GateKind {
                match self {
                    $(Self::$name(_) => GateKind::$name,)*
                }
            }

            /// What the gate says of itself.
            pub(super) fn rule(&self) -> &dyn Rule {
                match self {
                    $(Self::$name(rule) => rule,)*
                }
            }
        }
    };
}

gates! {
    /// Comparisons of the whole `x` with public constants.
    FullPredicates(predicates::Full) = "full predicates",
    /// The sign of `x + c`.
    SignPredicates(predicates::Sign) = "sign predicates",
    /// Comparisons of the low bits of `x` with public constants.
    LowPredicates(predicates::Low) = "low-bit predicates",
    /// `max(x, 0)`.
    Relu(relu::Relu) = "relu",
    /// Truncation that drops `f` low bits and reduces the ring to `n - f` bits.
    TruncateReduce(truncate::TruncateReduce) = "truncate-reduce",
    /// Arithmetic shift right for values with a proven gap.
    GapArs(truncate::GapArs) = "gap ars",
    /// Indicators of public intervals times powers of `-r`, without a round.
    IntervalPowers(intervals::IntervalPowers) = "interval powers",
    /// Logical shift right, exact for every value.
    Lrs(shift::Lrs) = "lrs",
    /// Arithmetic shift right, exact for every value.
    Ars(shift::Ars) = "ars",
    /// `max(x, 0)`, shifted right.
    ReluArs(shift::ReluArs) = "relu ars",
    /// A function given by a descriptor.
    Suf(suf::Suf) = "suf",
    /// A public table at a secret position.
    Lut(lut::Lut) = "lut",
    /// The product of two secrets.
    Product(product::Product) = "product",
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

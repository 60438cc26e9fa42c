//! Maps each kind of gate to the file that defines it: a line for each.

use super::{
    GateKind,
    rule::{Bounds, GateRule, HeaderParameters},
};
use crate::gates::{intervals, lut, predicates, product, relu, shift, suf, truncate};

/// Maps each kind to its rule.
macro_rules! rules {
    ($($name:ident($rule:ty),)*) => {
        impl GateKind {
            /// What its parameters may be.
            pub(super) const fn bounds(self) -> Bounds {
                match self {
                    $(Self::$name => <$rule>::BOUNDS,)*
                }
            }

            /// The gate with parameters within the bounds; `None` if they do not define it.
            pub(super) fn with(self, parameters: HeaderParameters) -> Option<AnyRule> {
                match self {
                    $(Self::$name => <$rule>::of(parameters).map(AnyRule::$name),)*
                }
            }
        }

        /// A gate with its parameters.
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

            /// The definition of the gate.
            pub(super) fn rule(&self) -> &dyn GateRule {
                match self {
                    $(Self::$name(rule) => rule,)*
                }
            }
        }
    };
}

rules! {
    FullPredicates(predicates::FullRule),
    SignPredicates(predicates::SignRule),
    LowPredicates(predicates::LowRule),
    Relu(relu::ReluRule),
    TruncateReduce(truncate::TruncateReduceRule),
    GapArs(truncate::GapArsRule),
    IntervalPowers(intervals::IntervalPowersRule),
    Lrs(shift::LrsRule),
    Ars(shift::ArsRule),
    ReluArs(shift::ReluArsRule),
    Suf(suf::SufRule),
    Lut(lut::LutRule),
    Product(product::ProductRule),
}

//! Gates of every kind, with their parameters: a file for each family.

pub(crate) mod intervals;
pub(crate) mod lut;
pub(crate) mod predicates;
pub(crate) mod product;
pub(crate) mod relu;
pub(crate) mod shift;
pub(crate) mod suf;
pub(crate) mod truncate;

use super::shape::{Bounds, GateShape, HeaderParameters};
use crate::GateKind;

/// Maps each kind to the type of its parameters.
macro_rules! gates {
    ($($name:ident($gate:ty),)*) => {
        impl GateKind {
            /// Bounds on the parameters.
            pub(super) const fn bounds(self) -> Bounds {
                match self {
                    $(Self::$name => <$gate>::BOUNDS,)*
                }
            }

            /// The gate with parameters within the bounds; `None` if they do not define it.
            pub(super) fn with(self, parameters: HeaderParameters) -> Option<AnyGate> {
                match self {
                    $(Self::$name => <$gate>::of(parameters).map(AnyGate::$name),)*
                }
            }
        }

        /// A gate of any kind, with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum AnyGate {
            $($name($gate),)*
        }

        impl AnyGate {
            pub(super) const fn kind(&self) -> GateKind {
                match self {
                    $(Self::$name(_) => GateKind::$name,)*
                }
            }

            /// The shape of the gate.
            pub(super) fn shape(&self) -> &dyn GateShape {
                match self {
                    $(Self::$name(gate) => gate,)*
                }
            }
        }
    };
}

gates! {
    FullPredicates(predicates::FullPredicates),
    SignPredicates(predicates::SignPredicates),
    LowPredicates(predicates::LowPredicates),
    Relu(relu::Relu),
    TruncateReduce(truncate::TruncateReduce),
    GapArs(truncate::GapArs),
    IntervalPowers(intervals::IntervalPowers),
    Lrs(shift::Lrs),
    Ars(shift::Ars),
    ReluArs(shift::ReluArs),
    Suf(suf::Suf),
    Lut(lut::Lut),
    Product(product::Product),
}

//! The domains that can be given a backend each.

/// The domains that can have a backend of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Function secret sharing. A GPU request fails closed: never a stand-in.
    Pfss,
    /// Circle-STARK transforms.
    Stark,
    /// Neural-network operators.
    ///
    /// A GPU request falls back to the CPU when it opens, and reports that.
    Nn,
}

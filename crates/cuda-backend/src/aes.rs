//! The choice of how kernels compute AES.
//!
//! Either with lookups in a table, or with a Boolean circuit whose addresses depend on no secret.

/// How kernels that evaluate keys or expand seeds compute AES.
///
/// Both give the same shares. Dealing keys is not affected: `cmp_gen` and `dcf_gen` use the table
/// either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AesKernel {
    /// Lookups in a table in shared memory, at addresses that depend on secrets.
    ///
    /// Each lane reads a separate bank, so the time does not depend on them.
    #[default]
    Table,
    /// A Boolean circuit on bit planes: no address and no branch depends on a secret.
    Bitsliced,
}

impl AesKernel {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Table, Self::Bitsliced];

    /// The name used in settings and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Bitsliced => "bitsliced",
        }
    }

    /// The choice of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

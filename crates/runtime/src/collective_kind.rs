//! Names of the transports between ranks.

use core::fmt;

/// How ranks reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    /// Copies between devices if all ranks are on GPUs, else through host memory. The default.
    #[default]
    Auto,
    /// NCCL.
    Nccl,
    /// Copies between devices, and through pinned host memory where a link is refused.
    Peer,
    /// Through host memory.
    Host,
}

impl CollectiveKind {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Nccl, Self::Peer, Self::Host];

    /// The name used in settings and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Nccl => "nccl",
            Self::Peer => "peer",
            Self::Host => "host",
        }
    }

    /// The way of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

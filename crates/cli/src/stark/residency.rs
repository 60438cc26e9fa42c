//! Where committed values are, on the command line.

use clap::Args;
use stark::Residency;

/// Where committed values are while a proof is made. Proofs do not depend on it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ResidencyArgs {
    /// Cut every domain into N blocks, a power of two, and keep the committed values of one at a time. The least is the blow-up.
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
}

impl ResidencyArgs {
    /// What was asked for.
    pub(super) fn chosen(self) -> Option<Residency> {
        self.blocks.map(Residency::Blocks)
    }
}

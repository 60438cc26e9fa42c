//! Where committed values are, on the command line.

use clap::Args;
use runtime::AnyQueue;
use stark::{AnyStatement, PcsConfig, Protocol, ProveError, Residency, StatementProver};

/// Where committed values are while a proof is made. Proofs do not depend on it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ResidencyArgs {
    /// Cut every domain into N blocks, a power of two and at least the blow-up.
    ///
    /// The committed values of one block at a time are kept.
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Keep the coefficients of the columns in host memory too.
    ///
    /// `TREFOIL_MEM_LIMIT` does not bound host memory.
    #[arg(long, requires = "blocks")]
    host: bool,
}

impl ResidencyArgs {
    /// The residency given on the command line.
    pub(in crate::stark) fn chosen(self) -> Option<Residency> {
        self.blocks.map(if self.host { Residency::Host } else { Residency::Blocks })
    }

    /// A prover with the chosen residency, or with the fewest blocks that fit.
    pub(in crate::stark) fn prover<'s>(
        self,
        q: &AnyQueue,
        config: PcsConfig,
        statement: &'s AnyStatement,
    ) -> Result<StatementProver<'s, AnyQueue, AnyStatement>, ProveError> {
        match self.chosen() {
            Some(residency) => StatementProver::with_residency(q, Protocol::V2_3, config, statement, residency),
            None => StatementProver::new(q, Protocol::V2_3, config, statement),
        }
    }
}

//! `trefoil stark`: proofs of the AIRs that ship.

mod bench;
mod check;
mod file;
mod inspect;
mod machine;
mod npy;
mod options;
mod plan;
mod prove;
mod scale;
mod stages;
mod trace;
mod verify;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::files::NamedFile;

/// Circle-STARK proofs over Mersenne-31, byte for byte equal to stwo 2.3.
///
/// `prove` proves one of the computations that ship: of a given trace, or of one that it generates,
/// on the device if the computation allows it. `verify` checks the file and its statement.
/// `inspect` shows the contents of a file without checking it. `plan` computes the memory of a
/// proof. `bench` times every stage. `scale` models the time on several devices.
#[derive(Args, Debug)]
pub(crate) struct StarkArgs {
    #[command(subcommand)]
    pub(crate) command: StarkCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StarkCommand {
    Prove(prove::ProveArgs),
    Verify(verify::VerifyArgs),
    Inspect(inspect::InspectArgs),
    Plan(plan::PlanArgs),
    Bench(bench::StarkBenchArgs),
    Scale(scale::ScaleArgs),
}

impl StarkCommand {
    /// The files that it names.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        match self {
            Self::Prove(args) => args.files(),
            Self::Verify(args) => args.files(),
            Self::Inspect(args) => args.files(),
            Self::Scale(args) => args.files(),
            Self::Plan(_) | Self::Bench(_) => Vec::new(),
        }
    }

    /// Whether this process makes a proof together with others.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Prove(_)) && options::ranks::is_shared()
    }

    /// Whether it runs no op on a backend.
    pub(crate) const fn is_on_the_host(&self) -> bool {
        matches!(self, Self::Verify(_) | Self::Inspect(_) | Self::Plan(_))
    }
}

/// Runs the command.
pub(crate) fn run(command: &StarkCommand) -> Result<()> {
    match command {
        StarkCommand::Prove(args) => prove::run(args),
        StarkCommand::Verify(args) => verify::run(args),
        StarkCommand::Inspect(args) => inspect::run(args),
        StarkCommand::Plan(args) => plan::run(args),
        StarkCommand::Bench(args) => bench::run(args),
        StarkCommand::Scale(args) => scale::run(args),
    }
}

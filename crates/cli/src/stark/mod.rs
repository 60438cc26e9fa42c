//! `trefoil stark`: proofs of the AIRs that ship.

mod bench;
mod config;
mod file;
mod inspect;
mod known;
mod npy;
mod prove;
mod stages;
mod trace;
mod verify;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Circle-STARK proofs over Mersenne-31, byte for byte those of stwo 2.3.
///
/// `prove` makes a proof of one of the computations that ship, of a trace that it makes itself, on the device where the
/// computation allows it, or that is given. `verify` checks the file and what it claims to be a proof of. `inspect`
/// shows what a file holds without checking it. `bench` times every stage.
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
    Bench(bench::BenchArgs),
}

/// Runs the command.
pub(crate) fn run(command: &StarkCommand) -> Result<()> {
    match command {
        StarkCommand::Prove(args) => prove::run(args),
        StarkCommand::Verify(args) => verify::run(args),
        StarkCommand::Inspect(args) => inspect::run(args),
        StarkCommand::Bench(args) => bench::run(args),
    }
}

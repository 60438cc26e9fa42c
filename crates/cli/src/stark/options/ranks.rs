//! Processes that make one proof together, as a launcher of MPI starts them.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use backend_api::{CollectiveError, Ranks as _};
use clap::Args;
use collective::{Call, Message, PATIENCE, Staged, Transport as _};
use collective_mpi::Mpi;
use runtime::{Launch, OpenError};

use super::number::whole;
use crate::exit::{Relayed, UsageError};

/// How processes make one proof together that `mpirun` or another launcher of MPI started.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RanksArgs {
    /// Fail if another process does not reach an exchange in SECONDS, 1..=86400 [default: 600].
    ///
    /// Applies to the processes of an MPI launcher.
    #[arg(long, value_name = "SECONDS", value_parser = whole(1..=86_400))]
    patience: Option<u32>,
}

/// This process among others that make the same proof.
#[derive(Clone, Debug)]
pub(in crate::stark) struct ProverRank {
    pub(in crate::stark) launch: Launch,
    pub(in crate::stark) group: Arc<Staged<Mpi>>,
}

impl ProverRank {
    /// Whether this process writes the files and reports the result.
    pub(in crate::stark) const fn is_first(&self) -> bool {
        self.launch.rank == 0
    }
}

/// Whether this process is one of several that a launcher of MPI started.
pub(in crate::stark) fn is_shared() -> bool {
    // An invalid launcher variable is an error where it is used.
    runtime::launch().is_ok_and(|launch| launch.is_some_and(|launch| launch.ranks > 1))
}

/// Runs `make`, as a rank among others if a launcher of MPI started more processes than this.
///
/// If one of them fails, all do, and each reports why. All must have the same `options`.
pub(in crate::stark) fn run(
    args: RanksArgs,
    options: &[String],
    make: impl FnOnce(Option<&ProverRank>) -> Result<()>,
) -> Result<()> {
    let Some(launch) = runtime::launch().map_err(OpenError::from)?.filter(|launch| launch.ranks > 1) else {
        if args.patience.is_some() {
            let message = "`--patience` requires several processes started by an MPI launcher";
            return Err(UsageError(message.to_owned()).into());
        }
        return make(None);
    };
    let patience = args.patience.map_or(PATIENCE, |seconds| Duration::from_secs(seconds.into()));
    let name = || format!("rank {} of {}", launch.rank, launch.ranks);
    let mpi = join(launch, patience).with_context(name)?;
    let same = compare(&mpi, options);
    let place = ProverRank { launch, group: Arc::new(Staged::new(mpi)) };
    let made = same.map_err(anyhow::Error::from).and_then(|()| make(Some(&place)));
    made.with_context(name).map_err(|error| {
        place.group.give_up();
        // While the others are waited for: the launcher ends all when one has ended so.
        Relayed::tell(error).into()
    })
}

/// Joins the others.
fn join(launch: Launch, patience: Duration) -> Result<Mpi> {
    let mpi = Mpi::join(patience)?;
    let (rank, ranks) = (mpi.rank(), mpi.ranks());
    if (rank, ranks) != (launch.rank, launch.ranks) {
        bail!("MPI reports rank {rank} of {ranks}, unlike the launcher: use the launcher of this program's MPI");
    }
    Ok(mpi)
}

/// Checks that all ranks were started for the same proof as rank 0.
///
/// Fails on all ranks with the first rank that was not, and the options that differ.
fn compare(ranks: &Mpi, options: &[String]) -> Result<(), CollectiveError> {
    let words: Vec<u32> = options.join("\n").chars().map(u32::from).collect();
    let call = Call { name: "start", element: "options", lens: Vec::new() };
    let came = ranks.exchange(&call, Message::Same(&words))?;
    let of = |rank: usize| if rank == ranks.rank() { &words[..] } else { &came[rank] };
    let Some(rank) = (1..ranks.ranks()).find(|&rank| of(rank) != of(0)) else { return Ok(()) };
    let text = |rank: usize| -> String { of(rank).iter().copied().filter_map(char::from_u32).collect() };
    let [expected, got] = differing([&text(0), &text(rank)]);
    Err(CollectiveError::Disagrees { rank, expected, got })
}

/// The lines of each text that the other does not have, in one line.
fn differing([a, b]: [&str; 2]) -> [String; 2] {
    let without = |text: &str, other: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| !other.lines().any(|its| its == *line)).collect();
        if lines.is_empty() { "no such option".to_owned() } else { lines.join(" ") }
    };
    [without(a, b), without(b, a)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_differ_are_named() {
        let first = "--air plonk\n--seed 1\n--queries 80";
        let named = |second| differing([first, second]);
        assert_eq!(named("--air plonk\n--seed 2\n--queries 80"), ["--seed 1", "--seed 2"]);
        assert_eq!(named("--air plonk\n--seed 1\n--queries 80\n--lifting 9"), ["no such option", "--lifting 9"]);
    }
}

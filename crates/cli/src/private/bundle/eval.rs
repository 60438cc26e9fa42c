//! `trefoil pfss eval`: keys of a gate or function put to use, by one party or by both.

use core::time::Duration;
use std::{path::PathBuf, thread, time::Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::InferenceError;
use pfss::{Channel, KeyBundle, MemoryChannel, PfssError, Session, Shares, Traffic, memory_pair};
use runtime::{AnyQueue, Choice, Domain};

use super::{
    computation::Computation,
    folder::PartyFolder,
    report::EvaluationReport,
    rows,
    table::{self, ResultValues},
    values,
};
use crate::{
    exit::UsageError,
    files::NamedFile,
    output::OutputFile,
    private::{LimitArgs, accept, advance, kind::KeyPathKind, steps_bar},
};

/// The longest that a party waits for the other when both run in this process.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Evaluate keys of one gate or function, which uses them up, and show the first results.
///
/// By default it runs both parties and compares with the gate in the clear. That is for tests and
/// measurements, as this process then holds the inputs, splits them into shares, and opens the
/// results. With `--listen` or `--connect` it runs one party, on that party's shares of the inputs,
/// over TLS in which each side accepts only the other's certificate; it then shows and writes its
/// shares of the results, unopened.
#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    /// A folder that `gen` made; for one party, the folder `party0` or `party1` in it.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// The inputs, or this party's shares of them.
    ///
    /// `.npy` or text with integers, one for each element of the keys.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Run one party, and wait for the other at this address; port 0 takes any free port.
    #[arg(long, value_name = "ADDRESS", value_parser = super::super::address)]
    listen: Option<String>,
    /// Run one party, and connect to the other at this address.
    #[arg(long, value_name = "ADDRESS", value_parser = super::super::address, conflicts_with = "listen")]
    connect: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Write the results, or this party's shares of them, to FILE.
    ///
    /// `.npy` of 64-bit words: a row for each element, its words and then its bits as 0 or 1.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write rounds, bytes and times as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl EvalArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        let input = Some(NamedFile::read("--input", &self.input));
        let out = self.out.as_deref().map(|path| NamedFile::written("--out", path));
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        [input, out, json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(crate) fn run(args: &EvalArgs) -> Result<()> {
    let alone = args.listen.is_some() || args.connect.is_some();
    if alone { KeyPathKind::Gate } else { KeyPathKind::Gates }.expect(&args.keys)?;
    let out = args.out.as_deref().map(OutputFile::begin).transpose()?;
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;
    let done = if alone { one_party(args)? } else { both_parties(args)? };
    if let Some(out) = out {
        out.finish(&rows::npy(&done.rows)?)?;
    }
    table::print(&done.computation, &done.values, &done.rows, args.out.as_deref())?;
    done.report.print(json)
}

/// An evaluation.
struct Done {
    computation: Computation,
    values: ResultValues,
    rows: Vec<Vec<u64>>,
    report: EvaluationReport,
}

fn both_parties(args: &EvalArgs) -> Result<Done> {
    let open = || runtime::open_for(Domain::Pfss, args.backend);
    let queues = [open()?.0, open()?.0];
    let bar = steps_bar(3, "evaluate")?;
    advance(&bar, "read");
    let [zero, one] = PartyFolder::open_both(&args.keys)?;
    let x = inputs(args, &zero.computation, zero.count())?;
    check_range(&zero.computation, &x)?;
    let ring = zero.computation.ring();
    let mask: Vec<u64> = random_words(x.len())?.into_iter().map(|word| ring.reduce(word)).collect();
    let other: Vec<u64> = x.iter().zip(&mask).map(|(&x, &mask)| ring.sub(x, mask)).collect();

    let key_bytes = vec![zero.key_bytes(), one.key_bytes()];
    let (computation, zero) = zero.consume()?;
    let (_, one) = one.consume()?;
    advance(&bar, "walk key trees and open");
    let start = Instant::now();
    let [(zero, traffic), (one, _)] = side_by_side(&queues, &computation, [zero, one], [&mask, &other])?;
    let seconds = start.elapsed().as_secs_f64();
    advance(&bar, "compare");
    let [zero, one] = [zero, one].map(|shares| rows::of_party(x.len(), &shares));
    let rows = rows::open(&computation, [&zero, &one]);
    let mut report = EvaluationReport::new(&computation, x.len(), key_bytes, traffic, seconds);
    report.different = Some(x.iter().zip(&rows).filter(|&(&x, opened)| *opened != computation.eval(x)).count());
    bar.finish_and_clear();
    Ok(Done { computation, values: ResultValues::Opened(x), rows, report })
}

fn one_party(args: &EvalArgs) -> Result<Done> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let folder = PartyFolder::open(&args.keys)?;
    let (x, party) = (inputs(args, &folder.computation, folder.count())?, folder.party());
    let (key_bytes, endpoint) = (vec![folder.key_bytes()], folder.endpoint(args.limits.limits()));
    let mut channel = match (&args.connect, &args.listen) {
        (Some(address), _) => endpoint.connect(address.as_str()).map_err(InferenceError::from)?,
        (None, listen) => {
            let patience = Some(args.limits.limits().session);
            accept(&endpoint, listen.as_deref().unwrap_or_default(), patience)?
        }
    };
    let mut session = Session::new(&mut channel as &mut dyn Channel);
    let (computation, bundles) = folder.consume()?;
    let bar = steps_bar(1, "evaluate")?;
    bar.set_message("walk key trees and open");
    let start = Instant::now();
    let shares = computation.run(&mut session, &q, bundles, &x).map_err(InferenceError::from)?;
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let report = EvaluationReport::new(&computation, x.len(), key_bytes, session.traffic(), seconds);
    Ok(Done { computation, values: ResultValues::Shares(party), rows: rows::of_party(x.len(), &shares), report })
}

/// The inputs as elements of the gate's ring, one for each element.
fn inputs(args: &EvalArgs, computation: &Computation, count: usize) -> Result<Vec<u64>> {
    let x = values::read(&args.input, computation.ring())?;
    if x.len() == count {
        return Ok(x);
    }
    Err(UsageError(format!("expected {count} inputs (from the keys), got {}", x.len())).into())
}

/// Refuses inputs for which the gate's result is meaningless.
fn check_range(computation: &Computation, x: &[u64]) -> Result<()> {
    let (ring, range) = (computation.ring(), computation.inputs());
    match x.iter().map(|&x| ring.signed(x)).enumerate().find(|(_, x)| !(range.min()..=range.max()).contains(x)) {
        None => Ok(()),
        Some((at, _)) => {
            let (min, max) = (range.min(), range.max());
            Err(UsageError(format!("expected inputs in {min}..={max}, input {at} is out of range")).into())
        }
    }
}

/// Runs both parties, each with its own thread and queue.
///
/// Returns results only if both succeed.
fn side_by_side(
    queues: &[AnyQueue; 2],
    computation: &Computation,
    bundles: [Vec<KeyBundle>; 2],
    x: [&[u64]; 2],
) -> Result<[(Shares, Traffic); 2], InferenceError> {
    let (to_one, to_zero) = memory_pair(PATIENCE);
    let [zero, one] = bundles;
    let play = |mut channel: MemoryChannel, q: &AnyQueue, bundles: Vec<KeyBundle>, x: &[u64]| {
        let mut session = Session::new(&mut channel as &mut dyn Channel);
        let shares = computation.run(&mut session, q, bundles, x)?;
        Ok::<_, PfssError>((shares, session.traffic()))
    };
    let (zero, one) = thread::scope(|scope| {
        let other = scope.spawn(|| play(to_zero, &queues[1], one, x[1]));
        let mine = play(to_one, &queues[0], zero, x[0]);
        (mine, other.join().unwrap_or(Err(PfssError::Closed)))
    });
    match (zero, one) {
        (Ok(zero), Ok(one)) => Ok([zero, one]),
        // a lost channel is how the other party's failure appears here
        (Err(PfssError::Channel(_)), Err(error)) | (Err(error), _) | (_, Err(error)) => Err(error.into()),
    }
}

fn random_words(len: usize) -> Result<Vec<u64>> {
    let mut bytes = vec![0; len * 8];
    getrandom::fill(&mut bytes).context("asking the system for randomness")?;
    let word = |chunk: &[u8]| u64::from_le_bytes(core::array::from_fn(|i| chunk[i]));
    Ok(bytes.chunks_exact(8).map(word).collect())
}

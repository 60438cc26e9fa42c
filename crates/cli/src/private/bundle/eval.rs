use core::time::Duration;
use std::{
    io::{self, Write as _},
    net::TcpListener,
    path::PathBuf,
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::InferenceError;
use pfss::{Channel, KeyBundle, MemoryChannel, Operation, PfssError, Session, Traffic, batch::Shares, memory_pair};
use runtime::{AnyQueue, Choice, Domain};

use super::{folder::PartyFolder, report::Report, rows, values};
use crate::{
    exit::Usage,
    output::Output,
    private::{LimitArgs, advance, steps_bar},
};

/// No party waits longer for the other where both run in this process.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Evaluate keys of one gate, which are used up by it.
///
/// As both parties, and compare with the gate in the clear: for tests and measurements, as this process knows the inputs
/// then, and splits them into shares. With `--listen` or `--connect` as one party, on its shares of the inputs, over TLS
/// in which each side accepts the other's certificate alone.
#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    /// A folder that `gen` made; for one party its folder in it, `party0` or `party1`.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// The inputs, or this party's shares of them: `.npy` or text with integers, as many as were dealt for.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Run one party, and wait for the other here; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Run one party, and connect to the other there.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "listen")]
    connect: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Where to write the results, or this party's shares of them, `.npy` of 64-bit words: a row for each element, its
    /// words and then its bits as 0 or 1.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write rounds, bytes and times as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Runs the command.
pub(crate) fn run(args: &EvalArgs) -> Result<()> {
    let out = args.out.as_deref().map(Output::begin).transpose()?;
    let (rows, report) =
        if args.listen.is_some() || args.connect.is_some() { one_party(args)? } else { both_parties(args)? };
    if let Some(out) = out {
        out.finish(&rows::npy(&rows)?)?;
    }
    report.print(args.json.as_deref())
}

fn both_parties(args: &EvalArgs) -> Result<(Vec<Vec<u64>>, Report)> {
    let open = || runtime::open_for(Domain::Pfss, args.backend);
    let queues = [open()?.0, open()?.0];
    let bar = steps_bar(3, "evaluate")?;
    advance(&bar, "read");
    let [zero, one] = PartyFolder::open_both(&args.keys)?;
    let x = inputs(args, &zero.operation, zero.bundle.count())?;
    check_range(&zero.operation, &x)?;
    let ring = zero.operation.gate().ring();
    let mask: Vec<u64> = random_words(x.len())?.into_iter().map(|word| ring.reduce(word)).collect();
    let other: Vec<u64> = x.iter().zip(&mask).map(|(&x, &mask)| ring.sub(x, mask)).collect();

    let (operation, zero) = zero.consume()?;
    let (_, one) = one.consume()?;
    let key_bytes = zero.byte_len();
    advance(&bar, "walk key trees and open");
    let start = Instant::now();
    let [(zero, traffic), (one, _)] = side_by_side(&queues, &operation, [zero, one], [&mask, &other])?;
    let seconds = start.elapsed().as_secs_f64();
    advance(&bar, "compare");
    let [zero, one] = [zero, one].map(|shares| rows::of_party(x.len(), &shares));
    let opened = rows::open(&operation, [&zero, &one]);
    let mut report = Report::new(operation.gate(), x.len(), key_bytes, traffic, seconds);
    report.different = Some(x.iter().zip(&opened).filter(|&(&x, opened)| *opened != operation.eval(x)).count());
    bar.finish_and_clear();
    Ok((opened, report))
}

fn one_party(args: &EvalArgs) -> Result<(Vec<Vec<u64>>, Report)> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let folder = PartyFolder::open(&args.keys)?;
    let x = inputs(args, &folder.operation, folder.bundle.count())?;
    let (key_bytes, endpoint) = (folder.bundle.byte_len(), folder.endpoint(args.limits.limits()));
    let channel = match (&args.connect, &args.listen) {
        (Some(address), _) => endpoint.connect(address.as_str()),
        (None, listen) => {
            let address = listen.as_deref().unwrap_or_default();
            let listener = TcpListener::bind(address).with_context(|| format!("listening on {address}"))?;
            {
                let mut out = io::stdout().lock();
                writeln!(out, "listening on {}", listener.local_addr()?)?;
                out.flush()?;
            }
            let patience = Some(args.limits.limits().session);
            endpoint.accept(&listener, patience, |error| eprintln!("refused a connection: {error}"))
        }
    };
    let mut session = Session::new(channel.map_err(InferenceError::from)?);
    let (operation, bundle) = folder.consume()?;
    let start = Instant::now();
    let shares = evaluate(&mut session, &q, &operation, bundle, &x).map_err(InferenceError::from)?;
    let seconds = start.elapsed().as_secs_f64();
    let report = Report::new(operation.gate(), x.len(), key_bytes, session.traffic(), seconds);
    Ok((rows::of_party(x.len(), &shares), report))
}

/// The inputs as elements of the gate's ring, one for each element.
fn inputs(args: &EvalArgs, operation: &Operation, count: usize) -> Result<Vec<u64>> {
    let x = values::read(&args.input, operation.gate().ring())?;
    if x.len() == count {
        return Ok(x);
    }
    Err(Usage(format!("expected {count} inputs, as many as were dealt for, got {}", x.len())).into())
}

/// Refuses inputs for which the gate means nothing.
fn check_range(operation: &Operation, x: &[u64]) -> Result<()> {
    let (ring, range) = (operation.gate().ring(), operation.inputs());
    match x.iter().map(|&x| ring.signed(x)).enumerate().find(|(_, x)| !(range.min()..=range.max()).contains(x)) {
        None => Ok(()),
        Some((at, _)) => {
            let (min, max) = (range.min(), range.max());
            Err(Usage(format!("expected inputs in {min}..={max}, got another at {at}")).into())
        }
    }
}

/// One party's part.
fn evaluate<C: Channel>(
    session: &mut Session<C>,
    q: &AnyQueue,
    operation: &Operation,
    bundle: KeyBundle,
    x: &[u64],
) -> Result<Shares, PfssError> {
    match operation.task() {
        Some(task) => session.run(q, task, bundle, x).map(Shares::Words),
        None => session.suf(q, bundle, x).map(Shares::Suf),
    }
}

/// Both parties, each on a thread and a queue of its own. Nothing comes out unless both succeed.
fn side_by_side(
    queues: &[AnyQueue; 2],
    operation: &Operation,
    bundles: [KeyBundle; 2],
    x: [&[u64]; 2],
) -> Result<[(Shares, Traffic); 2], InferenceError> {
    let (to_one, to_zero) = memory_pair(PATIENCE);
    let [zero, one] = bundles;
    let play = |channel: MemoryChannel, q: &AnyQueue, bundle: KeyBundle, x: &[u64]| {
        let mut session = Session::new(channel);
        let shares = evaluate(&mut session, q, operation, bundle, x)?;
        Ok::<_, PfssError>((shares, session.traffic()))
    };
    let (zero, one) = thread::scope(|scope| {
        let other = scope.spawn(|| play(to_zero, &queues[1], one, x[1]));
        let mine = play(to_one, &queues[0], zero, x[0]);
        (mine, other.join().unwrap_or(Err(PfssError::Closed)))
    });
    match (zero, one) {
        (Ok(zero), Ok(one)) => Ok([zero, one]),
        // a lost channel is what the other's failure looks like from here
        (Err(PfssError::Channel(_)), Err(error)) | (Err(error), _) | (_, Err(error)) => Err(error.into()),
    }
}

fn random_words(len: usize) -> Result<Vec<u64>> {
    let mut bytes = vec![0; len * 8];
    getrandom::fill(&mut bytes).context("asking the system for randomness")?;
    let word = |chunk: &[u8]| u64::from_le_bytes(core::array::from_fn(|i| chunk[i]));
    Ok(bytes.chunks_exact(8).map(word).collect())
}

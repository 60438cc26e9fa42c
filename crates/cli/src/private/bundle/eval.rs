use core::time::Duration;
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use inference::InferenceError;
use nn_ops::io::{NpyArray, write_npy};
use pfss::{KeyBundle, MemoryChannel, Operation, PfssError, Session, Traffic, batch::Shares, memory_pair};
use runtime::{AnyQueue, Choice, Domain};
use serde::Serialize;

use super::{BundleFolder, outputs, values};
use crate::{
    demo::random_words,
    exit::Usage,
    private::{advance, steps_bar},
};

/// No party waits longer for the other, which runs in the same process.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Evaluate keys of one gate as both parties, and compare with the gate in the clear.
///
/// For tests and measurements: this process knows the inputs, and splits them into shares. The keys are used up.
#[derive(Args, Debug)]
pub(crate) struct EvalArgs {
    /// A folder that `gen` made; used up by the run.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// The inputs: `.npy` or text with integers, as many as elements were dealt for.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Where to write the results, `.npy` of 64-bit words, a row for each element: words, then bits as 0 or 1.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write rounds, bytes and times as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// What an evaluation took. Bytes, rounds and AES blocks are those of each party.
#[derive(Debug, Serialize)]
struct Report {
    gate: String,
    bits: u32,
    count: usize,
    rounds: u64,
    sent_bytes: u64,
    /// By the gate's formula; the run fails if it sent anything else.
    predicted_bytes: u64,
    key_bytes: u64,
    /// By the gate's formula.
    aes_blocks: u64,
    seconds: f64,
    elements_per_second: f64,
    /// Elements whose result is not that of the gate in the clear.
    different: usize,
}

/// Runs the command.
pub(crate) fn run(args: &EvalArgs) -> Result<()> {
    let open = || runtime::open_for(Domain::Pfss, args.backend);
    let queues = [open()?.0, open()?.0];
    let bar = steps_bar(3, "evaluate")?;
    advance(&bar, "read");
    let folder = BundleFolder::open(&args.keys)?;
    let x = inputs(&args.input, &folder.operation, folder.bundles[0].count())?;
    let ring = folder.operation.gate().ring();
    let mask: Vec<u64> = random_words(x.len())?.into_iter().map(|word| ring.reduce(word)).collect();
    let other: Vec<u64> = x.iter().zip(&mask).map(|(&x, &mask)| ring.sub(x, mask)).collect();

    let (operation, bundles) = folder.consume()?;
    let key_bytes = bundles[0].byte_len() as u64;
    advance(&bar, "walk key trees and open");
    let start = Instant::now();
    let [(zero, traffic), (one, _)] = both(&queues, &operation, bundles, [&mask, &other])?;
    let seconds = start.elapsed().as_secs_f64();
    advance(&bar, "compare");
    let opened = outputs::open(&operation, x.len(), [&zero, &one]);
    bar.finish_and_clear();

    let gate = operation.gate();
    let report = Report {
        gate: gate.kind().to_string(),
        bits: gate.n(),
        count: x.len(),
        rounds: traffic.rounds,
        sent_bytes: traffic.sent_bytes,
        predicted_bytes: gate.traffic(x.len()).0,
        key_bytes,
        aes_blocks: gate.cost().aes * x.len() as u64,
        seconds,
        elements_per_second: x.len() as f64 / seconds.max(f64::MIN_POSITIVE),
        different: x.iter().zip(&opened).filter(|&(&x, opened)| *opened != operation.eval(x)).count(),
    };
    if let Some(path) = &args.out {
        let shape = vec![opened.len(), opened.first().map_or(0, Vec::len)];
        let array = NpyArray { shape, data: opened.concat() };
        fs::write(path, write_npy(&array)?).with_context(|| format!("writing {}", path.display()))?;
    }
    report.print(args.json.as_deref())
}

/// The inputs as elements of the gate's ring, one for each element and all of them where the gate means something.
fn inputs(path: &Path, operation: &Operation, count: usize) -> Result<Vec<u64>> {
    let (ring, range) = (operation.gate().ring(), operation.inputs());
    let x = values::read(path, ring)?;
    if x.len() != count {
        return Err(Usage(format!("expected {count} inputs, as many as were dealt for, got {}", x.len())).into());
    }
    let inside = |&x: &u64| (range.min()..=range.max()).contains(&ring.signed(x));
    if let Some(index) = x.iter().position(|x| !inside(x)) {
        let (value, min, max) = (ring.signed(x[index]), range.min(), range.max());
        return Err(Usage(format!("expected inputs in {min}..={max}, got {value} at {index}")).into());
    }
    Ok(x)
}

/// Both parties, each on a thread and a queue of its own. Nothing comes out unless both succeed.
fn both(
    queues: &[AnyQueue; 2],
    operation: &Operation,
    bundles: [KeyBundle; 2],
    x: [&[u64]; 2],
) -> Result<[(Shares, Traffic); 2], InferenceError> {
    let (to_one, to_zero) = memory_pair(PATIENCE);
    let [zero, one] = bundles;
    let play = |channel: MemoryChannel, q: &AnyQueue, bundle, x: &[u64]| {
        let mut session = Session::new(channel);
        let shares = outputs::evaluate(&mut session, q, operation, bundle, x)?;
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

impl Report {
    /// Prints the report, writes it if asked to, and fails if the run was not what it should be.
    fn print(&self, json: Option<&Path>) -> Result<()> {
        let mut out = io::stdout().lock();
        let Self { gate, bits, count, rounds, sent_bytes, predicted_bytes, different, .. } = self;
        writeln!(out, "{gate} of {bits} bits on {count} elements")?;
        writeln!(out, "{rounds} rounds, {sent_bytes} bytes sent by each party, predicted {predicted_bytes}")?;
        writeln!(out, "{} bytes of keys and {} AES blocks for each party", self.key_bytes, self.aes_blocks)?;
        writeln!(
            out,
            "{:.3} s, {:.0} elements/s, both parties in one process",
            self.seconds, self.elements_per_second
        )?;
        writeln!(out, "against the gate in the clear: {different} of {count} elements differ")?;
        if let Some(path) = json {
            let text = serde_json::to_vec_pretty(self)?;
            fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        ensure!(sent_bytes == predicted_bytes, "sent {sent_bytes} bytes where {predicted_bytes} were predicted");
        ensure!(*different == 0, "{different} elements differ from the gate in the clear");
        Ok(())
    }
}

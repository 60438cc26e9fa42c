use std::{
    fs,
    io::{self, Write as _},
    num::NonZeroUsize,
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::InferenceError;
use pfss::{Dealer, Operation, Party, Ring};
use runtime::{Choice, Domain};

use super::{folder, gate_file::GateFile, values};
use crate::{
    exit::Usage,
    private::{advance, steps_bar},
};

/// Make keys of one gate for both parties.
///
/// The gate is given by its name and parameters, or by a file that says the same as JSON and can hold a descriptor:
/// piecewise polynomials with Boolean outputs. Whoever runs this must be trusted by both parties. Nothing is written
/// unless everything is.
#[derive(Args, Debug)]
pub(crate) struct GenArgs {
    /// The gate: relu, abs, truncate_reduce, gap_ars, lrs, ars, relu_ars or lut.
    #[arg(long, value_name = "NAME", required_unless_present = "file")]
    gate: Option<String>,
    /// Width of the inputs in bits; 64 if not given.
    #[arg(long, value_name = "N")]
    bits: Option<u32>,
    /// Bits to shift off, for truncate_reduce, gap_ars, lrs, ars and relu_ars.
    #[arg(long, value_name = "F")]
    shift: Option<u32>,
    /// Inputs are proven to lie in MIN..=MAX: for gap_ars, and for smaller keys of relu.
    #[arg(long, num_args = 2, value_names = ["MIN", "MAX"], allow_negative_numbers = true)]
    range: Option<Vec<i64>>,
    /// Width of the table's words in bits, for lut.
    #[arg(long, value_name = "N", requires = "table")]
    word_bits: Option<u32>,
    /// The table, for lut: `.npy` or text, a word for every input.
    #[arg(long, value_name = "FILE", requires = "word_bits")]
    table: Option<PathBuf>,
    /// A gate as JSON, such as the `gate.json` of other keys.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gate", "bits", "shift", "range", "word_bits", "table"])]
    file: Option<PathBuf>,
    /// Number of elements to evaluate with the keys.
    #[arg(long, value_name = "N")]
    count: NonZeroUsize,
    /// Folder to make, with `party0` and `party1` for the two parties in it.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Runs the command.
pub(crate) fn run(args: &GenArgs) -> Result<()> {
    let (file, operation) = gate(args)?;
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let bar = steps_bar(3, "make keys")?;
    let deal = || -> Result<_, InferenceError> { Ok(Dealer::from_os()?.deal(&q, operation.gate(), args.count.get())?) };
    let sizes = folder::write(&args.out, &file, deal, |step| advance(&bar, step))?;
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    for (party, bytes) in Party::BOTH.into_iter().zip(sizes) {
        writeln!(out, "{}  {bytes} bytes of keys, for {party} alone", folder::of_party(&args.out, party).display())?;
    }
    Ok(())
}

/// What the command line asks for.
fn gate(args: &GenArgs) -> Result<(GateFile, Operation)> {
    if let Some(path) = &args.file {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let file: GateFile = text.parse().with_context(|| format!("parsing {}", path.display()))?;
        let operation = file.operation().with_context(|| path.display().to_string())?;
        return Ok((file, operation));
    }
    let table = args.table.as_ref().zip(args.word_bits).map(|(path, bits)| {
        let ring = Ring::new(bits).ok_or_else(|| Usage(format!("expected 1 to 64 for --word-bits, got {bits}")))?;
        values::read(path, ring)
    });
    let file = GateFile {
        gate: args.gate.clone().unwrap_or_default(),
        bits: args.bits,
        shift: args.shift,
        range: args.range.as_deref().map(|ends| [ends[0], ends[1]]), // two by its declaration
        word_bits: args.word_bits,
        table: table.transpose()?,
        descriptor: None,
    };
    let operation = file.operation().map_err(|error| Usage(error.to_string()))?;
    Ok((file, operation))
}

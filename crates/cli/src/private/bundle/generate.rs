//! `trefoil pfss gen`: keys of a gate or function, dealt into folders.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::InferenceError;
use pfss::{Party, Ring};
use runtime::{Choice, Domain};

use super::{computation::Computation, descriptor::CoefficientChoice, folder, gate_file::GateFile, values};
use crate::{
    exit::UsageError,
    files,
    private::{advance, before_dealing, kind::folder_of, steps_bar},
};

/// Make keys of one gate or function for both parties.
///
/// Name it and its parameters, or give a JSON file with them, which can also hold a descriptor:
/// piecewise polynomials with Boolean outputs. Functions take numbers with 12 fraction bits in
/// rings of 64 bits, so 4096 is 1. Both parties must trust whoever runs this. Nothing is written
/// unless everything is.
///
/// Prints the digest of each folder, which `verify` prints again: if it reaches a party by a
/// different route than the folder, it shows whether the folder was changed.
#[derive(Args, Debug)]
pub(crate) struct GenArgs {
    /// The gate, such as relu, or the function, such as gelu.
    ///
    /// Gates: relu, abs, truncate_reduce, gap_ars, lrs, ars, relu_ars or lut. Functions: gelu,
    /// silu, neg_exp, reciprocal or rsqrt.
    #[arg(long, value_name = "NAME", required_unless_present = "file")]
    gate: Option<String>,
    /// Width of the inputs in bits; 64 if not given, and for functions.
    #[arg(long, value_name = "N")]
    bits: Option<u32>,
    /// Bits to shift off, for truncate_reduce, gap_ars, lrs, ars and relu_ars.
    #[arg(long, value_name = "F")]
    shift: Option<u32>,
    /// Inputs are proven to lie in MIN..=MAX.
    ///
    /// For gap_ars, and for smaller keys of relu and functions.
    #[arg(long, num_args = 2, value_names = ["MIN", "MAX"], allow_negative_numbers = true)]
    range: Option<Vec<i64>>,
    /// Width of the table's words in bits, for lut.
    #[arg(long, value_name = "N", requires = "table")]
    word_bits: Option<u32>,
    /// The table, for lut: `.npy` or text, a word for every input.
    #[arg(long, value_name = "FILE", requires = "word_bits")]
    table: Option<PathBuf>,
    /// Fraction bits of the result, for reciprocal and rsqrt; 12 if not given.
    ///
    /// Other functions have 12.
    #[arg(long, value_name = "F")]
    fraction: Option<u32>,
    /// Degree of a function's pieces, 1 to 3; 3 if not given.
    #[arg(long, value_name = "N")]
    degree: Option<u32>,
    /// Pieces to fit a function with, per octave for reciprocal and rsqrt; 16 and 4 if not given.
    #[arg(long, value_name = "N")]
    pieces: Option<u32>,
    /// Number of octaves, from 1/16 up, that the inputs of rsqrt may span; 12 if not given.
    #[arg(long, value_name = "N")]
    octaves: Option<u32>,
    /// How the coefficients of a function's piece are selected; masked_select if not given.
    #[arg(long, value_name = "MODE", value_enum)]
    coefficients: Option<CoefficientChoice>,
    /// A gate as JSON, such as the `gate.json` of other keys.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gate", "bits", "shift", "range", "word_bits", "table",
        "fraction", "degree", "pieces", "octaves", "coefficients"])]
    file: Option<PathBuf>,
    /// Number of elements to evaluate with the keys.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Folder to make, with `party0` and `party1` in it for the two parties.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Runs the command.
pub(crate) fn run(args: &GenArgs) -> Result<()> {
    let (file, computation) = gate(args)?;
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    before_dealing(&args.out)?;
    let bar = steps_bar(3, "make keys")?;
    let deal = || -> Result<_, InferenceError> { Ok(computation.deal(&q, args.count as usize)?) };
    let written = folder::write(&args.out, &file, deal, |step| advance(&bar, step))?;
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    for (party, folder::Written { bytes, digest }) in Party::BOTH.into_iter().zip(written) {
        let folder = folder_of(&args.out, party);
        writeln!(out, "{}  {bytes} bytes of keys, for {party} alone; digest {digest}", folder.display())?;
    }
    Ok(())
}

/// The gate or function given on the command line.
fn gate(args: &GenArgs) -> Result<(GateFile, Computation)> {
    if let Some(path) = &args.file {
        let text = files::read(path).with_context(|| format!("reading {}", path.display()))?;
        let file: GateFile = serde_json::from_slice(&text).with_context(|| format!("parsing {}", path.display()))?;
        let computation = file.computation().with_context(|| path.display().to_string())?;
        return Ok((file, computation));
    }
    let table = args.table.as_ref().zip(args.word_bits).map(|(path, bits)| {
        let ring =
            Ring::new(bits).ok_or_else(|| UsageError(format!("expected 1 to 64 for --word-bits, got {bits}")))?;
        values::read(path, ring)
    });
    let file = GateFile {
        gate: args.gate.clone().unwrap_or_default(),
        bits: args.bits,
        shift: args.shift,
        range: args.range.as_deref().map(|ends| [ends[0], ends[1]]), // two by its declaration
        word_bits: args.word_bits,
        table: table.transpose()?,
        fraction: args.fraction,
        degree: args.degree,
        pieces: args.pieces,
        octaves: args.octaves,
        coefficients: args.coefficients,
        descriptor: None,
    };
    let computation = file.computation().map_err(|error| UsageError(format!("{error:#}")))?;
    Ok((file, computation))
}

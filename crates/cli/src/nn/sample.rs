//! `trefoil nn sample`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use runtime::{Choice, Domain};

use super::text::{BYTES, TextDecoder, TextModel};
use crate::{
    exit::{UsageError, note},
    files::NamedFile,
    output::{OutputFile, print},
    queue::open,
    text::lines,
};

/// Continue a text with a model that `trefoil nn text train` wrote.
///
/// Each byte is drawn from the model's distribution given the bytes before it. Keys and values of
/// earlier bytes are cached. A model reads up to its context; beyond, it begins again with the last
/// half of that.
#[derive(Args, Debug)]
pub(crate) struct SampleArgs {
    /// The model: safetensors that `trefoil nn text train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The text to continue.
    #[arg(long, value_name = "TEXT")]
    prompt: String,
    /// Bytes to add.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    length: u32,
    /// Divisor of the scores, 0 or more; 0 takes the likeliest byte each time.
    #[arg(long, value_name = "X", default_value_t = 0.8)]
    temperature: f64,
    /// Draw from the K likeliest bytes [default: from all].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=BYTES as i64))]
    top_k: Option<u32>,
    /// Seed of the draws.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Write the prompt and its continuation to FILE, byte for byte.
    ///
    /// Without it they are printed, with terminal controls escaped and bytes that are not UTF-8
    /// replaced.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl SampleArgs {
    /// The files that it reads and writes.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let out = self.out.as_deref().map(|path| NamedFile::written("--out", path));
        [NamedFile::read("MODEL", &self.model)].into_iter().chain(out).collect()
    }

    fn check(&self) -> Result<(), UsageError> {
        if self.prompt.is_empty() {
            return Err(UsageError("`--prompt` must have at least one byte, got none".to_owned()));
        }
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            let got = self.temperature;
            return Err(UsageError(format!("`--temperature` must be finite and 0 or more, got {got}")));
        }
        Ok(())
    }
}

/// Runs the command.
pub(crate) fn run(args: &SampleArgs) -> Result<()> {
    args.check()?;
    let out = args.out.as_deref().map(OutputFile::begin_public).transpose()?;
    let tell = if out.as_ref().is_some_and(OutputFile::is_stdout) { note } else { print };
    let q = open(Domain::Nn, args.backend)?;
    let model = TextModel::read(&q, &args.model)?;

    let mut decoder = TextDecoder::new(&q, &model).context("setting up the model")?;
    let mut random = ChaCha8Rng::seed_from_u64(args.seed);
    let mut text = args.prompt.as_bytes().to_vec();
    let candidates = args.top_k.map_or(BYTES, |count| count as usize);
    for _ in 0..args.length {
        let scores = decoder.scores(&text)?;
        text.push(pick(&scores, args.temperature, candidates, &mut random)?);
    }

    match out {
        Some(out) => {
            out.finish(&text)?;
            tell(&format!("{} bytes after a prompt of {}\n", args.length, args.prompt.len()))
        }
        None => tell(&format!("{}\n", lines(&String::from_utf8_lossy(&text)))),
    }
}

/// Draws a byte from `softmax(scores / temperature)` over the `candidates` greatest scores.
///
/// Of equal scores the one of the lesser byte comes first. A temperature of 0 takes the first.
fn pick(scores: &[f32], temperature: f64, candidates: usize, random: &mut ChaCha8Rng) -> Result<u8> {
    ensure!(scores.iter().all(|score| score.is_finite()), "the model's scores are not finite: is its file damaged?");
    let mut order: Vec<u8> = (0..=u8::MAX).take(scores.len()).collect();
    let score = |byte: u8| f64::from(scores[usize::from(byte)]);
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a))); // stable
    order.truncate(candidates);
    let first = *order.first().context("a model without scores")?;
    if temperature == 0.0 {
        return Ok(first);
    }
    // Differences first: the greatest weight is 1, whatever the temperature.
    let weights: Vec<f64> = order.iter().map(|&byte| ((score(byte) - score(first)) / temperature).exp()).collect();
    let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64; // in [0, 1)
    let mut rest = uniform * weights.iter().sum::<f64>();
    for (&byte, weight) in order.iter().zip(&weights) {
        if rest < *weight {
            return Ok(byte);
        }
        rest -= weight;
    }
    Ok(first) // where rounding leaves a rest after the last weight
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(scores: &[f32], temperature: f64, candidates: usize) -> Vec<usize> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut counts = vec![0; scores.len()];
        for _ in 0..20_000 {
            counts[usize::from(pick(scores, temperature, candidates, &mut random).unwrap())] += 1;
        }
        counts
    }

    #[test]
    fn bytes_are_drawn_by_their_shares() {
        // Weights 1, 2, 4, 1 at temperature 1; 1, 4, 16, 1 at 1/2.
        let scores = [0.0, 2f32.ln(), 4f32.ln(), 0.0];
        for (temperature, candidates, weights) in
            [(1.0, 4, [1.0, 2.0, 4.0, 1.0]), (0.5, 4, [1.0, 4.0, 16.0, 1.0]), (1.0, 2, [0.0, 2.0, 4.0, 0.0])]
        {
            let total: f64 = weights.iter().sum();
            for (count, weight) in counts(&scores, temperature, candidates).into_iter().zip(weights) {
                // Five standard deviations of a share of 20,000 draws are below 0.018.
                assert!((count as f64 / 2e4 - weight / total).abs() < 0.018, "{temperature}: {count} {weight}");
            }
        }
    }

    #[test]
    fn without_temperature_or_choice_the_greatest_score_is_taken() {
        let scores = [1.0, 3.0, 3.0, 2.0];
        for (temperature, candidates) in [(0.0, 4), (1.0, 1), (1e-300, 1), (f64::MIN_POSITIVE, 1)] {
            assert_eq!(counts(&scores, temperature, candidates), [0, 20_000, 0, 0]);
        }
        let mut random = ChaCha8Rng::seed_from_u64(1);
        assert!(pick(&[0.0, f32::NAN], 0.0, 2, &mut random).is_err());
    }
}

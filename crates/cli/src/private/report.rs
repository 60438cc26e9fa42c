//! The cost of a private inference, measured by one party.

use std::io::{self, Write as _};

use anyhow::{Result, ensure};
use inference::{
    Model,
    party::{Inferred, Measured},
};
use pfss::{Party, Traffic};
use serde::{Deserialize, Serialize};

use crate::output::OutputFile;

/// What one party prints, and writes as JSON.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct PartyReport {
    model: String,
    count: usize,
    party: u8,
    pub(crate) rounds: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// Bytes predicted by the plan; the run fails if it sent any other number.
    pub(crate) predicted_bytes: u64,
    pub(crate) key_bytes: u64,
    /// The most bytes of keys that were in memory at once.
    key_memory_bytes: u64,
    seconds: f64,
    pub(crate) steps: Vec<Measured>,
    /// Images classified as labelled, for a client that has labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) correct: Option<usize>,
    /// Against the model in the clear, where the client was given the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<Difference>,
}

/// Logits on shares against logits in the clear.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Difference {
    /// Logits compared.
    pub(crate) logits: usize,
    /// Logits that differ.
    pub(crate) different: usize,
    /// The greatest difference, in units of the last place.
    greatest: u64,
}

impl Difference {
    pub(super) fn between(shares: &[u64], plain: &[u64]) -> Self {
        let distance = |(a, b): (&u64, &u64)| a.wrapping_sub(*b).cast_signed().unsigned_abs();
        let distances = || shares.iter().zip(plain).map(distance);
        Self {
            logits: plain.len(),
            different: distances().filter(|&distance| distance > 0).count() + plain.len().abs_diff(shares.len()),
            greatest: distances().max().unwrap_or(0),
        }
    }
}

impl PartyReport {
    pub(super) fn new(model: &Model, party: Party, planned: Traffic, key_bytes: u64, done: &Inferred) -> Self {
        Self {
            model: model.architecture().name().to_owned(),
            count: model.count(),
            party: party.number(),
            rounds: done.traffic.rounds,
            sent_bytes: done.traffic.sent_bytes,
            received_bytes: done.traffic.received_bytes,
            predicted_bytes: planned.sent_bytes,
            key_bytes,
            key_memory_bytes: done.key_memory_bytes,
            seconds: done.steps.iter().map(|step| step.seconds).sum(),
            steps: done.steps.clone(),
            correct: None,
            difference: None,
        }
    }

    /// Prints the report, writes it if asked to, and fails if the run was not what was planned.
    pub(super) fn print(&self, json: Option<OutputFile>) -> Result<()> {
        let mut out = io::stdout().lock();
        for step in &self.steps {
            let Measured { step, seconds, sent_bytes, rounds } = step;
            writeln!(out, "  {:>9.1} ms {sent_bytes:>10} bytes sent {rounds:>3} rounds  {step}", seconds * 1e3)?;
        }
        writeln!(out, "{} inputs by `{}`, party {}", self.count, self.model, self.party)?;
        writeln!(
            out,
            "{} rounds, {} bytes sent as predicted, {} received",
            self.rounds, self.sent_bytes, self.received_bytes
        )?;
        let Self { key_bytes, key_memory_bytes, seconds, .. } = self;
        writeln!(out, "{key_bytes} bytes of keys, at most {key_memory_bytes} in memory at once, {seconds:.3} s")?;
        if let Some(correct) = self.correct {
            writeln!(out, "accuracy {:.2} % ({correct} of {})", 1e2 * correct as f64 / self.count as f64, self.count)?;
        }
        if let Some(Difference { logits, different, greatest }) = &self.difference {
            writeln!(
                out,
                "against the model in the clear: {different} of {logits} logits differ, greatest {greatest}"
            )?;
        }
        if let Some(json) = json {
            json.finish(&serde_json::to_vec_pretty(self)?)?;
        }
        self.check()
    }

    /// Prints one line that begins with the name of the run.
    ///
    /// It fails if the run was not what was planned.
    pub(super) fn print_line(&self, run: &str) -> Result<()> {
        let Self { count, model, rounds, sent_bytes, received_bytes, seconds, .. } = self;
        writeln!(
            io::stdout(),
            "{run}: {count} inputs by `{model}`, {rounds} rounds, {sent_bytes} bytes sent as predicted, \
             {received_bytes} received, {seconds:.3} s"
        )?;
        self.check()
    }

    /// Fails if the run was not what was planned.
    fn check(&self) -> Result<()> {
        let (sent, predicted) = (self.sent_bytes, self.predicted_bytes);
        ensure!(sent == predicted, "expected {predicted} bytes sent (from the plan), got {sent}");
        let different = self.difference.as_ref().map_or(0, |difference| difference.different);
        ensure!(different == 0, "{different} logits differ from the model in the clear");
        Ok(())
    }
}

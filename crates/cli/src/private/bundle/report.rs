//! The cost of an evaluation, compared with the formulas of its gates.

use std::io::{self, Write as _};

use anyhow::{Result, ensure};
use pfss::Traffic;
use serde::Serialize;

use super::computation::Computation;
use crate::output::OutputFile;

/// The cost of an evaluation. Bytes, rounds and AES blocks are counted for each party.
#[derive(Debug, Serialize)]
pub(super) struct EvaluationReport {
    gate: String,
    bits: u32,
    count: usize,
    rounds: u64,
    sent_bytes: u64,
    /// By the gate's formula; the run fails if it sent anything else.
    predicted_bytes: u64,
    /// Of the file of each party that ran here.
    key_bytes: Vec<usize>,
    /// By the gate's formula.
    aes_blocks: u64,
    seconds: f64,
    elements_per_second: f64,
    /// Elements whose result differs from the gate in the clear, if both parties ran here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) different: Option<usize>,
}

impl EvaluationReport {
    pub(super) fn new(
        computation: &Computation,
        count: usize,
        key_bytes: Vec<usize>,
        traffic: Traffic,
        seconds: f64,
    ) -> Self {
        let [predicted_bytes, aes_blocks] = computation.cost(count);
        Self {
            gate: computation.name().to_owned(),
            bits: computation.ring().bits(),
            count,
            rounds: traffic.rounds,
            sent_bytes: traffic.sent_bytes,
            predicted_bytes,
            key_bytes,
            aes_blocks,
            seconds,
            elements_per_second: count as f64 / seconds.max(f64::MIN_POSITIVE),
            different: None,
        }
    }

    /// Prints the report, and writes it to `json` if given.
    ///
    /// Fails if the bytes sent or the results are not the expected ones.
    pub(super) fn print(&self, json: Option<OutputFile>) -> Result<()> {
        let mut out = io::stdout().lock();
        let Self { gate, bits, count, rounds, sent_bytes, predicted_bytes, .. } = self;
        writeln!(out, "{gate} of {bits} bits on {count} elements")?;
        writeln!(out, "{rounds} rounds, {sent_bytes} bytes sent by each party, predicted {predicted_bytes}")?;
        match self.key_bytes[..] {
            [zero, one] => writeln!(out, "{zero} bytes of keys of party 0, {one} of party 1")?,
            _ => writeln!(out, "{} bytes of keys", self.key_bytes.iter().sum::<usize>())?,
        }
        writeln!(out, "{} AES blocks for each party", self.aes_blocks)?;
        writeln!(out, "{:.3} s, {:.0} elements/s", self.seconds, self.elements_per_second)?;
        if let Some(different) = self.different {
            writeln!(out, "against the gate in the clear: {different} of {count} elements differ")?;
        }
        if let Some(json) = json {
            json.finish(&serde_json::to_vec_pretty(self)?)?;
        }
        ensure!(
            sent_bytes == predicted_bytes,
            "expected {predicted_bytes} bytes sent (as predicted), got {sent_bytes}"
        );
        let different = self.different.unwrap_or(0);
        ensure!(different == 0, "{different} elements differ from the gate in the clear");
        Ok(())
    }
}

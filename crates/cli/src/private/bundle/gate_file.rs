//! `gate.json`: what keys compute, in public words.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::descriptor::{CoefficientChoice, Descriptor};

/// What keys compute, as stated in `gate.json`: public, and the same for both parties.
///
/// `{"gate": "ars", "bits": 64, "shift": 12}` is a gate by name, `{"gate": "gelu"}` a function;
/// `{"gate": "suf", "descriptor": {..}}` is any function given in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GateFile {
    /// The name of an operation or function, or `suf`.
    ///
    /// One of [`Operation::NAMES`](pfss::Operation::NAMES) or
    /// [`NamedFunction::NAMES`](super::function::NamedFunction::NAMES), or `suf`.
    pub(super) gate: String,
    /// Ring width; 64 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shift: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<[i64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) word_bits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) table: Option<Vec<u64>>,
    /// Fraction bits of a function's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fraction: Option<u32>,
    /// Degree of a function's pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) degree: Option<u32>,
    /// Pieces of a function, or of each octave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pieces: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) octaves: Option<u32>,
    /// How the coefficients of a function's piece are selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) coefficients: Option<CoefficientChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) descriptor: Option<Descriptor>,
}

impl GateFile {
    pub(super) const NAME: &str = "gate.json";
    /// No such file is longer.
    pub(super) const MAX_BYTES: u64 = 1 << 24;

    /// Refuses parameters other than these.
    pub(super) fn only(&self, parameters: &[&str]) -> Result<()> {
        for (parameter, given) in [
            ("bits", self.bits.is_some()),
            ("shift", self.shift.is_some()),
            ("range", self.range.is_some()),
            ("word_bits", self.word_bits.is_some()),
            ("table", self.table.is_some()),
            ("fraction", self.fraction.is_some()),
            ("degree", self.degree.is_some()),
            ("pieces", self.pieces.is_some()),
            ("octaves", self.octaves.is_some()),
            ("coefficients", self.coefficients.is_some()),
            ("descriptor", self.descriptor.is_some()),
        ] {
            ensure!(!given || parameters.contains(&parameter), "expected no `{parameter}` for gate `{}`", self.gate);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        match serde_json::from_str::<GateFile>(text) {
            Err(error) => error.to_string(),
            Ok(file) => file.computation().unwrap_err().to_string(),
        }
    }

    #[test]
    fn what_a_file_says_is_what_the_gate_computes() {
        let text = r#"{"gate": "gap_ars", "bits": 20, "shift": 3, "range": [-99, 99]}"#;
        let file: GateFile = serde_json::from_str(text).unwrap();
        let computation = file.computation().unwrap();
        let gates = computation.gates();
        assert_eq!((gates.len(), gates[0].n(), gates[0].f()), (1, 20, 3));
        assert_eq!((computation.inputs().min(), computation.inputs().max()), (-99, 99));
        let again: GateFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
        assert_eq!(again, file);
    }

    #[test]
    fn files_that_say_no_gate_are_refused_by_name() {
        for (text, expected) in [
            ("", "EOF"),
            (r#"{"gate": "relu", "depth": 3}"#, "unknown field `depth`"),
            (r#"{"gate": "suf"}"#, "expected `descriptor` for gate `suf`, got none"),
            (r#"{"gate": "suf", "bits": 3}"#, "expected no `bits` for gate `suf`"),
            (r#"{"gate": "suf", "octaves": 3}"#, "expected no `octaves` for gate `suf`"),
            (r#"{"gate": "relu", "range": [3, 2]}"#, "3"),
            (r#"{"gate": "relu", "degree": 3}"#, "expected no `degree` for gate `relu`"),
            (
                r#"{"gate": "relu", "descriptor": {"bits": 8, "words": ["y"], "pieces": []}}"#,
                "expected no `descriptor`",
            ),
            (r#"{"gate": "suf", "descriptor": {"bits": 8, "words": ["y"], "pieces": []}}"#, "piece"),
            (r#"{"gate": "gelu", "shift": 3}"#, "expected no `shift` for gate `gelu`"),
            (r#"{"gate": "gelu", "octaves": 3}"#, "expected no `octaves` for gate `gelu`"),
            (r#"{"gate": "gelu", "fraction": 16}"#, "expected a result of 12 fraction bits for gelu, got 16"),
            (r#"{"gate": "silu", "bits": 32}"#, "expected a ring of 64 bits for silu, got 32"),
            (r#"{"gate": "rsqrt", "fraction": 25}"#, "expected a result of 1 to 24 fraction bits for rsqrt, got 25"),
            (r#"{"gate": "gelu", "range": [-16777217, 0]}"#, "expected a range within -16777216..=16777215"),
            (r#"{"gate": "gelu", "pieces": 3}"#, "pieces (a power of two)"),
            (r#"{"gate": "softmax"}"#, "softmax is not a gate"),
            (r#"{"gate": "tanh"}"#, "abs, truncate_reduce, gap_ars, lrs, ars, relu_ars, lut, gelu, silu, neg_exp"),
        ] {
            let message = refused(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}

use core::str::FromStr;

use pfss::{Operation, OperationError, Parameters, PfssError, SignedRange};
use serde::{Deserialize, Serialize};

use super::descriptor::Descriptor;

/// What keys compute, as `gate.json` says it: public, and the same for both parties.
///
/// `{"gate": "ars", "bits": 64, "shift": 12}` is a gate by name; `{"gate": "suf", "descriptor": {..}}` any function that
/// is given by pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GateFile {
    /// One of [`Operation::NAMES`], or `suf`.
    pub(super) gate: String,
    /// Ring width; 64 if it is not said.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) descriptor: Option<Descriptor>,
}

impl GateFile {
    pub(super) const NAME: &str = "gate.json";
    /// No such file is longer.
    pub(super) const MAX_BYTES: u64 = 1 << 24;
    const SUF: &str = "suf";

    /// The gate, checked.
    pub(super) fn operation(&self) -> Result<Operation, OperationError> {
        let Self { gate, bits, shift, range, word_bits, table, descriptor } = self;
        if gate == Self::SUF {
            let gate = Self::SUF;
            for (parameter, given) in [
                ("bits", bits.is_some()),
                ("shift", shift.is_some()),
                ("range", range.is_some()),
                ("word_bits", word_bits.is_some()),
                ("table", table.is_some()),
            ] {
                if given {
                    return Err(OperationError::Unused { gate, parameter });
                }
            }
            let missing = OperationError::Missing { gate, parameter: "descriptor" };
            return Ok(Operation::suf(descriptor.clone().ok_or(missing)?.program()?));
        }
        let range = range.map(|[min, max]| SignedRange::new(min, max)).transpose().map_err(PfssError::from)?;
        let (n, shift, word_bits, table) = (bits.unwrap_or(64), *shift, *word_bits, table.as_deref());
        let operation = Operation::named(gate, &Parameters { n, shift, range, word_bits, table })?;
        match descriptor {
            None => Ok(operation),
            Some(_) => {
                let gate = Operation::NAMES.into_iter().find(|name| name == gate).unwrap_or(Self::SUF);
                Err(OperationError::Unused { gate, parameter: "descriptor" })
            }
        }
    }
}

impl FromStr for GateFile {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        match text.parse::<GateFile>() {
            Err(error) => error.to_string(),
            Ok(file) => file.operation().unwrap_err().to_string(),
        }
    }

    #[test]
    fn what_a_file_says_is_what_the_gate_computes() {
        let file: GateFile = r#"{"gate": "gap_ars", "bits": 20, "shift": 3, "range": [-99, 99]}"#.parse().unwrap();
        let operation = file.operation().unwrap();
        assert_eq!((operation.gate().n(), operation.gate().f()), (20, 3));
        assert_eq!((operation.inputs().min(), operation.inputs().max()), (-99, 99));
        let again: GateFile = serde_json::to_string(&file).unwrap().parse().unwrap();
        assert_eq!(again, file);
    }

    #[test]
    fn files_that_say_no_gate_are_refused_by_name() {
        for (text, expected) in [
            ("", "EOF"),
            (r#"{"gate": "relu", "depth": 3}"#, "unknown field `depth`"),
            (r#"{"gate": "suf"}"#, "expected `descriptor` for gate `suf`, got none"),
            (r#"{"gate": "suf", "bits": 3}"#, "expected no `bits` for gate `suf`"),
            (r#"{"gate": "relu", "range": [3, 2]}"#, "3"),
            (
                r#"{"gate": "relu", "descriptor": {"bits": 8, "words": ["y"], "pieces": []}}"#,
                "expected no `descriptor`",
            ),
            (r#"{"gate": "suf", "descriptor": {"bits": 8, "words": ["y"], "pieces": []}}"#, "piece"),
        ] {
            let message = refused(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}

//! Piecewise polynomials with Boolean outputs as JSON.

use clap::ValueEnum;
use pfss::{
    PfssError, SignedRange,
    suf::{self, BoolExpr, BoolMode, CoeffMode, PredProgram, SufDesc, SufError, SufModes, SufProgram, SufSpec},
};
use serde::{Deserialize, Serialize};

/// A descriptor as JSON: the fields of [`SufSpec`], and how it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Descriptor {
    /// Ring width of input and output words.
    bits: u32,
    /// The greatest degree; by default the degree of the longest polynomial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    degree: Option<u32>,
    /// Names of the output words.
    #[serde(default)]
    words: Vec<String>,
    /// Names of the output bits.
    #[serde(default)]
    bools: Vec<String>,
    #[serde(default)]
    predicates: Vec<Predicate>,
    pieces: Vec<DescriptorPiece>,
    /// Bits that hold every input as a signed number; all of them if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_bits: Option<u32>,
    #[serde(default)]
    modes: Modes,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Predicate {
    Lt { beta: u64 },
    LtLow { f: u32, gamma: u64 },
    Msb,
    MsbAdd { c: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DescriptorPiece {
    start: u64,
    /// For each word, its coefficients, constant term first.
    #[serde(default)]
    polys: Vec<Vec<u64>>,
    #[serde(default)]
    bools: Vec<Formula>,
}

/// `{"and": [{"var": 0}, {"not": {"var": 1}}]}`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Formula {
    Const(bool),
    /// The predicate of this position.
    Var(usize),
    Not(Box<Formula>),
    Xor(Box<Formula>, Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Modes {
    predicates: Predicates,
    coefficients: CoefficientChoice,
    bools: Bools,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Predicates {
    #[default]
    SharedAlpha,
    StepDcf,
}

/// How the coefficients of a piece are selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(super) enum CoefficientChoice {
    StepDcf,
    IntervalLut,
    #[default]
    MaskedSelect,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Bools {
    Xor,
    #[default]
    Additive,
}

impl Descriptor {
    /// The program, checked.
    pub(super) fn program(self) -> Result<SufProgram, PfssError> {
        let longest = self.pieces.iter().flat_map(|piece| &piece.polys).map(Vec::len).max().unwrap_or(0);
        let (bits, inputs) = (self.bits, self.input_bits.unwrap_or(self.bits));
        let spec = SufSpec {
            n: bits,
            degree: self.degree.unwrap_or(u32::try_from(longest.saturating_sub(1)).unwrap_or(u32::MAX)),
            words: self.words,
            bools: self.bools,
            preds: self.predicates.into_iter().map(Into::into).collect(),
            pieces: self.pieces.into_iter().map(Into::into).collect(),
        };
        let modes = SufModes {
            preds: match self.modes.predicates {
                Predicates::SharedAlpha => PredProgram::SharedAlpha,
                Predicates::StepDcf => PredProgram::StepDcf,
            },
            coeffs: self.modes.coefficients.into(),
            bools: match self.modes.bools {
                Bools::Xor => BoolMode::XorPacked,
                Bools::Additive => BoolMode::Additive,
            },
        };
        let desc = SufDesc::new(spec)?;
        if !(1..=bits).contains(&inputs) {
            return Err(SufError::Bits { max: bits, got: inputs }.into());
        }
        Ok(SufProgram::within(desc, modes, SignedRange::of_bits(inputs))?)
    }
}

impl From<CoefficientChoice> for CoeffMode {
    fn from(coefficients: CoefficientChoice) -> Self {
        match coefficients {
            CoefficientChoice::StepDcf => Self::StepDcf,
            CoefficientChoice::IntervalLut => Self::IntervalLut,
            CoefficientChoice::MaskedSelect => Self::MaskedSelect,
        }
    }
}

impl From<Predicate> for suf::Pred {
    fn from(predicate: Predicate) -> Self {
        match predicate {
            Predicate::Lt { beta } => Self::Lt { beta },
            Predicate::LtLow { f, gamma } => Self::LtLow { f, gamma },
            Predicate::Msb => Self::Msb,
            Predicate::MsbAdd { c } => Self::MsbAdd { c },
        }
    }
}

impl From<DescriptorPiece> for suf::Piece {
    fn from(piece: DescriptorPiece) -> Self {
        Self { start: piece.start, polys: piece.polys, bools: piece.bools.into_iter().map(Into::into).collect() }
    }
}

/// The reader of JSON bounds the depth.
impl From<Formula> for BoolExpr {
    fn from(formula: Formula) -> Self {
        let of = |formula: Box<Formula>| Self::from(*formula);
        match formula {
            Formula::Const(value) => Self::Const(value),
            Formula::Var(index) => Self::Var(index),
            Formula::Not(a) => !of(a),
            Formula::Xor(a, b) => of(a) ^ of(b),
            Formula::And(a, b) => of(a) & of(b),
            Formula::Or(a, b) => of(a) | of(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_descriptor_can_be_said() {
        let text = r#"{"bits": 8, "words": ["y"], "bools": ["a", "b"], "input_bits": 7,
            "predicates": ["msb", {"lt": {"beta": 9}}, {"lt_low": {"f": 3, "gamma": 2}}, {"msb_add": {"c": 5}}],
            "pieces": [{"start": 0, "polys": [[1, 2, 3]], "bools": [
                {"xor": [{"var": 0}, {"or": [{"var": 1}, {"not": {"const": true}}]}]},
                {"and": [{"var": 2}, {"var": 3}]}]},
              {"start": 128, "polys": [[7]], "bools": [{"const": true}, {"var": 2}]}],
            "modes": {"predicates": "step_dcf", "coefficients": "interval_lut", "bools": "xor"}}"#;
        let descriptor: Descriptor = serde_json::from_str(text).unwrap();
        let again: Descriptor = serde_json::from_str(&serde_json::to_string(&descriptor).unwrap()).unwrap();
        assert_eq!(again, descriptor);
        let program = descriptor.program().unwrap();
        let modes =
            SufModes { preds: PredProgram::StepDcf, coeffs: CoeffMode::IntervalLut, bools: BoolMode::XorPacked };
        assert_eq!((program.modes(), program.desc().degree(), program.domain().bits()), (modes, 2, 7));
        let at = |x| (program.desc().eval(x).words[0], program.desc().eval(x).bools);
        assert_eq!(at(4), (1 + 8 + 48, vec![true, false]));
        assert_eq!(at(250), (7, vec![true, false]));
        assert_eq!(at(251), (7, vec![true, false]));
        assert_eq!(at(120), (((1 + 240 + 3 * 120 * 120) % 256) as u64, vec![false, false]));
        assert_eq!(at(125), (((1 + 250 + 3 * 125 * 125) % 256) as u64, vec![false, false]));
    }

    #[test]
    fn what_no_descriptor_may_say_is_refused() {
        let refused = |text: &str| serde_json::from_str::<Descriptor>(text).unwrap().program().unwrap_err().to_string();
        let piece = r#""words": ["y"], "pieces": [{"start": 0, "polys": [[1]]}]"#;
        assert!(refused(&format!(r#"{{"bits": 65, {piece}}}"#)).contains("65"));
        assert!(refused(&format!(r#"{{"bits": 8, "input_bits": 9, {piece}}}"#)).contains('9'));
        let deep = format!("{}{}{}", r#"{"not": "#.repeat(200), r#"{"var": 0}"#, "}".repeat(200));
        let text = format!(r#"{{"bits": 8, "bools": ["a"], "pieces": [{{"start": 0, "bools": [{deep}]}}]}}"#);
        assert!(serde_json::from_str::<Descriptor>(&text).unwrap_err().to_string().contains("recursion"));
    }
}

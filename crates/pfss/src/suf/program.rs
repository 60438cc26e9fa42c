//! A descriptor compiled for a choice of modes: its keys, rows and rounds.

use core_types::{MAX_PAYLOAD_WORDS, Ring};

use super::{
    SufDesc, SufError,
    boolean::{BoolPlan, StepFunction, narrow},
};
use crate::{
    Cost, SignedRange,
    answers::ComparisonProgram,
    tree::{KeyTree, cluster::Clusters},
};

/// How comparisons are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PredProgram {
    /// One comparison key of the mask answers all thresholds: they are part of the public points.
    #[default]
    SharedAlpha,
    /// One comparison key for each threshold, which it hides, and a shared wrap bit.
    ///
    /// SUF's own form, for comparison.
    StepDcf,
}

/// How the polynomial of the right piece is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CoeffMode {
    /// One payload key for each piece, with a hidden start. No round.
    ///
    /// The key hides the start of the piece and the change of the coefficients there. This is SUF's
    /// form, for comparison. Keys grow with pieces times degree times words.
    StepDcf,
    /// One payload key of the mask's powers. No round.
    IntervalLut,
    /// One comparison key, and one opened bit for each piece but the first.
    ///
    /// One round; the smallest keys.
    #[default]
    MaskedSelect,
}

/// The form of output bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BoolMode {
    /// XOR shares, 32 elements a word.
    XorPacked,
    /// Additive shares of 0 or 1.
    ///
    /// They come from [`CoeffMode::IntervalLut`]'s key where possible, otherwise from one opened
    /// bit each ([`SufProgram::opened_bools`]).
    #[default]
    Additive,
}

/// The choices that a descriptor leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SufModes {
    /// How comparisons are answered.
    pub preds: PredProgram,
    /// How the polynomial is selected.
    pub coeffs: CoeffMode,
    /// The form of output bits.
    pub bools: BoolMode,
}

/// A descriptor with its modes, compiled to key trees and rows of shares.
///
/// The shape of its keys, and of everything it sends, is a function of descriptor and modes. In
/// particular, zero coefficients, equal neighbours and pieces that a mask could make wrap around
/// are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SufProgram {
    desc: SufDesc,
    modes: SufModes,
    /// The ring of the bits that hold every input.
    domain: Ring,
    bools: BoolPlan,
    /// The step functions `1[x >= start]` of each piece but the first.
    ///
    /// They are for [`CoeffMode::MaskedSelect`].
    selectors: Vec<usize>,
    /// Whether output bits come from the payload key.
    local_bools: bool,
    classes: Vec<StepClass>,
}

/// The step functions of one number of low bits, and the thresholds they need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepClass {
    pub(crate) bits: u32,
    /// Positions of the step functions.
    pub(crate) steps: Vec<usize>,
    /// Distinct thresholds, in the order of the points or keys; 0 stands for the mask itself.
    pub(crate) thresholds: Vec<u64>,
}

/// How the coefficients of a program are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoefficientSelection {
    /// There is no output word, or one piece: nothing to select.
    None,
    /// By the given mode, among two or more pieces.
    By(CoeffMode),
}

impl SufProgram {
    /// The most conjunctions of shares.
    pub const MAX_ANDS: usize = 1024;

    /// Compiles `desc` for all inputs.
    ///
    /// # Errors
    /// [`SufError::Cap`] for [`CoeffMode::StepDcf`] with more than 8 words times coefficients, and
    /// above [`MAX_ANDS`](Self::MAX_ANDS) conjunctions.
    pub fn new(desc: SufDesc, modes: SufModes) -> Result<Self, SufError> {
        let n = desc.ring().bits();
        Self::with_bits(desc, modes, n)
    }

    /// Compiles `desc` for signed inputs in a proven range.
    ///
    /// Keys then compare only the low bits that hold the range, and cost correspondingly less. The
    /// value for any other input is arbitrary.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`SufError::Bits`] for a range that the ring does not hold.
    pub fn within(desc: SufDesc, modes: SufModes, inputs: SignedRange) -> Result<Self, SufError> {
        Self::with_bits(desc, modes, inputs.bits())
    }

    /// Compiles `desc` for signed inputs of `bits` bits.
    pub(super) fn with_bits(desc: SufDesc, modes: SufModes, bits: u32) -> Result<Self, SufError> {
        let n = desc.ring().bits();
        let domain = match Ring::new(bits) {
            Some(domain) if bits <= n => domain,
            _ => return Err(SufError::Bits { max: n, got: bits }),
        };
        let mut bools = BoolPlan::new(&desc, bits);
        let local_bools = modes.bools == BoolMode::Additive
            && modes.coeffs == CoeffMode::IntervalLut
            && bools.output_steps().all(|step| step.is_some_and(|step| step.bits == bits || step.toggles.is_empty()));
        let mut program =
            Self { desc, modes, domain, bools: BoolPlan::default(), selectors: vec![], local_bools, classes: vec![] };
        if program.selection() == CoefficientSelection::By(CoeffMode::MaskedSelect) {
            let starts = program.starts();
            program.selectors = starts[1..].iter().map(|&start| bools.step(StepFunction::from(bits, start))).collect();
        }
        for (what, max, got) in [
            ("conjunctions of shares", Self::MAX_ANDS, bools.ands()),
            ("payload words", MAX_PAYLOAD_WORDS, program.payload_words() as usize),
        ] {
            if got > max {
                return Err(SufError::Cap { what, max, got });
            }
        }
        program.bools = bools;
        program.classes = program.compile_classes();
        Ok(program)
    }

    /// The descriptor of the function.
    #[must_use]
    pub const fn desc(&self) -> &SufDesc {
        &self.desc
    }

    /// How.
    #[must_use]
    pub const fn modes(&self) -> SufModes {
        self.modes
    }

    /// The ring of the low bits that comparisons look at.
    #[must_use]
    pub const fn domain(&self) -> Ring {
        self.domain
    }

    /// Where each piece starts in the domain.
    pub(crate) fn starts(&self) -> Vec<u64> {
        let (n, k) = (self.desc.ring().bits(), self.domain.bits());
        self.desc.pieces().iter().map(|piece| narrow(n, k, piece.start)).collect()
    }

    /// Number of output bits of [`BoolMode::Additive`] with an opened bit each.
    ///
    /// The others come from the payload key.
    #[must_use]
    pub fn opened_bools(&self) -> usize {
        if self.modes.bools == BoolMode::Additive && !self.local_bools { self.desc.bools().len() } else { 0 }
    }

    /// Bits opened per element in each round after the opening of the masked input.
    #[must_use]
    pub fn rounds(&self) -> Vec<usize> {
        let mut rounds: Vec<usize> = self.bools.rounds.iter().map(|ands| 2 * ands.len()).collect();
        if self.opened_bools() > 0 {
            rounds.push(self.opened_bools());
        }
        match (rounds.first_mut(), self.selectors.len()) {
            (_, 0) => {}
            (Some(first), selectors) => *first += selectors,
            (None, selectors) => rounds.push(selectors),
        }
        rounds
    }

    fn compile_classes(&self) -> Vec<StepClass> {
        let mut widths: Vec<u32> = Vec::new();
        let used = |step: &StepFunction| !step.toggles.is_empty() && !self.local_bools;
        for step in self.bools.steps.iter().filter(|step| used(step)) {
            if !widths.contains(&step.bits) {
                widths.push(step.bits);
            }
        }
        let class = |bits: u32| {
            let of_class = |&at: &usize| self.bools.steps[at].bits == bits && used(&self.bools.steps[at]);
            let steps: Vec<usize> = (0..self.bools.steps.len()).filter(of_class).collect();
            let mut class = StepClass { bits, steps, thresholds: Vec::new() };
            let program = self.class_program(&class);
            class.thresholds = program.offsets().to_vec();
            class
        };
        widths.into_iter().map(class).collect()
    }

    /// The points of a class and how its step functions combine them.
    pub(crate) fn class_program(&self, class: &StepClass) -> ComparisonProgram {
        let ring = self.desc.ring();
        let domain = Ring::new(class.bits).unwrap_or(ring); // 1 <= bits <= n by the check of predicates
        let steps = class.steps.iter().map(|&at| &self.bools.steps[at]).map(|step| (step.initial, &step.toggles[..]));
        ComparisonProgram::steps(domain, ring, steps, self.modes.preds == PredProgram::SharedAlpha)
    }

    pub(crate) fn bools(&self) -> &BoolPlan {
        &self.bools
    }

    pub(crate) fn classes(&self) -> &[StepClass] {
        &self.classes
    }

    pub(crate) fn selectors(&self) -> &[usize] {
        &self.selectors
    }

    pub(crate) fn local_bools(&self) -> bool {
        self.local_bools
    }

    /// The step functions that the output bits are, for [`local_bools`](Self::local_bools).
    pub(crate) fn output_steps(&self) -> impl Iterator<Item = &StepFunction> {
        self.bools.output_steps().flatten()
    }

    /// Name of a descriptor whose results a device does not sum; `None` for all others.
    pub(crate) fn off_device(&self) -> Option<&'static str> {
        if !self.desc.bools().is_empty() {
            Some("a descriptor with output bits")
        } else if self.desc.words().is_empty() {
            Some("a descriptor without output words")
        } else if self.modes.preds == PredProgram::StepDcf && !self.classes.is_empty() {
            // The host adds the wrap bits to the bits of each threshold.
            Some("a descriptor with hidden thresholds")
        } else if self.selection() == CoefficientSelection::By(CoeffMode::StepDcf) {
            Some("a descriptor with hidden pieces")
        } else {
            None
        }
    }

    pub(crate) fn selection(&self) -> CoefficientSelection {
        if self.desc.words().is_empty() || self.desc.pieces().len() == 1 {
            CoefficientSelection::None
        } else {
            CoefficientSelection::By(self.modes.coeffs)
        }
    }

    /// Payload words of the coefficient trees; 0 if there are none.
    pub(crate) fn payload_words(&self) -> u32 {
        let powers = self.desc.degree() + 1;
        match self.selection() {
            CoefficientSelection::By(CoeffMode::StepDcf) => powers * self.desc.words().len() as u32, // at most 8 times 16
            CoefficientSelection::By(CoeffMode::IntervalLut) => powers,
            _ if self.local_bools && self.bools.steps.iter().any(|step| !step.toggles.is_empty()) => 1,
            _ => 0,
        }
    }

    /// The key trees: first for the classes, then for the coefficients.
    pub(crate) fn trees(&self) -> Vec<KeyTree> {
        let mut trees = Vec::new();
        for class in &self.classes {
            let keys = match self.modes.preds {
                PredProgram::SharedAlpha => 1,
                PredProgram::StepDcf => class.thresholds.len(),
            };
            trees.extend(vec![KeyTree::Cmp { bits: class.bits }; keys]);
        }
        let words = self.payload_words();
        trees.extend(vec![KeyTree::Dcf { bits: self.domain.bits(), words }; self.payload_keys()]);
        trees
    }

    /// Coefficient trees.
    pub(crate) fn payload_keys(&self) -> usize {
        match self.selection() {
            CoefficientSelection::By(CoeffMode::StepDcf) => self.desc.pieces().len(),
            _ => usize::from(self.payload_words() > 0),
        }
    }

    /// Offsets of the points of the payload key of [`CoeffMode::IntervalLut`].
    ///
    /// The key is evaluated at `x_hat` less each of these.
    pub(crate) fn payload_offsets(&self) -> Vec<u64> {
        let mut offsets = vec![0];
        if self.selection() == CoefficientSelection::By(CoeffMode::IntervalLut) {
            offsets.extend(&self.starts()[1..]);
        }
        if self.local_bools {
            offsets.extend(self.bools.steps.iter().flat_map(|step| step.toggles.iter().copied()));
        }
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    /// Shared rows after the trees.
    pub(crate) fn rows(&self) -> SufRows {
        let degree = self.desc.degree() as usize;
        let by = self.selection();
        let has_words = !self.desc.words().is_empty();
        let hidden = by == CoefficientSelection::By(CoeffMode::StepDcf);
        let wraps = |class: &StepClass| class.thresholds.iter().filter(|&&threshold| threshold > 0).count();
        SufRows {
            powers: if has_words && !hidden { degree.saturating_sub(1) } else { 0 },
            products: self.selectors.len() * (degree + 1),
            base: if hidden { self.payload_words() as usize } else { 0 },
            bools: self.opened_bools(),
            selectors: self.selectors.len(),
            ands: self.bools.ands(),
            wraps: match self.modes.preds {
                PredProgram::SharedAlpha => 0,
                PredProgram::StepDcf => self.classes.iter().map(wraps).sum(),
            },
        }
    }

    /// What one element costs each party besides keys.
    pub(crate) fn work(&self) -> Cost {
        let rounds = self.rounds();
        let cmp = |class: &StepClass| {
            let tree = KeyTree::Cmp { bits: class.bits };
            match self.modes.preds {
                PredProgram::SharedAlpha => Clusters::new(tree, &class.thresholds).aes(),
                PredProgram::StepDcf => class.thresholds.len() as u64 * tree.aes_per_point(),
            }
        };
        let payload = KeyTree::Dcf { bits: self.domain.bits(), words: self.payload_words() };
        let payload_aes = match (self.payload_words(), self.selection()) {
            (0, _) => 0,
            (_, CoefficientSelection::By(CoeffMode::StepDcf)) => {
                self.desc.pieces().len() as u64 * payload.aes_per_point()
            }
            _ => Clusters::new(payload, &self.payload_offsets()).aes(),
        };
        Cost {
            aes: self.classes.iter().map(cmp).sum::<u64>() + payload_aes,
            input_bits: self.desc.ring().bits().into(),
            masked_bits: rounds.iter().sum::<usize>() as u64,
            rounds: 1 + rounds.len() as u64,
            ..Cost::default()
        }
    }
}

/// Numbers of shared rows, in the order of the sections.
///
/// Words after the input mask come first, then bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SufRows {
    /// `(-r)^j` for `2 <= j <= degree`.
    pub(crate) powers: usize,
    /// `c_i (-r)^j` for each selector `i` and `0 <= j <= degree`.
    pub(crate) products: usize,
    /// Coefficients active before the first threshold, `[words][degree + 1]`.
    pub(crate) base: usize,
    /// Masks of the output bits, as words and as bits.
    pub(crate) bools: usize,
    /// Masks of the selectors.
    pub(crate) selectors: usize,
    /// Triples of conjunctions, three rows each.
    pub(crate) ands: usize,
    /// Whether a hidden threshold wrapped around.
    pub(crate) wraps: usize,
}

impl SufRows {
    pub(crate) const fn words(&self) -> u64 {
        (1 + self.powers + self.products + self.base + self.bools) as u64
    }

    pub(crate) const fn bits(&self) -> u64 {
        (self.selectors + 3 * self.ands + self.bools + self.wraps) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Gate,
        functions::{Accuracy, gelu},
    };

    /// A number with commas between thousands.
    fn grouped(number: u64) -> String {
        let digits = number.to_string();
        let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
        digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect()
    }

    /// The spline of the design, and its table in the documentation.
    #[test]
    fn the_gelu_spline_costs_what_the_design_and_the_documented_table_say() {
        let function = gelu(Accuracy::QUADRATIC_32).unwrap();
        let payload = 64 * (16 + 3 * 8) + 16 + 3 * 8;
        let table = [
            (CoeffMode::MaskedSelect, 944 + (2 + 33 * 3) * 8 + 4, 2 * 49 + 33 * 8 + 57, 34 * 57, 33),
            (CoeffMode::IntervalLut, payload + 2 * 8, 3 * (2 * 49 + 33 * 15 + 64) + 2 * 34, 34 * 194, 0),
            (CoeffMode::StepDcf, 34 * payload + 4 * 8, 34 * 194, 34 * 194, 0),
        ];
        for (coeffs, bytes, aes, alone, opened) in table {
            let modes = SufModes { coeffs, ..SufModes::default() };
            let gate = Gate::suf(SufProgram::new(function.desc().clone(), modes).unwrap());
            let Cost { key_bits, aes: got, masked_bits, .. } = gate.cost();
            assert_eq!((key_bits / 8, got, masked_bits), (bytes, aes, opened), "{coeffs:?}");
            let [bytes, aes, alone] = [bytes, aes, alone].map(grouped);
            let row = format!("| `{coeffs:?}` | {bytes} | {aes} | {alone} | {opened} |");
            assert!(include_str!("../../../../docs/pfss.md").contains(&row), "{row}");
        }
        // the function looks at the 25 bits that hold its inputs: two windows of 2^14 points
        let narrow = |coeffs| {
            let gates = function.gates(SufModes { coeffs, ..SufModes::default() }).unwrap();
            (gates.suf.key_bits_per_element() / 8, gates.suf.cost().aes)
        };
        let select = narrow(CoeffMode::MaskedSelect);
        assert_eq!(select, (320 + (2 + 33 * 3) * 8 + 4, 2 * 2 * 11 + 33 * 7 + 18));
        let lut = narrow(CoeffMode::IntervalLut);
        assert_eq!(lut, (1040 + 2 * 8, 3 * (2 * 2 * 11 + 33 * 14 + 25) + 2 * 34));
        let [(bytes, aes), (lut_bytes, lut_aes)] = [select, lut].map(|(bytes, aes)| (grouped(bytes), grouped(aes)));
        let sentence = format!("{bytes} bytes and {aes} AES blocks by `MaskedSelect`,\n{lut_bytes} and {lut_aes} by");
        assert!(include_str!("../../../../docs/pfss.md").contains(&sentence), "{sentence}");
    }
}

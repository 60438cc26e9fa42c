//! Gates with their public parameters, and the one place that accepts parameters.

mod cost;
pub(crate) mod kinds;
mod shape;

use std::sync::Arc;

use core_types::{MAX_PAYLOAD_WORDS, Ring};

pub(crate) use kinds::AnyGate;
use kinds::{suf::Suf, truncate::GapArs};
use shape::BoundsOfF;
pub(crate) use shape::{GateShape, HeaderParameters};

use crate::{GateKind, PfssError, suf::SufProgram, tree::KeyTree};

/// A gate with its public parameters.
///
/// The parameters decide the shape of its keys. None of them is secret.
///
/// ```
/// use pfss::Gate;
///
/// let shift = Gate::gap_ars(64, 12)?;
/// // A 12-bit comparison key (112 bytes), four words and one bit.
/// assert_eq!(shift.key_bits_per_element(), 8 * (112 + 4 * 8) + 1);
/// # Ok::<(), pfss::PfssError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    definition: AnyGate,
    parameters: HeaderParameters,
    ring: Ring,
    masked_outputs: bool,
}

impl Gate {
    /// The greatest degree of [`interval_powers`](Self::interval_powers).
    pub const MAX_DEGREE: u32 = MAX_PAYLOAD_WORDS as u32 - 1;
    /// The widest input of [`lut`](Self::lut) in bits.
    pub const MAX_LUT_BITS: u32 = 13;
    /// The most bits that can be masked per element by [`with_masks`](Self::with_masks).
    pub const MAX_MASKS: u32 = 1024;

    /// The same gate with masked outputs: `y + r_out` for each output word `y`.
    ///
    /// The uniform mask `r_out` is known to the dealer only. The output shares are meant to be
    /// opened; the opened word is the masked input of keys that
    /// [`Dealer::deal_wired`](crate::Dealer::deal_wired) makes for it. Costs one word for each
    /// output word.
    ///
    /// Without it, output shares add up to `y` itself and must not be opened unless `y` may be
    /// known. Output bits are never masked.
    ///
    /// # Errors
    /// [`PfssError::NoOutputWords`] for predicates, powers on intervals, and descriptors of bits
    /// alone.
    pub fn with_masked_outputs(self) -> Result<Self, PfssError> {
        if self.output_words() == 0 {
            return Err(PfssError::NoOutputWords { got: self.kind() });
        }
        Ok(Self { masked_outputs: true, ..self })
    }

    /// Keys for [`Predicate`](crate::Predicate)s over the whole of an `n`-bit `x`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `1..=64`.
    pub fn full_predicates(n: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::FullPredicates, n, HeaderParameters::default())
    }

    /// Keys for sign predicates of an `n`-bit `x`, in particular DReLU.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`.
    pub fn sign_predicates(n: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::SignPredicates, n, HeaderParameters::default())
    }

    /// Keys for predicates of the low `f` bits of an `n`-bit `x`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`, [`PfssError::Shift`] unless `1 <= f < n`.
    pub fn low_predicates(n: u32, f: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::LowPredicates, n, HeaderParameters { f, ..HeaderParameters::default() })
    }

    /// The same predicate keys with `masks` masked bits per element.
    ///
    /// Up to `masks` predicates can then be turned into additive shares.
    ///
    /// # Errors
    /// [`PfssError::Cap`] above [`MAX_MASKS`](Self::MAX_MASKS) and for gates that are not
    /// predicates.
    pub fn with_masks(self, masks: u32) -> Result<Self, PfssError> {
        let (kind, max) = (self.kind(), self.kind().bounds().masks);
        if masks > max {
            return Err(PfssError::Cap { kind, what: "masked bits", max, got: masks });
        }
        // a descriptor is more than its parameters, and has no masks to change
        let parameters = HeaderParameters { masks, ..self.parameters };
        Ok(Self { definition: kind.with(parameters).unwrap_or(self.definition), parameters, ..self })
    }

    /// `max(x, 0)` for an `n`-bit `x` read as signed. Exact for every `x`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`.
    pub fn relu(n: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::Relu, n, HeaderParameters::default())
    }

    /// `max(x, 0)` for an `n`-bit `x` that is proven to be a signed integer of `bits` bits.
    ///
    /// The key compares only these bits. Evaluation requires the proof.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`, [`PfssError::Shift`] unless `2 <= bits <= n`.
    pub fn relu_within(n: u32, bits: u32) -> Result<Self, PfssError> {
        let all = Self::relu(n)?;
        match bits {
            0 | 1 => Err(PfssError::Shift { kind: GateKind::Relu, max: n, got: bits }),
            _ if bits == n => Ok(all),
            _ => Self::checked(GateKind::Relu, n, HeaderParameters { f: bits, ..HeaderParameters::default() }),
        }
    }

    /// `floor(x / 2^f)` as an element of the ring of `n - f` bits. Exact for every `x`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`, [`PfssError::Shift`] unless `1 <= f < n`.
    pub fn truncate_reduce(n: u32, f: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::TruncateReduce, n, HeaderParameters { f, ..HeaderParameters::default() })
    }

    /// `floor(x / 2^f)` for an `n`-bit `x` read as signed, within a proven range.
    ///
    /// Evaluation requires a [`GapCert`](crate::GapCert).
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `3..=64`, [`PfssError::Shift`] unless `1 <= f <= n - 2`.
    pub fn gap_ars(n: u32, f: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::GapArs, n, HeaderParameters { f, ..HeaderParameters::default() })
    }

    /// [`gap_ars`](Self::gap_ars) with the result in a ring of `out` bits, `n <= out <= 64`.
    ///
    /// A proven range then saves bytes: the input is opened in the smallest ring that it leaves a
    /// gap in, and the result has all bits for the gates after it. The rows of keys and the rounds
    /// are the same. The identity of the shift holds over the integers (SIGMA, PETS 2024, section
    /// 4.2), so its words are shared modulo `2^out`.
    ///
    /// ```
    /// use pfss::{Dealer, Gate, SignedRange, Task, run_lockstep};
    ///
    /// // The shares 2^20 - 8 and 5 of -3 have 20 bits; shares of its half, rounded down, have 64.
    /// let gate = Gate::gap_ars_to(20, 1, 64)?;
    /// let cert = SignedRange::new(-9, 9)?.gap_cert(20)?;
    /// let q = runtime::cpu()?;
    /// let bundles = Dealer::from_os()?.deal(&q, &gate, 1)?;
    /// let y = run_lockstep(&q, Task::GapArs(cert), bundles, [&[(1 << 20) - 8], &[5]])?;
    /// assert_eq!(y[0].words[0].wrapping_add(y[1].words[0]), -2i64 as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`gap_ars`](Self::gap_ars), and [`PfssError::RingWidth`] for other widths `out`.
    pub fn gap_ars_to(n: u32, f: u32, out: u32) -> Result<Self, PfssError> {
        let kind = GateKind::GapArs;
        match out {
            // in parameters, 0 stands for the width of the input
            0 => Err(PfssError::RingWidth { kind, min: n, max: 64, got: 0 }),
            _ => Self::checked(kind, n, HeaderParameters { f, out, ..HeaderParameters::default() }),
        }
    }

    /// The same gap shift in one round, with larger keys.
    ///
    /// The carry comes from a comparison key with a payload (Boyle et al., EUROCRYPT 2021), so that
    /// nothing is opened after the masked input. The key takes 24 bytes for each bit shifted off,
    /// and 24 more. Results are the same.
    ///
    /// ```
    /// use pfss::Gate;
    ///
    /// let shift = Gate::gap_ars(64, 12)?;
    /// let (two, one) = (shift.cost(), shift.in_one_round()?.cost());
    /// assert_eq!((two.rounds, one.rounds), (2, 1));
    /// assert_eq!((two.key_bits, one.key_bits), (8 * 144 + 1, 8 * (12 * 24 + 24 + 3 * 8)));
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    ///
    /// # Errors
    /// [`PfssError::Kind`] for other gates than a gap shift.
    pub fn in_one_round(self) -> Result<Self, PfssError> {
        match self.definition {
            AnyGate::GapArs(shift) => {
                let parameters = HeaderParameters { degree: 1, ..self.parameters };
                Ok(Self { definition: AnyGate::GapArs(GapArs { one_round: true, ..shift }), parameters, ..self })
            }
            other => Err(PfssError::Kind { expected: GateKind::GapArs, got: other.kind() }),
        }
    }

    /// `floor(x / 2^f)` for an `n`-bit `x` read as unsigned.
    ///
    /// Exact for every `x`, at the price of a comparison of all bits; where a bound is proven,
    /// [`gap_ars`](Self::gap_ars) avoids it.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`, [`PfssError::Shift`] unless `1 <= f < n`.
    pub fn lrs(n: u32, f: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::Lrs, n, HeaderParameters { f, ..HeaderParameters::default() })
    }

    /// `floor(x / 2^f)` for an `n`-bit `x` read as signed. Exact for every `x`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`, [`PfssError::Shift`] unless `1 <= f < n`.
    pub fn ars(n: u32, f: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::Ars, n, HeaderParameters { f, ..HeaderParameters::default() })
    }

    /// `floor(max(x, 0) / 2^f)` for an `n`-bit `x` read as signed.
    ///
    /// Exact for every `x`, in the same number of rounds as ReLU or the shift alone.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `2..=64`, [`PfssError::Shift`] unless `1 <= f < n`.
    pub fn relu_ars(n: u32, f: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::ReluArs, n, HeaderParameters { f, ..HeaderParameters::default() })
    }

    /// `table[x]` for an `n`-bit `x` and a public table of `2^n` words of `out` bits.
    ///
    /// The table is given to the evaluation.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] unless `1 <= n <= MAX_LUT_BITS` and `1 <= out <= 64`.
    pub fn lut(n: u32, out: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::Lut, n, HeaderParameters { f: out, ..HeaderParameters::default() })
    }

    /// `x y` for two secrets of `n` bits, from one triple (Beaver, CRYPTO 1991).
    ///
    /// Exact modulo `2^n`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `1..=64`.
    pub fn product(n: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::Product, n, HeaderParameters::default())
    }

    /// Additive shares of `1[x in I] * (-r)^j` for public intervals `I`.
    ///
    /// `r` is the mask of `x`, and `0 <= j <= degree`. No round is needed after the opening of the
    /// masked `x`.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] outside `1..=64`, [`PfssError::Cap`] above
    /// [`MAX_DEGREE`](Self::MAX_DEGREE).
    pub fn interval_powers(n: u32, degree: u32) -> Result<Self, PfssError> {
        Self::checked(GateKind::IntervalPowers, n, HeaderParameters { degree, ..HeaderParameters::default() })
    }

    /// The function of a descriptor. One bundle serves all its output words and bits.
    #[must_use]
    pub fn suf(program: SufProgram) -> Self {
        let (ring, degree) = (program.desc().ring(), program.desc().degree());
        let parameters = HeaderParameters { degree, ..HeaderParameters::default() };
        Self { definition: AnyGate::Suf(Suf::new(program)), parameters, ring, masked_outputs: false }
    }

    /// The one place that accepts parameters, from callers and from bundle headers alike.
    ///
    /// Descriptors come with their programs instead.
    pub(crate) fn checked(kind: GateKind, n: u32, parameters: HeaderParameters) -> Result<Self, PfssError> {
        let bounds = kind.bounds();
        let (min, max) = (*bounds.ring.start(), *bounds.ring.end());
        let ring = match Ring::new(n) {
            Some(ring) if bounds.ring.contains(&n) => ring,
            _ => return Err(PfssError::RingWidth { kind, min, max, got: n }),
        };
        let HeaderParameters { f, degree, masks, out } = parameters;
        let shift = |max: u32, allowed: bool| {
            if allowed { Ok(()) } else { Err(PfssError::Shift { kind, max, got: f }) }
        };
        match bounds.f {
            BoundsOfF::Nothing => shift(0, f == 0)?,
            BoundsOfF::LowBits { left } => shift(n - left, (1..=n - left).contains(&f))?, // the ring has more bits
            BoundsOfF::Narrow => shift(0, f == 0 || (2..n).contains(&f))?,
            BoundsOfF::Words if Ring::new(f).is_none() => {
                return Err(PfssError::RingWidth { kind, min: 1, max: 64, got: f });
            }
            BoundsOfF::Words => {}
        }
        for (what, got, max) in [("the degree", degree, bounds.degree), ("masked bits", masks, bounds.masks)] {
            if got > max {
                return Err(PfssError::Cap { kind, what, max, got });
            }
        }
        match out {
            0 => {}
            _ if !bounds.widens => {
                return Err(PfssError::Cap { kind, what: "bits of wider results", max: 0, got: out });
            }
            _ if !(n..=64).contains(&out) => return Err(PfssError::RingWidth { kind, min: n, max: 64, got: out }),
            _ => {}
        }
        let parameters = HeaderParameters { out: if out == n { 0 } else { out }, ..parameters };
        let definition = kind.with(parameters).ok_or(PfssError::Program)?;
        Ok(Self { definition, parameters, ring, masked_outputs: false })
    }

    /// The kind of the gate, with its parameters.
    pub(crate) const fn definition(&self) -> &AnyGate {
        &self.definition
    }

    /// The shape of the gate.
    pub(crate) fn shape(&self) -> &dyn GateShape {
        self.definition.shape()
    }

    /// The program of [`suf`](Self::suf); none for other gates.
    #[must_use]
    pub fn program(&self) -> Option<&Arc<SufProgram>> {
        self.shape().program()
    }

    /// The kind of the gate.
    #[must_use]
    pub const fn kind(&self) -> GateKind {
        self.definition.kind()
    }

    /// The ring of the input.
    #[must_use]
    pub const fn ring(&self) -> Ring {
        self.ring
    }

    /// Width of the input in bits.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.ring.bits()
    }

    /// Refuses inputs of another ring.
    pub(crate) fn check_ring(&self, ring: Ring) -> Result<(), PfssError> {
        check_ring(ring, self.ring)
    }

    /// The ring of the output, or of each of several outputs.
    #[must_use]
    pub fn out_ring(&self) -> Ring {
        self.shape().out_ring(self.ring)
    }

    /// Whether output words are hidden by masks known to the dealer only.
    #[must_use]
    pub const fn masks_outputs(&self) -> bool {
        self.masked_outputs
    }

    /// Number of output words of an element that can be masked.
    ///
    /// It is 0 for predicates and for powers on intervals: their number of words depends on the
    /// predicates or intervals evaluated.
    #[must_use]
    pub fn output_words(&self) -> usize {
        self.shape().output_words()
    }

    /// Number of secrets of an element, each with its own mask.
    ///
    /// Their rows of masks come before all other rows.
    pub(crate) fn inputs(&self) -> usize {
        self.shape().inputs()
    }

    /// The row of additive shares that holds the mask of the first output word.
    ///
    /// The masks of the other words follow. `None` if outputs are not masked.
    pub(crate) fn output_mask_row(&self) -> Option<u32> {
        self.masked_outputs.then(|| self.own_word_rows() as u32)
    }

    /// The ring of row `row` of the additive shares.
    pub(crate) fn word_ring(&self, row: usize) -> Ring {
        let output = self.output_mask_row().is_some_and(|first| row >= first as usize);
        if output { self.out_ring() } else { self.shape().word_ring(self.ring, row) }
    }

    /// The byte `f` of the bundle header.
    ///
    /// It is the number of bits that a shift drops, the number of low bits that
    /// [predicates](Self::low_predicates) compare, the number of bits that [hold the
    /// input](Self::relu_within) of a ReLU unless these are all, or the width of a [table's
    /// words](Self::lut). 0 for gates that have none of these.
    #[must_use]
    pub fn f(&self) -> u32 {
        self.parameters.f
    }

    /// The width of output words if it is more than [`n`](Self::n), else 0; a byte of the header.
    pub(crate) fn wider_out(&self) -> u32 {
        self.parameters.out
    }

    /// The highest power of [`interval_powers`](Self::interval_powers) or of a descriptor.
    ///
    /// It is 1 for a gap shift [in one round](Self::in_one_round), and 0 for other gates.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.parameters.degree
    }

    /// Masked bits per element for predicates with additive results; 0 for other gates.
    #[must_use]
    pub fn masks(&self) -> u32 {
        self.parameters.masks
    }

    /// The key trees, in the order of the sections.
    pub(crate) fn trees(&self) -> Vec<KeyTree> {
        self.shape().trees(self.ring)
    }

    /// Words of a tree's payload; 0 if no tree has one.
    pub(crate) fn payload_words(&self) -> u64 {
        self.trees().iter().map(|tree| tree.rows().last).max().unwrap_or(0)
    }

    /// Rows of additive shares: input mask `[r]`, the gate's own rows, output masks.
    pub(crate) fn word_rows(&self) -> u64 {
        self.own_word_rows() + if self.masked_outputs { self.output_words() as u64 } else { 0 }
    }

    /// Rows of additive shares before the masks of outputs.
    fn own_word_rows(&self) -> u64 {
        1 + self.shape().word_rows()
    }

    /// Rows of XOR shares.
    pub(crate) fn bit_rows(&self) -> u64 {
        self.shape().bit_rows()
    }

    /// A digest of all public parameters, in the bundle header and in every message of a session.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(if self.masked_outputs { b"pfss gate v1 masked outputs" } else { &b"pfss gate v1"[..] });
        hasher.update(&[self.kind().number()]);
        let HeaderParameters { f, degree, masks, out } = self.parameters;
        // a gate in one ring has no parameter for its output
        let wider = (out != 0).then_some(out);
        for parameter in [self.n(), f, degree, masks].into_iter().chain(wider) {
            hasher.update(&parameter.to_le_bytes());
        }
        if let Some(program) = self.program() {
            hasher.update(&program.to_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// Refuses keys for inputs of the ring `keys` if the caller's are of another ring.
pub(crate) fn check_ring(inputs: Ring, keys: Ring) -> Result<(), PfssError> {
    let (expected, got) = (inputs.bits(), keys.bits());
    if expected == got { Ok(()) } else { Err(PfssError::KeyRing { expected, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_outside_the_definition_are_refused() {
        assert!(matches!(Gate::relu(1), Err(PfssError::RingWidth { min: 2, got: 1, .. })));
        assert!(matches!(Gate::full_predicates(65), Err(PfssError::RingWidth { got: 65, .. })));
        for (n, f) in [(8, 0), (8, 8), (64, 64)] {
            for gate in [Gate::truncate_reduce, Gate::lrs, Gate::ars, Gate::relu_ars] {
                assert!(matches!(gate(n, f), Err(PfssError::Shift { .. })));
            }
        }
        assert_eq!(Gate::relu_within(8, 8), Gate::relu(8));
        for bits in [0, 1, 9] {
            assert!(matches!(Gate::relu_within(8, bits), Err(PfssError::Shift { .. })));
        }
        assert!(Gate::gap_ars(8, 6).is_ok());
        assert!(matches!(Gate::gap_ars(8, 7), Err(PfssError::Shift { max: 6, got: 7, .. })));
        assert_eq!(Gate::gap_ars_to(8, 6, 8), Gate::gap_ars(8, 6));
        assert!(matches!(Gate::gap_ars_to(8, 7, 64), Err(PfssError::Shift { max: 6, got: 7, .. })));
        for out in [0, 1, 7, 65, u32::MAX] {
            let refused = PfssError::RingWidth { kind: GateKind::GapArs, min: 8, max: 64, got: out };
            assert_eq!(Gate::gap_ars_to(8, 6, out), Err(refused));
        }
        let (relu, lut) = (Gate::relu(8).unwrap(), Gate::lut(8, 8).unwrap());
        for gate in [relu, lut] {
            let refused = PfssError::Kind { expected: GateKind::GapArs, got: gate.kind() };
            assert_eq!(gate.in_one_round(), Err(refused));
        }
        let shift = Gate::gap_ars_to(8, 6, 64).unwrap().in_one_round().unwrap();
        assert_eq!((shift.degree(), shift.clone().in_one_round()), (1, Ok(shift)));
        // what no constructor asks for
        assert!(matches!(Gate::relu(8).unwrap().with_masks(1), Err(PfssError::Cap { max: 0, .. })));
    }

    #[test]
    fn every_parameter_of_a_header_has_its_bounds_and_its_refusal() {
        use crate::GateKind::{Ars, FullPredicates, GapArs, IntervalPowers, LowPredicates, Lut, Relu};
        let ring = |kind, min, max, got| PfssError::RingWidth { kind, min, max, got };
        let shift = |kind, max, got| PfssError::Shift { kind, max, got };
        let cap = |kind, what, max, got| PfssError::Cap { kind, what, max, got };
        // kind, n, f, degree, masks, out
        for ((kind, n, [f, degree, masks, out]), expected) in [
            ((Relu, 65, [0; 4]), ring(Relu, 2, 64, 65)),
            ((FullPredicates, 0, [0; 4]), ring(FullPredicates, 1, 64, 0)),
            ((GapArs, 2, [1, 0, 0, 0]), ring(GapArs, 3, 64, 2)),
            ((Lut, 14, [8, 0, 0, 0]), ring(Lut, 1, 13, 14)),
            ((Lut, 8, [65, 0, 0, 0]), ring(Lut, 1, 64, 65)),
            ((GapArs, 8, [3, 0, 0, 7]), ring(GapArs, 8, 64, 7)),
            ((FullPredicates, 8, [1, 0, 0, 0]), shift(FullPredicates, 0, 1)),
            ((Relu, 8, [1, 0, 0, 0]), shift(Relu, 0, 1)),
            ((Relu, 8, [8, 0, 0, 0]), shift(Relu, 0, 8)),
            ((LowPredicates, 8, [0; 4]), shift(LowPredicates, 7, 0)),
            ((LowPredicates, 8, [8, 0, 0, 0]), shift(LowPredicates, 7, 8)),
            ((IntervalPowers, 8, [0, 8, 0, 0]), cap(IntervalPowers, "the degree", 7, 8)),
            ((GapArs, 8, [3, 2, 0, 0]), cap(GapArs, "the degree", 1, 2)),
            ((FullPredicates, 8, [0, 0, 1025, 0]), cap(FullPredicates, "masked bits", 1024, 1025)),
            ((Ars, 8, [3, 0, 0, 16]), cap(Ars, "bits of wider results", 0, 16)),
        ] {
            assert_eq!(Gate::checked(kind, n, HeaderParameters { f, degree, masks, out }), Err(expected));
        }
        assert!(Gate::interval_powers(8, 7).is_ok() && Gate::full_predicates(8).unwrap().with_masks(1024).is_ok());
    }
}

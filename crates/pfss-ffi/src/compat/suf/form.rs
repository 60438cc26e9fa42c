//! The functions that SUF's keys evaluate, and the bytes of these keys.

use std::sync::Arc;

use pfss::{
    Gate, GateKind, KeyBundle, PfssError, Predicate, Shares, SignedRange, Step, StepOnDevice, Task,
    suf::{BoolMode, CoeffMode, Piece, PredProgram, SufDesc, SufModes, SufProgram, SufSpec},
};
use runtime::AnyQueue;
use zeroize::Zeroizing;

use crate::{
    Keys, parts,
    resident::ResidentShares,
    status::{CallFailure, Status},
};

const DCF: u64 = 1;
const PACKED_LT: u64 = 2;
const INTERVAL_LUT: u64 = 3;

/// The public function of keys.
pub(super) enum PublicFunction {
    /// The payload if `x < alpha`, else zeros.
    Dcf { alpha: u64, payload: Vec<u8> },
    /// `x < t` for each threshold `t`.
    PackedLt { thresholds: Vec<u64> },
    /// The words of the interval that holds `x`; the intervals are in the bundle.
    IntervalLut { words: usize },
}

impl PublicFunction {
    /// The gate of a comparison with constants of `in_bits` bits, once the constants are checked.
    pub(super) fn comparison(&self, in_bits: u32) -> Result<Gate, CallFailure> {
        let gate = Gate::full_predicates(in_bits)?;
        let (bits, mask) = (gate.n(), gate.ring().mask());
        let constants = self.constants();
        if constants.is_empty() || matches!(self, Self::Dcf { payload, .. } if payload.is_empty()) {
            return Err(CallFailure::argument("expected at least one threshold or byte of a payload, got none"));
        }
        match constants.iter().position(|&constant| constant > mask) {
            Some(index) => Err(PfssError::Constant { index, bits, got: constants[index] }.into()),
            None => Ok(gate),
        }
    }

    /// The form with the gate of its comparisons.
    pub(super) fn with_comparison(self, in_bits: u32) -> Result<(Self, Gate), CallFailure> {
        let gate = self.comparison(in_bits)?;
        Ok((self, gate))
    }

    /// The constants that `x` is compared with.
    fn constants(&self) -> &[u64] {
        match self {
            Self::Dcf { alpha, .. } => core::slice::from_ref(alpha),
            Self::PackedLt { thresholds } => thresholds,
            Self::IntervalLut { .. } => &[],
        }
    }

    /// Both parties' keys from their bundles.
    pub(super) fn bytes(&self, bundles: [KeyBundle; 2]) -> [Zeroizing<Vec<u8>>; 2] {
        let (tag, numbers) = match self {
            Self::Dcf { alpha, .. } => (DCF, vec![*alpha]),
            Self::PackedLt { thresholds } => (PACKED_LT, thresholds.clone()),
            Self::IntervalLut { words } => (INTERVAL_LUT, vec![*words as u64]),
        };
        let payload = if let Self::Dcf { payload, .. } = self { &payload[..] } else { &[] };
        let facts: Vec<u8> = [tag].into_iter().chain(numbers).flat_map(u64::to_le_bytes).collect();
        bundles.map(|bundle| parts::join(&[&facts[..], payload, &bundle.to_bytes()[..]]))
    }

    /// The function that the first two parts of keys describe.
    fn read(facts: &[u8], payload: &[u8]) -> Option<Self> {
        let (chunks, []) = facts.as_chunks::<8>() else { return None };
        let facts: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        let (&tag, numbers) = facts.split_first()?;
        match (tag, numbers) {
            (DCF, &[alpha]) => Some(Self::Dcf { alpha, payload: payload.to_vec() }),
            (PACKED_LT, thresholds) => Some(Self::PackedLt { thresholds: thresholds.to_vec() }),
            (INTERVAL_LUT, &[words]) => Some(Self::IntervalLut { words: usize::try_from(words).ok()? }),
            _ => None,
        }
    }

    /// Whether keys of `gate` evaluate it.
    fn fits(&self, gate: &Gate) -> bool {
        match self {
            Self::IntervalLut { words } => gate.program().is_some_and(|program| {
                let desc = program.desc();
                let (has_words, bools) = (desc.words().len() == *words, desc.bools().len());
                has_words && bools == 0 && program.rounds().is_empty() && !gate.masks_outputs()
            }),
            _ => gate.kind() == GateKind::FullPredicates && self.comparison(gate.n()).is_ok(),
        }
    }
}

/// The gate of `words` words for each interval between two neighbouring cut points.
///
/// Words have 64 bits, and so has the ring; keys look only at the bits that hold the inputs.
pub(super) fn interval_lut(
    in_bits: u32,
    words: usize,
    cutpoints: &[u64],
    payload: &[u64],
) -> Result<Gate, CallFailure> {
    // The cut points cover all inputs.
    let end = match in_bits {
        1..=63 => 1 << in_bits,
        64 => 0,
        _ => return Err(CallFailure::argument(format!("expected an input of 1 to 64 bits, got {in_bits}"))),
    };
    let (starts, last) = match cutpoints {
        [starts @ .., last] if !starts.is_empty() => (starts, *last),
        _ => return Err(CallFailure::argument(format!("expected at least 2 cut points, got {}", cutpoints.len()))),
    };
    let greatest = starts[starts.len() - 1];
    if last != end || (end > 0 && greatest >= end) {
        let expected = format!("expected cut points that end with {end}, got {greatest} and {last} at the end");
        return Err(CallFailure::argument(expected));
    }
    if words == 0 {
        return Err(CallFailure::argument("expected at least one word for each interval, got none"));
    }
    CallFailure::unless_len("words of intervals", starts.len().saturating_mul(words), payload.len())?;
    // A descriptor of degree 0 whose payload key needs no exchange; it refuses cut points out of order.
    let piece = |(&start, words): (&u64, &[u64])| Piece {
        start,
        polys: words.iter().map(|&word| vec![word]).collect(),
        bools: Vec::new(),
    };
    let spec = SufSpec {
        n: 64,
        degree: 0,
        words: (0..words).map(|word| format!("w{word}")).collect(),
        bools: Vec::new(),
        preds: Vec::new(),
        pieces: starts.iter().zip(payload.chunks_exact(words)).map(piece).collect(),
    };
    let desc = SufDesc::new(spec).map_err(PfssError::from)?;
    let modes =
        SufModes { preds: PredProgram::SharedAlpha, coeffs: CoeffMode::IntervalLut, bools: BoolMode::XorPacked };
    let program = if in_bits == 64 {
        SufProgram::new(desc, modes)
    } else {
        let inputs = SignedRange::new(0, i64::MAX >> (63 - in_bits)).map_err(PfssError::from)?;
        SufProgram::within(desc, modes, inputs)
    };
    Ok(Gate::suf(program.map_err(PfssError::from)?))
}

/// One party's keys of SUF's calls: one key for each input, used once.
pub struct SufKeys {
    form: PublicFunction,
    keys: Keys,
}

impl SufKeys {
    /// Reads the bytes that a `gen` call gave.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, CallFailure> {
        let foreign =
            || CallFailure::new(Status::TREFOIL_PFSS_BUNDLE, "expected keys of a call of SUF, got other keys");
        let parts = parts::split(bytes)?;
        let &[facts, payload, bundle] = &parts[..] else { return Err(foreign()) };
        let form = PublicFunction::read(facts, payload).ok_or_else(foreign)?;
        let bundle = KeyBundle::from_bytes(bundle).map_err(PfssError::from)?;
        if bundle.takes_open_inputs() || !form.fits(bundle.gate()) {
            return Err(foreign());
        }
        Ok(Self { form, keys: Keys::fresh(bundle) })
    }

    /// The keys that mask `count` inputs.
    pub(super) fn for_inputs(&mut self, count: usize) -> Result<&mut Keys, CallFailure> {
        one_for_each(self.keys.count()?, count)?;
        Ok(&mut self.keys)
    }

    /// The payload of a DCF.
    pub(super) fn payload(&self) -> Result<&[u8], CallFailure> {
        match &self.form {
            PublicFunction::Dcf { payload, .. } => Ok(payload),
            other => Err(other.unlike("a DCF")),
        }
    }

    /// How many thresholds packed comparisons have.
    pub(super) fn thresholds(&self) -> Result<usize, CallFailure> {
        match &self.form {
            PublicFunction::PackedLt { thresholds } => Ok(thresholds.len()),
            other => Err(other.unlike("packed comparisons")),
        }
    }

    /// How many words an interval has.
    pub(super) fn words(&self) -> Result<usize, CallFailure> {
        match &self.form {
            PublicFunction::IntervalLut { words } => Ok(*words),
            other => Err(other.unlike("an interval look-up")),
        }
    }

    /// Refuses a number of inputs that is not the number of keys.
    pub(super) fn check_inputs(&self, count: usize) -> Result<(), CallFailure> {
        one_for_each(self.keys.count()?, count)
    }

    /// The shares, from the public masked inputs; this spends the keys.
    pub(super) fn eval(&mut self, queue: &AnyQueue, hatx: &[u64]) -> Result<Shares, CallFailure> {
        let compared: Vec<Predicate> = self.form.constants().iter().map(|&beta| Predicate::Lt { beta }).collect();
        let task =
            if let PublicFunction::IntervalLut { .. } = self.form { Task::Suf } else { Task::PredicateBits(&compared) };
        match self.keys.take()?.eval(queue, task, hatx)? {
            Step::Done(shares) => Ok(shares),
            Step::Open(_) => Err(opens_bits()),
        }
    }

    /// Whether words of the result may stay in device memory.
    pub(super) fn runs_on_device(&self) -> bool {
        matches!(self.form, PublicFunction::IntervalLut { .. })
            && self.keys.gate().is_ok_and(|gate| Task::Suf.runs_on_device(gate))
    }

    /// [`eval`](Self::eval) with the words left in device memory.
    pub(super) fn eval_on_device(
        &mut self,
        queue: &Arc<AnyQueue>,
        hatx: &[u64],
    ) -> Result<ResidentShares<1>, CallFailure> {
        let keys = self.keys.take()?;
        ResidentShares::new(queue, |queue| match keys.eval_on_device(queue, Task::Suf, hatx)? {
            StepOnDevice::Done(words) => Ok([words]),
            StepOnDevice::Open(_) => Err(opens_bits()),
        })
    }
}

fn opens_bits() -> CallFailure {
    CallFailure::new(Status::TREFOIL_PFSS_INTERNAL, "keys without exchanges open bits")
}

impl PublicFunction {
    /// The keys are not for the call.
    fn unlike(&self, expected: &str) -> CallFailure {
        let got = match self {
            Self::Dcf { .. } => "a DCF",
            Self::PackedLt { .. } => "packed comparisons",
            Self::IntervalLut { .. } => "an interval look-up",
        };
        CallFailure::new(Status::TREFOIL_PFSS_PROGRAM, format!("expected keys of {expected}, got keys of {got}"))
    }
}

/// One key for each input: SUF also evaluates one key for all inputs ("broadcast").
fn one_for_each(keys: usize, inputs: usize) -> Result<(), CallFailure> {
    if inputs > keys {
        let expected = format!("expected {keys} inputs for {keys} keys, got {inputs}");
        return Err(CallFailure::argument(format!("{expected}: one mask for many values reveals their differences")));
    }
    CallFailure::unless_len("inputs, one for each key", keys, inputs)
}

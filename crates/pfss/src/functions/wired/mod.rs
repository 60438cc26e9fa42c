//! Functions between wires: masked inputs are open, and so are masked outputs.
//!
//! A circuit opens `x_hat = x + r` modulo `2^n`, and the next gate takes `y_hat = y + r_out` modulo
//! `2^n`. Only the dealer has the masks `r` and `r_out`. A function takes one to the other in
//! three steps, each by existing gates:
//!
//! 1. Splines are computed modulo `2^64`. With `n < 64`, a gap shift takes the wire into that ring:
//!    it shifts `2 x` by one bit, or `x` by the bits that the function drops. Keys are for the
//!    masks of the wire, shifted as `x` is.
//! 2. The descriptor gives shares of the spline, as in
//!    [`Session::function`](crate::Session::function).
//! 3. The shift after it has masked outputs, which are opened modulo `2^n`.
//!
//! Wires of masked values follow SIGMA (PETS 2024) and SUF (FuseFSS, ICML 2026).

mod library;
mod run;

use core_types::Ring;
use zeroize::Zeroizing;

use super::{FixedFn, FixedGates, RING_BITS, total_traffic};
use crate::{
    AutoTrunc, Cost, GapCert, Gate, PfssError, SignedRange,
    suf::{SufError, SufModes},
};

pub use run::WiredBundles;

/// A function of one fixed-point number, from one wire of `n` bits to another.
///
/// Inputs and results have the same number `f` of fraction bits. Errors are in units of the last
/// place of a result, `2^-f`.
///
/// ```
/// use std::time::Duration;
/// use pfss::{Dealer, Ring, Session, Wire, functions::WiredFn, memory_pair, suf::SufModes};
///
/// // GeLU of 1.5 with 12 fraction bits, on wires of 40 bits.
/// let gelu = WiredFn::gelu(40, 12)?;
/// let gates = gelu.gates(SufModes::default())?;
/// let ring = gates.ring();
///
/// // The mask of the input comes from the gate before it; here it is given.
/// let input = Wire::from_masks(ring, &[0x12_3456_789a]);
/// let (q, other_q) = (runtime::cpu()?, runtime::cpu()?);
/// let ([zero, one], output) = Dealer::from_os()?.deal_wired_function(&q, &gates, &input)?;
///
/// let x_hat = [ring.add(6144, 0x12_3456_789a)];
/// let (to_one, to_zero) = memory_pair(Duration::from_secs(60));
/// let other_gates = gates.clone();
/// let other = std::thread::spawn(move || {
///     Session::new(to_zero).wired_function(&other_q, &other_gates, one, &x_hat)
/// });
/// let y_hat = Session::new(to_one).wired_function(&q, &gates, zero, &x_hat)?;
/// assert_eq!(y_hat, other.join().map_err(|_| "the thread ends")??);
/// assert_eq!(ring.signed(ring.sub(y_hat[0], output.masks()[0])), gelu.eval(6144));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiredFn {
    function: FixedFn,
    ring: Ring,
    /// Low bits of an input that the spline does not take.
    dropped: u32,
    inputs: SignedRange,
}

/// The gates of a function between wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiredGates {
    ring: Ring,
    /// The gate that takes the wire into 64 bits; none if the spline takes the wire as it is.
    lift: Option<Lift>,
    /// The function's gates. The last one with keys masks its output.
    function: FixedGates,
}

/// The shift of a wire into the ring of the spline.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lift {
    gate: Gate,
    cert: GapCert,
    /// Bits by which the wire is shifted to the left before.
    raised: u32,
}

impl WiredFn {
    /// A function of all its inputs, of `n` bits.
    fn whole(function: FixedFn, n: u32) -> Result<Self, PfssError> {
        let inputs = function.inputs();
        Self::new(function, n, 0, inputs)
    }

    /// A function of `floor(x / 2^dropped)` for inputs `x` of `n` bits in a range.
    fn new(function: FixedFn, n: u32, dropped: u32, inputs: SignedRange) -> Result<Self, PfssError> {
        let ring = Ring::new(n).ok_or(SufError::RingWidth { got: n })?;
        let wired = Self { function, ring, dropped, inputs };
        if !wired.is_whole() {
            inputs.gap_cert(n)?;
        }
        let results = wired.function.outputs_within(wired.taken()?)?.floor_shift(wired.function.shift())?;
        results.fits(n)?;
        Ok(wired)
    }

    /// The inputs for which the function is meant, as signed integers of the wire's ring.
    ///
    /// Nothing checks inputs, as they are secret. The result for any other input is arbitrary.
    #[must_use]
    pub const fn inputs(&self) -> SignedRange {
        self.inputs
    }

    /// The ring of both wires.
    #[must_use]
    pub const fn ring(&self) -> Ring {
        self.ring
    }

    /// The function in the clear, exactly as shares compute it. Not for secrets: branches on `x`.
    #[must_use]
    pub fn eval(&self, x: i64) -> i64 {
        self.function.eval(x >> self.dropped)
    }

    /// The gates that evaluate the function on its [`inputs`](Self::inputs).
    ///
    /// # Errors
    /// [`PfssError::Suf`] for modes that do not go with the descriptor.
    pub fn gates(&self, modes: SufModes) -> Result<WiredGates, PfssError> {
        let lift = if self.is_whole() { None } else { Some(self.lift()?) };
        let FixedGates { suf, shift } = self.function.gates_within(modes, self.taken()?)?;
        let function = match shift {
            AutoTrunc::Identity => FixedGates { suf: suf.with_masked_outputs()?, shift: AutoTrunc::Identity },
            AutoTrunc::Gap { gate, cert } => {
                FixedGates { suf, shift: AutoTrunc::Gap { gate: gate.with_masked_outputs()?, cert } }
            }
            AutoTrunc::Exact { gate } => {
                FixedGates { suf, shift: AutoTrunc::Exact { gate: gate.with_masked_outputs()? } }
            }
        };
        Ok(WiredGates { ring: self.ring, lift, function })
    }

    /// Whether the spline takes the wire as it is.
    const fn is_whole(&self) -> bool {
        self.dropped == 0 && self.ring.bits() == RING_BITS
    }

    /// The range of the spline's inputs.
    fn taken(&self) -> Result<SignedRange, PfssError> {
        Ok(self.inputs.floor_shift(self.dropped)?)
    }

    fn lift(&self) -> Result<Lift, PfssError> {
        // A gap shift drops at least one bit: an input whose bits are all taken is doubled before.
        let raised = u32::from(self.dropped == 0);
        let factor = 1i64 << raised;
        let range = self.inputs.checked_mul(SignedRange::new(factor, factor)?)?;
        // `new` found a gap in the wire's ring, and doubling takes one bit more
        let bits = range.gap_bits().unwrap_or(RING_BITS);
        let gate = Gate::gap_ars_to(bits, self.dropped + raised, RING_BITS)?;
        Ok(Lift { gate, cert: range.gap_cert(bits)?, raised })
    }
}

impl WiredGates {
    /// The ring of both wires.
    #[must_use]
    pub const fn ring(&self) -> Ring {
        self.ring
    }

    /// The gates with keys, in the order in which they run.
    ///
    /// The first takes the wire; the others have their own input masks. Only the last one masks its
    /// output.
    pub fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.lift.iter().map(|lift| &lift.gate).chain(self.function.gates())
    }

    /// Bits that one element sends each party, rounds, and bits of keys: the sum over all gates.
    ///
    /// The wire is open before, and the output is opened in its own ring and round.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let sum = self.gates().map(Gate::cost).fold(Cost::default(), Cost::then);
        Cost { input_bits: sum.input_bits - self.open_bits() + u64::from(self.ring.bits()), ..sum }
    }

    /// Bytes that each party sends for `count` elements, step digests included, and rounds.
    #[must_use]
    pub fn traffic(&self, count: usize) -> (u64, u64) {
        let (bytes, rounds) = total_traffic(self.gates().map(|gate| gate.traffic(count)));
        let opening = |bits: u64| (count as u64 * bits).div_ceil(8);
        (bytes - opening(self.open_bits()) + opening(self.ring.bits().into()), rounds)
    }

    /// Bits of the first gate's input, which is open already.
    ///
    /// Its round is saved, and the output takes one.
    fn open_bits(&self) -> u64 {
        self.gates().next().map_or(0, |gate| gate.cost().input_bits)
    }
}

impl Lift {
    /// The words of a wire, or their masks, as inputs of the gate.
    fn words(&self, words: &[u64]) -> Zeroizing<Vec<u64>> {
        let ring = self.gate.ring();
        Zeroizing::new(words.iter().map(|&word| ring.reduce(word << self.raised)).collect())
    }
}

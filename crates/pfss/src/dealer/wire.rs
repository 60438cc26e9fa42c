//! Gates in a circuit: the output masks of one become the input masks of the next.
//!
//! A gate with masked outputs opens `y + m`. The next gate takes this word as its masked input
//! `x_hat = x + r`, with `x = y` and `r = m`.

use core::fmt;

use backend_api::ops::fss::FssOps;
use core_types::Ring;
use zeroize::Zeroizing;

use super::{Dealer, secrets::Row};
use crate::{Gate, KeyBundle, PfssError, bundle::check_size, error::check_len};

/// The masks of one output word of a gate, one mask for each element.
///
/// The dealer needs them to make keys for the gate that takes the opened word as its input.
///
/// A wire unmasks the words opened on it, so it must stay with dealers. `Debug` shows no masks, and
/// they are wiped when dropped. One wire may be the input of several gates, as they all take
/// the same opened word.
pub struct Wire {
    ring: Ring,
    masks: Zeroizing<Vec<u64>>,
}

/// Where the masks of a gate's inputs come from.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// Fresh ones for this many elements: parties mask their shares of the inputs.
    Fresh(usize),
    /// The masks of earlier, opened outputs, one wire for each secret of an element.
    Open(&'a [&'a Wire]),
}

impl Wire {
    /// A wire whose masks are made elsewhere, by another dealer of the same circuit.
    ///
    /// The masks are taken modulo `2^n`. They have to be uniform, secret, and each for one value:
    /// whoever has them reads every word that is opened on the wire.
    #[must_use]
    pub fn from_masks(ring: Ring, masks: &[u64]) -> Self {
        Self { ring, masks: Zeroizing::new(masks.iter().map(|&mask| ring.reduce(mask)).collect()) }
    }

    /// The masks, for a dealer that makes the next gate's keys elsewhere.
    #[must_use]
    pub fn masks(&self) -> &[u64] {
        &self.masks
    }

    /// The ring of the words.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.masks.len()
    }
}

impl Dealer {
    /// Deals keys of `gate` for party 0 and party 1, as a part of a circuit.
    ///
    /// The call also returns the wires of the gate's output words: none unless it has [masked
    /// outputs](Gate::with_masked_outputs).
    ///
    /// ```
    /// use pfss::{Dealer, Gate, Inputs, Task, eval_lockstep, run_lockstep};
    ///
    /// // floor(max(x, 0) / 4) of x = 11: what ReLU opens is the masked input of the shift.
    /// let q = runtime::cpu()?;
    /// let mut dealer = Dealer::from_os()?;
    /// let relu = Gate::relu(64)?.with_masked_outputs()?;
    /// let (relu, wires) = dealer.deal_wired(&q, &relu, Inputs::Fresh(1))?;
    /// let ([zero, one], _) = dealer.deal_wired(&q, &Gate::ars(64, 2)?, Inputs::Open(&[&wires[0]]))?;
    ///
    /// let shares = run_lockstep(&q, Task::Relu, relu, [&[100], &[11u64.wrapping_sub(100)]])?;
    /// // The opened word is public; `Session::open_outputs` opens it.
    /// let y_hat = [shares[0].words[0].wrapping_add(shares[1].words[0])];
    ///
    /// let keys = [zero.with_open_inputs()?, one.with_open_inputs()?];
    /// let shares = eval_lockstep(&q, Task::Ars, keys, &y_hat)?;
    /// assert_eq!(shares[0].words[0].wrapping_add(shares[1].words[0]), 11 >> 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PfssError::Length`] unless there is a wire for each secret of an element and all wires
    /// have the same length, [`PfssError::WireRing`] for a wire of another ring than the gate's
    /// inputs, and as [`deal`](Self::deal).
    pub fn deal_wired<Q: FssOps>(
        &mut self,
        q: &Q,
        gate: &Gate,
        inputs: Inputs<'_>,
    ) -> Result<([KeyBundle; 2], Vec<Wire>), PfssError> {
        let masks = match inputs {
            Inputs::Fresh(count) => {
                check_size(gate, count as u64)?;
                vec![self.uniform(gate.ring(), count)]
            }
            Inputs::Open(wires) => Self::masks_of(gate, wires)?,
        };
        let (bundles, outputs) = self.deal_masked(q, gate, &masks, matches!(inputs, Inputs::Open(_)))?;
        let ring = gate.out_ring();
        Ok((bundles, outputs.into_iter().map(|masks| Wire { ring, masks }).collect()))
    }

    /// The masks of open inputs, one row for each secret of an element.
    fn masks_of(gate: &Gate, wires: &[&Wire]) -> Result<Vec<Row>, PfssError> {
        check_len("wires", gate.inputs(), wires.len())?;
        let count = wires.first().map_or(0, |wire| wire.count());
        check_size(gate, count as u64)?;
        for wire in wires {
            check_len("elements of a wire", count, wire.count())?;
            if wire.ring != gate.ring() {
                return Err(PfssError::WireRing { expected: gate.n(), got: wire.ring.bits() });
            }
        }
        Ok(wires.iter().map(|wire| wire.masks.clone()).collect())
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("ring", &self.ring).field("count", &self.count()).finish_non_exhaustive()
    }
}

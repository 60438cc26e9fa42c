//! Spending the masks of a bundle, which leaves keys that evaluate once.

use super::KeyBundle;
use crate::{Gate, Party, PfssError, error::check_len, secret::masking::add_masks, spent};

/// One party's keys with spent input masks.
///
/// They evaluate their gate once, on the public masked inputs.
///
/// [`KeyBundle::mask`] returns them with the masked inputs, [`KeyBundle::with_open_inputs`] for
/// inputs that are already open. They can no longer mask anything, and cannot be turned into bytes.
#[derive(Debug)]
pub struct MaskedKeys(pub(crate) KeyBundle);

impl KeyBundle {
    /// Masks this party's shares `x`, and consumes the bundle.
    ///
    /// Returns its additive shares of `x + r`, to be opened, and the keys for the opened words. The
    /// sum of both parties' shares is public, and a mask used twice would reveal the difference of
    /// two inputs; so the bundle is consumed, and from here on this process refuses its bytes.
    ///
    /// For a product, `x` holds all first factors, then all second ones; the result is `x + a`,
    /// then `y + b`.
    ///
    /// ```
    /// use pfss::{Dealer, Gate};
    ///
    /// let q = runtime::cpu()?;
    /// let [bundle, _] = Dealer::from_os()?.deal(&q, &Gate::relu(64)?, 1)?;
    /// let copy = pfss::KeyBundle::from_bytes(&bundle.to_bytes())?;
    /// let (to_send, keys) = bundle.mask(&[5])?;
    /// assert!(copy.mask(&[6]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// ```compile_fail
    /// # fn twice(bundle: pfss::KeyBundle) -> Result<(), pfss::PfssError> {
    /// bundle.mask(&[5])?;
    /// bundle.mask(&[1])?; // use of moved value
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PfssError::Length`] unless there is one input per element, [`PfssError::OpenInputs`] for
    /// keys whose inputs come already opened from an earlier gate, and [`PfssError::ReusedBundle`].
    pub fn mask(self, x: &[u64]) -> Result<(Vec<u64>, MaskedKeys), PfssError> {
        self.check_mask(x.len())?;
        let keys = self.with_open_inputs()?;
        Ok((keys.add_masks(x), keys))
    }

    /// The keys for inputs that are already open under their masks.
    ///
    /// The inputs are `y + r_out` of an earlier gate with [masked
    /// outputs](Gate::with_masked_outputs), or are under masks that were given to the dealer.
    ///
    /// # Errors
    /// [`PfssError::ReusedBundle`].
    pub fn with_open_inputs(self) -> Result<MaskedKeys, PfssError> {
        if !self.reusable {
            spent::spend(self.nonce(), self.party())?;
        }
        Ok(MaskedKeys(self))
    }

    /// Whether the inputs come already opened from an earlier gate, under its masks.
    ///
    /// These keys then mask nothing.
    #[must_use]
    pub fn takes_open_inputs(&self) -> bool {
        self.header.open_inputs
    }

    /// The bundle, accepted by this process even when its keys are spent.
    ///
    /// **For tests only:** using a bundle twice reveals differences of secrets. Bundles of an
    /// insecure dealer are like this from the start.
    #[must_use]
    pub fn insecure_reusable(self) -> Self {
        Self { reusable: true, ..self }
    }

    /// Everything that [`mask`](Self::mask) refuses, except reuse.
    pub(crate) fn check_mask(&self, inputs: usize) -> Result<(), PfssError> {
        if self.takes_open_inputs() {
            return Err(PfssError::OpenInputs);
        }
        check_len("elements", self.gate().inputs() * self.count(), inputs)
    }
}

impl MaskedKeys {
    /// The gate and its public parameters.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        self.0.gate()
    }

    /// The party whose keys these are.
    #[must_use]
    pub fn party(&self) -> Party {
        self.0.party()
    }

    /// Number of elements that can be evaluated.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// This party's shares `x` plus its shares of the masks that were spent for them.
    pub(crate) fn add_masks(&self, x: impl Into<Vec<u64>>) -> Vec<u64> {
        add_masks(self.gate().ring(), x, (0..self.gate().inputs()).map(|row| self.0.word_row(row)))
    }

    /// The nonce of the [bundle](KeyBundle::nonce).
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.0.nonce()
    }
}

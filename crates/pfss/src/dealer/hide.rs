//! The secrets of a deal: the draws of the gate, and the masks of its outputs.

use chacha20::ChaCha20Rng;

use super::{
    dealing,
    draw::Draw,
    secrets::{Row, Secrets, TreeSecret},
};
use crate::Gate;

impl Secrets {
    /// Draws the secrets of `gate` for the rows of masks `masks`.
    ///
    /// There are fresh bits for the bits opened by the gate. A secret of an element without a row
    /// of masks gets fresh ones.
    pub(super) fn draw(rng: &mut ChaCha20Rng, gate: &Gate, masks: &[Row]) -> Self {
        let mut draw = Draw::new(rng, masks);
        let r = || Row::new(draw.r().to_vec());
        // every tree compares with the mask, unless the gate overrides this
        let trees = gate.trees().iter().map(|_| TreeSecret { alphas: r(), betas: Row::default() }).collect();
        let mut secrets = Self { trees, words: vec![r()], bits: Vec::new() };
        dealing::draw(gate, &mut draw, &mut secrets);
        if gate.masks_outputs() {
            secrets.words.extend((0..gate.output_words()).map(|_| draw.fresh_words(gate.out_ring())));
        }
        secrets
    }
}

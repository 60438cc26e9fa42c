//! Secrets of predicates and ReLU: masks of opened bits.

use core_types::Ring;

use crate::{
    dealer::{
        draw::Draw,
        secrets::{Secrets, map, map2},
    },
    gate::kinds::{
        predicates::{FullPredicates, LowPredicates, SignPredicates},
        relu::Relu,
    },
};

impl FullPredicates {
    pub(super) fn draw(&self, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        mask_bits(self.masks, draw, secrets);
    }
}

impl SignPredicates {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        secrets.bits.push(map(draw.r(), |r| ring.msb(r)));
        mask_bits(self.masks, draw, secrets);
    }
}

impl LowPredicates {
    pub(super) fn draw(&self, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        mask_bits(self.masks, draw, secrets);
    }
}

impl Relu {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (r, c, sign_ring) = (draw.r(), draw.fresh_bits(), self.sign_ring(ring));
        secrets.bits.push(map2(r, &c, |r, c| sign_ring.msb(r) ^ c));
        secrets.words.push(c.clone());
        secrets.words.push(map2(r, &c, |r, c| c * r));
    }
}

/// A random bit for each mask, shared in both ways.
fn mask_bits(masks: u32, draw: &mut Draw<'_>, secrets: &mut Secrets) {
    for _ in 0..masks {
        let c = draw.fresh_bits();
        secrets.words.push(c.clone());
        secrets.bits.push(c);
    }
}

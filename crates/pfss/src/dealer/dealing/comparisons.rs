//! Secrets of predicates and ReLU: masks of opened bits.

use core_types::Ring;

use super::GateDealing;
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

impl GateDealing for FullPredicates {
    fn draw(&self, _: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        mask_bits(self.masks, draw, secrets);
    }
}

impl GateDealing for SignPredicates {
    fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        secrets.bits.push(map(draw.r(), |r| ring.msb(r)));
        mask_bits(self.masks, draw, secrets);
    }
}

impl GateDealing for LowPredicates {
    fn draw(&self, _: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        mask_bits(self.masks, draw, secrets);
    }
}

impl GateDealing for Relu {
    fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
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

//! Secrets of products, tables and powers: words that are products of masks.

use core_types::Ring;

use crate::{
    dealer::{
        draw::Draw,
        secrets::{Row, Secrets, TreeSecret, map, map2, power_of_negative, powers},
    },
    gate::{
        GateShape,
        kinds::{intervals::IntervalPowers, lut::Lut},
    },
};

/// The second factor's mask, and the product of both masks.
pub(super) fn product(ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
    let (a, b) = (draw.r(), draw.second(ring));
    let product = map2(a, &b, |a, b| ring.mul(a, b));
    secrets.words.extend([b, product]);
}

impl Lut {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (c, out) = (draw.fresh_bits(), self.out_ring(ring));
        let rho = draw.fresh_words(out);
        let e = map(&c, |c| out.sub(1, c << 1));
        let rho_e = map2(&rho, &e, |rho, e| out.mul(rho, e));
        secrets.words.extend([e, rho, rho_e]);
        secrets.bits.push(c);
    }
}

impl IntervalPowers {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let r = draw.r();
        secrets.words.extend((2..=self.degree).map(|j| map(r, |r| power_of_negative(ring, r, j))));
        secrets.trees = vec![TreeSecret { alphas: Row::new(r.to_vec()), betas: powers(ring, r, self.degree + 1) }];
    }
}

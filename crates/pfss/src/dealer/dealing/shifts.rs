//! Secrets of truncations and shifts: the shifted mask, its top bit, masks of opened bits.

use core_types::Ring;

use crate::{
    dealer::{
        draw::Draw,
        secrets::{Row, Secrets, map, map2, powers},
    },
    gate::{
        GateShape,
        kinds::{
            shift::{Ars, Lrs, ReluArs},
            truncate::{GapArs, TruncateReduce},
        },
    },
};

impl TruncateReduce {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let c = draw.fresh_bits();
        secrets.words.extend([minus_shifted(ring, self.shift, draw.r()), c.clone()]);
        secrets.bits.push(c);
    }
}

impl GapArs {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (r, out) = (draw.r(), self.out_ring(ring));
        secrets.words.push(minus_shifted(out, self.shift, r));
        if self.one_round {
            // the payload is 1
            secrets.trees.iter_mut().for_each(|tree| tree.betas = powers(out, r, 1));
        } else {
            let c = draw.fresh_bits();
            secrets.words.push(c.clone());
            secrets.bits.push(c);
        }
        // shift >= 1, so n - shift is at most 63
        secrets.words.push(map(r, |r| ring.msb(r) << (ring.bits() - self.shift)));
    }
}

impl Lrs {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (c, c_wrap) = (draw.fresh_bits(), draw.fresh_bits());
        secrets.words.extend([minus_shifted(ring, self.shift, draw.r()), c.clone(), c_wrap.clone()]);
        secrets.bits.extend([c, c_wrap]);
    }
}

impl Ars {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (r, c, c_borrow) = (draw.r(), draw.fresh_bits(), draw.fresh_bits());
        let g = map(r, |r| ring.msb(r));
        let g_c = map2(&g, &c_borrow, |g, c| g * c);
        secrets.words.extend([minus_shifted(ring, self.shift, r), c.clone(), c_borrow.clone(), g, g_c]);
        secrets.bits.extend([c, c_borrow]);
    }
}

impl ReluArs {
    pub(super) fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (r, c, c_sign) = (draw.r(), draw.fresh_bits(), draw.fresh_bits());
        let (g, rho) = (map(r, |r| ring.msb(r)), map(r, |r| r >> self.shift));
        let times_c = |row: &Row| map2(row, &c_sign, |value, c| value * c);
        let products = [times_c(&c), times_c(&rho), times_c(&g)];
        secrets.bits.extend([c.clone(), map2(&g, &c_sign, |g, c| g ^ c)]);
        secrets.words.extend([c, c_sign.clone(), rho, g]);
        secrets.words.extend(products);
    }
}

/// `-(r >> shift)` in the ring of the result.
fn minus_shifted(ring: Ring, shift: u32, r: &[u64]) -> Row {
    map(r, |r| ring.neg(r >> shift))
}

//! The dealer's secrets for a descriptor.
//!
//! Loops and indices follow the descriptor; nothing branches on a mask.
//!
//! A selector has `[c (-r)^j]` for a uniform bit `c`, a conjunction a triple `<a>`, `<b>`, `<a b>`
//! (Beaver, CRYPTO 1991). A hidden threshold `b` has `1[(r + b) mod 2^k < r mod 2^k]`: whether
//! `r + b` wraps in its domain of `k` bits.

use crate::{
    dealer::{
        draw::Draw,
        secrets::{Row, Secrets, TreeSecret, map, map2, power_of_negative, powers},
    },
    suf::{CoeffMode, CoefficientSelection, PredProgram, Shifted, StepClass, SufProgram},
};

impl Secrets {
    /// Adds the secrets of `program` after the input mask.
    pub(super) fn suf(&mut self, program: &SufProgram, draw: &mut Draw<'_>) {
        let r = draw.r();
        let (ring, degree) = (program.desc().ring(), program.desc().degree());
        let rows = program.rows();
        // Comparison keys, and powers of the mask.
        self.trees = comparisons(program, r);
        self.words.extend((2..2 + rows.powers as u32).map(|j| map(r, |r| power_of_negative(ring, r, j))));
        // A bit for each selector, times each power.
        for _ in 0..rows.selectors {
            let c = draw.fresh_bits();
            for j in 0..=degree {
                self.words.push(map2(r, &c, |r, c| ring.mul(c, power_of_negative(ring, r, j))));
            }
            self.bits.push(c);
        }
        // Keys with payloads: one for each piece, or one for all.
        match program.selection() {
            CoefficientSelection::By(CoeffMode::StepDcf) => self.hidden_pieces(program, r),
            _ if program.payload_words() > 0 => {
                let betas = powers(ring, r, program.payload_words());
                self.trees.push(TreeSecret { alphas: map(r, |r| r), betas });
            }
            _ => {}
        }
        // A triple for each conjunction.
        for _ in 0..rows.ands {
            let (a, b) = (draw.fresh_bits(), draw.fresh_bits());
            let both = map2(&a, &b, |a, b| a & b);
            self.bits.extend([a, b, both]);
        }
        // A bit for each output bit that is opened.
        for _ in 0..rows.bools {
            let c = draw.fresh_bits();
            self.words.push(c.clone());
            self.bits.push(c);
        }
        self.wraps(program, r);
    }

    /// Whether each hidden threshold wraps around in its domain.
    fn wraps(&mut self, program: &SufProgram, r: &[u64]) {
        if program.modes().preds == PredProgram::SharedAlpha {
            return;
        }
        for class in program.classes() {
            let domain = program.class_program(class).domain();
            for &threshold in class.thresholds.iter().filter(|&&threshold| threshold > 0) {
                self.bits.push(map(r, |r| less(domain.add(r, threshold), domain.reduce(r))));
            }
        }
    }

    /// Adds a key that hides the start `a_i + r` for each piece.
    ///
    /// The key also hides the change of the coefficients of the polynomial in `x_hat`. The
    /// coefficients active at the greatest `x_hat` are added as shared words.
    fn hidden_pieces(&mut self, program: &SufProgram, r: &[u64]) {
        let (desc, ring) = (program.desc(), program.desc().ring());
        let (degree, words) = (desc.degree() as usize, desc.words().len());
        let (domain, starts) = (program.domain(), program.starts());
        // Coefficients of a piece as a polynomial in x_hat.
        let row = |piece: usize, at: usize| {
            let (word, k) = (at / (degree + 1), at % (degree + 1));
            let poly = Shifted::new(ring, desc.degree(), &desc.pieces()[piece].polys[word]);
            map(r, |r| poly.coefficient(k, |j| power_of_negative(ring, r, j as u32)))
        };
        let subtract = |a: &Row, b: &Row| map2(a, b, |a, b| ring.sub(a, b));
        let length = words * (degree + 1);
        // the greatest x_hat belongs to x = -1 - r
        let last = map(r, |r| domain.sub(domain.mask(), r));
        // The base starts with piece 0 and gains each change reached at the last x_hat.
        let mut base: Vec<Row> = (0..length).map(|at| row(0, at)).collect();
        for (piece, &start) in starts.iter().enumerate() {
            // The payload is the change from the piece before, cyclically.
            let before = if piece == 0 { starts.len() - 1 } else { piece - 1 };
            // the full capacity at once, since growing would leave copies behind
            let mut betas = Row::new(Vec::with_capacity(length * r.len()));
            for (at, base) in base.iter_mut().enumerate() {
                let change = subtract(&row(piece, at), &row(before, at));
                if piece > 0 {
                    let reached = map(&last, |x| 1 - less(x, start));
                    let gained = map2(&change, &reached, |change, reached| change & reached.wrapping_neg());
                    *base = map2(base, &gained, |base, gained| ring.add(base, gained));
                }
                betas.extend_from_slice(&change);
            }
            self.trees.push(TreeSecret { alphas: map(r, |r| ring.add(r, start)), betas });
        }
        self.words.extend(base);
    }
}

/// The secrets of the comparison keys of all classes.
fn comparisons(program: &SufProgram, r: &[u64]) -> Vec<TreeSecret> {
    let compare = |threshold: u64| TreeSecret { alphas: map(r, |r| r.wrapping_add(threshold)), betas: Row::default() };
    let class = |class: &StepClass| match program.modes().preds {
        PredProgram::SharedAlpha => vec![compare(0)],
        PredProgram::StepDcf => class.thresholds.iter().map(|&threshold| compare(threshold)).collect(),
    };
    program.classes().iter().flat_map(class).collect()
}

/// `1[a < b]` without a branch: the borrow of `a - b`.
fn less(a: u64, b: u64) -> u64 {
    (u128::from(a).wrapping_sub(u128::from(b)) >> 127) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_borrow_orders_all_corners() {
        let corners = [0, 1, 2, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
        for a in corners {
            for b in corners {
                assert_eq!(less(a, b), u64::from(a < b));
            }
        }
    }
}

//! Arithmetic in the base field and the secure field, by the formulas of `core_types::field`.

use core_types::field::{M31, P};

use super::assembly::{Assembly, PtxWide, PtxWord};

/// The modulus as an operand of 64 bits.
const P_WIDE: u64 = P as u64;

/// Exclusive bounds of a sum of products: for one product, and for a secure-field product.
pub(super) const PRODUCT: u64 = P_WIDE * P_WIDE;
pub(super) const SECURE_PRODUCT: u64 = 4 * P_WIDE * (P_WIDE - 1) + 1;

/// Exclusive bound of a sum below `bound` after [`folded`](Assembly::folded).
pub(super) const fn folded_bound(bound: u64) -> u64 {
    P_WIDE + (bound >> 31) + 1
}

fn known(word: u32) -> M31 {
    M31::from_u32(word)
}

/// An element of the base field.
impl Assembly {
    /// `left + right`.
    pub(super) fn add(&mut self, left: PtxWord, right: PtxWord) -> PtxWord {
        match (left, right) {
            (PtxWord::Known(a), PtxWord::Known(b)) => PtxWord::Known((known(a) + known(b)).word()),
            (PtxWord::Known(0), other) | (other, PtxWord::Known(0)) => other,
            _ => {
                let (left, right) = register_first(left, right);
                let sum = self.word("add.s32", &[&left, &right]);
                self.reduced_once(sum)
            }
        }
    }

    /// `left - right`.
    pub(super) fn sub(&mut self, left: PtxWord, right: PtxWord) -> PtxWord {
        match (left, right) {
            (PtxWord::Known(a), PtxWord::Known(b)) => PtxWord::Known((known(a) - known(b)).word()),
            (_, PtxWord::Known(0)) => left,
            _ => {
                let difference = self.word("sub.s32", &[&left, &right]);
                let raised = self.word("add.s32", &[&difference, &P]);
                self.word("min.u32", &[&difference, &raised])
            }
        }
    }

    /// `left * right`.
    pub(super) fn mul(&mut self, left: PtxWord, right: PtxWord) -> PtxWord {
        match (left, right) {
            (PtxWord::Known(a), PtxWord::Known(b)) => PtxWord::Known((known(a) * known(b)).word()),
            (PtxWord::Known(0), _) | (_, PtxWord::Known(0)) => PtxWord::ZERO,
            (PtxWord::Known(1), other) | (other, PtxWord::Known(1)) => other,
            _ => {
                let product = self.sum_of_products(None, &[(left, right)]);
                let sum = self.halves(product);
                self.reduced_once(sum)
            }
        }
    }

    /// A word below `2 P`, modulo `P`.
    fn reduced_once(&mut self, word: PtxWord) -> PtxWord {
        let lowered = self.word("add.s32", &[&word, &-(P as i32)]);
        self.word("min.u32", &[&word, &lowered])
    }

    /// The sum of the lowest 31 bits and the 32 above them.
    fn halves(&mut self, wide: PtxWide) -> PtxWord {
        let low = self.word("cvt.u32.u64", &[&wide]);
        let low = self.word("and.b32", &[&low, &P]);
        let high = self.wide("shr.u64", &[&wide, &31]);
        let high = self.word("cvt.u32.u64", &[&high]);
        self.word("add.s32", &[&low, &high])
    }

    /// A smaller number that is the same modulo `P`.
    pub(super) fn folded(&mut self, wide: PtxWide) -> PtxWide {
        let low = self.wide("and.b64", &[&wide, &P_WIDE]);
        let high = self.wide("shr.u64", &[&wide, &31]);
        self.wide("add.s64", &[&low, &high])
    }

    /// A word of at most `P + 5` that is the same modulo `P`.
    pub(super) fn nearly_reduced(&mut self, wide: PtxWide) -> PtxWord {
        let once = self.folded(wide);
        self.halves(once)
    }

    /// A number modulo `P`.
    pub(super) fn reduced(&mut self, wide: PtxWide) -> PtxWord {
        let word = self.nearly_reduced(wide);
        self.reduced_once(word)
    }

    /// `start` and the products of pairs, added up as they are. Their sum has 64 bits.
    pub(super) fn sum_of_products(&mut self, start: Option<PtxWide>, pairs: &[(PtxWord, PtxWord)]) -> PtxWide {
        let mut sum = start;
        for &(left, right) in pairs {
            if left == PtxWord::ZERO || right == PtxWord::ZERO {
                continue;
            }
            let (left, right) = register_first(left, right);
            let left = match left {
                PtxWord::Register(_) => left,
                PtxWord::Known(_) => self.word("mov.b32", &[&left]),
            };
            sum = Some(match sum {
                None => self.wide("mul.wide.u32", &[&left, &right]),
                Some(sum) => self.wide("mad.wide.u32", &[&left, &right, &sum]),
            });
        }
        sum.unwrap_or_else(|| self.wide("mov.b64", &[&0]))
    }

    /// `P - word`.
    fn complement(&mut self, word: PtxWord) -> PtxWord {
        match word {
            PtxWord::Known(word) => PtxWord::Known(P - word),
            PtxWord::Register(_) => self.word("sub.s32", &[&P, &word]),
        }
    }
}

/// With a register first if there is one: an instruction has room for one number.
fn register_first(left: PtxWord, right: PtxWord) -> (PtxWord, PtxWord) {
    if matches!(left, PtxWord::Known(_)) { (right, left) } else { (left, right) }
}

/// An element of the secure field, by its coordinates.
impl Assembly {
    /// The coordinates of `x y`, each added to `start`'s, unreduced.
    ///
    /// Without a start they are below [`SECURE_PRODUCT`].
    pub(super) fn add_secure_product(
        &mut self,
        start: [Option<PtxWide>; 4],
        [x0, x1, x2, x3]: [PtxWord; 4],
        [y0, y1, y2, y3]: [PtxWord; 4],
    ) -> [PtxWide; 4] {
        let (not_y1, not_y3) = (self.complement(y1), self.complement(y3));
        // The product of the u parts, p0 + p1 i, enters times 2 + i: 2 p0 - p1 and p0 + 2 p1.
        let p0 = self.sum_of_products(None, &[(x2, y2), (x3, not_y3)]);
        let p0 = self.nearly_reduced(p0);
        let p1 = self.sum_of_products(None, &[(x2, y3), (x3, y2)]);
        let p1 = self.nearly_reduced(p1);
        let not_p1 = self.word("sub.s32", &[&(2 * P).cast_signed(), &p1]);
        let [one, two] = [PtxWord::Known(1), PtxWord::Known(2)];
        [
            self.sum_of_products(start[0], &[(x0, y0), (x1, not_y1), (p0, two), (not_p1, one)]),
            self.sum_of_products(start[1], &[(x0, y1), (x1, y0), (p0, one), (p1, two)]),
            self.sum_of_products(start[2], &[(x0, y2), (x1, not_y3), (x2, y0), (x3, not_y1)]),
            self.sum_of_products(start[3], &[(x0, y3), (x1, y2), (x2, y1), (x3, y0)]),
        ]
    }

    /// `x y`.
    pub(super) fn mul_secure(&mut self, x: [PtxWord; 4], y: [PtxWord; 4]) -> [PtxWord; 4] {
        self.add_secure_product([None; 4], x, y).map(|wide| self.reduced(wide))
    }
}

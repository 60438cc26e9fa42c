//! The use of a program's outputs: a sum with powers of a challenge, or planes.

use super::{
    assembly::{Address, Assembly, PtxWide, PtxWord},
    field::{PRODUCT, SECURE_PRODUCT, folded_bound},
};

/// Bytes of an element of the secure field.
pub(super) const SECURE_BYTES: u32 = 16;

/// Outputs times powers, added up in 64 bits for each coordinate.
#[derive(Debug)]
pub(super) struct OutputSum {
    powers: PtxWide,
    sums: [Option<PtxWide>; 4],
    /// What all coordinates are below.
    bound: u64,
}

impl OutputSum {
    /// No outputs yet. Their powers are at `powers`.
    pub(super) fn new(powers: PtxWide) -> Self {
        Self { powers, sums: [None; 4], bound: 1 }
    }

    /// Makes room for a term below `term`, and returns the power of an output.
    fn power(&mut self, a: &mut Assembly, output: u16, term: u64) -> [PtxWord; 4] {
        if self.bound.checked_add(term).is_none() {
            self.sums = self.sums.map(|sum| sum.map(|sum| a.folded(sum)));
            self.bound = folded_bound(self.bound);
        }
        self.bound += term;
        a.load_four(Address(self.powers, SECURE_BYTES * u32::from(output)))
    }

    /// Adds an output of the base field.
    pub(super) fn base(&mut self, a: &mut Assembly, output: u16, word: PtxWord) {
        let power = self.power(a, output, PRODUCT);
        for (sum, coordinate) in self.sums.iter_mut().zip(power) {
            *sum = Some(a.sum_of_products(*sum, &[(word, coordinate)]));
        }
    }

    /// Adds an output of the secure field.
    pub(super) fn secure(&mut self, a: &mut Assembly, output: u16, value: [PtxWord; 4]) {
        let power = self.power(a, output, SECURE_PRODUCT);
        self.sums = a.add_secure_product(self.sums, value, power).map(Some);
    }

    /// Adds the sum times a factor to four planes of `plane` words, the first one at `place`.
    pub(super) fn finish(self, a: &mut Assembly, place: PtxWide, plane: PtxWord, factor: PtxWord) {
        for (k, sum) in (0u32..).zip(self.sums) {
            let sum = sum.map_or(PtxWord::ZERO, |sum| a.nearly_reduced(sum));
            let term = a.sum_of_products(None, &[(sum, factor)]);
            let term = a.reduced(term);
            let at = Address(plane_at(a, place, plane, k), 0);
            let before = a.word("ld.global.b32", &[&at]);
            let after = a.add(before, term);
            a.line(format_args!("st.global.b32 {at}, {after}"));
        }
    }
}

/// Where outputs are written, four planes for each.
#[derive(Debug)]
pub(super) struct OutputPlanes {
    /// The place of the position in the first plane.
    pub(super) place: PtxWide,
    /// Words of a plane.
    pub(super) plane: PtxWord,
}

impl OutputPlanes {
    pub(super) fn write(&self, a: &mut Assembly, output: u16, value: [PtxWord; 4]) {
        for (k, word) in (4 * u32::from(output)..).zip(value) {
            let at = Address(plane_at(a, self.place, self.plane, k), 0);
            a.line(format_args!("st.global.b32 {at}, {word}"));
        }
    }
}

/// The place in plane `k` of a position whose place in the first one is `place`.
fn plane_at(a: &mut Assembly, place: PtxWide, plane: PtxWord, k: u32) -> PtxWide {
    if k == 0 { place } else { a.wide("mad.wide.u32", &[&plane, &(4 * k), &place]) }
}

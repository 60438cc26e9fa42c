//! Points of a canonic domain, a tile of stored positions at a time.
//!
//! Position `p` of `2^n` is `g (1 + 4 bitrev(p >> 1))` times the generator, with `g = 2^(30-n)` and
//! `n-1` reversed bits, and its conjugate if `p` is odd (stwo 2.3, `core/poly/circle/domain.rs`).

use core_types::{
    circle::{CirclePoint, CirclePointIndex, bit_reversed},
    field::M31,
};

use crate::{
    Simd,
    simd::{
        LaneKernel, dispatch,
        words::{Slices, WordVectors},
    },
};

/// Most positions of a tile.
pub(super) const TILE: usize = 1 << LOG_TILE;

/// Log of that.
pub(super) const LOG_TILE: u32 = 10;

/// How the points of a tile lie to each other, which is the same in every tile.
///
/// The lower bits of a position are the upper ones of its point's index: the point is the sum of
/// one that the lower bits name and one that the upper bits name. Odd positions are the conjugates
/// of the even ones before them.
pub(super) struct DomainTiles {
    log_domain: u32,
    log_tile: u32,
    /// Points that pairs add to the first point of a tile, as four planes of words.
    ///
    /// For each position: x and y of the point of its pair, then both again, negated at odd
    /// positions.
    steps: [Vec<M31>; 4],
}

impl DomainTiles {
    /// Words that it holds.
    pub(super) const WORDS: usize = 4 * TILE;

    /// Tiles of `2^log_tile` positions, for a domain of `2^log_domain` points.
    ///
    /// A tile has from two to [`TILE`] positions.
    pub(super) fn new(log_domain: u32, log_tile: u32) -> Self {
        let mut points = vec![CirclePoint::NEUTRAL];
        for bit in 1..log_tile {
            // Bit `bit` of a position is bit `bit - 1` of its pair, which stands in reverse for four units, of 2^(30 - log_domain)
            // steps, times 2^(log_domain - 1 - bit).
            let step = CirclePointIndex::new(1 << (31 - bit)).to_point();
            for i in 0..points.len() {
                points.push(points[i] + step);
            }
        }
        let steps = [0, 1, 2, 3].map(|plane| {
            let words = (0..TILE).map(|position| {
                let point = points[(position & ((1 << log_tile) - 1)) >> 1];
                let word = if plane & 1 == 0 { point.x } else { point.y };
                if plane > 1 && position & 1 == 1 { -word } else { word }
            });
            words.collect()
        });
        Self { log_domain, log_tile, steps }
    }

    /// Writes the coordinates of the points of tile `tile`.
    ///
    /// They repeat if `x` and `y` are longer than the tile.
    pub(super) fn write(&self, simd: Simd, tile: usize, x: &mut [M31; TILE], y: &mut [M31; TILE]) {
        let above = bit_reversed(tile as u32, self.log_domain - self.log_tile);
        let first = unit(self.log_domain) * (1 + 4 * above);
        dispatch(simd, TilePoints { steps: &self.steps, first: first.to_point(), x, y });
    }
}

/// The index of the first point of the domain of `2^log_domain`.
fn unit(log_domain: u32) -> CirclePointIndex {
    CirclePointIndex::new(1 << (30 - log_domain))
}

/// Adds `first` to the points of a tile.
struct TilePoints<'a> {
    steps: &'a [Vec<M31>; 4],
    first: CirclePoint<M31>,
    x: &'a mut [M31; TILE],
    y: &'a mut [M31; TILE],
}

impl<L: WordVectors> LaneKernel<L> for TilePoints<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let (x, y) = (l.splat(2 * self.first.x.word()), l.splat(2 * self.first.y.word()));
        for at in (0..TILE).step_by(L::WIDTH) {
            let [step_x, step_y, signed_x, signed_y] = [
                l.take(&self.steps[0][at..]),
                l.take(&self.steps[1][at..]),
                l.take(&self.steps[2][at..]),
                l.take(&self.steps[3][at..]),
            ];
            l.put(&mut self.x[at..], l.sub(l.mul_splat(step_x, x), l.mul_splat(step_y, y)));
            l.put(&mut self.y[at..], l.add(l.mul_splat(signed_x, y), l.mul_splat(signed_y, x)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::levels;

    /// The point at a stored position, by its index.
    fn stored(position: u32, log_domain: u32) -> CirclePoint<M31> {
        let natural = bit_reversed(position, log_domain);
        let (half, unit) = (1 << (log_domain - 1), 1u32 << (30 - log_domain));
        let index = CirclePointIndex::new(unit + 4 * unit * (natural % half));
        if natural < half { index.to_point() } else { (-index).to_point() }
    }

    #[test]
    fn every_point_is_at_its_stored_position() {
        for simd in levels() {
            for log_domain in [1, 2, 3, 9, 10, 11, 13, 30] {
                for log_tile in 1..=log_domain.min(LOG_TILE) {
                    let tiles = DomainTiles::new(log_domain, log_tile);
                    let count = 1usize << (log_domain - log_tile);
                    for tile in [0, 1, count / 2 + 1, count - 1].map(|tile| tile % count) {
                        let (mut x, mut y) = ([M31::ZERO; TILE], [M31::ZERO; TILE]);
                        tiles.write(simd, tile, &mut x, &mut y);
                        for i in [0, 1, 2, 3, 4, 5, 100, 511, 1023].map(|i| i % (1 << log_tile)) {
                            let point = CirclePoint { x: x[i], y: y[i] };
                            let position = ((tile as u32) << log_tile) + i as u32;
                            assert_eq!(point, stored(position, log_domain), "{position} of 2^{log_domain}");
                        }
                    }
                }
            }
        }
    }
}

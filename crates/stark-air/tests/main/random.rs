//! Random AIRs: expressions of both fields over masks, challenges and constants.

use core_types::{
    air::{Air, ExtensionValue, Row, Tree},
    field::{M31, QM31},
};

/// Numbers without a pattern (SplitMix64).
#[derive(Clone)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Often a number at which simplifications or wraps happen.
    pub(crate) fn word(&mut self) -> M31 {
        match self.below(8) {
            0 => M31::ZERO,
            1 => M31::ONE,
            2 => -M31::ONE,
            _ => M31::from_u64(self.next()),
        }
    }

    pub(crate) fn secure(&mut self) -> QM31 {
        QM31::from_coordinates([(); 4].map(|()| self.word()))
    }
}

/// Values with a bound on their degree, so that products stay within the limit.
type Pool<V> = Vec<(V, u32)>;

const MOST_DEGREE: u32 = 9;

fn pick<V: Copy>(pool: &Pool<V>, numbers: &mut Numbers) -> (V, u32) {
    // Mostly recent values, so that expressions grow deep.
    let recent = pool.len().min(1 + numbers.below(2 * pool.len()));
    pool[pool.len() - 1 - numbers.below(recent)]
}

/// An AIR whose expressions follow from a seed.
pub(crate) struct RandomAir {
    pub(crate) log_rows: u32,
    pub(crate) seed: u64,
}

impl Air for RandomAir {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn log_degree_bound(&self) -> u32 {
        self.log_rows + 3
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let numbers = &mut Numbers(self.seed);
        let [before, here, after] = row.mask(Tree::TRACE, [-1, 0, 2]);
        let mut base: Pool<R::F> = [before, here, after, row.column(), row.preprocessed(1)].map(|v| (v, 1)).into();
        let mut secure: Pool<R::E> = [row.challenge(0), row.challenge(2), row.mean()].map(|v| (v, 0)).into();
        if numbers.below(2) == 0 {
            let [before, here] = row.mask_ext(Tree::INTERACTION, [-2, 0]);
            secure.extend([(before, 1), (here, 1)]);
        }
        for _ in 0..10 + numbers.below(60) {
            let ((a, i), (b, j)) = (pick(&base, numbers), pick(&base, numbers));
            let ((x, k), (y, l)) = (pick(&secure, numbers), pick(&secure, numbers));
            match numbers.below(18) {
                0 => base.push((a + b, i.max(j))),
                1 => base.push((a - b, i.max(j))),
                2 | 3 if i + j <= MOST_DEGREE => base.push((a * b, i + j)),
                4 => base.push((-a, i)),
                5 => base.push((R::F::from(numbers.word()), 0)),
                6 => base.push((a * numbers.word() + numbers.word(), i)),
                7 => secure.push((x + y, k.max(l))),
                8 => secure.push((x - y, k.max(l))),
                9 if k + l <= MOST_DEGREE => secure.push((x * y, k + l)),
                10 => secure.push((-x, k)),
                11 => secure.push((x + a, k.max(i))),
                12 => secure.push((x - a, k.max(i))),
                13 if k + i <= MOST_DEGREE => secure.push((x * a, k + i)),
                14 => secure.push((R::E::from(a) - x, k.max(i))),
                15 => secure.push((R::E::from(numbers.secure()), 0)),
                16 => {
                    let coordinates = [(); 4].map(|()| pick(&base, numbers));
                    let degree = coordinates.iter().map(|&(_, degree)| degree).max().unwrap_or(0);
                    secure.push((R::E::from_coordinates(coordinates.map(|(value, _)| value)), degree));
                }
                17 => secure.push((R::E::from(a), i)),
                _ => {}
            }
            if numbers.below(4) == 0 {
                row.constraint(pick(&base, numbers).0);
                row.constraint_ext(pick(&secure, numbers).0);
            }
        }
        row.constraint_ext(pick(&secure, numbers).0);
    }
}

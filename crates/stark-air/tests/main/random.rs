//! Random AIRs: expressions of both fields over masks, challenges and constants.

use core_types::{
    air::{Air, ExtensionValue, Row, Tree},
    field::{M31, QM31},
};
use fastrand::Rng;

/// Often a number at which simplifications or wraps happen.
pub(crate) fn word(rng: &mut Rng) -> M31 {
    match rng.u8(..8) {
        0 => M31::ZERO,
        1 => M31::ONE,
        2 => -M31::ONE,
        _ => M31::from_u64(rng.u64(..)),
    }
}

pub(crate) fn element(rng: &mut Rng) -> QM31 {
    QM31::from_coordinates([(); 4].map(|()| word(rng)))
}

/// Values with a bound on their degree, so that products stay within the limit.
type Pool<V> = Vec<(V, u32)>;

const MOST_DEGREE: u32 = 9;

fn pick<V: Copy>(pool: &Pool<V>, rng: &mut Rng) -> (V, u32) {
    // Mostly recent values, so that expressions grow deep.
    let recent = pool.len().min(1 + rng.usize(..2 * pool.len()));
    pool[pool.len() - 1 - rng.usize(..recent)]
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
        let rng = &mut Rng::with_seed(self.seed);
        let [before, here, after] = row.mask(Tree::TRACE, [-1, 0, 2]);
        let mut base: Pool<R::F> = [before, here, after, row.column(), row.preprocessed(1)].map(|v| (v, 1)).into();
        let mut secure: Pool<R::E> = [row.challenge(0), row.challenge(2), row.mean()].map(|v| (v, 0)).into();
        if rng.bool() {
            let [before, here] = row.mask_ext(Tree::INTERACTION, [-2, 0]);
            secure.extend([(before, 1), (here, 1)]);
        }
        for _ in 0..10 + rng.usize(..60) {
            let ((a, i), (b, j)) = (pick(&base, rng), pick(&base, rng));
            let ((x, k), (y, l)) = (pick(&secure, rng), pick(&secure, rng));
            match rng.u8(..18) {
                0 => base.push((a + b, i.max(j))),
                1 => base.push((a - b, i.max(j))),
                2 | 3 if i + j <= MOST_DEGREE => base.push((a * b, i + j)),
                4 => base.push((-a, i)),
                5 => base.push((R::F::from(word(rng)), 0)),
                6 => base.push((a * word(rng) + word(rng), i)),
                7 => secure.push((x + y, k.max(l))),
                8 => secure.push((x - y, k.max(l))),
                9 if k + l <= MOST_DEGREE => secure.push((x * y, k + l)),
                10 => secure.push((-x, k)),
                11 => secure.push((x + a, k.max(i))),
                12 => secure.push((x - a, k.max(i))),
                13 if k + i <= MOST_DEGREE => secure.push((x * a, k + i)),
                14 => secure.push((R::E::from(a) - x, k.max(i))),
                15 => secure.push((R::E::from(element(rng)), 0)),
                16 => {
                    let coordinates = [(); 4].map(|()| pick(&base, rng));
                    let degree = coordinates.iter().map(|&(_, degree)| degree).max().unwrap_or(0);
                    secure.push((R::E::from_coordinates(coordinates.map(|(value, _)| value)), degree));
                }
                17 => secure.push((R::E::from(a), i)),
                _ => {}
            }
            if rng.u8(..4) == 0 {
                row.constraint(pick(&base, rng).0);
                row.constraint_ext(pick(&secure, rng).0);
            }
        }
        row.constraint_ext(pick(&secure, rng).0);
    }
}

//! Batch inversion, compared with running products in plain loops.

use std::num::NonZeroUsize;

use backend_api::ops::circle::{BatchInverseM31, BatchInverseQm31, CircleOps as _};
use core_types::field::{Field, M31, QM31};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use super::input;
use crate::{Contender, Contest, Goal, Show};

/// The speed-up over plain loops, whose products form a dependency chain.
const RATIO: f64 = 4.0;

/// `2^log_len` elements of Mersenne-31.
pub(super) fn of_m31(id: String, log_len: u32) -> Contest {
    let elements: Vec<M31> = input(log_len).into_iter().map(|x| if x.is_zero() { M31::ONE } else { x }).collect();
    contest(id, elements, |q, elements, inverses| {
        let mut first_zero = [u64::MAX];
        q.batch_inverse_m31(BatchInverseM31 { elements, inverses, first_zero: &mut first_zero })
            .expect("lengths match");
    })
}

/// `2^log_len` elements of the secure field.
pub(super) fn of_qm31(id: String, log_len: u32) -> Contest {
    let secure = |x: M31| QM31::from_coordinates([x, M31::ONE, x + M31::ONE, M31::from_u32(7)]);
    contest(id, input(log_len).into_iter().map(secure).collect(), |q, elements, inverses| {
        let mut first_zero = [u64::MAX];
        q.batch_inverse_qm31(BatchInverseQm31 { elements, inverses, first_zero: &mut first_zero })
            .expect("lengths match");
    })
}

fn contest<F: Field + 'static>(id: String, elements: Vec<F>, invert: fn(&CpuQueue, &[F], &mut [F])) -> Contest {
    let ours = |name: &str, simd| {
        let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
        let q = CpuQueue::open(config).expect("one thread needs no pool");
        let (elements, mut inverses) = (elements.clone(), elements.clone());
        Contender::new(name, move || invert(&q, &elements, &mut inverses))
    };
    let (own, mut inverses) = (elements.clone(), elements.clone());
    let plain = Contender::new("plain loops", move || plain_inverses(&own, &mut inverses));
    Contest {
        id,
        unit: "element",
        work: elements.len() as f64,
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512),
            plain,
            ours("trefoil, portable path", SimdLevel::Portable),
        ],
        goals: vec![(Goal::Ratio { peer: 1, ratio: RATIO }, "avx-512")],
    }
}

/// One running product over all elements, and one inversion.
fn plain_inverses<F: Field>(elements: &[F], inverses: &mut [F]) {
    let mut product = F::ONE;
    for (inverse, &element) in inverses.iter_mut().zip(elements) {
        *inverse = product;
        product = product * element;
    }
    let mut rest = product.inverse().expect("no element is zero");
    for (inverse, &element) in inverses.iter_mut().zip(elements).rev() {
        *inverse = *inverse * rest;
        rest = rest * element;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loops_invert() {
        let elements: Vec<M31> = (1..=1000).map(M31::from_u32).collect();
        let mut inverses = vec![M31::ZERO; 1000];
        plain_inverses(&elements, &mut inverses);
        assert!(elements.iter().zip(&inverses).all(|(&x, &y)| x * y == M31::ONE));
    }
}

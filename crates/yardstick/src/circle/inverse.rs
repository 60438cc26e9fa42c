//! Batch inversion, compared with running products in plain loops.

use backend_api::{
    Buffer, Queue as _,
    ops::circle::{BatchInverseM31, BatchInverseQm31, CircleOps as _},
};
use core_types::field::{Field, M31, QM31};

use crate::{
    Contender, Goal, Line,
    host::{M31_BYTES, nonzero_elements, secure_elements},
    line::RunSize,
};

/// The speed-up over plain loops, whose products form a dependency chain.
const RATIO: f64 = 4.0;

/// Elements on the processor.
const COUNT: usize = 1 << 20;

pub(super) fn contests() -> [Line; 2] {
    let m31 = of_m31(COUNT.ilog2()).called("circle.batch_inverse_m31/20");
    [compared(m31, || nonzero_elements(COUNT)), compared(of_qm31(), || secure_elements(COUNT))]
}

/// `2^log_len` elements of Mersenne-31.
pub(super) fn of_m31(log_len: u32) -> Line {
    let count = 1usize << log_len;
    let size = RunSize::streaming("element", count as f64, 2.0 * M31_BYTES * count as f64);
    Line::new(&format!("circle.batch_inverse_m31/2^{log_len}"), size, move |q| {
        let (elements, mut inverses) = (q.upload(&nonzero_elements(count))?, q.zeros::<M31>(count)?);
        let mut first_zero = q.upload(&[u64::MAX])?;
        Ok(Box::new(move |q| {
            let (elements, inverses, first_zero) = (elements.view(), inverses.view_mut(), first_zero.view_mut());
            Ok(q.batch_inverse_m31(BatchInverseM31 { elements, inverses, first_zero })?)
        }))
    })
}

/// Elements of the secure field.
fn of_qm31() -> Line {
    let size = RunSize::computing("element", COUNT as f64, 0.0);
    Line::new("circle.batch_inverse_qm31/20", size, |q| {
        let (elements, mut inverses) = (q.upload(&secure_elements(COUNT))?, q.zeros::<QM31>(COUNT)?);
        let mut first_zero = q.upload(&[u64::MAX])?;
        Ok(Box::new(move |q| {
            let (elements, inverses, first_zero) = (elements.view(), inverses.view_mut(), first_zero.view_mut());
            Ok(q.batch_inverse_qm31(BatchInverseQm31 { elements, inverses, first_zero })?)
        }))
    })
}

/// The line with plain loops over `elements`.
fn compared<F: Field + 'static>(line: Line, elements: fn() -> Vec<F>) -> Line {
    let plain = move || {
        let elements = elements();
        let mut inverses = elements.clone();
        Contender::new("plain loops", move || plain_inverses(&elements, &mut inverses))
    };
    line.in_nanoseconds().peer(plain).portable().goal(Goal::Ratio { peer: 1, ratio: RATIO }, "avx-512")
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

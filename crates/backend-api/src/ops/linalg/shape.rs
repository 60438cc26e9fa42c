//! What a backend checks before an op touches memory.

use core_types::params::{
    elementwise::{Activation, BinaryParams, MAX_RANK},
    gemm::GemmParams,
};

use crate::BackendError;

/// The number of elements of a shape; the greatest number if it does not fit, which no view has.
#[must_use]
pub fn product(shape: &[u64]) -> u64 {
    if shape.contains(&0) { 0 } else { shape.iter().fold(1, |all, &len| all.saturating_mul(len)) }
}

/// Refuses a view of `got` elements whose shape has `expected`.
///
/// # Errors
/// [`BackendError::Length`].
pub fn check_len(expected: u64, got: usize) -> Result<(), BackendError> {
    if expected == got as u64 { Ok(()) } else { Err(mismatch(expected, got)) }
}

/// Refuses a view of `got` elements of which strides reach `reached`.
fn check_reach(reached: u64, got: usize) -> Result<(), BackendError> {
    if reached <= got as u64 { Ok(()) } else { Err(mismatch(reached, got)) }
}

fn mismatch(expected: u64, got: usize) -> BackendError {
    BackendError::Length { expected: usize::try_from(expected).unwrap_or(usize::MAX), got }
}

/// Refuses a result that does not have the shape of an elementwise operation, and operands that its strides would leave.
///
/// # Errors
/// [`BackendError::Length`].
pub fn check_binary(p: &BinaryParams, a: usize, b: usize, y: usize) -> Result<(), BackendError> {
    let shape = &p.shape[..(p.rank as usize).min(MAX_RANK)];
    check_len(product(shape), y)?;
    if y == 0 {
        return Ok(());
    }
    let reach = |end: u64, (&len, &stride): (&u64, &u64)| end.saturating_add(stride.saturating_mul(len - 1));
    let reached = |strides: &[u64; MAX_RANK]| shape.iter().zip(strides).fold(1, reach);
    check_reach(reached(&p.a_strides), a)?;
    check_reach(reached(&p.b_strides), b)
}

/// Refuses views that the strides of a product would leave, results that share elements, and a bias or an activation behind
/// a sum.
///
/// # Errors
/// [`BackendError::Length`], or [`BackendError::Unsupported`] by `gemm`.
pub fn check_gemm(p: &GemmParams, a: usize, b: usize, bias: Option<usize>, c: usize) -> Result<(), BackendError> {
    for (strides, rows, cols, got) in [(p.a, p.m, p.k, a), (p.b, p.k, p.n, b), (p.c, p.m, p.n, c)] {
        check_reach(strides.span(p.batch, rows, cols).unwrap_or(u64::MAX), got)?;
    }
    if let Some(got) = bias {
        check_len(p.n, got)?;
    }
    let accumulates = p.accumulate == 1;
    let why = if !results_are_apart(p, accumulates) {
        "elements of the result overlap"
    } else if accumulates && (bias.is_some() || p.activation != Activation::Identity) {
        "an accumulating product has no epilogue"
    } else {
        return Ok(());
    };
    Err(BackendError::Unsupported { op: "gemm", why })
}

/// Whether each stride of the result passes all that the shorter ones reach. Matrices may be `repeated` along leading axes.
/// The result lies within a view.
fn results_are_apart(p: &GemmParams, repeated: bool) -> bool {
    let leading = p.batch.into_iter().zip(p.c.batch);
    if p.batch.contains(&0) || p.m == 0 || p.n == 0 {
        return true;
    }
    let matrix = [(p.m, p.c.row), (p.n, p.c.col)];
    let walked = leading.filter(|&(_, stride)| !(repeated && stride == 0)).chain(matrix);
    let mut axes: Vec<_> = walked.filter(|&(len, _)| len > 1).map(|(len, stride)| (stride, len)).collect();
    axes.sort_unstable();
    let mut reached = 0;
    axes.into_iter().all(|(stride, len)| {
        let apart = stride > reached;
        reached += stride * (len - 1);
        apart
    })
}

#[cfg(test)]
mod tests {
    use core_types::params::gemm::MatrixStrides;

    use super::*;

    #[test]
    fn products_stop_at_the_greatest_number() {
        assert_eq!(product(&[]), 1);
        assert_eq!(product(&[3, 4, 5]), 60);
        assert_eq!(product(&[1 << 40, 1 << 40]), u64::MAX);
        assert_eq!(product(&[1 << 40, 1 << 40, 0]), 0);
        assert_eq!(check_len(u64::MAX, 7), Err(BackendError::Length { expected: usize::MAX, got: 7 }));
    }

    /// The places of the elements of C, counted one by one.
    fn places_differ(p: &GemmParams) -> bool {
        let lens = [p.batch[0], p.batch[1], p.batch[2], p.batch[3], p.m, p.n];
        let strides = [p.c.batch[0], p.c.batch[1], p.c.batch[2], p.c.batch[3], p.c.row, p.c.col];
        let mut places = vec![0u64];
        for (len, stride) in lens.into_iter().zip(strides) {
            places = places.iter().flat_map(|place| (0..len).map(move |i| place + i * stride)).collect();
        }
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        places.len() == count
    }

    #[test]
    fn results_that_overlap_are_never_taken_for_apart() {
        let mut apart = 0;
        for code in 0..6u64.pow(6) {
            let digit = |i| code / 6u64.pow(i) % 6;
            let batch = [1, 1, 1 + digit(0) % 3, 2];
            let c = MatrixStrides { batch: [9, 9, digit(1) * digit(1), digit(2)], row: digit(3), col: digit(4) };
            let (m, n) = (1 + digit(5) % 3, 1 + digit(5) / 3);
            let p = GemmParams { batch, m, n, k: 1, a: c, b: c, c, accumulate: 0, activation: Activation::Identity };
            if results_are_apart(&p, false) {
                apart += 1;
                assert!(places_differ(&p), "{p:?}");
            }
        }
        assert!(apart > 1000, "{apart}");
    }

    #[test]
    fn nested_layouts_are_apart_in_any_order_of_axes() {
        for (row, col, batch) in [(4, 1, 12), (1, 3, 12), (8, 2, 1), (2, 6, 1), (20, 1, 5)] {
            let c = MatrixStrides { batch: [0, 0, 0, batch], row, col };
            let (m, n) = (3, 4);
            let p = GemmParams {
                batch: [1, 1, 1, 2],
                m,
                n,
                k: 1,
                a: c,
                b: c,
                c,
                accumulate: 0,
                activation: Activation::Identity,
            };
            assert!(results_are_apart(&p, false) && places_differ(&p), "{p:?}");
        }
    }
}

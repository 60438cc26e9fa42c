//! Launches of the kernels for small matrices in global memory, which ops make for more than 96 rows only. The results are
//! compared with the kernels in shared memory, bit for bit.

use backend_api::{
    Buffer, Queue,
    ops::factor::{CholInverse, FactorOps, JacobiEigen},
};
use conformance::Failure;
use core_types::params::factor::JacobiParams;
use cuda_backend::{CudaBuf, CudaQueue};

use super::trials::Trial;

pub(super) fn trials() -> Vec<Trial> {
    vec![
        Trial::new("the inverse factor of 5 columns in global memory", |q| inverses(q, 5)),
        Trial::new("the inverse factor of 45 columns in global memory", |q| inverses(q, 45)),
        Trial::new("3 of 6 eigenvectors in global memory", |q| eigenvectors(q, 6, 3)),
        Trial::new("33 of 33 eigenvectors in global memory", |q| eigenvectors(q, 33, 33)),
        Trial::new("20 of 66 eigenvectors in global memory", |q| eigenvectors(q, 66, 20)),
    ]
}

/// `X^T X` for `2 side` rows of X, whose column 2, if there is one, is twice column 1.
fn gram(side: usize) -> Vec<f64> {
    let element = |row: usize, column: usize| ((row * 37 + column * 101 + row * column * 7) % 64) as f64 / 32.0 - 1.0;
    let x = |row: usize, column: usize| if column == 2 { 2.0 * element(row, 1) } else { element(row, column) };
    let at = |i: usize| (0..2 * side).map(|row| x(row, i / side) * x(row, i % side)).sum();
    (0..side * side).map(at).collect()
}

fn inverses(q: &CudaQueue, side: usize) -> Result<(), Failure> {
    let (gram, peak) = (q.upload(&gram(side))?, q.upload(&[6.0f32.to_bits()])?);
    let nothing = vec![9.0f64; side * side];
    let (mut expected, mut got) = (q.upload(&nothing)?, q.upload(&nothing)?);
    let peak = Some(peak.view());
    q.chol_inverse(CholInverse { side, gram: gram.view(), peak, inverse: expected.view_mut() })?;
    let launch = q.kernel("factor_inverse_wide")?.value("side", &(side as u32)).input("gram", gram.view());
    let launch = launch.input_if("peak", peak).output("inverse", &got.view_mut());
    // SAFETY: both matrices have `side` rows and columns, the peak is one word.
    unsafe { launch.launch() }?;
    Failure::unless_equal(&q.download(&expected)?, &q.download(&got)?)
}

/// The results of a decomposition.
struct Decomposition {
    vectors: CudaBuf<f64>,
    inverse: CudaBuf<f64>,
    sigma: CudaBuf<f32>,
    rank: CudaBuf<u32>,
}

impl Decomposition {
    fn new(q: &CudaQueue, side: usize, kept: usize) -> Result<Self, Failure> {
        let matrix = || q.upload(&vec![9.0f64; side * kept]);
        Ok(Self {
            vectors: matrix()?,
            inverse: matrix()?,
            sigma: q.upload(&vec![9.0f32; kept])?,
            rank: q.upload(&[99])?,
        })
    }
}

fn eigenvectors(q: &CudaQueue, side: usize, kept: usize) -> Result<(), Failure> {
    let params = JacobiParams { side: side as u64, kept: kept as u64 };
    let (gram, peak) = (q.upload(&gram(side))?, q.upload(&[6.0f32.to_bits()])?);
    let (mut expected, mut got) = (Decomposition::new(q, side, kept)?, Decomposition::new(q, side, kept)?);
    let mut matrix = q.upload(&vec![9.0f64; side * side])?;
    q.jacobi_eigen(JacobiEigen {
        params: &params,
        gram: gram.view(),
        peak: Some(peak.view()),
        vectors: expected.vectors.view_mut(),
        inverse: expected.inverse.view_mut(),
        sigma: expected.sigma.view_mut(),
        rank: expected.rank.view_mut(),
    })?;
    let launch = q.kernel("factor_jacobi_wide")?.value("p", &params).input("gram", gram.view());
    let launch = launch.input("peak", peak.view()).output("matrix", &matrix.view_mut());
    let launch = launch.output("vectors", &got.vectors.view_mut()).output("inverse", &got.inverse.view_mut());
    let launch = launch.output("sigma", &got.sigma.view_mut()).output("rank", &got.rank.view_mut());
    // SAFETY: G and its copy have `side` rows and columns, the vectors `kept` columns of `side`, and there are `kept`
    // values; the peak and the rank are one word each.
    unsafe { launch.launch() }?;
    Failure::unless_equal(&q.download(&expected.vectors)?, &q.download(&got.vectors)?)?;
    Failure::unless_equal(&q.download(&expected.inverse)?, &q.download(&got.inverse)?)?;
    Failure::unless_equal(&q.download(&expected.sigma)?, &q.download(&got.sigma)?)?;
    Failure::unless_equal(&q.download(&expected.rank)?, &q.download(&got.rank)?)
}

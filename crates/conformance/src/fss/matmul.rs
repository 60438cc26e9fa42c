//! `matmul_words`, compared with sums of products of 128 bits.

use backend_api::{
    Buffer as _, Queue,
    ops::share::{MatmulWords, ShareOps},
};
use core_types::params::share::MatmulWordsParams;

use super::{batch::words, refuse::expect_lens};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Numbers of products, of rows, of terms and of columns.
type ProductShape = [usize; 4];

/// Sizes around vectors, tiles of sums and the tiles of shared memory.
const SIZES: [usize; 10] = [0, 1, 3, 4, 5, 31, 32, 33, 65, 129];

/// Shapes with several tiles on every side, and rows of several products in one task.
const SHAPES: [ProductShape; 7] = [
    [1, 65, 17, 66],
    [1, 64, 16, 64],
    [1, 63, 15, 63],
    [2, 33, 31, 65],
    [3, 30, 4, 131],
    [70, 1, 2, 3],
    [2, 67, 129, 70],
];

const FACTORS: [u64; 4] = [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15];

/// Words that look random, every third of them an extreme one.
fn mixed(seed: u64, len: usize) -> Vec<u64> {
    const EXTREMES: [u64; 6] = [0, 1, u64::MAX, 1 << 63, 1 << 32, (1 << 32) - 1];
    let word = |(i, word): (usize, u64)| if i % 3 == 0 { EXTREMES[(word % 6) as usize] } else { word };
    words(seed, len).into_iter().enumerate().map(word).list()
}

fn params([batch, rows, inner, cols]: ProductShape, [alpha, beta]: [u64; 2]) -> MatmulWordsParams {
    let [batch, rows, inner, cols] = [batch, rows, inner, cols].map(|len| len as u64);
    MatmulWordsParams { batch, rows, inner, cols, alpha, beta }
}

/// Compares products with sums in 128 bits. With beta 0, `out` is not initialised.
fn expect(q: &Conditioned, shape: ProductShape, factors: [u64; 2]) -> Result<(), Failure> {
    let ([batch, rows, inner, cols], [alpha, beta]) = (shape, factors.map(u128::from));
    let (x, y) = (mixed(1, batch * rows * inner), mixed(2, batch * inner * cols));
    let before = mixed(3, batch * rows * cols);
    let mut expected = Vec::with_capacity(before.len());
    for product in 0..batch {
        for i in 0..rows {
            for j in 0..cols {
                let term = |k: usize| {
                    u128::from(x[(product * rows + i) * inner + k]) * u128::from(y[(product * inner + k) * cols + j])
                };
                // A carry out of 128 bits is a multiple of 2^64.
                let sum = (0..inner).fold(0u128, |sum, k| sum.wrapping_add(term(k))) as u64;
                let addend = beta * u128::from(before[expected.len()]);
                expected.push((alpha * u128::from(sum)).wrapping_add(addend) as u64);
            }
        }
    }
    let (device_x, device_y) = (q.upload(&x)?, q.upload(&y)?);
    let mut out = if beta == 0 { q.alloc::<u64>(before.len())? } else { q.upload(&before)? };
    q.matmul_words(MatmulWords {
        params: &params(shape, factors),
        x: device_x.view(),
        y: device_y.view(),
        out: out.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&out)?)
}

fn expect_refusals(q: &Conditioned) -> Result<(), Failure> {
    let multiply = |shape: MatmulWordsParams, [x, y, out]: [usize; 3]| {
        let (x, y, mut out) = (q.zeros(x)?, q.zeros(y)?, q.zeros(out)?);
        q.matmul_words(MatmulWords { params: &shape, x: x.view(), y: y.view(), out: out.view_mut() })
    };
    let shape = params([2, 3, 4, 5], [1, 0]);
    expect_lens("matmul_words", [24, 40, 30], |lens| multiply(shape, lens))?;
    // Sizes whose product is 0 or 1 modulo 2^64.
    for shape in [
        MatmulWordsParams { batch: 1, rows: 1 << 32, inner: 1 << 32, cols: 0, ..shape },
        MatmulWordsParams { batch: 1 << 40, rows: 1 << 40, inner: 0, cols: 1, ..shape },
        MatmulWordsParams { batch: 1, rows: u64::MAX, inner: u64::MAX, cols: 1, ..shape },
    ] {
        for lens in [[0; 3], [1, 0, 0], [1, 1, 1]] {
            Failure::unless_refused(&format!("matmul_words of {shape:?}"), multiply(shape, lens))?;
        }
    }
    // Next to a size of 0, others may overflow.
    multiply(MatmulWordsParams { batch: u64::MAX, rows: 0, inner: 0, cols: u64::MAX, ..shape }, [0; 3])?;
    Ok(())
}

pub(super) fn specs() -> OpSpec {
    let any = [FACTORS[3], FACTORS[2] - 1];
    let mut shapes = Vec::new();
    for n in SIZES {
        shapes.extend([[1, n, 5, 4], [2, 3, n, 5], [1, 4, 3, n]]);
    }
    shapes.extend([[0, 1, 1, 1], [3, 1, 1, 1]]);
    shapes.extend(SHAPES);
    let mut cases: Vec<Case> = Vec::new();
    for shape in shapes {
        let [batch, rows, inner, cols] = shape;
        let name = format!("{batch} of {rows} x {inner} x {cols}");
        let case = Case::new(name, move |q| expect(q, shape, any));
        cases.push(case.on_elements((batch * rows * inner * cols) as u64));
    }
    cases.push(Case::new("every pair of factors, without terms too", |q| {
        for alpha in FACTORS {
            for beta in FACTORS {
                expect(q, [2, 5, 7, 9], [alpha, beta])?;
                expect(q, [2, 5, 0, 9], [alpha, beta])?;
            }
        }
        Ok(())
    }));
    cases.push(Case::new("views of other lengths, and sizes that overflow", expect_refusals));
    OpSpec { op: "fss.matmul_words", cases }
}

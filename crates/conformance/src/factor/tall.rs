//! Ops on tall matrices: peaks, sketches, Gram matrices and products.
//!
//! All are exact on the inputs of these cases.

use backend_api::{
    Buffer as _, Queue,
    ops::factor::{FactorOps, MatrixPeak, SignSketch, TallGram, TallProduct},
};
use core_types::{
    params::factor::{MAX_SIDE, MatrixParams, SketchParams, TallParams},
    philox,
};

use super::model::NumberSource;
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

pub(super) fn specs() -> Vec<OpSpec> {
    vec![peaks(), sketches(), grams(), products()]
}

fn peaks() -> OpSpec {
    let peak = |q: &Conditioned, a: &[f32], expected: u32| {
        let (a, mut peak) = (q.upload(a)?, q.upload(&[7u32])?);
        q.matrix_peak(MatrixPeak { a: a.view(), peak: peak.view_mut() })?;
        Failure::unless_equal(&[expected], &q.download(&peak)?)
    };
    let mut cases: Vec<Case> = Vec::new();
    for len in BATCHES {
        cases.push(Case::new(format!("of {len} elements, at each place"), move |q| {
            let ones = vec![-1.0f32; len as usize];
            peak(q, &ones, if len == 0 { 0 } else { 1f32.to_bits() })?;
            for place in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|&place| place < len) {
                let mut a = ones.clone();
                a[place as usize] = -3.5;
                peak(q, &a, 3.5f32.to_bits())?;
            }
            Ok(())
        }));
    }
    cases.push(
        Case::new("of many elements", move |q| {
            let mut a = vec![0.25f32; 200_000];
            a[199_999] = 0.5;
            peak(q, &a, 0.5f32.to_bits())
        })
        .on_elements(200_000),
    );
    cases.push(Case::new("of zeros, subnormals and what is no number", move |q| {
        peak(q, &[-0.0, 0.0], 0)?;
        peak(q, &[0.0, -f32::from_bits(3), f32::from_bits(2)], 3)?;
        peak(q, &[1.0, f32::NEG_INFINITY, 2.0], f32::INFINITY.to_bits())?;
        peak(q, &[f32::INFINITY, -f32::NAN, 2.0], f32::NAN.to_bits())
    }));
    OpSpec { op: "factor.matrix_peak", cases }
}

fn sketches() -> OpSpec {
    let signs = |q: &Conditioned, len: u64, peak: f32, unit: f32| {
        let seed = 0x0123_4567_89ab_cdef;
        let (peak, mut omega) = (q.upload(&[peak.to_bits()])?, q.zeros::<f32>(len as usize)?);
        let params = SketchParams { matrix: MatrixParams { rows: len, cols: 1 }, seed };
        q.sign_sketch(SignSketch { params: &params, peak: peak.view(), omega: omega.view_mut() })?;
        let expected: Vec<f32> = (0..len)
            .map(|i| if philox::block(seed, 0, 0, i / 4)[(i % 4) as usize] >> 31 == 1 { -unit } else { unit })
            .list();
        Failure::unless_equal(&expected, &q.download(&omega)?)
    };
    let mut cases: Vec<Case> = Vec::new();
    for len in BATCHES {
        cases.push(Case::new(format!("{len} signs"), move |q| signs(q, len.into(), 0.75, 1.0)));
    }
    cases.push(Case::new("many signs", move |q| signs(q, 70_003, 1.0, 0.5)).on_elements(70_003));
    cases.push(Case::new("scaled for small and great matrices, within bounds", move |q| {
        for (peak, unit) in [(0.0, 1.0), (4.0, 0.125), (1.0 / 1024.0, 512.0)] {
            signs(q, 5, peak, unit)?;
        }
        signs(q, 5, f32::MAX, 2f32.powi(-100))?;
        signs(q, 5, f32::from_bits(1), 2f32.powi(100))
    }));
    OpSpec { op: "factor.sign_sketch", cases }
}

/// Rows and columns around the tiles and parts of every backend.
const SHAPES: [(usize, usize); 13] = [
    (0, 3),
    (1, 1),
    (5, 2),
    (31, 31),
    (32, 32),
    (33, 33),
    (64, 44),
    (65, 64),
    (97, 65),
    (70, 96),
    (257, 7),
    (260, 0),
    (40, 130),
];

fn gram(q: &Conditioned, rows: usize, cols: usize) -> Result<(), Failure> {
    let mut random = NumberSource::new((rows * 100 + cols) as u64);
    let x: Vec<f32> = (0..rows * cols).map(|_| random.dyadic()).list();
    let mut expected = vec![0.0; cols * cols];
    for row in x.chunks_exact(cols.max(1)) {
        for (i, &a) in row.iter().enumerate() {
            for (j, &b) in row.iter().enumerate() {
                expected[i * cols + j] += f64::from(a) * f64::from(b);
            }
        }
    }
    let (x, mut gram) = (q.upload(&x)?, q.upload(&vec![9.0f64; cols * cols])?);
    let params = MatrixParams { rows: rows as u64, cols: cols as u64 };
    q.tall_gram(TallGram { params: &params, x: x.view(), gram: gram.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&gram)?)
}

fn grams() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for (m, n) in SHAPES {
        cases.push(Case::new(format!("of {m} x {n}"), move |q| gram(q, m, n)));
    }
    for (m, n) in [(9000, 5), (4097, 48), (2300, 130)] {
        cases.push(Case::new(format!("of {m} x {n}"), move |q| gram(q, m, n)).on_elements((m * n) as u64));
    }
    cases.push(Case::new("of more columns than a small matrix has", |q| {
        let params = MatrixParams { rows: 0, cols: MAX_SIDE + 1 };
        let (x, mut gram) = (q.zeros::<f32>(0)?, q.zeros::<f64>((MAX_SIDE * MAX_SIDE + 2 * MAX_SIDE + 1) as usize)?);
        let outcome = q.tall_gram(TallGram { params: &params, x: x.view(), gram: gram.view_mut() });
        Failure::unless_refused("1025 columns", outcome)
    }));
    OpSpec { op: "factor.tall_gram", cases }
}

fn product(q: &Conditioned, rows: usize, inner: usize, cols: usize) -> Result<(), Failure> {
    let mut random = NumberSource::new((rows * 100 + cols) as u64);
    let x: Vec<f32> = (0..rows * inner).map(|_| random.dyadic()).list();
    // Coefficients beyond f32, whose sums cancel.
    let c: Vec<f64> = (0..inner * cols).map(|_| f64::from(random.dyadic()) + 2f64.powi(30)).list();
    let expected: Vec<f32> = (0..rows * cols)
        .map(|i| (0..inner).map(|k| f64::from(x[i / cols * inner + k]) * c[k * cols + i % cols]).sum::<f64>() as f32)
        .list();
    let (x, c, mut y) = (q.upload(&x)?, q.upload(&c)?, q.upload(&vec![9.0f32; rows * cols])?);
    let params = TallParams { rows: rows as u64, inner: inner as u64, cols: cols as u64 };
    q.tall_product(TallProduct { params: &params, x: x.view(), c: c.view(), y: y.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&y)?)
}

fn products() -> OpSpec {
    let mut cases = Vec::new();
    for (rows, inner) in SHAPES {
        for cols in [inner, inner.min(9)] {
            cases.push(Case::new(format!("{rows} x {inner} x {cols}"), move |q| product(q, rows, inner, cols)));
        }
    }
    cases.dedup_by(|a, b| a.name() == b.name());
    cases.push(Case::new("5 x 0 x 3", |q| product(q, 5, 0, 3)));
    cases.push(Case::new("2100 x 48 x 33", |q| product(q, 2100, 48, 33)).on_elements(2100 * 48));
    OpSpec { op: "factor.tall_product", cases }
}

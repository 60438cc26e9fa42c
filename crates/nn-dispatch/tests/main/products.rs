//! Matrix products and linear layers.

use nn_dispatch::{LinearGradients, MatmulGradients, Product, TensorOpsAPI};

use crate::common::{CLOSE, close, each, slopes, values, wide};

/// `op(A) op(B)` for each product of a batch, in f64.
fn product(p: Product, a: &[f64], b: &[f64]) -> Vec<f64> {
    let Product { batch, m, k, n, transpose_a, transpose_b } = p;
    let mut c = Vec::with_capacity(batch * m * n);
    for (batch, row, column) in (0..batch * m * n).map(|at| (at / (m * n), at / n % m, at % n)) {
        let (a, b) = (&a[batch * m * k..], &b[batch * k * n..]);
        let left = |t: usize| if transpose_a { a[t * m + row] } else { a[row * k + t] };
        let right = |t: usize| if transpose_b { b[column * k + t] } else { b[t * n + column] };
        c.push((0..k).map(|t| left(t) * right(t)).sum());
    }
    c
}

#[test]
fn products_and_their_gradients_match_f64_for_every_flag() {
    const SIZES: [[usize; 3]; 5] = [[1, 1, 1], [2, 4, 6], [3, 5, 7], [8, 1, 9], [9, 16, 5]];
    each(|d| {
        for ([m, k, n], batch) in SIZES.into_iter().flat_map(|size| [1, 3].map(|batch| (size, batch))) {
            for flags in 0..4 {
                let (transpose_a, transpose_b) = (flags & 1 == 1, flags & 2 == 2);
                let p = Product { batch, m, k, n, transpose_a, transpose_b };
                let (a, b, g) = (values(1, batch * m * k), values(2, batch * k * n), values(3, batch * m * n));
                let mut c = vec![f32::NAN; batch * m * n];
                let saved = d.matmul((&a).into(), (&b).into(), p, &mut c).unwrap();
                close(&format!("{p:?}"), &c, &product(p, &wide(&a), &wide(&b)), CLOSE);

                let (mut da, mut db) = (vec![f32::NAN; a.len()], vec![f32::NAN; b.len()]);
                let gradients = MatmulGradients { a: Some(&mut da), b: Some(&mut db) };
                d.matmul_backward(&saved, (&a).into(), (&b).into(), (&g).into(), gradients).unwrap();
                let of_a = slopes(|a| product(p, a, &wide(&b)), &wide(&a), &g);
                let of_b = slopes(|b| product(p, &wide(&a), b), &wide(&b), &g);
                close(&format!("dA of {p:?}"), &da, &of_a, CLOSE);
                close(&format!("dB of {p:?}"), &db, &of_b, CLOSE);
            }
        }
    });
}

#[test]
fn products_without_elements_are_empty_or_zero() {
    each(|d| {
        for [batch, m, k, n] in [[0, 2, 3, 4], [1, 0, 3, 4], [1, 2, 0, 4], [1, 2, 3, 0]] {
            let p = Product { batch, ..Product::new(m, k, n) };
            let (a, b, g) = (values(1, batch * m * k), values(2, batch * k * n), values(3, batch * m * n));
            let mut c = vec![f32::NAN; batch * m * n];
            let saved = d.matmul((&a).into(), (&b).into(), p, &mut c).unwrap();
            assert_eq!(c, vec![0.0; c.len()], "{p:?}");
            let (mut da, mut db) = (vec![f32::NAN; a.len()], vec![f32::NAN; b.len()]);
            let gradients = MatmulGradients { a: Some(&mut da), b: Some(&mut db) };
            d.matmul_backward(&saved, (&a).into(), (&b).into(), (&g).into(), gradients).unwrap();
            assert_eq!((&da, &db), (&vec![0.0; da.len()], &vec![0.0; db.len()]), "{p:?}");
        }
    });
}

#[test]
fn a_gradient_that_is_left_out_changes_no_other() {
    each(|d| {
        let (a, b, g) = (values(1, 6), values(2, 12), values(3, 8));
        let mut c = vec![0.0; 8];
        let saved = d.matmul((&a).into(), (&b).into(), Product::new(2, 3, 4), &mut c).unwrap();
        let run = |gradients: MatmulGradients<'_>| {
            d.matmul_backward(&saved, (&a).into(), (&b).into(), (&g).into(), gradients).unwrap();
        };
        let [mut da, mut alone] = [[0.0; 6]; 2];
        let mut db = [0.0; 12];
        run(MatmulGradients { a: Some(&mut da), b: Some(&mut db) });
        run(MatmulGradients { a: Some(&mut alone), b: None });
        run(MatmulGradients::default());
        assert_eq!(alone, da);
    });
}

#[test]
fn linear_layers_and_their_gradients_match_f64() {
    each(|d| {
        for [m, k, n] in [[1, 1, 1], [2, 4, 6], [5, 7, 3], [9, 8, 16]] {
            for has_bias in [false, true] {
                let (x, w, b, g) = (values(1, m * k), values(2, k * n), values(3, n), values(4, m * n));
                let bias = has_bias.then_some((&b).into());
                let mut y = vec![f32::NAN; m * n];
                let saved = d.linear((&x).into(), (&w).into(), bias, [m, k, n], &mut y).unwrap();
                let added = if has_bias { wide(&b) } else { vec![0.0; n] };
                let layer = |x: &[f64], w: &[f64], b: &[f64]| {
                    let p = product(Product::new(m, k, n), x, w);
                    p.iter().enumerate().map(|(at, p)| p + b[at % n]).collect::<Vec<_>>()
                };
                let (x64, w64) = (wide(&x), wide(&w));
                close("y", &y, &layer(&x64, &w64, &added), CLOSE);

                let (mut dx, mut dw, mut db) = (vec![f32::NAN; m * k], vec![f32::NAN; k * n], vec![f32::NAN; n]);
                let of_bias = if has_bias { Some(&mut db[..]) } else { None };
                let gradients = LinearGradients { x: Some(&mut dx), w: &mut dw, bias: of_bias };
                d.linear_backward(&saved, (&x).into(), (&w).into(), (&g).into(), gradients).unwrap();
                close("dx", &dx, &slopes(|x| layer(x, &w64, &added), &x64, &g), CLOSE);
                close("dw", &dw, &slopes(|w| layer(&x64, w, &added), &w64, &g), CLOSE);
                if has_bias {
                    close("db", &db, &slopes(|b| layer(&x64, &w64, b), &added, &g), CLOSE);
                }
            }
        }
    });
}

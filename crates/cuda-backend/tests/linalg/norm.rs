//! Layer norm and RMS norm with their gradients, for large means, rows without spread and no rows at all.

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::linalg::{LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward, RowOps},
};
use core_types::params::rows::NormParams;
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use crate::linalg::rig::{assert_close, assert_near, on_every_order, reals, wide};

/// Rows and lengths for registers, warps, blocks and several blocks of rows.
const SHAPES: [(usize, usize); 8] = [(1, 1), (3, 7), (5, 64), (130, 12), (2, 1000), (3, 1024), (2, 1028), (1, 3001)];

struct Case<T> {
    p: NormParams,
    x: Vec<T>,
    gamma: Vec<T>,
    beta: Vec<T>,
    g: Vec<T>,
}

impl<T: Real> Case<T> {
    fn new(rows: usize, len: usize, offset: f32) -> Self {
        let x: Vec<T> = reals::<f32>(1, rows * len, 4.0).into_iter().map(|x| T::from_f32(x + offset)).collect();
        let p = NormParams { rows: rows as u64, len: len as u64, eps: 1e-5 };
        let (gamma, beta) = (reals(2, len, 4.0), reals(3, len, 4.0));
        Self { p, x, gamma, beta, g: reals(4, rows * len, 4.0) }
    }

    /// y, dx, dgamma and dbeta.
    fn model(&self, centred: bool) -> [Vec<f64>; 4] {
        let len = self.gamma.len();
        let (gamma, beta) = (wide(&self.gamma), wide(&self.beta));
        let [mut y, mut dx] = [Vec::new(), Vec::new()];
        let [mut dgamma, mut dbeta] = [vec![0.0; len], vec![0.0; len]];
        for (x, g) in wide(&self.x).chunks(len).zip(wide(&self.g).chunks(len)) {
            let n = len as f64;
            let mean = if centred { x.iter().sum::<f64>() / n } else { 0.0 };
            let rstd = 1.0 / (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n + f64::from(self.p.eps)).sqrt();
            let h: Vec<f64> = x.iter().map(|x| (x - mean) * rstd).collect();
            let a: Vec<f64> = g.iter().zip(&gamma).map(|(g, gamma)| g * gamma).collect();
            let mean_a = if centred { a.iter().sum::<f64>() / n } else { 0.0 };
            let mean_ah = a.iter().zip(&h).map(|(a, h)| a * h).sum::<f64>() / n;
            for i in 0..len {
                y.push(h[i] * gamma[i] + if centred { beta[i] } else { 0.0 });
                dx.push(rstd * (a[i] - mean_a - h[i] * mean_ah));
                dgamma[i] += g[i] * h[i];
                dbeta[i] += g[i];
            }
        }
        [y, dx, dgamma, dbeta]
    }

    /// The device's results for the same inputs: y, dx, dgamma and dbeta.
    fn run(&self, q: &CudaQueue, centred: bool) -> Result<[Vec<T>; 4], BackendError> {
        let (params, rows, len) = (self.p, self.p.rows as usize, self.gamma.len());
        let (x, gamma, beta, g) =
            (q.upload(&self.x)?, q.upload(&self.gamma)?, q.upload(&self.beta)?, q.upload(&self.g)?);
        let (mut y, mut dx) = (q.zeros::<T>(self.x.len())?, q.zeros::<T>(self.x.len())?);
        let (mut dgamma, mut dbeta) = (q.zeros::<T>(len)?, q.zeros::<T>(len)?);
        let (x, gamma, beta, g) = (x.view(), Some(gamma.view()), Some(beta.view()), g.view());
        let (out, dx_out) = (y.view_mut(), dx.view_mut());
        if centred {
            let mut stats = q.zeros::<f32>(2 * rows)?;
            q.layer_norm(LayerNorm { params: &params, x, gamma, beta, y: out, stats: stats.view_mut() })?;
            q.layer_norm_backward(LayerNormBackward {
                params: &params,
                x,
                gamma,
                stats: stats.view(),
                g,
                dx: dx_out,
                dgamma: Some(dgamma.view_mut()),
                dbeta: Some(dbeta.view_mut()),
            })?;
        } else {
            let mut stats = q.zeros::<f32>(rows)?;
            q.rms_norm(RmsNorm { params: &params, x, gamma, y: out, rstd: stats.view_mut() })?;
            let (rstd, dgamma) = (stats.view(), Some(dgamma.view_mut()));
            q.rms_norm_backward(RmsNormBackward { params: &params, x, gamma, rstd, g, dx: dx_out, dgamma })?;
        }
        Ok([q.download(&y)?, q.download(&dx)?, q.download(&dgamma)?, q.download(&dbeta)?])
    }

    fn check(&self, q: &CudaQueue, atol: f64, bound: f64) {
        for centred in [true, false] {
            let [want_y, want_dx, want_dgamma, want_dbeta] = self.model(centred);
            let [y, dx, dgamma, dbeta] = self.run(q, centred).unwrap();
            let what = format!("{} x {}, centred: {centred}", self.p.rows, self.p.len);
            assert_close(&what, &want_y, &y, atol, 4.0 * atol);
            assert_near(&what, &want_dx, &dx, bound);
            assert_near(&what, &want_dgamma, &dgamma, bound);
            if centred {
                assert_near(&what, &want_dbeta, &dbeta, bound);
            }
        }
    }
}

#[test]
fn norms_and_their_gradients_are_within_their_bounds() {
    on_every_order(|q| {
        for (rows, len) in SHAPES {
            Case::<f32>::new(rows, len, 0.0).check(q, 1e-5, 1e-5);
        }
        Case::<f16>::new(70, 100, 0.0).check(q, 2e-3, 1e-2);
        Case::<bf16>::new(5, 1028, 0.0).check(q, 1.6e-2, 5e-2);
    });
}

#[test]
fn a_mean_of_ten_thousand_deviations_costs_no_accuracy() {
    on_every_order(|q| {
        for len in [100, 1028] {
            let case = Case::<f32>::new(5, len, 2e4);
            let [want_y, want_dx, ..] = case.model(true);
            let [y, dx, ..] = case.run(q, true).unwrap();
            assert_close("y", &want_y, &y, 1e-5, 4e-5);
            assert_near("dx", &want_dx, &dx, 1e-5);
        }
    });
}

#[test]
fn rows_without_spread_are_refused_where_eps_is_zero() {
    on_every_order(|q| {
        for len in [8, 9, 1028] {
            let mut case = Case::<f32>::new(7, len, 0.0);
            case.p.eps = 0.0;
            case.run(q, true).unwrap();
            for row in [5, 3] {
                case.x[row * len..(row + 1) * len].fill(0.0);
            }
            for (centred, op, why) in [
                (true, "layer_norm", "the variance and eps are zero"),
                (false, "rms_norm", "the mean square and eps are zero"),
            ] {
                assert_eq!(case.run(q, centred).err(), Some(BackendError::Undefined { op, index: 3, why }));
            }
        }
    });
}

#[test]
fn no_rows_give_zero_sums() {
    on_every_order(|q| {
        let params = NormParams { rows: 0, len: 5, eps: 1e-5 };
        let (none, gamma) = (q.zeros::<f32>(0).unwrap(), q.upload(&[1.0f32; 5]).unwrap());
        let (mut dx, mut dgamma) = (q.zeros::<f32>(0).unwrap(), q.upload(&[7.0f32; 5]).unwrap());
        q.rms_norm_backward(RmsNormBackward {
            params: &params,
            x: none.view(),
            gamma: Some(gamma.view()),
            rstd: none.view(),
            g: none.view(),
            dx: dx.view_mut(),
            dgamma: Some(dgamma.view_mut()),
        })
        .unwrap();
        assert_eq!(q.download(&dgamma).unwrap(), [0.0; 5]);
    });
}

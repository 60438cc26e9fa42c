//! Layer norm, also of sums, and RMS norm, with their gradients.
//!
//! They run on ordinary rows, extreme deviations and constant rows.

use core::fmt::Debug;

use backend_api::{BackendError, Buffer, Queue, Real};
use half::{bf16, f16};
use nn_ops::{Layout, NnError, NormAffine, NormPlan, NormResults, NormSaved, TensorMut, TensorRef};

use super::{HELD_LENGTHS, LENGTHS, TYPED_LENGTHS, batches, model, narrow, unless_near, values, wide};
use crate::{Buf, Case, Conditioned, Failure, OpSpec, linalg::model::wide as single, list::ListIterator as _};

/// A norm of rows.
#[derive(Clone, Copy)]
pub(super) struct NormOp {
    name: &'static str,
    /// Whether rows lose their mean: layer norm, or else RMS norm.
    pub(super) centred: bool,
    /// Whether other rows are added first.
    adds: bool,
}

pub(super) const LAYER: NormOp = NormOp { name: "layer_norm", centred: true, adds: false };
pub(super) const RMS: NormOp = NormOp { name: "rms_norm", centred: false, adds: false };
const SUM: NormOp = NormOp { name: "add_layer_norm", centred: true, adds: true };

/// Inputs of one case; `beta` is all zero for RMS norm.
pub(super) struct NormInputs {
    pub(super) rows: usize,
    pub(super) n: usize,
    pub(super) eps: f32,
    pub(super) x: Vec<f32>,
    pub(super) gamma: Vec<f32>,
    pub(super) beta: Vec<f32>,
    /// Whether gamma and beta are passed; otherwise they are ones and zeros.
    pub(super) affine: bool,
}

/// The gradients with respect to x, gamma and beta.
struct NormGradients<R> {
    dx: Vec<R>,
    dgamma: Vec<R>,
    dbeta: Vec<R>,
}

pub(super) fn specs() -> Vec<OpSpec> {
    vec![
        OpSpec { op: "linalg.layer_norm", cases: forward(LAYER) },
        OpSpec { op: "linalg.add_layer_norm", cases: forward(SUM) },
        OpSpec { op: "linalg.rms_norm", cases: forward(RMS) },
        OpSpec { op: "linalg.layer_norm_backward", cases: backward(LAYER) },
        OpSpec { op: "linalg.rms_norm_backward", cases: backward(RMS) },
    ]
}

/// Logs of extreme deviations, each with an eps.
///
/// The squares of the deviations leave the range of f32 or come near its ends. The eps matters or
/// does not.
const EXTREMES: [(i32, f32); 9] =
    [(-120, 0.0), (-83, 0.0), (-83, 1e-38), (-40, 1e-25), (-34, 0.0), (61, 1e-5), (63, 1e-5), (64, 1e30), (122, 0.0)];

/// Rows that a GPU's warp streams, that it holds, and that a block takes, aligned and not.
pub(super) const EXTREME_LENGTHS: [usize; 5] = [17, 64, 1024, 1100, 1101];

/// Lengths of rows without spread: held by a GPU's warp, streamed by it, taken by a block.
pub(super) const UNDEFINED_LENGTHS: [usize; 3] = [8, 9, 1028];

impl NormOp {
    /// `rows` rows of `n` values around `offset`.
    pub(super) fn inputs(self, rows: usize, n: usize, offset: f32) -> NormInputs {
        let x = values(n as u64, rows * n).iter().map(|v| v + offset).list();
        let beta = if self.centred { values(42, n) } else { vec![0.0; n] };
        NormInputs { rows, n, eps: 1e-5, x, gamma: values(41, n), beta, affine: true }
    }

    /// `rows` rows of `n` values with standard deviations of about `2^log`.
    ///
    /// Their means have the same size.
    pub(super) fn scaled(self, rows: usize, n: usize, log: i32, eps: f32) -> NormInputs {
        let mut inputs = self.inputs(rows, n, 1.0);
        // In two steps, for a power that is below the normal numbers.
        inputs.x.iter_mut().for_each(|x| *x *= 2f32.powi(log / 2) * 2f32.powi(log - log / 2));
        NormInputs { eps, ..inputs }
    }

    /// Seven rows without eps; rows 3 and 5 have no spread.
    pub(super) fn undefined(self, n: usize) -> NormInputs {
        let mut inputs = NormInputs { eps: 0.0, ..self.inputs(7, n, 0.0) };
        [3, 5].into_iter().for_each(|row| inputs.x[row * n..][..n].fill(0.0));
        inputs
    }

    /// The same without gamma and beta.
    pub(super) fn plain(self, inputs: NormInputs) -> NormInputs {
        NormInputs { gamma: vec![1.0; inputs.n], beta: vec![0.0; inputs.n], affine: false, ..inputs }
    }

    fn model(self, input: &NormInputs, x: &[f64]) -> Vec<f64> {
        let (gamma, eps) = (wide(&input.gamma), f64::from(input.eps));
        if self.centred {
            model::layer_norm(x, &gamma, &wide(&input.beta), eps)
        } else {
            model::rms_norm(x, &gamma, eps)
        }
    }

    /// The model of every row of `x`.
    fn model_rows(self, input: &NormInputs, x: &[f32]) -> Vec<f64> {
        model::along(&wide(x), input.n, 1, &mut |x| self.model(input, x))
    }

    /// Runs the op and, given `g`, its backward pass.
    fn run<T: Real>(
        self,
        q: &Conditioned,
        input: &NormInputs,
        g: Option<&[f32]>,
    ) -> Result<(Vec<f32>, Option<NormGradients<f32>>), NnError> {
        let shape = [input.rows, input.n];
        let plan = NormPlan::new(&shape, input.eps)?;
        let buf = |v: &[f32]| q.upload(&narrow::<T>(v));
        let (x, gamma, beta) = (buf(&input.x)?, buf(&input.gamma)?, buf(&input.beta)?);
        let mut y = q.zeros::<T>(input.x.len())?;
        let mut stats = if self.centred { plan.layer_stats(q)? } else { plan.rms_stats(q)? };
        let of_rows =
            if self.centred { Layout::contiguous(&[2, input.rows]) } else { Layout::contiguous(&[input.rows]) }?;
        let x = TensorRef::contiguous(x.view(), &shape)?;
        let column = |values| input.affine.then(|| TensorRef::contiguous(values, &[input.n])).transpose();
        let (factors, addends) = (column(gamma.view())?, column(beta.view())?);
        let results = NormResults {
            y: TensorMut::contiguous(y.view_mut(), &shape)?,
            stats: TensorMut::new(stats.view_mut(), of_rows)?,
        };
        match self.centred {
            true => plan.layer_norm(q, x, NormAffine { gamma: factors, beta: addends }, results)?,
            false => plan.rms_norm(q, x, factors, results)?,
        }
        let host = |buf: &Buf<T>| -> Result<Vec<f32>, NnError> { Ok(single(&q.download(buf)?)) };
        let Some(g) = g else { return Ok((host(&y)?, None)) };
        let g = buf(g)?;
        let (mut dx, mut dgamma) = (q.zeros::<T>(input.x.len())?, q.zeros::<T>(input.n)?);
        let mut dbeta = q.zeros::<T>(input.n)?;
        let saved = NormSaved { x, gamma: factors, stats: TensorRef::new(stats.view(), of_rows)? };
        let g = TensorRef::contiguous(g.view(), &shape)?;
        let into = TensorMut::contiguous(dx.view_mut(), &shape)?;
        let of_gamma = Some(TensorMut::contiguous(dgamma.view_mut(), &[input.n])?);
        match self.centred {
            true => {
                let beta = Some(TensorMut::contiguous(dbeta.view_mut(), &[input.n])?);
                plan.layer_norm_backward(q, saved, g, nn_ops::NormGradients { x: into, gamma: of_gamma, beta })?;
            }
            false => plan.rms_norm_backward(q, saved, g, into, of_gamma)?,
        }
        Ok((host(&y)?, Some(NormGradients { dx: host(&dx)?, dgamma: host(&dgamma)?, dbeta: host(&dbeta)? })))
    }

    /// The norms of the rows, or of their sums with `r` if the op adds.
    fn normed<T: Real>(self, q: &Conditioned, input: &NormInputs, r: &[f32]) -> Result<Vec<f32>, NnError> {
        Ok(if self.adds { run_sum::<T>(q, input, r, 0)?.1 } else { self.run::<T>(q, input, None)?.0 })
    }

    /// Requires an error with the number of the first row without spread.
    pub(super) fn unless_undefined<R: Debug>(self, outcome: Result<R, NnError>) -> Result<(), Failure> {
        match outcome {
            Err(NnError::Backend(BackendError::Undefined { op, index: 3, .. })) if op == self.name => Ok(()),
            Ok(got) => Err(Failure::Broken(format!("got {got:?}"))),
            Err(error) => Err(error.into()),
        }
    }

    /// The analytic gradients in f64.
    fn model_gradients(self, input: &NormInputs, g: &[f32]) -> NormGradients<f64> {
        let n = input.n;
        let mut all = NormGradients { dx: Vec::new(), dgamma: vec![0.0; n], dbeta: vec![0.0; n] };
        for (x, g) in wide(&input.x).chunks(n).zip(wide(g).chunks(n)) {
            let mean_of = |v: &[f64]| v.iter().sum::<f64>() / n as f64;
            let mean = if self.centred { mean_of(x) } else { 0.0 };
            let d: Vec<f64> = x.iter().map(|x| x - mean).list();
            let square: Vec<f64> = d.iter().map(|d| d * d).list();
            let rstd = 1.0 / (mean_of(&square) + f64::from(input.eps)).sqrt();
            let h: Vec<f64> = d.iter().map(|d| d * rstd).list();
            let a: Vec<f64> = g.iter().zip(&input.gamma).map(|(g, &gamma)| g * f64::from(gamma)).list();
            let ah = mean_of(&a.iter().zip(&h).map(|(a, h)| a * h).list());
            let a_mean = if self.centred { mean_of(&a) } else { 0.0 };
            all.dx.extend(a.iter().zip(&h).map(|(a, h)| rstd * (a - a_mean - h * ah)));
            all.dgamma.iter_mut().zip(g.iter().zip(&h)).for_each(|(sum, (g, h))| *sum += g * h);
            if self.centred {
                all.dbeta.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
            }
        }
        all
    }
}

fn forward(op: NormOp) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for n in LENGTHS {
        for offset in [0.0, 2e2, 2e4] {
            // values() has a standard deviation of 2.3.
            cases.push(Case::new(format!("3 rows of {n} around {offset}"), move |q| {
                close::<f32>(q, op, &op.inputs(3, n, offset), 4e-5)
            }));
        }
    }
    for rows in batches() {
        let check = move |q: &_| close::<f32>(q, op, &op.inputs(rows, 17, 0.0), 4e-5);
        cases.push(Case::new(format!("{rows} rows of 17"), check));
    }
    let long = Case::new("a row of 65536", move |q| close::<f32>(q, op, &op.inputs(1, 65_536, 0.0), 2e-5));
    cases.push(long.on_elements(65_536));
    let what = if op.adds { "sum" } else { "row" };
    let undefined = Case::new(format!("a constant {what} without eps is an error with its number"), move |q| {
        UNDEFINED_LENGTHS.into_iter().try_for_each(|n| {
            let input = op.undefined(n);
            op.unless_undefined(op.normed::<f32>(q, &input, &input.x))
        })
    });
    cases.push(undefined.that_waits());
    cases.push(Case::new("NaN and infinity stay in their row", move |q| {
        let mut input = op.inputs(3, 17, 0.0);
        (input.x[3], input.x[20]) = (f32::NAN, f32::INFINITY);
        let y = op.normed::<f32>(q, &input, &values(53, 51))?;
        match y[..17].iter().all(|y| y.is_nan()) && y[20].is_nan() && y[34..].iter().all(|y| y.is_finite()) {
            true => Ok(()),
            false => Err(Failure::Broken(format!("got {y:?}"))),
        }
    }));
    for &(log, eps) in if op.adds { &EXTREMES[2..3] } else { &EXTREMES } {
        cases.push(extreme_case(log, eps, move |q| {
            EXTREME_LENGTHS.iter().try_for_each(|&n| close::<f32>(q, op, &op.scaled(3, n, log, eps), 4e-5))
        }));
    }
    cases.push(Case::new("bf16 deviations of 2^120", move |q| {
        EXTREME_LENGTHS.iter().try_for_each(|&n| close::<bf16>(q, op, &op.scaled(3, n, 120, 1e-5), 4.0 * 1.6e-2))
    }));
    let (what, large): (_, &'static [_]) = match op.adds {
        true => ("constant sums", &[(1e38, 1e-5)]),
        false => ("constant rows of any size", &[(3e38, 1e-5), (3e38, 1e-20), (1e30, 1e-12), (1e-30, 1e-12)]),
    };
    let common = [(3e4, 1e-20), (0.0, 1e-30)];
    cases.extend([
        Case::new(format!("{what} give beta"), move |q| {
            large.iter().chain(&common).try_for_each(|&row| constant_rows::<f32>(q, op, row, 1e-6))
        }),
        Case::new(format!("{what} give beta, f16"), move |q| {
            common.into_iter().try_for_each(|row| constant_rows::<f16>(q, op, row, 2e-3))
        }),
        Case::new(format!("{what} give beta, bf16"), move |q| {
            common.into_iter().try_for_each(|row| constant_rows::<bf16>(q, op, row, 1.6e-2))
        }),
    ]);
    cases.push(Case::new("without gamma and beta", move |q| {
        for n in EXTREME_LENGTHS {
            close::<f32>(q, op, &op.plain(op.inputs(3, n, 0.0)), 4e-5)?;
            if !op.adds {
                close::<f16>(q, op, &op.plain(op.inputs(3, n, 0.0)), 2e-3)?;
                close::<f32>(q, op, &op.plain(op.scaled(3, n, 120, 1e-5)), 4e-5)?;
            }
        }
        Ok(())
    }));
    for (name, lengths) in [("typical", &TYPED_LENGTHS[..]), ("held", &HELD_LENGTHS)] {
        let checks: TypedChecks =
            [("f32", close::<f32>, 4e-5), ("f16", close::<f16>, 4.0 * 2e-3), ("bf16", close::<bf16>, 4.0 * 1.6e-2)];
        cases.extend(typed_rows(op, checks, (3, lengths), |ty| format!("{ty} rows of {name} lengths")));
    }
    cases.extend(if op.adds { of_sums() } else { of_rows(op) });
    cases
}

/// Cases of norms that add nothing.
fn of_rows(op: NormOp) -> Vec<Case> {
    vec![
        Case::new("a constant row gives beta", move |q| {
            let mut input = op.inputs(1, 17, 0.0);
            input.x.fill(if op.centred { 3.25e4 } else { 0.0 });
            let (y, _) = op.run::<f32>(q, &input, None)?;
            Failure::unless_equal(&input.beta, &y)
        }),
        Case::new("one extreme row among others", move |q| {
            for n in EXTREME_LENGTHS {
                let mut input = op.inputs(6, n, 0.0);
                input.x[2 * n..3 * n].iter_mut().for_each(|x| *x *= 2f32.powi(120));
                close::<f32>(q, op, &input, 4e-5)?;
            }
            Ok(())
        }),
    ]
}

/// Cases of norms of sums.
fn of_sums() -> Vec<Case> {
    vec![Case::new("deviations of 2^120, and views that are not aligned", |q| {
        for n in EXTREME_LENGTHS {
            close_sum::<f32>(q, &SUM.scaled(3, n, 120, 1e-5), 0, 4e-5)?;
            close_sum::<f32>(q, &SUM.inputs(6, n, 0.0), 1, 4e-5)?;
        }
        Ok(())
    })]
}

/// A check of rows in each element type, and its bound.
type TypedChecks = [(&'static str, fn(&Conditioned, NormOp, &NormInputs, f64) -> Result<(), Failure>, f64); 3];

/// A case for each element type, of rows of each length; `name` takes the type.
fn typed_rows(
    op: NormOp,
    checks: TypedChecks,
    (rows, lengths): (usize, &'static [usize]),
    name: impl Fn(&str) -> String,
) -> [Case; 3] {
    checks.map(|(ty, check, bound)| {
        Case::new(name(ty), move |q| lengths.iter().try_for_each(|&n| check(q, op, &op.inputs(rows, n, 0.0), bound)))
    })
}

/// Holds the op to its model within `atol`; gamma is up to 4.
fn close<T: Real>(q: &Conditioned, op: NormOp, input: &NormInputs, atol: f64) -> Result<(), Failure> {
    if op.adds {
        return close_sum::<T>(q, input, 0, atol);
    }
    let (y, _) = op.run::<T>(q, input, None)?;
    Failure::unless_close(&op.model_rows(input, &input.x), &y, 0.0, atol)
}

/// A case of rows with deviations of `2^log`.
///
/// Without eps, a norm waits to find out whether any row has no result.
fn extreme_case(
    log: i32,
    eps: f32,
    check: impl Fn(&Conditioned) -> Result<(), Failure> + Send + Sync + 'static,
) -> Case {
    let case = Case::new(format!("deviations of 2^{log}, eps {eps:e}"), check);
    if eps == 0.0 { case.that_waits() } else { case }
}

/// Checks that rows of a single value, or twice the value for sums, give beta.
///
/// Rows are zero if they are not centred. Rounding may leave any error relative to eps.
fn constant_rows<T: Real>(q: &Conditioned, op: NormOp, (value, eps): (f32, f32), atol: f64) -> Result<(), Failure> {
    for n in EXTREME_LENGTHS {
        let mut input = op.inputs(2, n, 0.0);
        input.eps = eps;
        input.x.fill(if op.centred { value } else { 0.0 });
        let y = op.normed::<T>(q, &input, &input.x)?;
        Failure::unless_close(&wide(&[&input.beta[..], &input.beta].concat()), &y, 0.0, atol)?;
    }
    Ok(())
}

/// Checks that the sum is rounded correctly and its norm is within `atol` of the model.
///
/// The views start at element `skip`.
fn close_sum<T: Real>(q: &Conditioned, input: &NormInputs, skip: usize, atol: f64) -> Result<(), Failure> {
    // Thirds, so that sums are rounded; a power of two as large as x.
    let greatest = input.x.iter().fold(1.0, |greatest: f32, x| greatest.max(x.abs()));
    let r: Vec<f32> = values(53, input.x.len()).iter().map(|r| r / 12.0 * greatest).list();
    let (sum, y) = run_sum::<T>(q, input, &r, skip)?;
    let exact = |x: &[f32]| single(&narrow::<T>(x));
    let sums: Vec<f32> = exact(&input.x).iter().zip(&exact(&r)).map(|(&x, &r)| sum_of(x, r)).list();
    Failure::unless_equal(&exact(&sums), &sum)?;
    Failure::unless_close(&SUM.model_rows(input, &sum), &y, 0.0, atol)
}

/// The sum in f64, rounded to f32.
fn sum_of(x: f32, r: f32) -> f32 {
    (f64::from(x) + f64::from(r)) as f32
}

/// The sum and its norm, on views from element `skip` on.
fn run_sum<T: Real>(
    q: &Conditioned,
    input: &NormInputs,
    r: &[f32],
    skip: usize,
) -> Result<(Vec<f32>, Vec<f32>), NnError> {
    let shape = [input.rows, input.n];
    let plan = NormPlan::new(&shape, input.eps)?;
    let buf = |v: &[f32]| q.upload(&narrow::<T>(&[&vec![0.0; skip], v].concat()));
    let (x, r, gamma, beta) = (buf(&input.x)?, buf(r)?, buf(&input.gamma)?, buf(&input.beta)?);
    let (all, column) = (skip..skip + input.x.len(), skip..skip + input.n);
    let (mut sum, mut y, mut stats) = (q.zeros::<T>(all.end)?, q.zeros::<T>(all.end)?, plan.layer_stats(q)?);
    let addends =
        [TensorRef::contiguous(x.slice(all.clone())?, &shape)?, TensorRef::contiguous(r.slice(all.clone())?, &shape)?];
    let of_columns = |values| input.affine.then(|| TensorRef::contiguous(values, &[input.n])).transpose();
    let (gamma, beta) = (of_columns(gamma.slice(column.clone())?)?, of_columns(beta.slice(column)?)?);
    let sum_into = TensorMut::contiguous(sum.slice_mut(all.clone())?, &shape)?;
    let results = NormResults {
        y: TensorMut::contiguous(y.slice_mut(all)?, &shape)?,
        stats: TensorMut::contiguous(stats.view_mut(), &[2, input.rows])?,
    };
    plan.add_layer_norm(q, addends, NormAffine { gamma, beta }, sum_into, results)?;
    let host = |buf: &Buf<T>| -> Result<Vec<f32>, NnError> { Ok(single(&q.download(buf)?[skip..])) };
    Ok((host(&sum)?, host(&y)?))
}

fn backward(op: NormOp) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let shapes = [(3, 1), (3, 15), (3, 16), (3, 17), (63, 33), (64, 8), (65, 8), (200, 100), (2, 1000), (2, 20_000)];
    // No rows at all have a case of their own.
    for (rows, n) in shapes.into_iter().chain(batches().into_iter().skip(1).map(|rows| (rows, 5))) {
        cases.push(Case::new(format!("{rows} rows of {n}"), move |q| {
            near::<f32>(q, op, &op.inputs(rows, n, 0.0), 1e-5)
        }));
    }
    cases.push(Case::new("mean of 10^4 deviations", move |q| near::<f32>(q, op, &op.inputs(70, 100, 2e4), 1e-5)));
    cases.push(Case::new("mean of 10^4 deviations, rows of 1028", move |q| {
        let (input, g) = (op.inputs(5, 1028, 2e4), values(51, 5 * 1028));
        let (_, got) = op.run::<f32>(q, &input, Some(&g))?;
        unless_near("dx", &op.model_gradients(&input, &g).dx, &got.map(|got| got.dx).unwrap_or_default(), 1e-5)
    }));
    cases.push(Case::new("central differences", move |q| {
        let (input, g) = (op.inputs(1, 19, 0.0), values(52, 19));
        let (_, got) = op.run::<f32>(q, &input, Some(&g))?;
        let want = model::gradient(&wide(&input.x), &wide(&g), &|x| op.model(&input, x));
        unless_near("dx", &want, &got.map(|got| got.dx).unwrap_or_default(), 1e-3)
    }));
    for (log, eps) in EXTREMES {
        cases.push(extreme_case(log, eps, move |q| {
            EXTREME_LENGTHS.iter().try_for_each(|&n| {
                let input = op.scaled(3, n, log, eps);
                // dx is of the size of g over the deviation.
                let g = values(51, input.x.len()).iter().map(|g| g * 2f32.powi(log.clamp(-60, 112))).list();
                near_for::<f32>(q, op, &input, &g, 2e-5)
            })
        }));
    }
    cases.push(Case::new("without gamma and beta", move |q| {
        EXTREME_LENGTHS.iter().try_for_each(|&n| near::<f32>(q, op, &op.plain(op.inputs(70, n, 0.0)), 1e-5))
    }));
    cases.push(Case::new("no rows give zero sums", move |q| {
        let (_, got) = op.run::<f32>(q, &op.inputs(0, 5, 0.0), Some(&[]))?;
        Failure::unless_equal(&[0.0; 5], &got.map(|got| got.dgamma).unwrap_or_default())
    }));
    for (name, rows, lengths) in [
        ("one aligned length", 70, &[100][..]),
        ("typical lengths", 3, &TYPED_LENGTHS),
        ("held lengths", 3, &HELD_LENGTHS),
    ] {
        let checks: TypedChecks =
            [("f32", near::<f32>, 1e-5), ("f16", near::<f16>, 1e-2), ("bf16", near::<bf16>, 5e-2)];
        cases.extend(typed_rows(op, checks, (rows, lengths), |ty| format!("{rows} {ty} rows of {name}")));
    }
    cases
}

/// Compares the gradients with their model, within a relative error in the Euclidean norm.
fn near<T: Real>(q: &Conditioned, op: NormOp, input: &NormInputs, bound: f64) -> Result<(), Failure> {
    near_for::<T>(q, op, input, &values(51, input.x.len()), bound)
}

/// The same for the gradient g of the result.
fn near_for<T: Real>(q: &Conditioned, op: NormOp, input: &NormInputs, g: &[f32], bound: f64) -> Result<(), Failure> {
    let (_, got) = op.run::<T>(q, input, Some(g))?;
    let Some(got) = got else { return Err(Failure::Broken("no gradients".to_owned())) };
    let want = op.model_gradients(input, g);
    unless_near("dx", &want.dx, &got.dx, bound)?;
    unless_near("dgamma", &want.dgamma, &got.dgamma, bound)?;
    unless_near("dbeta", &want.dbeta, &got.dbeta, bound)
}

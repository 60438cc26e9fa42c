//! Norms in place against the forms with two tensors, to the bit.

use backend_api::{Buffer, Queue, Real};
use half::bf16;
use nn_ops::{NnError, NormAffine, NormPlan, NormResults, TensorMut, TensorRef};

use super::{
    HELD_LENGTHS, TYPED_LENGTHS, batches,
    norm::{EXTREME_LENGTHS, LAYER, NormInputs, NormOp, RMS, UNDEFINED_LENGTHS},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::typed};

pub(super) fn specs() -> Vec<OpSpec> {
    vec![
        OpSpec { op: "linalg.layer_norm_in_place", cases: cases(LAYER) },
        OpSpec { op: "linalg.rms_norm_in_place", cases: cases(RMS) },
    ]
}

fn cases(op: NormOp) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for rows in batches() {
        cases.push(Case::new(format!("{rows} rows of 16 and of 17"), move |q| {
            same_in_place::<f32>(q, op, &op.inputs(rows, 16, 2e2), 0)?;
            same_in_place::<f32>(q, op, &op.inputs(rows, 17, 2e2), 0)
        }));
    }
    cases.extend(typed!("rows of every length", lengths_in_place(op)));
    cases.push(Case::new("one extreme row among others", move |q| extremes_in_place::<f32>(q, op)));
    cases.push(Case::new("one extreme row among others, bf16", move |q| extremes_in_place::<bf16>(q, op)));
    let undefined = Case::new("a constant row without eps is an error with its number", move |q| {
        UNDEFINED_LENGTHS
            .into_iter()
            .try_for_each(|n| op.unless_undefined(bits::<f32>(q, op, &op.undefined(n), 0, true)))
    });
    cases.push(undefined.that_waits());
    cases
}

/// Three rows of each length, with gamma and beta or without, and views that are not aligned.
fn lengths_in_place<T: Real>(q: &Conditioned, op: NormOp) -> Result<(), Failure> {
    for n in [1, 7, 8].into_iter().chain(TYPED_LENGTHS).chain(HELD_LENGTHS) {
        let input = op.inputs(3, n, 0.0);
        same_in_place::<T>(q, op, &input, 0)?;
        same_in_place::<T>(q, op, &input, 1)?;
        same_in_place::<T>(q, op, &op.plain(input), 0)?;
    }
    Ok(())
}

/// Rows of ordinary deviations, but for one of `2^120`, and rows of small deviations alone.
fn extremes_in_place<T: Real>(q: &Conditioned, op: NormOp) -> Result<(), Failure> {
    for n in EXTREME_LENGTHS {
        let mut input = op.inputs(6, n, 0.0);
        input.x[2 * n..3 * n].iter_mut().for_each(|x| *x *= 2f32.powi(120));
        same_in_place::<T>(q, op, &input, 0)?;
        same_in_place::<T>(q, op, &op.scaled(3, n, -40, 1e-25), 0)?;
    }
    Ok(())
}

/// Compares results and statistics of the two forms, in place and not, to the bit.
fn same_in_place<T: Real>(q: &Conditioned, op: NormOp, input: &NormInputs, skip: usize) -> Result<(), Failure> {
    let [expected, got] = [bits::<T>(q, op, input, skip, false)?, bits::<T>(q, op, input, skip, true)?];
    Failure::unless_equal(&expected[0], &got[0])?;
    Failure::unless_equal(&expected[1], &got[1])
}

/// The bits of the results and of the statistics, of the form in place or of the other.
///
/// The views of rows start at element `skip`.
fn bits<T: Real>(
    q: &Conditioned,
    op: NormOp,
    input: &NormInputs,
    skip: usize,
    in_place: bool,
) -> Result<[Vec<u32>; 2], NnError> {
    // Operands, and room for the results.
    let (shape, all) = ([input.rows, input.n], skip..skip + input.x.len());
    let plan = NormPlan::new(&shape, input.eps)?;
    let buf = |v: &[f32]| q.upload(&v.iter().map(|&v| T::from_f32(v)).list());
    let mut x = buf(&[&vec![0.0; skip][..], &input.x].concat())?;
    let (gamma, beta, mut y) = (buf(&input.gamma)?, buf(&input.beta)?, q.zeros::<T>(all.end)?);
    let mut stats = if op.centred { plan.layer_stats(q)? } else { plan.rms_stats(q)? };
    let of_rows = if op.centred { vec![2, input.rows] } else { vec![input.rows] };
    let column = |values| input.affine.then(|| TensorRef::contiguous(values, &[input.n])).transpose();
    let affine = NormAffine { gamma: column(gamma.view())?, beta: column(beta.view())? };
    let of_stats = TensorMut::contiguous(stats.view_mut(), &of_rows)?;
    // The op.
    if in_place {
        let x = TensorMut::contiguous(x.slice_mut(all)?, &shape)?;
        match op.centred {
            true => plan.layer_norm_in_place(q, x, affine, of_stats)?,
            false => plan.rms_norm_in_place(q, x, affine.gamma, of_stats)?,
        }
    } else {
        let x = TensorRef::contiguous(x.slice(all.clone())?, &shape)?;
        let results = NormResults { y: TensorMut::contiguous(y.slice_mut(all)?, &shape)?, stats: of_stats };
        match op.centred {
            true => plan.layer_norm(q, x, affine, results)?,
            false => plan.rms_norm(q, x, affine.gamma, results)?,
        }
    }
    let results = q.download(if in_place { &x } else { &y })?;
    let results = results.into_iter().skip(skip).map(|y| y.to_f32().to_bits()).list();
    Ok([results, q.download(&stats)?.into_iter().map(f32::to_bits).list()])
}

//! Device speed of ensembles of gated recurrent units.

use backend_api::{Buffer, ops::recurrent::RecurrentOps};
use nn_ops::{GruInputs, GruMember, GruPlan, GruResults, GruWeights, TensorMut, TensorRef};

use super::{DeviceLine, Extent, Size};

/// Members of the ensemble.
const MEMBERS: usize = 5;

pub(super) fn lines<Q: RecurrentOps + 'static>(extent: Extent) -> Vec<DeviceLine<Q>> {
    match extent {
        Extent::Full => [1, 32, 256, 4096].into_iter().map(|batch| forward(batch, 10, 128, 256)).collect(),
        Extent::Small => vec![forward(5, 2, 8, 16)],
    }
}

/// Passes over a sequence, from states of zero.
fn forward<Q: RecurrentOps + 'static>(batch: usize, steps: usize, input: usize, hidden: usize) -> DeviceLine<Q> {
    let flops = 2.0 * (MEMBERS * steps * batch) as f64 * ((input + hidden) * 3 * hidden) as f64;
    let weights = MEMBERS * (input + hidden + 1) * 3 * hidden;
    let floats = weights + steps * batch * input + MEMBERS * batch * hidden;
    let size = Size { unit: "flop", work: flops, bytes: 0.0, resident: 4.0 * floats as f64 };
    DeviceLine::new(format!("nn.gru/{batch}x{steps}x{input}x{hidden}"), size, move |q: &Q| {
        let of = |rows: usize| vec![1.0 / (input + hidden) as f32; rows * 3 * hidden];
        let unit = GruMember::new(input, hidden, of(input), of(hidden), vec![0.0; 3 * hidden], None)?;
        let weights = GruWeights::new(q, &vec![unit; MEMBERS])?;
        let plan = GruPlan::new(&weights, batch, steps, GruInputs::Sequence)?;
        let x = q.upload(&vec![0.5f32; steps * batch * input])?;
        let mut last = q.zeros::<f32>(MEMBERS * batch * hidden)?;
        Ok(Box::new(move |q: &Q| {
            let last = TensorMut::contiguous(last.view_mut(), &[MEMBERS, batch, hidden])?;
            let results = GruResults { states: None, last, saved: None };
            Ok(plan.forward(q, &weights, TensorRef::new(x.view(), *plan.inputs())?, None, results)?)
        }))
    })
}

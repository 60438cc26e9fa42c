//! The forward pass of gated recurrent units.

use backend_api::{BackendError, Real, ops::recurrent::GruForward};
use core_types::params::recurrent::{GRU_SAVED, GruParams};

use super::{
    blocks::RowBlocks,
    cell::{CellResults, Weights, project},
    layer::Widened,
};
use crate::{CpuQueue, Simd};

/// Some rows of a member, through all steps.
struct GruForwardTask<'a> {
    member: usize,
    first: usize,
    /// The state, where the last one is to be.
    h: &'a mut [f32],
    /// The states after each step; empty if not requested.
    states: Vec<&'a mut [f32]>,
    /// Each saved matrix, for each step; empty if not requested.
    saved: Vec<&'a mut [f32]>,
}

/// The op has checked its lengths.
pub(super) fn run<T: Real>(q: &CpuQueue, op: GruForward<'_, CpuQueue, T>) -> Result<(), BackendError> {
    let GruForward { params, layer, x, h0, states, h_t, saved } = op;
    if h_t.is_empty() {
        return Ok(());
    }
    let widened = Widened::new(q, &layer)?;
    run_f32(q, GruForward { params, layer: widened.layer(&layer), x, h0, states, h_t, saved })
}

/// [`run`] with weights of f32.
fn run_f32(q: &CpuQueue, op: GruForward<'_, CpuQueue, f32>) -> Result<(), BackendError> {
    let GruForward { params: p, layer, x, h0, states, h_t, saved } = op;
    let (blocks, hidden) = (RowBlocks::of(p), p.hidden as usize);
    // The memory of all tasks.
    let rows = blocks.most_rows();
    let kept = if p.inputs.is_constant() { 3 * rows * hidden } else { 0 };
    let _scratch = q.reserve_scratch::<f32>(blocks.count(), CellResults::elements(rows, hidden) + kept)?;
    let planes = usize::from(states.is_some()) + if saved.is_some() { GRU_SAVED as usize } else { 0 };
    let _lists = q.reserve(blocks.list_bytes(planes))?;
    // A task has some rows of a member at all steps.
    let (mut of_states, mut of_saved) = (blocks.lists(), blocks.lists());
    if let Some(states) = states {
        blocks.deal(states, hidden, &mut of_states);
    }
    if let Some(saved) = saved.filter(|saved| !saved.is_empty()) {
        let plane = saved.len() / GRU_SAVED as usize;
        saved.chunks_mut(plane).for_each(|plane| blocks.deal(plane, hidden, &mut of_saved));
    }
    let lists = of_states.into_iter().zip(of_saved);
    let tasks = blocks.places().zip(blocks.states(h_t, hidden)).zip(lists);
    let tasks = tasks.map(|(((member, first), h), (states, saved))| GruForwardTask { member, first, h, states, saved });
    let simd = q.simd();
    q.for_jobs(tasks.collect(), |_, task| {
        // States start from the given ones or from zeros.
        if let Some(h0) = h0 {
            let at = (task.member * blocks.batch + task.first) * hidden;
            task.h.copy_from_slice(&h0[at..][..task.h.len()]);
        } else {
            task.h.fill(0.0);
        }
        let weights = Weights::of(p, task.member, &layer);
        task.run(simd, p, &weights, x);
    });
    Ok(())
}

impl GruForwardTask<'_> {
    fn run(self, simd: Simd, p: &GruParams, weights: &Weights<'_>, x: &[f32]) {
        let Self { member, first, h, mut states, mut saved } = self;
        let (hidden, steps) = (weights.hidden, p.steps as usize);
        let rows = h.len() / hidden;
        let inputs = |step: usize| {
            let row = p.input_row(member as u64, step as u64, first as u64) as usize;
            &x[row * weights.input..][..rows * weights.input]
        };
        let mut cell = CellResults::new(rows, hidden);
        // Constant inputs are projected once.
        let mut constant = Vec::new();
        if p.inputs.is_constant() && steps > 0 {
            constant = vec![0.0; cell.gates.len()];
            project(simd, weights, 0, inputs(0), &mut constant);
        }
        for step in 0..steps {
            // Sums of the gates from the input.
            if constant.is_empty() {
                project(simd, weights, 0, inputs(step), &mut cell.gates);
            } else {
                cell.gates.copy_from_slice(&constant);
            }
            // A backward pass needs the states before a step, the gates, and the reset.
            if let Some(before) = saved.get_mut(3 * steps + step) {
                before.copy_from_slice(h);
            }
            cell.step(simd, weights, h);
            if !saved.is_empty() {
                for gate in 0..3 {
                    let lines = saved[gate * steps + step].chunks_exact_mut(hidden);
                    for (line, gates) in lines.zip(cell.gates.chunks_exact(3 * hidden)) {
                        line.copy_from_slice(&gates[gate * hidden..][..hidden]);
                    }
                }
                saved[4 * steps + step].copy_from_slice(&cell.reset);
            }
            // The states after the step, if requested.
            if let Some(state) = states.get_mut(step) {
                state.copy_from_slice(h);
            }
        }
    }
}

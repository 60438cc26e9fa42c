//! Rollouts: forward passes that feed back what they predict.
//!
//! A task has some rows of a member or, where the members' mean is fed back, of all members.

use backend_api::{BackendError, Real, ops::recurrent::RssmRollout};
use core_types::params::recurrent::{Feedback, RolloutParams};

use super::{
    blocks::{ROWS, RowBlocks},
    cell::{CellResults, Weights, load, project, store},
    head::{Head, StateTransform},
    layer::Widened,
};
use crate::{
    CpuQueue, Simd,
    panels::{PanelProduct, Start},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Some rows of a member.
struct RolloutLane<'a> {
    weights: Weights<'a>,
    /// The place of the rows.
    member: usize,
    row: usize,
    /// The states as they are read after each step; empty if not requested.
    states: Vec<&'a mut [f32]>,
    /// The first state and the first losses of the rows.
    h0: &'a [f32],
    first: &'a [f32],
    h: &'a mut [f32],
    trajectory: &'a mut [f32],
    combined: &'a mut [f32],
    entropy: &'a mut [f32],
}

/// A lane in progress.
struct Running<'t, 'a> {
    lane: &'t mut RolloutLane<'a>,
    cell: CellResults,
    /// What biases and features but the first add to the gates.
    constant: Vec<f32>,
    /// The first feature of each row.
    fed: Vec<f32>,
    /// The losses that were read last.
    losses: Vec<f32>,
    /// The features that states were mapped to.
    x: Vec<f32>,
}

/// Where features come from.
struct Features<'a> {
    params: &'a RolloutParams,
    given: &'a [f32],
    /// The weights and biases that make them of states.
    back: Option<[&'a [f32]; 2]>,
}

/// The op has checked its lengths.
pub(super) fn run<T: Real>(q: &CpuQueue, op: RssmRollout<'_, CpuQueue, T>) -> Result<(), BackendError> {
    let RssmRollout { params, layer, head, gamma, beta, back, back_bias, x, h0, losses, .. } = op;
    let RssmRollout { trajectory, h_t, combined, entropy, states, .. } = op;
    if entropy.is_empty() {
        return Ok(());
    }
    let widened = Widened::new(q, &layer)?;
    let op = RssmRollout {
        params,
        layer: widened.layer(&layer),
        head,
        gamma,
        beta,
        back,
        back_bias,
        x,
        h0,
        losses,
        trajectory,
        h_t,
        combined,
        entropy,
        states,
    };
    run_f32(q, op)
}

/// [`run`] with weights of f32.
fn run_f32(q: &CpuQueue, op: RssmRollout<'_, CpuQueue, f32>) -> Result<(), BackendError> {
    let RssmRollout { params, layer, head, gamma, beta, back, back_bias, x, h0, losses, .. } = op;
    let RssmRollout { trajectory, h_t, combined, entropy, states, .. } = op;
    let p = &params.gru;
    let (blocks, input, hidden, steps) = (RowBlocks::of(p), p.input as usize, p.hidden as usize, p.steps as usize);
    // Lists of the states of each task.
    let _lists = q.reserve(if states.is_some() { blocks.list_bytes(1) } else { 0 })?;
    let mut of_states = blocks.lists();
    if let Some(states) = states {
        blocks.deal(states, hidden, &mut of_states);
    }
    // A lane has some rows of a member and the places of their results.
    let results = blocks
        .states(h_t, hidden)
        .zip(blocks.states(trajectory, steps + 1))
        .zip(blocks.states(combined, head.len()))
        .zip(blocks.states(entropy, 1))
        .zip(of_states);
    let lanes =
        blocks.places().zip(results).map(|((member, first), ((((h, trajectory), combined), entropy), states))| {
            let (rows, at) = (entropy.len(), member * blocks.batch + first);
            RolloutLane {
                weights: Weights::of(p, member, &layer),
                member,
                row: first,
                states,
                h0: &h0[at * hidden..][..rows * hidden],
                first: &losses[at..][..rows],
                h,
                trajectory,
                combined,
                entropy,
            }
        });
    // Lanes of all members share a task if their mean is fed back.
    let mut tasks: Vec<Vec<RolloutLane<'_>>> = Vec::new();
    match params.feedback {
        Feedback::PerMember | Feedback::None | Feedback::State => tasks.extend(lanes.map(|lane| vec![lane])),
        Feedback::EnsembleMean => {
            let of_member = blocks.count() / blocks.members;
            tasks.resize_with(of_member, || Vec::with_capacity(blocks.members));
            lanes.enumerate().for_each(|(i, lane)| tasks[i % of_member].push(lane));
        }
    }
    // Scratch of all tasks.
    let rows = blocks.most_rows();
    let mapped = if back.is_some() { rows * input } else { 0 };
    let of_lane = CellResults::elements(rows, hidden) + 3 * rows * hidden + 3 * rows + mapped;
    let lanes_at_once = tasks.first().map_or(0, Vec::len);
    let _scratch = q.reserve_scratch::<f32>(tasks.len(), lanes_at_once * of_lane)?;
    let features = Features { params, given: x, back: back.zip(back_bias).map(|(weights, biases)| [weights, biases]) };
    let (simd, view) = (q.simd(), StateTransform { params, norm: gamma.zip(beta).map(|(gamma, beta)| [gamma, beta]) });
    q.for_jobs(tasks, |_, mut lanes| {
        let mut running: Vec<Running<'_, '_>> = lanes.iter_mut().map(Running::new).collect();
        for step in 0..steps {
            for lane in &mut running {
                // A step of the units, from the features or the value fed back.
                lane.see(simd, &features, step);
                lane.step(simd);
                let Running {
                    lane: RolloutLane { h, combined, entropy, trajectory, states, member, row, .. },
                    losses,
                    ..
                } = lane;
                // The head reads a loss from each state.
                let first = params.state_index(*member as u64, step as u64, *row as u64);
                let losses = &mut losses[..];
                dispatch(simd, Head { view, first, weights: head, h, combined, losses, entropy });
                if let Some(states) = states.get_mut(step) {
                    for (state, combined) in states.chunks_exact_mut(hidden).zip(combined.chunks_exact(head.len())) {
                        state.copy_from_slice(&combined[..hidden]);
                    }
                }
                for (row, &loss) in trajectory.chunks_exact_mut(steps + 1).zip(losses.iter()) {
                    row[step + 1] = loss;
                }
            }
            // The losses that the next step takes as its first feature.
            match params.feedback {
                Feedback::PerMember => running.iter_mut().for_each(|lane| lane.fed.copy_from_slice(&lane.losses)),
                Feedback::EnsembleMean => share_mean(&mut running),
                Feedback::None | Feedback::State => {}
            }
        }
        // Without steps, the combined states are still results.
        if steps == 0 {
            for Running { lane: RolloutLane { h, combined, first, member, row, .. }, .. } in &mut running {
                let (rows, mut losses, mut entropy) = (first.len(), [0.0; ROWS], [0.0; ROWS]);
                let (losses, entropy) = (&mut losses[..rows], &mut entropy[..rows]);
                let first = params.state_index(*member as u64, 0, *row as u64);
                dispatch(simd, Head { view, first, weights: head, h, combined, losses, entropy });
            }
        }
    });
    Ok(())
}

/// Feeds the mean of all lanes' losses back to each.
fn share_mean(lanes: &mut [Running<'_, '_>]) {
    let rows = lanes.first().map_or(0, |lane| lane.fed.len());
    for row in 0..rows {
        let sum: f64 = lanes.iter().map(|lane| f64::from(lane.losses[row])).sum();
        let mean = (sum / lanes.len() as f64) as f32;
        lanes.iter_mut().for_each(|lane| lane.fed[row] = mean);
    }
}

impl<'t, 'a> Running<'t, 'a> {
    /// The lane before its first step.
    fn new(lane: &'t mut RolloutLane<'a>) -> Self {
        let (hidden, rows) = (lane.weights.hidden, lane.entropy.len());
        lane.h.copy_from_slice(lane.h0);
        lane.entropy.fill(0.0);
        let steps = lane.trajectory.len() / rows;
        for (row, &loss) in lane.trajectory.chunks_exact_mut(steps).zip(lane.first) {
            row[0] = loss;
        }
        let (constant, fed, losses) = (vec![0.0; 3 * rows * hidden], vec![0.0; rows], vec![0.0; rows]);
        Self { lane, cell: CellResults::new(rows, hidden), constant, fed, losses, x: Vec::new() }
    }

    /// Reads the features of step `step`.
    ///
    /// It does nothing if they equal the previous step's apart from the value fed back.
    fn see(&mut self, simd: Simd, features: &Features<'_>, step: usize) {
        let RolloutLane { weights, member, row, combined, .. } = &*self.lane;
        let (p, rows, input) = (&features.params.gru, self.fed.len(), weights.input);
        let x = match features.back {
            Some([v, biases]) if step > 0 => {
                self.x.resize(rows * input, 0.0);
                let (a, a_row, start) = (&combined[..], combined.len() / rows, Start::Row(biases));
                let (k, c) = (weights.hidden, &mut self.x[..]);
                dispatch(
                    simd,
                    PanelProduct { rows, k, n: input, a, a_row, b: v, b_row: input, start, c, c_row: input },
                );
                &self.x[..]
            }
            _ if step > 0 && p.inputs.is_constant() => return,
            _ => {
                let first = p.input_row(*member as u64, step as u64, *row as u64) as usize;
                &features.given[first * input..][..rows * input]
            }
        };
        project(simd, weights, 1, x, &mut self.constant);
        self.fed.iter_mut().zip(x.iter().step_by(input)).for_each(|(fed, &x)| *fed = x);
    }

    /// Steps the states.
    fn step(&mut self, simd: Simd) {
        let weights = &self.lane.weights;
        let (constant, fed, gates) = (&self.constant, &self.fed, &mut self.cell.gates);
        dispatch(simd, Feed { constant, weights: &weights.w[..3 * weights.hidden], fed, gates });
        self.cell.step(simd, weights, self.lane.h);
    }
}

/// The gates' share of all features.
///
/// The share of the first feature, which is stored separately, is added to the share of the others.
struct Feed<'a> {
    constant: &'a [f32],
    weights: &'a [f32],
    fed: &'a [f32],
    gates: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for Feed<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let n = self.weights.len();
        let rows = self.constant.chunks_exact(n).zip(self.gates.chunks_exact_mut(n)).zip(self.fed);
        for ((constant, gates), &fed) in rows {
            for at in (0..n).step_by(L::N) {
                let weights = load(l, &self.weights[at..]);
                store(l, &mut gates[at..], l.mul_add(l.splat(fed), weights, load(l, &constant[at..])));
            }
        }
    }
}

//! The recurrent op set, with one launch for each op.
//!
//! Two ops differ. Rollouts whose blocks do not all run at once and that feed the mean of an
//! ensemble back take one launch for each step. Backward passes take one more launch to transpose
//! the weights.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::recurrent::{GruBackward, GruForward, RssmLoss, RssmRollout},
};
use core_types::params::recurrent::{Feedback, GruParams, RolloutParams};

use super::family::{KernelFamily, family};
use crate::{CudaQueue, checked::RecurrentOps, submit::Launch};

const FORWARD: KernelFamily = family!("recurrent_gru_forward");
const ROLLOUT: KernelFamily = family!("recurrent_rssm_rollout");
const RESIDENT: KernelFamily = family!("recurrent_rssm_resident");

/// Rows of a block.
const ROWS: u64 = 4;
/// Rows and columns of a tile of a matrix that is turned.
const SIDE: u64 = 32;
/// Threads of a block, each holding a feature of an input.
const THREADS: u64 = 256;
/// Most states that fit the shared memory of a block.
const MOST_STATES: u64 = (((96 << 10) / 4 - THREADS) / (3 * ROWS)) & !3;
/// Rows that a block of losses takes, a warp for each.
const ROWS_OF_LOSSES: u64 = THREADS / 32;

impl RecurrentOps for CudaQueue {
    fn gru_backward(&self, op: GruBackward<'_, Self>) -> Result<(), BackendError> {
        let p = op.params;
        if op.d_h0.is_empty() {
            return Ok(());
        }
        admit("gru_backward", p)?;
        if p.members >= 1 << 16 {
            return Err(BackendError::Unsupported { op: "gru_backward", why: "expected fewer than 2^16 members" });
        }
        let mut turned = self.alloc::<f32>(op.u.len())?;
        let tiles = |len: u64| len.div_ceil(SIDE);
        let launch = self.kernel("recurrent_turn")?.grid([tiles(3 * p.hidden), tiles(p.hidden), p.members]);
        let launch = launch.value("hidden", &(p.hidden as u32)); // at most `MOST_STATES`
        let launch = launch.input("u", op.u).output("turned", &turned.view_mut());
        // SAFETY: `GruBackward::check` verified the length of `u`; `turned` has the same length.
        unsafe { launch.launch() }?;
        let launch = of_units(self.kernel("recurrent_gru_backward")?, p)
            .value("p", p)
            .input("turned", turned.view())
            .input("saved", op.saved)
            .input_if("d_states", op.d_states)
            .input_if("d_h_t", op.d_h_t)
            .output("d_gates", &op.d_gates)
            .output("d_h0", &op.d_h0);
        // SAFETY: `GruBackward::check` verified all lengths; a row has at most `MOST_STATES` states.
        unsafe { launch.launch() }
    }

    fn gru_forward<T: Real>(&self, op: GruForward<'_, Self, T>) -> Result<(), BackendError> {
        let (p, layer) = (op.params, &op.layer);
        if op.h_t.is_empty() {
            return Ok(());
        }
        admit("gru_forward", p)?;
        // Room for what constant inputs add to the gates of every row.
        let mut projected = p.inputs.is_constant().then(|| self.alloc::<f32>(gates(p))).transpose()?;
        let projected = projected.as_mut().map(|projected| projected.view_mut());
        let launch = of_units(self.kernel(FORWARD.of::<T>())?, p)
            .value("p", p)
            .input("w", layer.w)
            .input("u", layer.u)
            .input("b", layer.b)
            .input_if("bu", layer.bu)
            .input("x", op.x)
            .input_if("h0", op.h0)
            .output_if("states", op.states.as_ref())
            .output("h_t", &op.h_t)
            .output_if("saved", op.saved.as_ref())
            .output_if("projected", projected.as_ref());
        // SAFETY: `GruForward::check` verified all lengths; `projected` is three times as long as the last state, if
        // inputs are constant. A row has at most `MOST_STATES` states.
        unsafe { launch.launch() }
    }

    fn rssm_loss(&self, op: RssmLoss<'_, Self>) -> Result<(), BackendError> {
        if op.predicted.is_empty() {
            return Ok(());
        }
        let p = op.params;
        // One more state than there are is counted.
        let products = p.stochastic.saturating_add(1).saturating_mul(p.hidden.saturating_add(1));
        let rows = p.members.saturating_mul(p.rows);
        if products >= 1 << 31 || rows >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "rssm_loss",
                why: "expected fewer than 2^31 elements along an axis",
            });
        }
        let launch = self
            .kernel("recurrent_rssm_loss")?
            .grid([rows.div_ceil(ROWS_OF_LOSSES), 1, 1])
            .value("p", p)
            .input("head", op.head)
            .input("states", op.states)
            .input("targets", op.targets)
            .output("predicted", &op.predicted)
            .output("errors", &op.errors)
            .output("slopes", &op.slopes)
            .output("combined", &op.combined)
            .output("d_states", &op.d_states);
        // SAFETY: `RssmLoss::check` verified all lengths. There are fewer than 2^31 rows of all members, and fewer than
        // 2^31 products of a state's index with an index of the second part.
        unsafe { launch.launch() }
    }

    fn rssm_rollout<T: Real>(&self, op: RssmRollout<'_, Self, T>) -> Result<(), BackendError> {
        let p = &op.params.gru;
        if op.entropy.is_empty() {
            return Ok(());
        }
        admit("rssm_rollout", p)?;
        if op.params.stochastic.saturating_mul(p.hidden) >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "rssm_rollout",
                why: "`stochastic` times `hidden` must be below 2^31",
            });
        }
        if let Some(resident) = Resident::of(self, op.params) {
            return resident.launch(self, &op);
        }
        let mut projected = self.alloc::<f32>(gates(p))?;
        let mut features = op.back.map(|_| self.alloc::<f32>((p.members * p.batch * p.input) as usize)).transpose()?;
        let features = features.as_mut().map(|features| features.view_mut());
        let together = if op.params.feedback == Feedback::EnsembleMean { 1 } else { p.steps };
        let mut from = 0;
        loop {
            let to = p.steps.min(from + together);
            let launch = of_units(self.kernel(ROLLOUT.of::<T>())?, p);
            let launch = launch.value("p", op.params).value("from", &from).value("to", &to);
            let launch = with_rollout(launch, &op)
                .output("projected", &projected.view_mut())
                .input_if("back", op.back)
                .input_if("back_bias", op.back_bias)
                .output_if("features", features.as_ref());
            // SAFETY: `RssmRollout::check` verified all lengths; `projected` is three times as long as the last state,
            // and `features` hold an input of each row of each member if states are fed back. A row has at most
            // `MOST_STATES` states. Steps run in their order, one at a time if the mean is fed back.
            unsafe { launch.launch() }?;
            if to == p.steps {
                return Ok(());
            }
            from = to;
        }
    }
}

/// Refuses sizes that the kernels do not index or hold.
fn admit(op: &'static str, p: &GruParams) -> Result<(), BackendError> {
    let blocks = p.members.saturating_mul(p.batch);
    let why = if p.hidden > MOST_STATES {
        "`hidden` exceeds the most states per row that the kernels support"
    } else if p.input.saturating_mul(p.hidden) >= 1 << 30 || blocks >= 1 << 31 {
        "expected fewer than 2^31 elements along an axis"
    } else {
        return Ok(());
    };
    Err(BackendError::Unsupported { op, why })
}

/// Gates of all rows, three times the length of the last state.
fn gates(p: &GruParams) -> usize {
    (3 * p.members * p.batch * p.hidden) as usize
}

/// A block for each four rows of each member, with room for three states of each row.
fn of_units<'a>(launch: Launch<'a>, p: &GruParams) -> Launch<'a> {
    let floats = 3 * ROWS * p.hidden.next_multiple_of(4) + THREADS; // below 2^15
    launch.grid([p.members * p.batch.div_ceil(ROWS), 1, 1]).dynamic_shared(4 * floats as u32)
}

/// A launch whose blocks keep weights for all steps.
#[derive(Clone, Copy, Debug)]
struct Resident {
    blocks: u64,
    shared_bytes: u32,
    /// Elements of `exchanged`.
    exchanged: usize,
    /// Elements of `arrived`.
    arrived: usize,
}

impl Resident {
    /// Rows and states of a block.
    const ROWS: u64 = 16;
    const STATES: u64 = 32;
    /// Most shared memory of a block.
    const MOST_BYTES: u32 = 160 << 10;

    /// The launch, if the device holds all its blocks at once and several blocks share a row.
    ///
    /// `None` as well if no losses are fed back.
    fn of(queue: &CudaQueue, params: &RolloutParams) -> Option<Self> {
        let p = &params.gru;
        let (info, groups) = (queue.device().info(), p.batch.div_ceil(Self::ROWS));
        let (pitch, slices) = (p.hidden.next_multiple_of(4), p.hidden.div_ceil(Self::STATES));
        let blocks = p.members.checked_mul(groups)?.checked_mul(slices)?;
        let shared_bytes = 4 * (3 * Self::STATES * p.hidden + 2 * Self::ROWS * pitch + 2 * Self::ROWS);
        let fits = info.cooperative_launches
            && blocks <= u64::from(info.multiprocessors)
            && shared_bytes <= u64::from(info.max_shared_bytes.min(Self::MOST_BYTES));
        let counted = p.steps.checked_mul(3 * blocks).is_some_and(|arrivals| arrivals < 1 << 31);
        let feeds_losses = matches!(params.feedback, Feedback::PerMember | Feedback::EnsembleMean);
        (fits && counted && feeds_losses && p.steps > 0 && slices > 1).then(|| Self {
            blocks,
            shared_bytes: shared_bytes as u32,
            exchanged: (3 * p.members * p.batch * pitch) as usize,
            arrived: ((p.members + 1) * groups) as usize,
        })
    }

    /// Runs all steps.
    fn launch<T: Real>(self, queue: &CudaQueue, op: &RssmRollout<'_, CudaQueue, T>) -> Result<(), BackendError> {
        let mut exchanged = queue.alloc::<f32>(self.exchanged)?;
        let mut arrived = queue.zeros::<u32>(self.arrived)?;
        let launch = queue.kernel(RESIDENT.of::<T>())?.grid([self.blocks, 1, 1]).cooperative();
        let launch = with_rollout(launch.dynamic_shared(self.shared_bytes).value("p", op.params), op)
            .output("exchanged", &exchanged.view_mut())
            .output("arrived", &arrived.view_mut());
        // SAFETY: `RssmRollout::check` verified all lengths; `self` states the grid and the lengths of `exchanged` and
        // `arrived`, which is zero, and that all blocks run at once.
        unsafe { launch.launch() }
    }
}

/// The views of a roll-out.
fn with_rollout<'a, 'o: 'a, T: Real>(launch: Launch<'a>, op: &RssmRollout<'o, CudaQueue, T>) -> Launch<'a> {
    let layer = &op.layer;
    launch
        .input("w", layer.w)
        .input("u", layer.u)
        .input("b", layer.b)
        .input_if("bu", layer.bu)
        .input("head", op.head)
        .input_if("gamma", op.gamma)
        .input_if("beta", op.beta)
        .input("x", op.x)
        .input("h0", op.h0)
        .input("losses", op.losses)
        .output("trajectory", &op.trajectory)
        .output("h_t", &op.h_t)
        .output("combined", &op.combined)
        .output("entropy", &op.entropy)
        .output_if("states", op.states.as_ref())
}

#[cfg(test)]
mod tests {
    use core_types::params::recurrent::{GruInputs, GruVariant, LossHead, StateMask, Stochastic};

    use super::*;
    use crate::{CudaConfig, KernelSource};

    #[test]
    fn blocks_keep_weights_if_several_share_a_row_and_all_run_at_once() {
        let _session = cuda_sim::driver::simulate("sms=4").unwrap();
        let kernels = KernelSource::Texts(Vec::new());
        let queue = CudaQueue::open(CudaConfig { kernels, ..CudaConfig::default() }).unwrap();
        let blocks = |hidden, steps, feedback| {
            let (variant, inputs) = (GruVariant::ResetBefore, GruInputs::MemberConstants);
            let params = RolloutParams {
                gru: GruParams { members: 2, batch: 5, steps, input: 4, hidden, variant, inputs },
                stochastic: 6,
                part: Stochastic::StridedSoftmax,
                head: LossHead::ExpClamped,
                feedback,
                eps: 0.0,
                mask: StateMask::NONE,
            };
            Resident::of(&queue, &params).map(|launch| launch.blocks)
        };
        // A block has 32 states of 16 rows of a member; the device has four multiprocessors.
        for (hidden, expected) in [(32, None), (33, Some(4)), (64, Some(4)), (65, None)] {
            assert_eq!(blocks(hidden, 3, Feedback::PerMember), expected, "{hidden}");
        }
        assert_eq!(blocks(64, 3, Feedback::EnsembleMean), Some(4));
        assert_eq!(blocks(64, 3, Feedback::None), None);
        assert_eq!(blocks(64, 3, Feedback::State), None);
        // A block arrives three times in a step, and arrivals are counted in 31 bits.
        let most = ((1 << 31) - 1) / 12;
        for (steps, expected) in [(0, None), (1, Some(4)), (most, Some(4)), (most + 1, None), (u64::MAX, None)] {
            assert_eq!(blocks(64, steps, Feedback::PerMember), expected, "{steps}");
        }
    }
}

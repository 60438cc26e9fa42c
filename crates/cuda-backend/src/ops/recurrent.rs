//! The recurrent op set, with one launch for each op.
//!
//! Two ops differ. Rollouts whose blocks do not all run at once and that feed the mean of an
//! ensemble back take one launch for each step. Backward passes take one more launch to transpose
//! the weights.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::recurrent::{GruBackward, GruForward, RssmLoss, RssmRollout},
};
use core_types::params::recurrent::{Feedback, GruParams, RolloutParams, RssmLossParams};

use super::family::{KernelFamily, family, index_bound};
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
        admit_backward(p)?;
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
        let rows = rows_of_losses(p)?;
        let launch = self
            .kernel("recurrent_rssm_loss")?
            .blocks(rows.div_ceil(ROWS_OF_LOSSES))
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
        admit_rollout(op.params)?;
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
    if p.hidden > MOST_STATES {
        let why = "`hidden` exceeds the most states per row that the kernels support";
        return Err(BackendError::Unsupported { op, why });
    }
    // The weights of three gates are indexed in 32 bits.
    for len in [p.input.saturating_mul(p.hidden).saturating_mul(2), p.members.saturating_mul(p.batch)] {
        index_bound(op, len)?;
    }
    Ok(())
}

/// The same of a backward pass, which turns the weights of the members along z of a grid.
fn admit_backward(p: &GruParams) -> Result<(), BackendError> {
    if p.members >= 1 << 16 {
        return Err(BackendError::Unsupported { op: "gru_backward", why: "expected fewer than 2^16 members" });
    }
    admit("gru_backward", p)
}

/// The same of a roll-out, which indexes the second part of a combined state by states.
fn admit_rollout(params: &RolloutParams) -> Result<(), BackendError> {
    admit("rssm_rollout", &params.gru)?;
    index_bound("rssm_rollout", params.stochastic.saturating_mul(params.gru.hidden)).map(drop)
}

/// The rows of all members of a loss, unless its kernel does not index them.
fn rows_of_losses(p: &RssmLossParams) -> Result<u64, BackendError> {
    // The bound holds with one more of each.
    let products = p.stochastic.saturating_add(1).saturating_mul(p.hidden.saturating_add(1));
    index_bound("rssm_loss", products)?;
    index_bound("rssm_loss", p.members.saturating_mul(p.rows)).map(u64::from)
}

/// Gates of all rows, three times the length of the last state.
fn gates(p: &GruParams) -> usize {
    (3 * p.members * p.batch * p.hidden) as usize
}

/// A block for each four rows of each member, with room for three states of each row.
fn of_units<'a>(launch: Launch<'a>, p: &GruParams) -> Launch<'a> {
    let floats = 3 * ROWS * p.hidden.next_multiple_of(4) + THREADS; // below 2^15
    launch.blocks(p.members * p.batch.div_ceil(ROWS)).dynamic_shared(4 * floats as u32)
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
        let launch = queue.kernel(RESIDENT.of::<T>())?.blocks(self.blocks).cooperative();
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
    use core_types::params::recurrent::{GruInputs, GruVariant, LossError, LossHead, StateMask, Stochastic};

    use super::*;
    use crate::rig;

    fn unit([members, batch, input, hidden]: [u64; 4]) -> GruParams {
        let (variant, inputs) = (GruVariant::ResetBefore, GruInputs::MemberConstants);
        GruParams { members, batch, steps: 3, input, hidden, variant, inputs }
    }

    fn rollout(gru: GruParams, stochastic: u64, feedback: Feedback) -> RolloutParams {
        let (part, head, mask) = (Stochastic::StridedSoftmax, LossHead::ExpClamped, StateMask::NONE);
        RolloutParams { gru, stochastic, part, head, feedback, eps: 0.0, mask }
    }

    #[test]
    fn sizes_beyond_what_kernels_index_or_hold_are_refused() {
        for (sizes, forward, backward) in [
            ([2, 5, 4, 2024], true, true),
            ([2, 5, 4, 2025], false, false),
            ([2, 5, (1 << 30) - 1, 1], true, true),
            ([2, 5, 1 << 28, 4], false, false),
            ([1, (1 << 31) - 1, 4, 8], true, true),
            ([1 << 10, 1 << 21, 4, 8], false, false),
            ([(1 << 16) - 1, 5, 4, 8], true, true),
            ([1 << 16, 5, 4, 8], true, false),
            ([u64::MAX; 4], false, false),
        ] {
            let unit = unit(sizes);
            assert_eq!(
                (admit("gru_forward", &unit).is_ok(), admit_backward(&unit).is_ok()),
                (forward, backward),
                "{sizes:?}"
            );
        }
        for (hidden, stochastic, accepted) in
            [(8, (1 << 28) - 1, true), (8, 1 << 28, false), (2025, 1, false), (8, u64::MAX, false)]
        {
            let params = rollout(unit([2, 5, 4, hidden]), stochastic, Feedback::State);
            assert_eq!(admit_rollout(&params).is_ok(), accepted, "{hidden} {stochastic}");
        }
    }

    #[test]
    fn losses_have_fewer_than_2_to_the_31_rows_and_products() {
        let rows = |[members, rows, hidden, stochastic]: [u64; 4]| {
            let (part, head, error) = (Stochastic::StridedSoftmax, LossHead::ExpClamped, LossError::OfLosses);
            let (scale, own_targets, reserved) = (1.0, 0, 0);
            let sizes =
                RssmLossParams { members, rows, hidden, stochastic, part, head, error, scale, own_targets, reserved };
            rows_of_losses(&sizes).ok()
        };
        assert_eq!(rows([3, 5, 8, 4]), Some(15));
        // 2^31 - 1 is a prime number.
        assert_eq!(rows([(1 << 31) - 1, 1, 8, 4]), Some((1 << 31) - 1));
        assert_eq!(rows([1 << 16, 1 << 15, 8, 4]), None);
        assert_eq!(rows([3, 5, (1 << 31) - 2, 0]), Some(15));
        assert_eq!(rows([3, 5, 0, (1 << 31) - 2]), Some(15));
        assert_eq!(rows([3, 5, (1 << 31) - 1, 0]), None);
        assert_eq!(rows([3, 5, (1 << 16) - 1, (1 << 15) - 1]), None);
        assert_eq!(rows([3, 5, u64::MAX, u64::MAX]), None);
    }

    #[test]
    fn blocks_have_four_rows_and_room_for_three_states_of_each() {
        let (_machine, queue) = rig::queue(1);
        let launch = |sizes| of_units(queue.kernel(rig::KERNELS[0]).unwrap(), &unit(sizes));
        // Bytes of the threads' features and of twelve states.
        assert_eq!(launch([3, 4, 5, 8]).geometry(), ([3, 1, 1], Some(4 * (256 + 12 * 8))));
        assert_eq!(launch([3, 5, 5, 9]).geometry(), ([6, 1, 1], Some(4 * (256 + 12 * 12))));
        assert_eq!(gates(&unit([3, 5, 7, 9])), 405);
    }

    #[test]
    fn room_for_weights_and_what_blocks_exchange_follows_the_sizes() {
        let (_machine, queue) = rig::queue(10);
        let of = |batch, hidden| {
            let resident = Resident::of(&queue, &rollout(unit([1, batch, 4, hidden]), 6, Feedback::PerMember));
            resident.map(|it| (it.blocks, it.shared_bytes, it.exchanged, it.arrived))
        };
        // Three groups of rows, two blocks to each: weights of 32 states, and twice 16 states of 36 floats and sums.
        assert_eq!(of(33, 33), Some((6, 4 * (96 * 33 + 32 * 36 + 32), 3 * 33 * 36, 6)));
        // 160 KiB are the most.
        assert_eq!(of(1, 319), Some((10, 4 * (96 * 319 + 32 * 320 + 32), 3 * 320, 2)));
        assert_eq!(of(1, 320), None);
    }

    #[test]
    fn blocks_keep_weights_if_several_share_a_row_and_all_run_at_once() {
        let (_machine, queue) = rig::queue(4);
        let blocks = |hidden, steps, feedback| {
            let params = rollout(GruParams { steps, ..unit([2, 5, 4, hidden]) }, 6, feedback);
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

//! Launches of the kernels of the recurrent op set.

use backend_api::{
    BackendError, Real,
    ops::recurrent::{GruBackward, GruForward, RssmLoss, RssmRollout},
};
use core_types::params::recurrent::{Feedback, GruParams, RolloutParams};

use crate::{
    CudaMut, CudaQueue,
    launch::{
        builder::Launch,
        linalg::{KernelFamily, family},
    },
};

const FORWARD: KernelFamily = family!("recurrent_gru_forward");
const ROLLOUT: KernelFamily = family!("recurrent_rssm_rollout");

/// Rows of a block.
const ROWS: u64 = 4;
/// Rows and columns of a tile of a matrix that is turned.
const SIDE: u64 = 32;
/// Threads of a block, each holding a feature of an input.
const THREADS: u64 = 256;
/// Most states that fit the shared memory of a block.
pub(crate) const MOST_STATES: u64 = (((96 << 10) / 4 - THREADS) / (3 * ROWS)) & !3;

/// A block for each four rows of each member, with room for three states of each row.
fn of_units<'a>(launch: Launch<'a>, p: &GruParams) -> Launch<'a> {
    let floats = 3 * ROWS * p.hidden.next_multiple_of(4) + THREADS; // below 2^15
    launch.grid([p.members * p.batch.div_ceil(ROWS), 1, 1]).dynamic_shared(4 * floats as u32)
}

/// `projected` is there if the inputs are constant.
pub(crate) fn gru_forward<T: Real>(
    queue: &CudaQueue,
    op: &GruForward<'_, CudaQueue, T>,
    projected: Option<&CudaMut<'_, f32>>,
) -> Result<(), BackendError> {
    let layer = &op.layer;
    let launch = of_units(queue.kernel(FORWARD.of::<T>())?, op.params)
        .value("p", op.params)
        .input("w", layer.w)
        .input("u", layer.u)
        .input("b", layer.b)
        .input_if("bu", layer.bu)
        .input("x", op.x)
        .input_if("h0", op.h0)
        .output_if("states", op.states.as_ref())
        .output("h_t", &op.h_t)
        .output_if("saved", op.saved.as_ref())
        .output_if("projected", projected);
    // SAFETY: `GruForward::check` verified all lengths; the op makes `projected` three times as
    // long as the last state. A row has at most `MOST_STATES` states.
    unsafe { launch.launch() }
}

/// Runs the steps from `from` to `to`.
///
/// A launch with the mean fed back takes at most one step.
pub(crate) fn rssm_rollout<T: Real>(
    queue: &CudaQueue,
    op: &RssmRollout<'_, CudaQueue, T>,
    [from, to]: [u64; 2],
    projected: &CudaMut<'_, f32>,
    features: Option<&CudaMut<'_, f32>>,
) -> Result<(), BackendError> {
    let launch = of_units(queue.kernel(ROLLOUT.of::<T>())?, &op.params.gru)
        .value("p", op.params)
        .value("from", &from)
        .value("to", &to);
    let launch = with_rollout(launch, op)
        .output("projected", projected)
        .input_if("back", op.back)
        .input_if("back_bias", op.back_bias)
        .output_if("features", features);
    // SAFETY: `RssmRollout::check` verified all lengths; the op makes `projected` three times as
    // long as the last state, and `features` hold an input of each row of each member if states are
    // fed back. A row has at most `MOST_STATES` states. The op launches the steps in their order.
    unsafe { launch.launch() }
}

const RESIDENT: KernelFamily = family!("recurrent_rssm_resident");

/// A launch whose blocks keep weights for all steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    blocks: u64,
    shared_bytes: u32,
    /// Elements of `exchanged`.
    pub(crate) exchanged: usize,
    /// Elements of `arrived`.
    pub(crate) arrived: usize,
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
    pub(crate) fn of(queue: &CudaQueue, params: &RolloutParams) -> Option<Self> {
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
}

/// All steps. `arrived` holds zeros.
pub(crate) fn rssm_resident<T: Real>(
    queue: &CudaQueue,
    op: &RssmRollout<'_, CudaQueue, T>,
    resident: Resident,
    exchanged: &CudaMut<'_, f32>,
    arrived: &CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(RESIDENT.of::<T>())?.grid([resident.blocks, 1, 1]).cooperative();
    let launch = with_rollout(launch.dynamic_shared(resident.shared_bytes).value("p", op.params), op)
        .output("exchanged", exchanged)
        .output("arrived", arrived);
    // SAFETY: `RssmRollout::check` verified all lengths; `Resident` states the grid and the lengths
    // of `exchanged` and `arrived`, and that all blocks run at once; the op has zeroed `arrived`.
    unsafe { launch.launch() }
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

/// Rows that a block of losses takes, a warp for each.
const ROWS_OF_LOSSES: u64 = THREADS / 32;

/// Launches the loss kernel.
///
/// There are fewer than 2^31 rows of all members, and fewer than 2^31 products of a state's index
/// with an index of the second part.
pub(crate) fn rssm_loss(queue: &CudaQueue, op: &RssmLoss<'_, CudaQueue>) -> Result<(), BackendError> {
    let rows = op.params.members * op.params.rows;
    let launch = queue.kernel("recurrent_rssm_loss")?.grid([rows.div_ceil(ROWS_OF_LOSSES), 1, 1]);
    let launch = launch
        .value("p", op.params)
        .input("head", op.head)
        .input("states", op.states)
        .input("targets", op.targets)
        .output("predicted", &op.predicted)
        .output("errors", &op.errors)
        .output("slopes", &op.slopes)
        .output("combined", &op.combined)
        .output("d_states", &op.d_states);
    // SAFETY: `RssmLoss::check` verified all lengths; the op has checked the bounds of the numbers
    // of rows and states.
    unsafe { launch.launch() }
}

/// `turned` is as long as U.
pub(crate) fn gru_backward(
    queue: &CudaQueue,
    op: &GruBackward<'_, CudaQueue>,
    turned: &CudaMut<'_, f32>,
) -> Result<(), BackendError> {
    let p = op.params;
    let tiles = |len: u64| len.div_ceil(SIDE);
    let hidden = p.hidden as u32; // at most `MOST_STATES`
    let launch = queue.kernel("recurrent_turn")?.grid([tiles(3 * p.hidden), tiles(p.hidden), p.members]);
    let launch = launch.value("hidden", &hidden).input("u", op.u).output("turned", turned);
    // SAFETY: `GruBackward::check` verified the length of `u`; `turned` has the same length.
    unsafe { launch.launch() }?;
    let launch = of_units(queue.kernel("recurrent_gru_backward")?, p)
        .value("p", p)
        .input("turned", turned.as_ref())
        .input("saved", op.saved)
        .input_if("d_states", op.d_states)
        .input_if("d_h_t", op.d_h_t)
        .output("d_gates", &op.d_gates)
        .output("d_h0", &op.d_h0);
    // SAFETY: `GruBackward::check` verified all lengths; a row has at most `MOST_STATES` states.
    unsafe { launch.launch() }
}

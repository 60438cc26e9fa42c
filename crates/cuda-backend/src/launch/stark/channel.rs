//! Launches of the channel kernels.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _,
    ops::channel::{ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelQueries},
};

use crate::{CudaMut, CudaQueue, CudaRef};

/// Expected nonces of a search for each of its warps, which the device's capacity limits.
const NONCES_PER_WARP: u64 = 16;

pub(crate) fn mix_digests(queue: &CudaQueue, op: &ChannelMixDigests<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_mix_digests")?.input("absorbed", op.absorbed);
    let launch = launch.output("channel", &op.channel).output("challenges", &op.challenges);
    let launch = launch.value("count", &(op.absorbed.len() as u64)).value("draws", &(op.challenges.len() as u64));
    // SAFETY: `ChannelMixDigests::check` verified that the transcript has one element; `count` and
    // `draws` are the lengths of the others.
    unsafe { launch.launch() }
}

pub(crate) fn mix_felts(queue: &CudaQueue, op: &ChannelMixFelts<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_mix_felts")?.input("absorbed", op.absorbed);
    let launch = launch.output("channel", &op.channel).output("challenges", &op.challenges);
    let launch = launch.value("count", &(op.absorbed.len() as u64)).value("draws", &(op.challenges.len() as u64));
    // SAFETY: `ChannelMixFelts::check` verified that the transcript has one element; `count` and
    // `draws` are the lengths of the others.
    unsafe { launch.launch() }
}

pub(crate) fn mix_words(queue: &CudaQueue, op: &ChannelMixWords<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_mix_words")?.input("absorbed", op.absorbed);
    let launch = launch.output("channel", &op.channel).output("challenges", &op.challenges);
    let launch = launch.value("count", &(op.absorbed.len() as u64)).value("draws", &(op.challenges.len() as u64));
    // SAFETY: `ChannelMixWords::check` verified that the transcript has one element; `count` and
    // `draws` are the lengths of the others.
    unsafe { launch.launch() }
}

pub(crate) fn draw(queue: &CudaQueue, op: &ChannelDraw<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_draw")?.output("channel", &op.channel).output("challenges", &op.challenges);
    let launch = launch.value("draws", &(op.challenges.len() as u64));
    // SAFETY: `ChannelDraw::check` verified that the transcript has one element; `draws` is the
    // number of challenges.
    unsafe { launch.launch() }
}

pub(crate) fn queries(queue: &CudaQueue, op: &ChannelQueries<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_queries")?.output("channel", &op.channel);
    let launch = launch.output("positions", &op.positions).value("params", op.params);
    // SAFETY: `ChannelQueries::check` verified all lengths.
    unsafe { launch.launch() }
}

/// `search` are two zeros.
pub(crate) fn grind(
    queue: &CudaQueue,
    op: &ChannelGrind<'_, CudaQueue>,
    search: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_grind")?;
    let warps = (1u64 << op.params.bits).div_ceil(NONCES_PER_WARP);
    let blocks = warps.div_ceil(u64::from(launch.block()[0] / 32)).min(launch.at_once());
    let launch = launch.grid([blocks, 1, 1]).input("channel", op.channel);
    let launch = launch.output("search", search).value("params", op.params);
    // SAFETY: `ChannelGrind::check` verified that the transcript has one element; the search has
    // the two words that it needs.
    unsafe { launch.launch() }
}

/// `search` is what [`grind`] has left of it.
pub(crate) fn nonce(queue: &CudaQueue, search: CudaRef<'_, u64>, nonce: &CudaMut<'_, u32>) -> Result<(), BackendError> {
    let launch = queue.kernel("channel_nonce")?.input("search", search).output("nonce", nonce);
    // SAFETY: `ChannelGrind::check` verified that the nonce has two words; the search has two.
    unsafe { launch.launch() }
}

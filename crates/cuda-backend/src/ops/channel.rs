//! The channel op set.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Element, Queue as _,
    ops::channel::{ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelQueries},
};
use core_types::{field::QM31, params::channel::ChannelState};

use crate::{CudaMut, CudaQueue, CudaRef, checked::ChannelOps};

/// Threads of a warp.
const WARP: u32 = 32;

/// Expected nonces of a search for each of its warps, which the device's capacity limits.
const NONCES_PER_WARP: u64 = 16;

impl ChannelOps for CudaQueue {
    fn channel_mix_digests(&self, op: ChannelMixDigests<'_, Self>) -> Result<(), BackendError> {
        mix(self, "channel_mix_digests", op.absorbed, &op.channel, &op.challenges)
    }

    fn channel_mix_felts(&self, op: ChannelMixFelts<'_, Self>) -> Result<(), BackendError> {
        mix(self, "channel_mix_felts", op.absorbed, &op.channel, &op.challenges)
    }

    fn channel_mix_words(&self, op: ChannelMixWords<'_, Self>) -> Result<(), BackendError> {
        mix(self, "channel_mix_words", op.absorbed, &op.channel, &op.challenges)
    }

    fn channel_draw(&self, op: ChannelDraw<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("channel_draw")?.output("channel", &op.channel).output("challenges", &op.challenges);
        let launch = launch.value("draws", &(op.challenges.len() as u64));
        // SAFETY: `ChannelDraw::check` verified that the transcript has one element; `draws` is the number of
        // challenges.
        unsafe { launch.launch() }
    }

    fn channel_queries(&self, op: ChannelQueries<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("channel_queries")?.output("channel", &op.channel);
        let launch = launch.output("positions", &op.positions).value("params", op.params);
        // SAFETY: `ChannelQueries::check` verified all lengths.
        unsafe { launch.launch() }
    }

    fn channel_grind(&self, op: ChannelGrind<'_, Self>) -> Result<(), BackendError> {
        let mut search = self.zeros::<u64>(2)?;
        let launch = self.kernel("channel_grind")?;
        let warps = (1u64 << op.params.bits).div_ceil(NONCES_PER_WARP);
        let blocks = warps.div_ceil(u64::from(launch.width() / WARP)).min(launch.at_once());
        let launch = launch.blocks(blocks).input("channel", op.channel);
        let launch = launch.output("search", &search.view_mut()).value("params", op.params);
        // SAFETY: `ChannelGrind::check` verified that the transcript has one element; the search has the two words that
        // it needs.
        unsafe { launch.launch() }?;
        let launch = self.kernel("channel_nonce")?.input("search", search.view()).output("nonce", &op.nonce);
        // SAFETY: `ChannelGrind::check` verified that the nonce has two words; the search has two.
        unsafe { launch.launch() }
    }
}

/// Absorbs elements and draws challenges by `kernel`.
fn mix<T: Element>(
    queue: &CudaQueue,
    kernel: &str,
    absorbed: CudaRef<'_, T>,
    channel: &CudaMut<'_, ChannelState>,
    challenges: &CudaMut<'_, QM31>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(kernel)?.input("absorbed", absorbed);
    let launch = launch.output("channel", channel).output("challenges", challenges);
    let launch = launch.value("count", &(absorbed.len() as u64)).value("draws", &(challenges.len() as u64));
    // SAFETY: the op has checked that the transcript has one element; the kernel is the one for the type of `absorbed`,
    // and `count` and `draws` are the lengths of the others.
    unsafe { launch.launch() }
}

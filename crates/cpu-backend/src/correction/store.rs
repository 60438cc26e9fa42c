//! States that go into a ring.

use backend_api::ops::correction::StoreStates;
use core_types::params::correction::{StoreParams, place};

use super::product::product;
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The length of a state.
struct Norm<'a>(&'a [f32]);

impl<L: Floats> LaneKernel<L> for Norm<'_> {
    type Out = f32;

    #[inline(always)]
    fn run(self, l: L) -> f32 {
        product(l, self.0, self.0).sqrt()
    }
}

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, op: StoreStates<'_, CpuQueue>) {
    let StoreStates { params: &StoreParams { capacity, width, count }, features, outcomes, .. } = op;
    let width = width as usize;
    for i in 0..count as usize {
        let at = place(capacity, op.stored[0].wrapping_add(i as u64)) as usize;
        let state = &features[i * width..][..width];
        op.states[at * width..][..width].copy_from_slice(state);
        op.norms[at] = dispatch(q.simd(), Norm(state));
        op.known[3 * at..][..3].copy_from_slice(&outcomes[3 * i..][..3]);
    }
    op.stored[0] = op.stored[0].wrapping_add(count);
}

//! The greatest magnitude of a matrix.

use backend_api::{BackendError, Buffer, Queue};

use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{LaneKernel, dispatch},
};

/// The greatest pattern of a magnitude.
struct Greatest<'a>(&'a [f32]);

impl<L> LaneKernel<L> for Greatest<'_> {
    type Out = u32;

    #[inline(always)]
    fn run(self, _: L) -> u32 {
        let mut greatest = 0;
        for x in self.0 {
            greatest = u32::max(greatest, x.to_bits() & 0x7fff_ffff);
        }
        greatest
    }
}

impl CpuQueue {
    /// The pattern of the greatest magnitude.
    pub(super) fn peak(&self, a: &[f32]) -> Result<u32, BackendError> {
        let mut parts = self.zeros::<u32>(a.len().div_ceil(CHUNK))?;
        self.for_chunks(parts.view_mut(), 1, |i, part| {
            let a = &a[i * CHUNK..a.len().min((i + 1) * CHUNK)];
            part[0] = dispatch(self.simd(), Greatest(a));
        });
        Ok(parts.view().iter().copied().max().unwrap_or(0))
    }
}

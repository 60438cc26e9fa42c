//! Weights of any type, in f32.

use backend_api::{BackendError, Buffer, Queue, Real, ops::recurrent::GruLayer};

use crate::{
    CpuBuf, CpuQueue,
    linalg::convert::{as_f32, widened},
    par::CHUNK,
};

/// Widened copies of the weights of a layer that are not f32.
pub(super) struct Widened([Option<CpuBuf<f32>>; 4]);

impl Widened {
    pub(super) fn new<T: Real>(q: &CpuQueue, layer: &GruLayer<'_, CpuQueue, T>) -> Result<Self, BackendError> {
        let wide = |weights: &[T]| {
            if as_f32(weights).is_some() {
                return Ok(None);
            }
            let mut wide = q.alloc::<f32>(weights.len())?;
            q.for_chunks(wide.view_mut(), CHUNK, |i, wide| {
                widened(q.simd(), &weights[i * CHUNK..][..wide.len()], wide)
            });
            Ok::<_, BackendError>(Some(wide))
        };
        Ok(Self([wide(layer.w)?, wide(layer.u)?, wide(layer.b)?, wide(layer.bu.unwrap_or_default())?]))
    }

    /// The layer in f32.
    pub(super) fn layer<'a, 'b: 'a, T: Real>(
        &'a self,
        layer: &GruLayer<'b, CpuQueue, T>,
    ) -> GruLayer<'a, CpuQueue, f32> {
        let Self([w, u, b, bu]) = self;
        let of = |wide: &'a Option<CpuBuf<f32>>, own: &'b [T]| match wide {
            Some(wide) => wide.view(),
            None => as_f32(own).unwrap_or_default(),
        };
        GruLayer { w: of(w, layer.w), u: of(u, layer.u), b: of(b, layer.b), bu: layer.bu.map(|own| of(bu, own)) }
    }
}

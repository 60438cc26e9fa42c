//! Maps, copies between layouts, conversions, reductions and rows by index.

mod arg_max;
mod copy;
mod index;
mod map;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use backend_api::{
    BackendError, Real,
    ops::tensor::{
        ArgMax, CopyStrided, CopyStridedBool, CopyStridedU32, CopyStridedU64, Fill, Gather, GatherU64, Map, Narrow,
        Reduce, ScatterAdd, Select, Widen,
    },
};

use crate::checked::TensorOps;
use core_types::{
    float::clamp,
    params::tensor::{Beyond, Reduction},
};

use crate::{
    CpuQueue,
    linalg::{
        convert::{BLOCK, narrow, narrowed, widened},
        fold::{Greatest, Least, WideSum, fold},
        reals::RealsMut,
    },
    par::CHUNK,
    simd::{LaneKernel, dispatch, floats::Floats},
};
use map::MapValues;

impl TensorOps for CpuQueue {
    fn arg_max<T: Real>(&self, op: ArgMax<'_, Self, T>) -> Result<(), BackendError> {
        arg_max::arg_max(self, op.params, op.x, op.y);
        Ok(())
    }

    fn copy_strided<T: Real>(&self, op: CopyStrided<'_, Self, T>) -> Result<(), BackendError> {
        copy::copy_reals(self, op.params, op.x, op.y);
        Ok(())
    }

    fn copy_strided_bool(&self, op: CopyStridedBool<'_, Self>) -> Result<(), BackendError> {
        copy::copy_elements(self, op.params, op.x, op.y);
        Ok(())
    }

    fn copy_strided_u32(&self, op: CopyStridedU32<'_, Self>) -> Result<(), BackendError> {
        copy::copy_elements(self, op.params, op.x, op.y);
        Ok(())
    }

    fn copy_strided_u64(&self, op: CopyStridedU64<'_, Self>) -> Result<(), BackendError> {
        copy::copy_elements(self, op.params, op.x, op.y);
        Ok(())
    }

    fn fill<T: Real>(&self, op: Fill<'_, Self, T>) -> Result<(), BackendError> {
        let value = T::from_f32(op.value);
        self.for_chunks(op.y, CHUNK, |_, y| y.fill(value));
        Ok(())
    }

    fn gather<T: Real>(&self, op: Gather<'_, Self, T>) -> Result<(), BackendError> {
        index::gather(self, op.params, op.table, op.indices, op.y, T::from_f32(0.0));
        Ok(())
    }

    fn gather_u64(&self, op: GatherU64<'_, Self>) -> Result<(), BackendError> {
        index::gather(self, op.params, op.table, op.indices, op.y, 0);
        Ok(())
    }

    fn map<T: Real>(&self, op: Map<'_, Self, T>) -> Result<(), BackendError> {
        let Map { params: p, x, y, .. } = op;
        match x {
            Some(x) => self.for_blocks([x], y, |_, [x], y| dispatch(self.simd(), MapValues { p, x: Some(x), y })),
            None => self.for_blocks_in_place([], y, |_, [], y| dispatch(self.simd(), MapValues { p, x: None, y })),
        }
        Ok(())
    }

    fn narrow<T: Real>(&self, op: Narrow<'_, Self, T>) -> Result<(), BackendError> {
        let [beyond, greatest] = op.range();
        let Narrow { beyond: rule, x, y, found } = op;
        let greatest = (rule == Beyond::Saturated).then_some(greatest);
        if found.is_none() && greatest.is_none() {
            self.for_chunks(y, CHUNK, |task, y| narrowed(self.simd(), &x[task * CHUNK..][..y.len()], y));
            return Ok(());
        }
        let (count, first) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        self.for_chunks(y, CHUNK, |task, y| {
            let x = &x[task * CHUNK..][..y.len()];
            let beyond = dispatch(self.simd(), Narrowed { beyond, greatest, x, y: y.into() });
            if beyond.count > 0 {
                count.fetch_add(beyond.count, Relaxed);
                first.fetch_min((task * CHUNK + beyond.first) as u64, Relaxed);
            }
        });
        if let Some([all, lowest]) = found {
            *all = all.wrapping_add(count.into_inner());
            *lowest = first.into_inner().min(*lowest);
        }
        Ok(())
    }

    fn reduce<T: Real>(&self, op: Reduce<'_, Self, T>) -> Result<(), BackendError> {
        let Reduce { params: p, x, y } = op;
        let (len, axis) = (p.len as f64, [p.len as usize, p.inner as usize]);
        match p.reduction {
            Reduction::Sum => fold::<WideSum, T>(self, axis, x, y, &|y, sums| set(y, sums, |sum| sum as f32)),
            Reduction::Mean => {
                fold::<WideSum, T>(self, axis, x, y, &move |y, sums| set(y, sums, |sum| (sum / len) as f32))
            }
            Reduction::Max => fold::<Greatest, T>(self, axis, x, y, &|y, greatest| set(y, greatest, |max| max)),
            Reduction::Min => fold::<Least, T>(self, axis, x, y, &|y, least| set(y, least, |min| min)),
        }
    }

    fn scatter_add<T: Real>(&self, op: ScatterAdd<'_, Self, T>) -> Result<(), BackendError> {
        index::scatter_add(self, op);
        Ok(())
    }

    fn select<T: Real>(&self, op: Select<'_, Self, T>) -> Result<(), BackendError> {
        let Select { mask, a, b, y } = op;
        self.for_chunks(y, CHUNK, |task, y| {
            let part = task * CHUNK..task * CHUNK + y.len();
            dispatch(self.simd(), Choice { mask: &mask[part.clone()], a: a.map(|a| &a[part.clone()]), b: &b[part], y });
        });
        Ok(())
    }

    fn widen<T: Real>(&self, op: Widen<'_, Self, T>) -> Result<(), BackendError> {
        self.for_chunks(op.y, CHUNK, |task, y| widened(self.simd(), &op.x[task * CHUNK..][..y.len()], y));
        Ok(())
    }
}

/// `y = of(x)`, rounded to nearest even.
fn set<T: Real, X: Copy>(y: &mut [T], x: &[X], of: impl Fn(X) -> f32) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = T::from_f32(of(x));
    }
}

/// `y = x` in another type.
///
/// Values beyond its range are clamped to `greatest` if there is one.
struct Narrowed<'a> {
    beyond: f32,
    greatest: Option<f32>,
    x: &'a [f32],
    y: RealsMut<'a>,
}

/// Values beyond a range.
struct ValuesOutOfRange {
    count: u64,
    /// Index of the first, if there is one.
    first: usize,
}

impl<L: Floats> LaneKernel<L> for Narrowed<'_> {
    type Out = ValuesOutOfRange;

    #[inline(always)]
    fn run(mut self, l: L) -> ValuesOutOfRange {
        let (mut found, mut held) = (ValuesOutOfRange { count: 0, first: 0 }, [0.0; BLOCK]);
        for (block, x) in self.x.chunks(BLOCK).enumerate() {
            let y = self.y.range(block * BLOCK..block * BLOCK + x.len());
            let mut count = 0;
            for &x in x {
                count += u32::from(x >= self.beyond) + u32::from(x <= -self.beyond);
            }
            if count > 0 && found.count == 0 {
                let first = x.iter().position(|x| x.abs() >= self.beyond);
                found.first = block * BLOCK + first.unwrap_or_default();
            }
            found.count += u64::from(count);
            match self.greatest.filter(|_| count > 0) {
                None => narrow(l, x, y),
                Some(greatest) => {
                    let held = &mut held[..x.len()];
                    for (held, &x) in held.iter_mut().zip(x) {
                        *held = clamp(x, -greatest, greatest);
                    }
                    narrow(l, held, y);
                }
            }
        }
        found
    }
}

/// y is a or b, by the mask, or stays or is b without a; all slices have one length.
struct Choice<'a, T> {
    mask: &'a [bool],
    a: Option<&'a [T]>,
    b: &'a [T],
    y: &'a mut [T],
}

impl<T: Real, L: Floats> LaneKernel<L> for Choice<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { mask, a, b, y } = self;
        if let Some(a) = a {
            for (((y, &chosen), &a), &b) in y.iter_mut().zip(mask).zip(a).zip(b) {
                *y = if chosen { a } else { b };
            }
        } else {
            for ((y, &chosen), &b) in y.iter_mut().zip(mask).zip(b) {
                *y = if chosen { *y } else { b };
            }
        }
    }
}

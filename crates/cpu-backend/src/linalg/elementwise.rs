//! Ops that treat every element the same way, and sums along an axis.

use backend_api::{
    BackendError, Real,
    ops::linalg::{self, Activate, ActivateBackward, Axpby, BinaryScalar, Dropout, SumAxis},
};
use core_types::params::elementwise::{BinaryParams, MAX_RANK};

use super::{
    activation::{ActivationBackward, ActivationMap, InPlace},
    binary::binary,
    dropout::{Dropped, DroppedInPlace, of_step},
    fold::{WideSum, fold},
};
use crate::checked::ElementwiseOps;
use crate::{CpuQueue, simd::dispatch};

impl ElementwiseOps for CpuQueue {
    fn activate<T: Real>(&self, op: Activate<'_, Self, T>) -> Result<(), BackendError> {
        let Activate { f, x, y, .. } = op;
        match x {
            Some(x) => self.for_blocks([x], y, |_, [x], y| dispatch(self.simd(), ActivationMap { f, x, y })),
            None => self.for_blocks_in_place([], y, |_, [], y| dispatch(self.simd(), InPlace { f, y })),
        }
        Ok(())
    }

    fn activate_backward<T: Real>(&self, op: ActivateBackward<'_, Self, T>) -> Result<(), BackendError> {
        let ActivateBackward { f, saved, g, dx } = op;
        self.for_blocks([saved, g], dx, |_, [saved, g], dx| {
            dispatch(self.simd(), ActivationBackward { f, saved, g, dx })
        });
        Ok(())
    }

    fn binary<T: Real>(&self, op: linalg::Binary<'_, Self, T>) -> Result<(), BackendError> {
        binary(self, op.params, op.a, op.b, op.y);
        Ok(())
    }

    fn binary_scalar<T: Real>(&self, op: BinaryScalar<'_, Self, T>) -> Result<(), BackendError> {
        let BinaryScalar { params: p, x, y } = op;
        let (a_strides, b_strides) = (p.x_strides, [0; MAX_RANK]);
        let params = BinaryParams { op: p.op, rank: p.rank, shape: p.shape, a_strides, b_strides };
        binary(self, &params, Some(x), &[T::from_f32(p.value)], y);
        Ok(())
    }

    fn axpby<T: Real>(&self, op: Axpby<'_, Self, T>) -> Result<(), BackendError> {
        let Axpby { alpha, x, beta, y } = op;
        self.for_blocks_in_place([x], y, |_, [x], y| {
            if beta == 0.0 {
                y.iter_mut().zip(x).for_each(|(y, &x)| *y = alpha * x);
            } else {
                y.iter_mut().zip(x).for_each(|(y, &x)| *y = alpha * x + beta * *y);
            }
        });
        Ok(())
    }

    fn sum_axis<T: Real>(&self, op: SumAxis<'_, Self, T>) -> Result<(), BackendError> {
        let SumAxis { params: p, x, y } = op;
        let adds = p.accumulate == 1;
        fold::<WideSum, T>(self, [p.len as usize, p.inner as usize], x, y, &move |y, sums| {
            for (y, sum) in y.iter_mut().zip(sums) {
                let before = if adds { f64::from(y.to_f32()) } else { 0.0 };
                *y = T::from_f32((before + sum) as f32);
            }
        })
    }

    fn dropout<T: Real>(&self, op: Dropout<'_, Self, T>) -> Result<(), BackendError> {
        let Dropout { params, state, x, y, .. } = op;
        let p = &of_step(params, state);
        let from = |first: usize| p.first.wrapping_add(first as u64);
        match x {
            Some(x) => self.for_blocks([x], y, |first, [x], y| {
                dispatch(self.simd(), Dropped { p, first: from(first), x, y });
            }),
            None => self.for_blocks_in_place([], y, |first, [], y| {
                dispatch(self.simd(), DroppedInPlace { p, first: from(first), y });
            }),
        }
        Ok(())
    }
}

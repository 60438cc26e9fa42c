//! The circle op set.

mod layers;
mod points;
mod schedule;

use backend_api::{
    BackendError, BufferMut, BufferRef, Element,
    ops::circle::{
        BatchInverseM31, BatchInverseQm31, CircleEvalAtPoint, CircleEvalAtPoints, CircleEvaluate, CircleExtend,
        CircleInterpolate, CircleInterpolatePart, CircleLde, CircleRestrict, CircleTwiddles,
    },
};
use core_types::params::circle::{CircleExtendParams, CircleFftParams, CirclePartParams};

use self::{
    layers::{CoefficientSource, TILE_EVALUATE, TILE_INTERPOLATE, division, strips, tiles_in_place},
    schedule::{DomainSpan, LayerSchedule},
};
use crate::{CudaMut, CudaQueue, CudaRef, checked::CircleOps, submit::Launch};

/// Maximum blocks along x of a kernel with a grid-stride loop.
const MOST_STRIDING: u64 = 1 << 16;

/// Elements that a thread of an inverting kernel takes.
const M31_PER_THREAD: usize = 8;
const QM31_PER_THREAD: usize = 4;

impl CircleOps for CudaQueue {
    fn circle_twiddles(&self, op: CircleTwiddles<'_, Self>) -> Result<(), BackendError> {
        let launch = striding(self.kernel("circle_twiddles")?, op.twiddles.len() as u64);
        let launch = launch.output("twiddles", &op.twiddles).output("inverse_twiddles", &op.inverse_twiddles);
        let launch = launch.value("params", op.params);
        // SAFETY: `CircleTwiddles::check` verified that the length of both views is half the number of points.
        unsafe { launch.launch() }
    }

    fn circle_interpolate(&self, op: CircleInterpolate<'_, Self>) -> Result<(), BackendError> {
        let CircleInterpolate { params, inverse_twiddles, columns } = op;
        let CircleFftParams { log_size, columns: count } = *params;
        let whole = CirclePartParams { log_size, log_domain: log_size, columns: count };
        self.circle_inverse_layers(&whole, inverse_twiddles, &columns)
    }

    fn circle_evaluate(&self, op: CircleEvaluate<'_, Self>) -> Result<(), BackendError> {
        let CircleEvaluate { params, twiddles, columns } = op;
        let CircleFftParams { log_size, columns: count } = *params;
        self.circle_layers(DomainSpan::whole(log_size), log_size, count, twiddles, CoefficientSource::InPlace, &columns)
    }

    fn circle_extend(&self, op: CircleExtend<'_, Self>) -> Result<(), BackendError> {
        let CircleExtend { params, twiddles, coefficients, values } = op;
        let CircleExtendParams { log_coefficients, log_size, columns: count } = *params;
        let source = CoefficientSource::Columns(coefficients);
        self.circle_layers(DomainSpan::whole(log_size), log_coefficients, count, twiddles, source, &values)
    }

    fn circle_lde(&self, op: CircleLde<'_, Self>) -> Result<(), BackendError> {
        let CircleLde { params, inverse_twiddles, twiddles, mut columns, values } = op;
        let CircleExtendParams { log_coefficients: log_len, log_size, columns: count } = *params;
        let schedule = LayerSchedule::new(log_len);
        let [layers] = schedule.strips[..] else {
            let domain = CircleFftParams { log_size: log_len, columns: count };
            let lower = CircleInterpolate { params: &domain, inverse_twiddles, columns: columns.reborrow() };
            self.circle_interpolate(lower)?;
            return self.circle_extend(CircleExtend { params, twiddles, coefficients: columns.as_ref(), values });
        };
        if count == 0 {
            return Ok(());
        }
        let [small, large] = [log_len, log_size].map(DomainSpan::whole);
        let lowest = small.tiles(log_len, schedule.tiles, 0, count);
        tiles_in_place(self, TILE_INTERPOLATE, &lowest, &columns, inverse_twiddles)?;
        // One launch transforms the strips back and evaluates their copies.
        let inverse = small.strips(layers, log_len, log_len, division(log_len));
        let forward = large.strips(layers, log_len, log_len, 0);
        let launch = strips(self, ["circle_strip_lde", "circle_wide_strip_lde"], &inverse, count)?;
        let launch = launch.output("columns", &columns).output("values", &values);
        let launch = launch.input("inverse_twiddles", inverse_twiddles).input("twiddles", twiddles);
        let launch = launch.value("inverse", &inverse).value("params", &forward);
        // SAFETY: `CircleLde::check` verified that `columns` are `count` of `2^log_len`, `values` are `count` of
        // `2^log_size`, and that the twiddles belong to the two domains; a thread reads back only the coefficients that
        // it wrote itself.
        unsafe { launch.launch() }?;
        let lowest = large.tiles(log_size, schedule.tiles, 0, count);
        tiles_in_place(self, TILE_EVALUATE, &lowest, &values, twiddles)
    }

    fn circle_eval_at_point(&self, op: CircleEvalAtPoint<'_, Self>) -> Result<(), BackendError> {
        self.evaluate_at_point(op)
    }

    fn circle_eval_at_points(&self, op: CircleEvalAtPoints<'_, Self>) -> Result<(), BackendError> {
        self.evaluate_at_points(op)
    }

    fn circle_interpolate_part(&self, op: CircleInterpolatePart<'_, Self>) -> Result<(), BackendError> {
        self.circle_inverse_layers(op.params, op.inverse_twiddles, &op.columns)
    }

    fn circle_restrict(&self, op: CircleRestrict<'_, Self>) -> Result<(), BackendError> {
        self.evaluate_block(op)
    }

    fn batch_inverse_m31(&self, op: BatchInverseM31<'_, Self>) -> Result<(), BackendError> {
        invert(self, ("circle_inverse_m31", M31_PER_THREAD), op.elements, &op.inverses, &op.first_zero)
    }

    fn batch_inverse_qm31(&self, op: BatchInverseQm31<'_, Self>) -> Result<(), BackendError> {
        invert(self, ("circle_inverse_qm31", QM31_PER_THREAD), op.elements, &op.inverses, &op.first_zero)
    }
}

/// Inverts elements, `per_thread` in each thread of `kernel`.
fn invert<T: Element>(
    queue: &CudaQueue,
    (kernel, per_thread): (&str, usize),
    elements: CudaRef<'_, T>,
    inverses: &CudaMut<'_, T>,
    first_zero: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    if elements.is_empty() {
        return Ok(());
    }
    let len = elements.len();
    let launch = queue.kernel(kernel)?.cover(len.div_ceil(per_thread)).input("elements", elements);
    let launch = launch.output("inverses", inverses).output("first_zero", first_zero).value("len", &(len as u64));
    // SAFETY: the op has checked that both views have `len` elements, and that `first_zero` is one word; the kernel is
    // the one for elements of `T`.
    unsafe { launch.launch() }
}

/// One thread for each of `count` items, or a stride where that would be many blocks.
fn striding(launch: Launch<'_>, count: u64) -> Launch<'_> {
    let blocks = count.div_ceil(launch.width().into()).min(MOST_STRIDING);
    launch.blocks(blocks)
}

//! The layers of transforms: from values to coefficients, and from coefficients to values.
//!
//! Values are on a whole domain or on a block of it.

use backend_api::{BackendError, Buffer, Queue, ops::circle::CircleRestrict};
use core_types::{
    field::{M31, Twiddle},
    params::circle::{CirclePartParams, CircleRestrictParams, CircleSmallParams, CircleStripParams, CircleTileParams},
};

use super::{
    schedule::{DomainSpan, LOG_TILE, LayerSchedule},
    striding,
};
use crate::{CudaMut, CudaQueue, CudaRef, submit::Launch};

/// Log of the largest domain whose layers have twiddles of their own kind.
const LOG_SMALL: u32 = 2;

/// Rotation, in bits, of words of 31 bits that divides them by `2^log_size`.
///
/// The last launch of an inverse transform applies it.
pub(super) const fn division(log_size: u32) -> u32 {
    (31 - log_size) % 31
}

/// The input of the first launch of a transform from coefficients.
#[derive(Clone, Copy)]
pub(super) enum CoefficientSource<'a> {
    /// The columns that it writes.
    InPlace,
    /// Columns of one polynomial's coefficients each, read for every copy.
    Columns(CudaRef<'a, M31>),
    /// Columns of more coefficients, whose parts are added up with these weights.
    Parts { coefficients: CudaRef<'a, M31>, weights: CudaRef<'a, Twiddle>, log_coefficients: u32 },
}

impl<'a> CoefficientSource<'a> {
    /// Of two kernels, or pairs of them, the first unless parts are added up.
    fn kernel<K>(self, evaluate: K, restrict: K) -> K {
        if matches!(self, Self::Parts { .. }) { restrict } else { evaluate }
    }

    /// Passes the views of a transform of `columns`.
    fn views<'l>(self, launch: Launch<'l>, columns: &'l CudaMut<'_, M31>, twiddles: CudaRef<'l, Twiddle>) -> Launch<'l>
    where
        'a: 'l,
    {
        let source = match self {
            Self::InPlace => columns.as_ref(),
            Self::Columns(source) => source,
            Self::Parts { coefficients, weights, .. } => {
                let launch = launch.input("coefficients", coefficients).output("values", columns);
                return launch.input("twiddles", twiddles).input("weights", weights);
            }
        };
        launch.input("source", source).output("columns", columns).input("twiddles", twiddles)
    }
}

impl CudaQueue {
    /// Interpolates columns in place: from values to coefficients.
    ///
    /// The values are on the first `2^log_size` positions of a domain of `2^log_domain` points.
    pub(super) fn circle_inverse_layers(
        &self,
        params: &CirclePartParams,
        inverse_twiddles: CudaRef<'_, Twiddle>,
        columns: &CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CirclePartParams { log_size, log_domain, columns: count } = *params;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_domain, log_size, log_source: log_size, columns: count, position: 0 };
            let launch = striding(self.kernel("circle_small_interpolate")?, count.into());
            let launch = launch.output("columns", columns).input("twiddles", inverse_twiddles);
            let launch = launch.value("params", &params);
            // SAFETY: the op has checked that `columns` are `count` of two or four words, and that the twiddles are of
            // a domain with at least one point per word of a column.
            return unsafe { launch.launch() };
        }
        let (schedule, span) = (LayerSchedule::new(log_size), DomainSpan::first(log_size, log_domain));
        let scale = |last: bool| if last { division(log_size) } else { 0 };
        let lowest = span.tiles(log_size, schedule.tiles, scale(schedule.strips.is_empty()), count);
        tiles_in_place(self, TILE_INTERPOLATE, &lowest, columns, inverse_twiddles)?;
        for (i, &layers) in schedule.strips.iter().enumerate() {
            let params = span.strips(layers, log_size, log_size, scale(i + 1 == schedule.strips.len()));
            let launch = strips(self, ["circle_strip_interpolate", "circle_wide_strip_interpolate"], &params, count)?;
            let launch = launch.output("columns", columns).input("twiddles", inverse_twiddles);
            let launch = launch.value("params", &params);
            // SAFETY: the op has checked that `columns` are `count` of `2^log_size` words, and that the twiddles are of
            // a domain of at least `2^log_size` points.
            unsafe { launch.launch() }?;
        }
        Ok(())
    }

    /// Evaluates a block of a domain.
    pub(super) fn evaluate_block(&self, op: CircleRestrict<'_, Self>) -> Result<(), BackendError> {
        let CircleRestrict { params, twiddles, coefficients, values } = op;
        let CircleRestrictParams { log_coefficients, log_domain, log_block, columns, .. } = *params;
        if columns == 0 {
            return Ok(());
        }
        let span = DomainSpan { log_domain, log_size: log_block, position: params.position() };
        if params.log_parts() == 0 {
            let source = CoefficientSource::Columns(coefficients);
            return self.circle_layers(span, log_coefficients, columns, twiddles, source, &values);
        }
        // The weights of the parts of a column in the values of the block.
        let mut weights = self.alloc::<Twiddle>(1 << params.log_parts())?;
        let launch = striding(self.kernel("circle_restrict_weights")?, 1 << params.log_parts());
        let launch = launch.input("twiddles", twiddles).output("weights", &weights.view_mut()).value("params", params);
        // SAFETY: `CircleRestrict::check` verified that the twiddles belong to the domain, and `weights` has room for a
        // weight for each part.
        unsafe { launch.launch() }?;
        let source = CoefficientSource::Parts { coefficients, weights: weights.view(), log_coefficients };
        self.circle_layers(span, log_block, columns, twiddles, source, &values)
    }

    /// Runs the layers of polynomials of `2^log_len` coefficients in `columns`.
    ///
    /// The first launch reads from `source`.
    pub(super) fn circle_layers(
        &self,
        span: DomainSpan,
        log_len: u32,
        count: u32,
        twiddles: CudaRef<'_, Twiddle>,
        source: CoefficientSource<'_>,
        columns: &CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let DomainSpan { log_domain, log_size, position } = span;
        if count == 0 {
            return Ok(());
        }
        let log_source = |source| match source {
            CoefficientSource::InPlace => log_size,
            CoefficientSource::Columns(_) => log_len,
            CoefficientSource::Parts { log_coefficients, .. } => log_coefficients,
        };
        if log_size <= LOG_SMALL {
            let log_source = log_source(source);
            let params = CircleSmallParams { log_domain, log_size, log_source, columns: count, position };
            let kernel = source.kernel("circle_small_evaluate", "circle_small_restrict");
            let launch = source.views(striding(self.kernel(kernel)?, count.into()), columns, twiddles);
            // SAFETY: the op has checked that `source` and `columns` are `count` of their sizes, and that the twiddles
            // belong to the domain; there is a weight for each part of a column. A thread reads a column before it
            // writes it.
            return unsafe { launch.value("params", &params).launch() };
        }
        let (schedule, mut source) = (LayerSchedule::new(log_len), source);
        for &layers in schedule.strips.iter().rev() {
            let params = span.strips(layers, log_source(source), log_len, 0);
            let kernels = source.kernel(
                ["circle_strip_evaluate", "circle_wide_strip_evaluate"],
                ["circle_strip_restrict", "circle_wide_strip_restrict"],
            );
            let launch = source.views(strips(self, kernels, &params, count)?, columns, twiddles);
            // SAFETY: the op has checked that `columns` are `count` of `2^log_size`, `source` the same view or `count`
            // columns of `2^params.log_source`, and that the twiddles belong to the domain; there is a weight for each
            // part of a column. A block reads its strip before it writes it.
            unsafe { launch.value("params", &params).launch() }?;
            source = CoefficientSource::InPlace;
        }
        let params = span.tiles(log_source(source), schedule.tiles, 0, count);
        let launch = match source {
            CoefficientSource::InPlace => return tiles_in_place(self, TILE_EVALUATE, &params, columns, twiddles),
            CoefficientSource::Columns(coefficients) => tiles(self.kernel("circle_tile_extend")?, &params)
                .input("coefficients", coefficients)
                .output("values", columns)
                .input("twiddles", twiddles),
            CoefficientSource::Parts { .. } => {
                source.views(tiles(self.kernel("circle_tile_restrict")?, &params), columns, twiddles)
            }
        };
        // SAFETY: the op has checked that `columns` are `params.words` words, the coefficients the same number of
        // columns of `2^params.log_source`, and that the twiddles belong to the domain; there is a weight for each part
        // of a column.
        unsafe { launch.value("params", &params).launch() }
    }
}

/// Kernels of the lowest layers of a transform in place, by tiles and by pairs of tiles.
pub(super) const TILE_EVALUATE: [&str; 2] = ["circle_tile_evaluate", "circle_tile_pair_evaluate"];
/// The same of an inverse transform.
pub(super) const TILE_INTERPOLATE: [&str; 2] = ["circle_tile_interpolate", "circle_tile_pair_interpolate"];

/// Runs the lowest layers of a transform in place, by one of `kernels`.
pub(super) fn tiles_in_place(
    queue: &CudaQueue,
    kernels: [&'static str; 2],
    p: &CircleTileParams,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = tiles_or_pairs(queue, kernels, p)?;
    let launch = launch.output("columns", columns).input("twiddles", twiddles).value("params", p);
    // SAFETY: the op has checked that `columns` are `p.words` words, and that `twiddles` are of a domain of at least
    // one point per word of a column: of the domain of `p` if the layers evaluate.
    unsafe { launch.launch() }
}

/// Tiles of a column, or pairs of them, by groups of columns.
fn tiles<'a>(launch: Launch<'a>, p: &CircleTileParams) -> Launch<'a> {
    let column = if p.log_size < LOG_TILE { p.words } else { 1 << p.log_size };
    let groups = p.columns.div_ceil(p.columns_per_block);
    launch.grid([column.div_ceil(1 << p.layers.max(LOG_TILE)), groups.into(), 1])
}

/// Tiles or pairs of them, which have kernels of their own.
fn tiles_or_pairs<'a>(
    queue: &'a CudaQueue,
    [single, pair]: [&str; 2],
    p: &CircleTileParams,
) -> Result<Launch<'a>, BackendError> {
    Ok(tiles(queue.kernel(if p.layers <= LOG_TILE { single } else { pair })?, p))
}

/// One block per strip of each column. Both sizes of a strip have kernels of their own.
pub(super) fn strips<'a>(
    queue: &'a CudaQueue,
    [narrow, wide]: [&str; 2],
    p: &CircleStripParams,
    columns: u32,
) -> Result<Launch<'a>, BackendError> {
    let log_strip = p.log_rows + p.log_width;
    let kernel = if log_strip == CircleStripParams::LOG_STRIP { narrow } else { wide };
    Ok(queue.kernel(kernel)?.blocks(u64::from(columns) << (p.log_size - log_strip)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ops::circle::schedule::Strips, rig};

    #[test]
    fn grids_are_of_tiles_by_groups_of_columns_and_of_strips() {
        let (_machine, queue) = rig::queue(1);
        for ((log_size, layers, columns), (kernel, grid)) in [
            ((3, 3, 0), (0, [0, 1, 1])),
            ((3, 3, 512), (0, [1, 1, 1])),
            ((3, 3, 513), (0, [2, 1, 1])),
            ((12, 12, 5), (0, [1, 5, 1])),
            ((15, 12, 5), (0, [8, 5, 1])),
            ((15, 13, 5), (1, [4, 5, 1])),
            ((24, 13, 9), (1, [2048, 3, 1])),
        ] {
            let p = DomainSpan::whole(log_size).tiles(log_size, layers, 0, columns);
            let launch = tiles_or_pairs(&queue, rig::KERNELS, &p).unwrap();
            assert_eq!(launch.geometry(), (grid, None), "{p:?}");
            assert!(format!("{launch:?}").contains(rig::KERNELS[kernel]), "{launch:?}");
        }
        for (log_rows, columns, (kernel, blocks)) in [(8, 3, (0, 3 << 4)), (9, 3, (1, 3 << 2)), (4, 1, (0, 1 << 4))] {
            let layers = Strips { layer: 16 - log_rows, log_rows };
            let p = DomainSpan::whole(16).strips(layers, 16, 16, 0);
            let launch = strips(&queue, rig::KERNELS, &p, columns).unwrap();
            assert_eq!(launch.geometry(), ([blocks, 1, 1], None), "{p:?}");
            assert!(format!("{launch:?}").contains(rig::KERNELS[kernel]), "{launch:?}");
        }
        for (count, blocks) in [(0, 0), (128, 1), (129, 2), (128 << 16, 1 << 16), ((128 << 16) + 1, 1 << 16)] {
            let launch = striding(queue.kernel(rig::KERNELS[0]).unwrap(), count);
            assert_eq!(launch.geometry(), ([blocks, 1, 1], None), "{count}");
        }
    }
}

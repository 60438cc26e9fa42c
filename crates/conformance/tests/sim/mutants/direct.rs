//! Launches that ops make on large inputs only. The circle ops on domains of 2^20 points and more: several columns to a
//! block of tiles, wide strips, and strips of several rounds, held to the processor's results. Columns of look-ups on
//! 2^18 rows and more: threads that add up several parts.
//!
//! Every launch of a transform is given whole columns of the domain that its parameters state, and the domain's
//! twiddles.

use backend_api::{
    Buffer, Queue,
    ops::circle::{
        CircleEvaluate, CircleExtend, CircleInterpolate, CircleLde, CircleOps, CircleRestrict, CircleTwiddles,
    },
};
use conformance::Failure;
use core_types::{
    field::{M31, QM31, Twiddle},
    params::air::LogUpColumnsParams,
    params::circle::{
        CircleExtendParams, CircleFftParams, CircleRestrictParams, CircleStripParams, CircleTileParams,
        CircleTwiddleParams,
    },
};
use cuda_backend::{CudaMut, CudaQueue, CudaRef, Launch};

use super::trials::Trial;

/// Logs of the words of a tile, a strip and a wide strip.
const LOG_TILE: u32 = CircleTileParams::LOG_TILE;
const LOG_STRIP: u32 = CircleStripParams::LOG_STRIP;
const LOG_WIDE_STRIP: u32 = CircleStripParams::LOG_WIDE_STRIP;

pub(super) fn trials() -> Vec<Trial> {
    vec![
        Trial::new("columns that share a block, evaluated", |q| Transform::Evaluate.holds(q, SHARED_BLOCK)),
        Trial::new("columns that share a block, interpolated", |q| Transform::Interpolate.holds(q, SHARED_BLOCK)),
        Trial::new("columns that share a block, extended", extend),
        Trial::new("strips of two rounds, evaluated", |q| Transform::Evaluate.holds(q, STRIPS)),
        Trial::new("strips of two rounds, interpolated", |q| Transform::Interpolate.holds(q, STRIPS)),
        Trial::new("wide strips, evaluated", |q| Transform::Evaluate.holds(q, WIDE_STRIPS)),
        Trial::new("wide strips, interpolated", |q| Transform::Interpolate.holds(q, WIDE_STRIPS)),
        Trial::new("pairs of tiles, evaluated", |q| Transform::Evaluate.holds(q, PAIRS)),
        Trial::new("pairs of tiles, interpolated", |q| Transform::Interpolate.holds(q, PAIRS)),
        Trial::new("strips of two rounds from parts", |q| restrict(q, STRIPS)),
        Trial::new("wide strips from parts", |q| restrict(q, WIDE_STRIPS)),
        Trial::new("strips of two rounds, extended", |q| extend_values(q, STRIPS)),
        Trial::new("wide strips, extended", |q| extend_values(q, WIDE_STRIPS)),
    ]
}

/// Trials of the kernels of look-ups.
pub(super) fn look_ups() -> Vec<Trial> {
    vec![Trial::new("threads that add up four parts", |q| totals(q, 19))]
}

/// Adds up the parts of a column of `2^log_rows` rows.
fn totals(q: &CudaQueue, log_rows: u32) -> Result<(), Failure> {
    let params = LogUpColumnsParams { log_rows, columns: 1 };
    let count = params.runs() * params.parts();
    let words = input(4 * count);
    let parts: Vec<QM31> = words.chunks(4).map(|x| QM31::from_coordinates([x[0], x[1], x[2], x[3]])).collect();
    let total = parts.iter().fold(QM31::ZERO, |sum, &part| sum + part);
    let mean = total * M31::from_u32(1 << log_rows).inverse().unwrap_or(M31::ZERO);
    let mut before = QM31::ZERO;
    let rows = (1 << log_rows) / count;
    let offsets: Vec<QM31> = (0..count)
        .zip(&parts)
        .map(|(at, &part)| {
            before += part;
            before - part - mean * M31::from_u32(at * rows)
        })
        .collect();
    let (mut parts, mut sums) = (q.upload(&parts)?, q.zeros::<QM31>(2)?);
    let launch = q.kernel("air_logup_totals")?.grid([1, 1, 1]);
    let launch = launch.output("parts", &parts.view_mut()).output("sums", &sums.view_mut()).value("params", &params);
    // SAFETY: there is an element for each part of each run, and room for two sums.
    unsafe { launch.launch() }?;
    Failure::unless_equal(&[total, mean], &q.download(&sums)?)?;
    Failure::unless_equal(&offsets, &q.download(&parts)?)
}

/// How a transform is launched: the lowest layers in tiles, the others in strips of `log_rows` layers.
#[derive(Clone, Copy)]
struct TransformSchedule {
    log_size: u32,
    columns: u32,
    columns_per_block: u32,
    log_rows: u32,
    log_strip: u32,
}

const SHARED_BLOCK: TransformSchedule =
    TransformSchedule { log_size: LOG_TILE, columns: 3, columns_per_block: 2, log_rows: 0, log_strip: LOG_STRIP };
const STRIPS: TransformSchedule =
    TransformSchedule { log_size: 13, columns: 1, columns_per_block: 1, log_rows: 6, log_strip: LOG_STRIP };
const PAIRS: TransformSchedule =
    TransformSchedule { log_size: LOG_TILE + 1, columns: 3, columns_per_block: 2, log_rows: 0, log_strip: LOG_STRIP };
const WIDE_STRIPS: TransformSchedule =
    TransformSchedule { log_size: 14, columns: 1, columns_per_block: 1, log_rows: 11, log_strip: LOG_WIDE_STRIP };

#[derive(Clone, Copy)]
enum Transform {
    Evaluate,
    Interpolate,
}

impl TransformSchedule {
    fn tiles(self, scale: u32) -> CircleTileParams {
        let Self { log_size, columns, columns_per_block, log_rows, .. } = self;
        let (words, layers) = (u64::from(columns) << log_size, log_size - log_rows);
        CircleTileParams {
            words,
            log_domain: log_size,
            log_size,
            log_source: log_size,
            layers,
            scale,
            columns,
            columns_per_block,
            position: 0,
        }
    }

    fn strips(self, scale: u32) -> CircleStripParams {
        let Self { log_size, log_rows, log_strip, .. } = self;
        let (layer, log_width) = (log_size - log_rows, log_strip - log_rows);
        CircleStripParams {
            log_domain: log_size,
            log_size,
            log_source: log_size,
            log_region: log_size,
            layer,
            log_rows,
            log_width,
            scale,
            position: 0,
        }
    }

    /// The tile kernel `name` on the grid for its parameters.
    fn tile_launch<'a>(self, q: &'a CudaQueue, name: &'static str) -> Result<Launch<'a>, Failure> {
        let groups = self.columns.div_ceil(self.columns_per_block);
        let log_tiles = LOG_TILE.max(self.log_size - self.log_rows);
        Ok(q.kernel(name)?.grid([1 << (self.log_size - log_tiles), groups.into(), 1]))
    }

    /// Whether the tiles are pairs.
    fn pairs(self) -> bool {
        self.log_size - self.log_rows > LOG_TILE
    }

    /// The strip kernel `names` on the grid for its parameters.
    fn strip_launch<'a>(self, q: &'a CudaQueue, names: [&'static str; 2]) -> Result<Launch<'a>, Failure> {
        let name = names[usize::from(self.log_strip == LOG_WIDE_STRIP)];
        Ok(q.kernel(name)?.grid([u64::from(self.columns) << (self.log_size - self.log_strip), 1, 1]))
    }

    fn evaluate(self, q: &CudaQueue, twiddles: CudaRef<'_, Twiddle>, words: &CudaMut<'_, M31>) -> Result<(), Failure> {
        if self.log_rows > 0 {
            let launch = self.strip_launch(q, ["circle_strip_evaluate", "circle_wide_strip_evaluate"])?;
            let launch = launch.input("source", words.as_ref()).output("columns", words);
            let launch = launch.input("twiddles", twiddles).value("params", &self.strips(0));
            // SAFETY: see the file head.
            unsafe { launch.launch() }?;
        }
        let name = if self.pairs() { "circle_tile_pair_evaluate" } else { "circle_tile_evaluate" };
        let launch = self.tile_launch(q, name)?.output("columns", words);
        let launch = launch.input("twiddles", twiddles).value("params", &self.tiles(0));
        // SAFETY: see the file head.
        Ok(unsafe { launch.launch() }?)
    }

    /// The last launch divides by the size of the domain: it rotates words of 31 bits.
    fn interpolate(
        self,
        q: &CudaQueue,
        twiddles: CudaRef<'_, Twiddle>,
        words: &CudaMut<'_, M31>,
    ) -> Result<(), Failure> {
        let scale = 31 - self.log_size;
        let params = self.tiles(if self.log_rows == 0 { scale } else { 0 });
        let name = if self.pairs() { "circle_tile_pair_interpolate" } else { "circle_tile_interpolate" };
        let launch = self.tile_launch(q, name)?.output("columns", words);
        let launch = launch.input("twiddles", twiddles).value("params", &params);
        // SAFETY: see the file head.
        unsafe { launch.launch() }?;
        if self.log_rows == 0 {
            return Ok(());
        }
        let launch = self.strip_launch(q, ["circle_strip_interpolate", "circle_wide_strip_interpolate"])?;
        let launch = launch.output("columns", words).input("twiddles", twiddles).value("params", &self.strips(scale));
        // SAFETY: see the file head.
        Ok(unsafe { launch.launch() }?)
    }
}

impl Transform {
    fn holds(self, q: &CudaQueue, schedule: TransformSchedule) -> Result<(), Failure> {
        let TransformSchedule { log_size, columns, .. } = schedule;
        let (cpu, params) = (runtime::cpu().unwrap(), CircleFftParams { log_size, columns });
        let mut expected = input(columns << log_size);
        let mut words = q.upload(&expected)?;
        let ([forward, inverse], [cpu_forward, cpu_inverse]) = (twiddles(q, log_size)?, twiddles(&cpu, log_size)?);
        match self {
            Self::Evaluate => {
                schedule.evaluate(q, forward.view(), &words.view_mut())?;
                cpu.circle_evaluate(CircleEvaluate {
                    params: &params,
                    twiddles: cpu_forward.view(),
                    columns: expected.as_mut_slice(),
                })?;
            }
            Self::Interpolate => {
                schedule.interpolate(q, inverse.view(), &words.view_mut())?;
                cpu.circle_interpolate(CircleInterpolate {
                    params: &params,
                    inverse_twiddles: cpu_inverse.view(),
                    columns: expected.as_mut_slice(),
                })?;
            }
        }
        Failure::unless_equal(&expected, &q.download(&words)?)
    }
}

/// Extends columns of coefficients to twice the points, two columns to a block.
fn extend(q: &CudaQueue) -> Result<(), Failure> {
    let TransformSchedule { log_size, columns, .. } = SHARED_BLOCK;
    let params = CircleExtendParams { log_coefficients: log_size - 1, log_size, columns };
    let coefficients = input(columns << params.log_coefficients);
    let cpu = runtime::cpu().unwrap();
    let ([forward, _], [cpu_forward, _]) = (twiddles(q, log_size)?, twiddles(&cpu, log_size)?);
    let mut expected = vec![M31::ZERO; (columns as usize) << log_size];
    cpu.circle_extend(CircleExtend {
        params: &params,
        twiddles: cpu_forward.view(),
        coefficients: &coefficients,
        values: expected.as_mut_slice(),
    })?;
    let (source, mut values) = (q.upload(&coefficients)?, q.zeros::<M31>(expected.len())?);
    let log_source = params.log_coefficients;
    let tiles = CircleTileParams { log_source, layers: log_source, ..SHARED_BLOCK.tiles(0) };
    let launch = SHARED_BLOCK.tile_launch(q, "circle_tile_extend")?;
    let launch = launch.input("coefficients", source.view()).output("values", &values.view_mut());
    let launch = launch.input("twiddles", forward.view()).value("params", &tiles);
    // SAFETY: see the file head; the source is whole columns of coefficients.
    unsafe { launch.launch() }?;
    Failure::unless_equal(&expected, &q.download(&values)?)
}

/// Extends a column of values to twice the points.
fn extend_values(q: &CudaQueue, schedule: TransformSchedule) -> Result<(), Failure> {
    let TransformSchedule { log_size, columns, log_rows, .. } = schedule;
    let params = CircleExtendParams { log_coefficients: log_size, log_size: log_size + 1, columns };
    let doubled = TransformSchedule { log_size: params.log_size, log_rows: log_rows + 1, ..schedule };
    let ([_, inverse], [forward, _]) = (twiddles(q, log_size)?, twiddles(q, params.log_size)?);
    let mut words = input(columns << log_size);
    let (mut column, mut values) = (q.upload(&words)?, q.zeros::<M31>(2 * words.len())?);
    let (column, target) = (column.view_mut(), values.view_mut());
    let launch = schedule.tile_launch(q, "circle_tile_interpolate")?;
    let launch =
        launch.output("columns", &column).input("twiddles", inverse.view()).value("params", &schedule.tiles(0));
    // SAFETY: see the file head.
    unsafe { launch.launch() }?;
    let down = schedule.strips(31 - log_size);
    let up = CircleStripParams { log_domain: params.log_size, log_size: params.log_size, scale: 0, ..down };
    let launch = schedule.strip_launch(q, ["circle_strip_lde", "circle_wide_strip_lde"])?;
    let launch = launch.output("columns", &column).output("values", &target);
    let launch = launch.input("inverse_twiddles", inverse.view()).input("twiddles", forward.view());
    // SAFETY: see the file head; the values hold the same number of columns of the larger domain.
    unsafe { launch.value("inverse", &down).value("params", &up).launch() }?;
    let launch = doubled.tile_launch(q, "circle_tile_evaluate")?;
    let launch = launch.output("columns", &target).input("twiddles", forward.view());
    let launch = launch.value("params", &doubled.tiles(0));
    // SAFETY: see the file head.
    unsafe { launch.launch() }?;
    let cpu = runtime::cpu().unwrap();
    let ([_, inverse], [forward, _]) = (twiddles(&cpu, log_size)?, twiddles(&cpu, params.log_size)?);
    let mut expected = vec![M31::ZERO; 2 * words.len()];
    cpu.circle_lde(CircleLde {
        params: &params,
        inverse_twiddles: inverse.view(),
        twiddles: forward.view(),
        columns: words.as_mut_slice(),
        values: expected.as_mut_slice(),
    })?;
    Failure::unless_equal(&expected, &q.download(&values)?)
}

/// Evaluates the second half of a domain that has one point per coefficient.
///
/// The highest strips add up two parts.
fn restrict(q: &CudaQueue, schedule: TransformSchedule) -> Result<(), Failure> {
    let (log_block, log_domain) = (schedule.log_size, schedule.log_size + 1);
    let params = CircleRestrictParams { log_coefficients: log_domain, log_domain, log_block, block: 1, columns: 1 };
    let coefficients = input(1 << log_domain);
    let cpu = runtime::cpu().unwrap();
    let ([forward, _], [cpu_forward, _]) = (twiddles(q, log_domain)?, twiddles(&cpu, log_domain)?);
    let mut expected = vec![M31::ZERO; 1 << log_block];
    cpu.circle_restrict(CircleRestrict {
        params: &params,
        twiddles: cpu_forward.view(),
        coefficients: &coefficients,
        values: expected.as_mut_slice(),
    })?;
    let (source, mut values) = (q.upload(&coefficients)?, q.zeros::<M31>(expected.len())?);
    let mut weights = q.zeros::<Twiddle>(2)?;
    let launch = q.kernel("circle_restrict_weights")?.grid([1, 1, 1]).input("twiddles", forward.view());
    // SAFETY: see the file head; a column has two parts.
    unsafe { launch.output("weights", &weights.view_mut()).value("params", &params).launch() }?;
    let (target, position) = (values.view_mut(), params.position());
    let strips = CircleStripParams { log_domain, log_source: log_domain, position, ..schedule.strips(0) };
    let launch = schedule.strip_launch(q, ["circle_strip_restrict", "circle_wide_strip_restrict"])?;
    let launch = launch.input("coefficients", source.view()).output("values", &target);
    let launch = launch.input("twiddles", forward.view()).input("weights", weights.view()).value("params", &strips);
    // SAFETY: see the file head; the source holds both parts of every column.
    unsafe { launch.launch() }?;
    let tiles = CircleTileParams { log_domain, position, ..schedule.tiles(0) };
    let launch = schedule.tile_launch(q, "circle_tile_evaluate")?.output("columns", &target);
    // SAFETY: see the file head.
    unsafe { launch.input("twiddles", forward.view()).value("params", &tiles).launch() }?;
    Failure::unless_equal(&expected, &q.download(&values)?)
}

/// The twiddles of a domain, and their inverses.
fn twiddles<Q: CircleOps>(q: &Q, log_size: u32) -> Result<[Q::Buf<Twiddle>; 2], Failure> {
    let len = 1 << (log_size - 1);
    let (mut forward, mut inverse) = (q.zeros(len)?, q.zeros(len)?);
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: forward.view_mut(),
        inverse_twiddles: inverse.view_mut(),
    })?;
    Ok([forward, inverse])
}

fn input(len: u32) -> Vec<M31> {
    (0..len).map(|i| M31::from_u64(u64::from(i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

//! Launches of the correction kernels.

use backend_api::{
    BackendError, BufferMut as _,
    ops::correction::{EncodeStates, EstimateResiduals, SimilarStates, StoreStates, TrainingFeatures, TrainingRecords},
};
use core_types::params::correction::CorrectionParams;

use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::{builder::Launch, linalg::over_elements},
};

/// Trainings that a block takes at a time.
const TRAININGS: u64 = 4;
/// Maximum blocks for one turn each.
///
/// With more trainings, a block takes several turns with the same weights.
const SINGLE: u64 = 32;
const TURNS: u64 = 4;
/// Columns of codes that a block takes.
const COLUMNS: u64 = 128;

/// Blocks for `batch` trainings, no more than the device holds at once.
fn over_trainings(launch: &Launch<'_>, batch: u64) -> u64 {
    batch.div_ceil(TRAININGS).min(launch.at_once())
}

fn records<'a, 'r: 'a>(launch: Launch<'a>, records: &TrainingRecords<'r, CudaQueue>) -> Launch<'a> {
    let launch = launch.input("losses", records.losses).input("norms", records.norms);
    launch.input("scalars", records.scalars).input("recorded", records.recorded)
}

pub(crate) fn features(queue: &CudaQueue, op: &TrainingFeatures<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_features")?;
    let (batch, blocks) = (op.batch as u64, over_trainings(&launch, op.batch as u64));
    let launch = records(launch.grid([blocks, 1, 1]).value("batch", &batch), &op.records);
    let launch = launch.output("features", &op.features);
    // SAFETY: `TrainingFeatures::check` verified all lengths.
    unsafe { launch.launch() }
}

/// Neither batch nor outputs are zero.
pub(crate) fn encode(queue: &CudaQueue, op: &EncodeStates<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_encode")?;
    let blocks = op.params.batch.div_ceil(TRAININGS);
    let blocks = if blocks <= SINGLE { blocks } else { blocks.div_ceil(TURNS).min(launch.at_once()) };
    let launch = launch.grid([blocks, op.params.outputs.div_ceil(COLUMNS), 1]).value("p", op.params);
    let launch = records(launch, &op.records).input("weights", op.weights).input("bias", op.bias);
    let launch = launch.output_if("features", op.features.as_ref()).output("codes", &op.codes);
    // SAFETY: `EncodeStates::check` verified all lengths; the op has checked that `codes` is not empty.
    unsafe { launch.launch() }
}

pub(crate) fn store(queue: &CudaQueue, op: &StoreStates<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_store")?.value("p", op.params).input("features", op.features);
    let launch = launch.input("outcomes", op.outcomes).output("states", &op.states).output("norms", &op.norms);
    let launch = launch.output("known", &op.known).output("stored", &op.stored);
    // SAFETY: `StoreStates::check` verified all lengths, and that the states fit the ring.
    unsafe { launch.launch() }
}

/// Finds the most similar states of each of `parts` parts of `part_len` states.
///
/// `words` hold `op.params.count` for each part of each query. Neither count nor queries are zero.
pub(crate) fn similar(
    queue: &CudaQueue,
    op: &SimilarStates<'_, CudaQueue>,
    [parts, part_len]: [u64; 2],
    words: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_similar")?.grid([op.params.queries, parts, 1]);
    let launch = launch.value("p", op.params).value("part_len", &part_len).input("states", op.states);
    let launch = launch.input("norms", op.norms).input("stored", op.stored).input("queries", op.queries);
    let launch = launch.output("words", words);
    // SAFETY: `SimilarStates::check` verified all lengths, and that the count fits a warp; the op
    // has allocated `words`.
    unsafe { launch.launch() }
}

/// Joins the parts.
pub(crate) fn similar_join(
    queue: &CudaQueue,
    op: &SimilarStates<'_, CudaQueue>,
    parts: u32,
    words: CudaRef<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_similar_join")?.grid([op.params.queries, 1, 1]);
    let launch = launch.value("p", op.params).value("parts", &parts).input("stored", op.stored);
    let launch = launch.input("words", words).output("places", &op.places).output("similarities", &op.similarities);
    // SAFETY: `SimilarStates::check` verified all lengths; the op has made `words` hold a list for each part.
    unsafe { launch.launch() }
}

pub(crate) fn estimate(queue: &CudaQueue, op: &EstimateResiduals<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_estimate")?.cover(op.history.len());
    let launch = launch.value("p", op.params).input("known", op.known).input("places", op.places);
    let launch = launch.input("features", op.features).input("steps", op.steps).input("model", op.model);
    let launch = launch.output("history", &op.history).output("modelled", &op.modelled);
    // SAFETY: `EstimateResiduals::check` verified all lengths, and that there are no more coefficients than features.
    unsafe { launch.launch() }
}

/// `y` may be the predictions.
pub(crate) fn apply(
    queue: &CudaQueue,
    params: &CorrectionParams,
    predictions: CudaRef<'_, f32>,
    [a, b]: [CudaRef<'_, f32>; 2],
    y: &CudaMut<'_, f32>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel("correction_apply")?, y.len()).value("p", params);
    let launch = launch.value("len", &(y.len() as u64)).input("predictions", predictions);
    let launch = launch.input("a", a).input("b", b).output("y", y);
    // SAFETY: the op has checked that all views have one length, the kernel's.
    unsafe { launch.launch() }
}

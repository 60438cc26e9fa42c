//! The correction op set, with one launch for each op.
//!
//! The nearest-neighbour search also joins the lists of the parts of a ring.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::correction::{
        ApplyCorrection, ApplyCorrectionInPlace, EncodeStates, EstimateResiduals, SimilarStates, StoreStates,
        TrainingFeatures, TrainingRecords,
    },
};
use core_types::params::correction::{CorrectionParams, SimilarParams};

use super::family::over_elements;
use crate::{CudaMut, CudaQueue, CudaRef, checked::CorrectionOps, submit::Launch};

/// Minimum states that a block goes through, and the granularity of parts.
///
/// It is the number of states that the block's warps take at once.
const LEAST_PART: u64 = 256;
/// Most parts of a ring.
///
/// With a query, they keep a card busy, and one warp can join their lists.
const MOST_PARTS: u64 = 512;
/// Trainings that a block takes at a time.
const TRAININGS: u64 = 4;
/// Maximum blocks for one turn each.
///
/// With more trainings, a block takes several turns with the same weights.
const SINGLE: u64 = 32;
const TURNS: u64 = 4;
/// Columns of codes that a block takes.
const COLUMNS: u64 = 128;

impl CorrectionOps for CudaQueue {
    fn apply_correction(&self, op: ApplyCorrection<'_, Self>) -> Result<(), BackendError> {
        apply(self, op.params, op.predictions, [op.a, op.b], &op.y)
    }

    fn apply_correction_in_place(&self, op: ApplyCorrectionInPlace<'_, Self>) -> Result<(), BackendError> {
        apply(self, op.params, op.predictions.as_ref(), [op.a, op.b], &op.predictions)
    }

    fn encode_states(&self, op: EncodeStates<'_, Self>) -> Result<(), BackendError> {
        let (batch, outputs) = (op.params.batch, op.params.outputs);
        if batch == 0 {
            return Ok(());
        }
        if outputs == 0 {
            return op.features.map_or(Ok(()), |features| training_features(self, batch, &op.records, &features));
        }
        if outputs >= 1 << 22 || batch >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "encode_states",
                why: "an axis has more elements than a grid can cover",
            });
        }
        let launch = self.kernel("correction_encode")?;
        let blocks = batch.div_ceil(TRAININGS);
        let blocks = if blocks <= SINGLE { blocks } else { blocks.div_ceil(TURNS).min(launch.at_once()) };
        let launch = launch.grid([blocks, outputs.div_ceil(COLUMNS), 1]).value("p", op.params);
        let launch = records(launch, &op.records).input("weights", op.weights).input("bias", op.bias);
        let launch = launch.output_if("features", op.features.as_ref()).output("codes", &op.codes);
        // SAFETY: `EncodeStates::check` verified all lengths; `codes` is not empty.
        unsafe { launch.launch() }
    }

    fn estimate_residuals(&self, op: EstimateResiduals<'_, Self>) -> Result<(), BackendError> {
        let launch = self.kernel("correction_estimate")?.cover(op.history.len());
        let launch = launch.value("p", op.params).input("known", op.known).input("places", op.places);
        let launch = launch.input("features", op.features).input("steps", op.steps).input("model", op.model);
        let launch = launch.output("history", &op.history).output("modelled", &op.modelled);
        // SAFETY: `EstimateResiduals::check` verified all lengths, and at most one coefficient for each feature.
        unsafe { launch.launch() }
    }

    fn similar_states(&self, op: SimilarStates<'_, Self>) -> Result<(), BackendError> {
        let SimilarParams { capacity, width, queries, count } = *op.params;
        if queries == 0 || count == 0 {
            return Ok(());
        }
        if queries >= 1 << 31 || width >= 1 << 31 {
            let why = "expected fewer than 2^31 queries and features";
            return Err(BackendError::Unsupported { op: "similar_states", why });
        }
        let part_len = capacity.div_ceil(MOST_PARTS).next_multiple_of(LEAST_PART);
        let parts = capacity.div_ceil(part_len);
        let mut words = self.alloc::<u64>((parts * queries * count) as usize)?; // at most 2^9, 2^31 and 2^5

        // The most similar states of each part, then of all parts.
        let launch = self.kernel("correction_similar")?.grid([queries, parts, 1]);
        let launch = launch.value("p", op.params).value("part_len", &part_len).input("states", op.states);
        let launch = launch.input("norms", op.norms).input("stored", op.stored).input("queries", op.queries);
        let launch = launch.output("words", &words.view_mut());
        // SAFETY: `SimilarStates::check` verified all lengths, and that the count fits a warp; `words` hold a list for
        // each part of each query.
        unsafe { launch.launch() }?;
        let launch = self.kernel("correction_similar_join")?.grid([queries, 1, 1]);
        let launch = launch.value("p", op.params).value("parts", &(parts as u32)).input("stored", op.stored);
        let launch = launch.input("words", words.view());
        let launch = launch.output("places", &op.places).output("similarities", &op.similarities);
        // SAFETY: `SimilarStates::check` verified all lengths; `words` hold a list for each part of each query.
        unsafe { launch.launch() }
    }

    fn store_states(&self, op: StoreStates<'_, Self>) -> Result<(), BackendError> {
        if op.params.width >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "store_states",
                why: "expected states of fewer than 2^31 features",
            });
        }
        let launch = self.kernel("correction_store")?.value("p", op.params).input("features", op.features);
        let launch = launch.input("outcomes", op.outcomes).output("states", &op.states).output("norms", &op.norms);
        let launch = launch.output("known", &op.known).output("stored", &op.stored);
        // SAFETY: `StoreStates::check` verified all lengths, and that the states fit the ring.
        unsafe { launch.launch() }
    }

    fn training_features(&self, op: TrainingFeatures<'_, Self>) -> Result<(), BackendError> {
        if op.batch as u64 >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "training_features",
                why: "expected fewer than 2^31 trainings",
            });
        }
        training_features(self, op.batch as u64, &op.records, &op.features)
    }
}

/// Applies corrections. `y` may be the predictions.
fn apply(
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

/// Computes the features of `batch` trainings.
fn training_features(
    queue: &CudaQueue,
    batch: u64,
    of: &TrainingRecords<'_, CudaQueue>,
    features: &CudaMut<'_, f32>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("correction_features")?;
    let blocks = batch.div_ceil(TRAININGS).min(launch.at_once());
    let launch = records(launch.grid([blocks, 1, 1]).value("batch", &batch), of).output("features", features);
    // SAFETY: the op has checked that records and features are of `batch` trainings.
    unsafe { launch.launch() }
}

fn records<'a, 'r: 'a>(launch: Launch<'a>, records: &TrainingRecords<'r, CudaQueue>) -> Launch<'a> {
    let launch = launch.input("losses", records.losses).input("norms", records.norms);
    launch.input("scalars", records.scalars).input("recorded", records.recorded)
}

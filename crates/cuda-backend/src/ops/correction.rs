//! The correction op set, with one launch for each op.
//!
//! The nearest-neighbour search also joins the lists of the parts of a ring.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::correction::{
        ApplyCorrection, EncodeStates, EstimateResiduals, SimilarStates, StoreStates, TrainingFeatures, TrainingRecords,
    },
};
use core_types::params::correction::SimilarParams;

use super::family::{index_bound, over_elements};
use crate::{CudaMut, CudaQueue, checked::CorrectionOps, submit::Launch};

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
/// Most codes of a training: a grid has at most 65,535 blocks along y.
const MOST_CODES: u64 = 65_535 * COLUMNS;

impl CorrectionOps for CudaQueue {
    fn apply_correction(&self, op: ApplyCorrection<'_, Self>) -> Result<(), BackendError> {
        let ApplyCorrection { params, predictions, a, b, y } = op;
        let predictions = predictions.unwrap_or_else(|| y.as_ref());
        let launch = over_elements(self.kernel("correction_apply")?, y.len()).value("p", params);
        let launch = launch.value("len", &(y.len() as u64)).input("predictions", predictions);
        let launch = launch.input("a", a).input("b", b).output("y", &y);
        // SAFETY: `ApplyCorrection::check` verified that all views have one length, the kernel's. `y` may be the
        // predictions.
        unsafe { launch.launch() }
    }

    fn encode_states(&self, op: EncodeStates<'_, Self>) -> Result<(), BackendError> {
        let (batch, outputs) = (op.params.batch, op.params.outputs);
        if batch == 0 {
            return Ok(());
        }
        if outputs == 0 {
            return op.features.map_or(Ok(()), |features| training_features(self, batch, &op.records, &features));
        }
        index_bound("encode_states", batch)?;
        if outputs > MOST_CODES {
            let why = "expected codes of at most 8388480 elements";
            return Err(BackendError::Unsupported { op: "encode_states", why });
        }
        let launch = self.kernel("correction_encode")?;
        let grid = blocks_of_codes(batch, outputs, launch.at_once());
        let launch = launch.grid(grid).value("p", op.params);
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
        for len in [queries, width] {
            index_bound("similar_states", len)?;
        }
        let [parts, part_len] = parts_of_ring(capacity);
        let mut words = self.alloc::<u64>((parts * queries * count) as usize)?; // at most 2^9, 2^31 and 2^5

        // The most similar states of each part, then of all parts.
        let launch = self.kernel("correction_similar")?.grid([queries, parts, 1]);
        let launch = launch.value("p", op.params).value("part_len", &part_len).input("states", op.states);
        let launch = launch.input("norms", op.norms).input("stored", op.stored).input("queries", op.queries);
        let launch = launch.output("words", &words.view_mut());
        // SAFETY: `SimilarStates::check` verified all lengths, and that the count fits a warp; `words` hold a list for
        // each part of each query.
        unsafe { launch.launch() }?;
        let launch = self.kernel("correction_similar_join")?.blocks(queries);
        let launch = launch.value("p", op.params).value("parts", &(parts as u32)).input("stored", op.stored);
        let launch = launch.input("words", words.view());
        let launch = launch.output("places", &op.places).output("similarities", &op.similarities);
        // SAFETY: `SimilarStates::check` verified all lengths; `words` hold a list for each part of each query.
        unsafe { launch.launch() }
    }

    fn store_states(&self, op: StoreStates<'_, Self>) -> Result<(), BackendError> {
        index_bound("store_states", op.params.width)?;
        let launch = self.kernel("correction_store")?.value("p", op.params).input("features", op.features);
        let launch = launch.input("outcomes", op.outcomes).output("states", &op.states).output("norms", &op.norms);
        let launch = launch.output("known", &op.known).output("stored", &op.stored);
        // SAFETY: `StoreStates::check` verified all lengths, and that the states fit the ring.
        unsafe { launch.launch() }
    }

    fn training_features(&self, op: TrainingFeatures<'_, Self>) -> Result<(), BackendError> {
        let batch = op.batch as u64;
        index_bound("training_features", batch)?;
        training_features(self, batch, &op.records, &op.features)
    }
}

/// The grid that encodes states, on a device that holds `at_once` blocks.
///
/// Blocks of trainings are along x, and blocks of codes along y.
fn blocks_of_codes(batch: u64, outputs: u64, at_once: u64) -> [u64; 3] {
    let blocks = batch.div_ceil(TRAININGS);
    let blocks = if blocks <= SINGLE { blocks } else { blocks.div_ceil(TURNS).min(at_once) };
    [blocks, outputs.div_ceil(COLUMNS), 1]
}

/// The number of parts that a ring of `capacity` states is cut into, and the states of each.
fn parts_of_ring(capacity: u64) -> [u64; 2] {
    let part_len = capacity.div_ceil(MOST_PARTS).next_multiple_of(LEAST_PART);
    [capacity.div_ceil(part_len), part_len]
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
    let launch = records(launch.blocks(blocks).value("batch", &batch), of).output("features", features);
    // SAFETY: the op has checked that records and features are of `batch` trainings.
    unsafe { launch.launch() }
}

fn records<'a, 'r: 'a>(launch: Launch<'a>, records: &TrainingRecords<'r, CudaQueue>) -> Launch<'a> {
    let launch = launch.input("losses", records.losses).input("norms", records.norms);
    launch.input("scalars", records.scalars).input("recorded", records.recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trainings_take_turns_if_there_are_many() {
        for ([batch, outputs, at_once], expected) in [
            ([4, 128, 16], [1, 1, 1]),
            ([5, 129, 16], [2, 2, 1]),
            ([128, 300, 16], [32, 3, 1]),
            // 33 blocks of trainings, four to a block of the grid; then the most that the device holds.
            ([129, 1, 16], [9, 1, 1]),
            ([4000, 1, 16], [16, 1, 1]),
            ([1, MOST_CODES, 16], [1, 65_535, 1]),
        ] {
            assert_eq!(blocks_of_codes(batch, outputs, at_once), expected, "{batch} {outputs}");
        }
    }

    #[test]
    fn rings_have_at_most_512_parts_of_whole_turns() {
        for (capacity, expected) in
            [(256, [1, 256]), (257, [2, 256]), (512 * 256, [512, 256]), (512 * 256 + 1, [257, 512])]
        {
            assert_eq!(parts_of_ring(capacity), expected, "{capacity}");
        }
    }
}

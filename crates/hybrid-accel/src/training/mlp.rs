//! A perceptron as a model of the loop.

use backend_api::Queue as _;
use nn_ops::{
    Mlp, MlpTraining, OptimizerConfig, OptimizerSummary, Tensor,
    io::{Tensor as Stored, Tensors},
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use runtime::AnyQueue;

use super::model::{HybridModel, StepOutcome};
use crate::error::AccelError;

/// Rows of the training data that the probe takes at most.
const PROBE: usize = 256;

/// A limit of the norm that no gradient reaches: with one, the norm is measured.
const UNLIMITED: f64 = 1e30;

/// Rows of features with their classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelledRows {
    /// Row-major, `[rows, features]`.
    pub inputs: Vec<f32>,
    /// The class of each row, from 0.
    pub labels: Vec<u32>,
}

impl LabelledRows {
    /// Some of the rows.
    fn select(&self, rows: &[usize], features: usize) -> Self {
        Self {
            inputs: rows.iter().flat_map(|&row| &self.inputs[row * features..][..features]).copied().collect(),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
        }
    }

    /// Refuses rows that do not fit a network of these sizes.
    fn fit(&self, features: usize, classes: usize) -> Result<(), AccelError> {
        const CALL: &str = "mlp";
        let rows = self.labels.len();
        if rows == 0 {
            return Err(AccelError::shape(CALL, "the labels", "[1 or more]", &[rows]));
        }
        if Some(self.inputs.len()) != rows.checked_mul(features) {
            let expected = format!("[{rows}, {features}]");
            return Err(AccelError::shape(CALL, "the inputs", expected, &[self.inputs.len()]));
        }
        match self.labels.iter().find(|&&label| label as usize >= classes) {
            Some(label) => Err(AccelError::config("a label", "less than the number of classes", label)),
            None => Ok(()),
        }
    }
}

/// A perceptron with ReLU in training: the network of `trefoil nn train`.
///
/// Batches come in a random order, each row once in an epoch; rows that are left at the end of an
/// epoch are left out. The probe is the mean cross-entropy of up to 256 of the rows. Summaries of
/// the optimizer have its rate alone; the features of moments and their corrections are 0.
pub struct MlpModel {
    q: AnyQueue,
    /// The network that the training is of.
    trained: Mlp<AnyQueue>,
    training: MlpTraining<AnyQueue>,
    /// The network with other weights, until the next step with gradients.
    moved: Option<Mlp<AnyQueue>>,
    rows: LabelledRows,
    batch: usize,
    random: ChaCha8Rng,
    order: Vec<usize>,
    next: usize,
    probe: LabelledRows,
}

impl MlpModel {
    /// A network of `sizes` (inputs, then the units of each layer) with random weights.
    ///
    /// A step takes `batch` rows. `seed` determines the weights, the rows of the probe and the
    /// order of the rows. The optimizer measures the norm of the gradients, whether it limits it or
    /// not.
    ///
    /// # Errors
    /// [`AccelError::Shape`] or [`AccelError::Config`] for rows that do not fit, for fewer than two
    /// sizes and for a batch of 0 rows or of more than the data has;
    /// [`AccelError::Ops`] for options that no optimizer takes, and if memory is short.
    pub fn new(
        q: &AnyQueue,
        sizes: &[usize],
        rows: LabelledRows,
        batch: usize,
        optimizer: OptimizerConfig,
        seed: u64,
    ) -> Result<Self, AccelError> {
        // Rows and batch fit the sizes.
        let &[features, .., classes] = sizes else {
            return Err(AccelError::config("the number of sizes", "2 or more", sizes.len()));
        };
        rows.fit(features, classes)?;
        let count = rows.labels.len();
        if batch == 0 || batch > count {
            return Err(AccelError::config("the batch", "1 or more and at most the number of rows", batch));
        }
        // Weights, the rows of the probe, and the order of the first epoch, from one seed.
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let network = Mlp::new(q, sizes, &mut random)?;
        let optimizer = OptimizerConfig { clip: Some(optimizer.clip.unwrap_or(UNLIMITED)), ..optimizer };
        let order = shuffled(count, &mut random);
        let probe = rows.select(&order[..count.min(PROBE)], features);
        Ok(Self {
            training: network.training(q, batch, optimizer)?,
            order: shuffled(count, &mut random),
            next: 0,
            q: q.clone(),
            trained: network,
            moved: None,
            rows,
            batch,
            random,
            probe,
        })
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Mlp<AnyQueue> {
        self.moved.as_ref().unwrap_or(&self.trained)
    }

    /// Continues the training from weights that were set, with the optimizer unchanged.
    fn settle(&mut self) -> Result<(), AccelError> {
        let Some(moved) = &self.moved else { return Ok(()) };
        let mut checkpoint = self.trained.save(&self.q, &self.training)?;
        moved.values().export(&self.q, "", &mut checkpoint.tensors)?;
        let trained = Mlp::resume(&self.q, &checkpoint)?;
        self.training = trained.resume_training(&self.q, self.batch, &checkpoint)?;
        (self.trained, self.moved) = (trained, None);
        Ok(())
    }

    /// The share of rows, 0 to 1, that the network assigns to their class.
    ///
    /// # Errors
    /// [`AccelError::Shape`] or [`AccelError::Config`] for rows that do not fit,
    /// [`AccelError::Ops`] from the device.
    pub fn accuracy(&self, rows: &LabelledRows) -> Result<f64, AccelError> {
        let [features, classes] = self.ends();
        rows.fit(features, classes)?;
        let x = Tensor::from_values(&self.q, &[rows.labels.len(), features], &rows.inputs)?;
        let found = self.network().classify(&self.q, x.at())?;
        let right = found.iter().zip(&rows.labels).filter(|(found, label)| found == label).count();
        Ok(right as f64 / rows.labels.len() as f64)
    }

    /// Inputs and classes.
    fn ends(&self) -> [usize; 2] {
        let sizes = self.trained.sizes();
        [sizes.first(), sizes.last()].map(|size| size.copied().unwrap_or(0))
    }

    /// The next rows, in a new order at the end of an epoch.
    fn next_rows(&mut self) -> LabelledRows {
        if self.next + self.batch > self.order.len() {
            self.order = shuffled(self.rows.labels.len(), &mut self.random);
            self.next = 0;
        }
        let [features, _] = self.ends();
        let rows = self.rows.select(&self.order[self.next..][..self.batch], features);
        self.next += self.batch;
        rows
    }
}

/// The numbers below `count` in a random order (Fisher and Yates).
fn shuffled(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}

/// The mean cross-entropy of rows of logits, in f64.
fn cross_entropy(logits: &[f32], labels: &[u32], classes: usize) -> f64 {
    let of_row = |(row, &label): (&[f32], &u32)| {
        let greatest = row.iter().fold(f32::NEG_INFINITY, |greatest, &x| greatest.max(x));
        let sum: f64 = row.iter().map(|&x| f64::from(x - greatest).exp()).sum();
        sum.ln() - row.get(label as usize).map_or(f64::NAN, |&x| f64::from(x - greatest))
    };
    logits.chunks_exact(classes.max(1)).zip(labels).map(of_row).sum::<f64>() / labels.len() as f64
}

impl HybridModel for MlpModel {
    fn full_step(&mut self) -> Result<StepOutcome, AccelError> {
        self.settle()?;
        let rows = self.next_rows();
        let ([features, _], q) = (self.ends(), &self.q);
        let x = Tensor::from_values(q, &[self.batch, features], &rows.inputs)?;
        let y = Tensor::from_values(q, &[self.batch], &rows.labels)?;
        self.trained.train_step(q, &mut self.training, x.at(), y.at())?;
        let (loss, state) = (self.training.loss(q)?, self.training.optimizer().state(q)?);
        let optimizer = OptimizerSummary { rate: state.rate as f32, ..OptimizerSummary::default() };
        Ok(StepOutcome { loss, gradient_norm: state.norm as f32, optimizer })
    }

    fn probe(&mut self) -> Result<f32, AccelError> {
        let ([features, classes], q, count) = (self.ends(), &self.q, self.probe.labels.len());
        let x = Tensor::from_values(q, &[count, features], &self.probe.inputs)?;
        let mut logits = Tensor::alloc(q, &[count, classes])?;
        self.network().forward(q, x.at(), logits.at_mut())?;
        Ok(cross_entropy(&logits.values(q)?, &self.probe.labels, classes) as f32)
    }

    fn weights(&self) -> Result<Vec<f32>, AccelError> {
        let (values, mut all) = (self.network().values(), Vec::new());
        for id in values.table().ids() {
            all.extend(values.values(&self.q, id)?);
        }
        Ok(all)
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<(), AccelError> {
        let shapes = self.shapes();
        let count = shapes.iter().map(|shape| shape.iter().product::<usize>()).sum::<usize>();
        if weights.len() != count {
            return Err(AccelError::shape("set_weights", "the weights", format!("[{count}]"), &[weights.len()]));
        }
        let names: Vec<String> = (0..self.trained.layers().len()).map(|layer| format!("layers.{layer}")).collect();
        let (mut rest, mut tensors) = (weights, Tensors::new());
        let parts = names.iter().flat_map(|name| [format!("{name}.weight"), format!("{name}.bias")]);
        for (name, shape) in parts.zip(shapes) {
            let (data, others) = rest.split_at(shape.iter().product());
            rest = others;
            tensors.insert(name, Stored { shape, data: data.to_vec() });
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.moved = Some(Mlp::import(&self.q, &names, &tensors)?);
        Ok(())
    }

    fn shapes(&self) -> Vec<Vec<usize>> {
        let sizes = self.trained.sizes();
        sizes.windows(2).flat_map(|pair| [vec![pair[0], pair[1]], vec![pair[1]]]).collect()
    }
}

impl std::fmt::Debug for MlpModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MlpModel")
            .field("network", &self.trained)
            .field("rows", &self.rows.labels.len())
            .field("batch", &self.batch)
            .field("device", &self.q.caps().device)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_is_the_mean_cross_entropy() {
        // softmax of (0, ln 3): a quarter and three quarters
        let found = cross_entropy(&[0.0, 3f32.ln(), 5.0, 5.0], &[0, 1], 2);
        let expected = (4f64.ln() + 2f64.ln()) / 2.0;
        assert!((found - expected).abs() < 1e-7, "{found}");
    }

    #[test]
    fn weights_come_back_and_every_row_comes_once_in_an_epoch() {
        let q = AnyQueue::Cpu(runtime::cpu().unwrap());
        let rows =
            LabelledRows { inputs: (0..14).map(|i| i as f32 / 7.0).collect(), labels: vec![0, 1, 2, 0, 1, 2, 0] };
        let optimizer = OptimizerConfig::sgd(0.1, 0.9);
        let mut model = MlpModel::new(&q, &[2, 4, 3], rows.clone(), 3, optimizer, 5).unwrap();
        assert_eq!(model.shapes(), [vec![2, 4], vec![4], vec![4, 3], vec![3]]);
        let weights: Vec<f32> = (0..27).map(|i| i as f32 / 8.0).collect();
        model.set_weights(&weights).unwrap();
        assert_eq!(model.weights().unwrap(), weights);
        let refused = model.set_weights(&weights[1..]).unwrap_err().to_string();
        assert_eq!(refused, "`set_weights` expected the weights of shape [27], got [26]");
        let outcome = model.full_step().unwrap();
        assert!(outcome.gradient_norm > 0.0 && outcome.optimizer.rate == 0.1, "{outcome:?}");
        assert_ne!(model.weights().unwrap(), weights);

        let mut order = shuffled(100, &mut ChaCha8Rng::seed_from_u64(1));
        assert_ne!(order[..10], (0..10).collect::<Vec<_>>()[..]);
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn rows_that_do_not_fit_are_refused_by_name() {
        let q = AnyQueue::Cpu(runtime::cpu().unwrap());
        let made = |sizes: &[usize], inputs: usize, labels: Vec<u32>, batch: usize| {
            let rows = LabelledRows { inputs: vec![0.5; inputs], labels };
            MlpModel::new(&q, sizes, rows, batch, OptimizerConfig::sgd(0.1, 0.0), 0).unwrap_err().to_string()
        };
        assert_eq!(made(&[2], 2, vec![0], 1), "the number of sizes must be 2 or more, got 1");
        assert_eq!(made(&[2, 3], 3, vec![0], 1), "`mlp` expected the inputs of shape [1, 2], got [3]");
        assert_eq!(made(&[2, 3], 2, vec![3], 1), "a label must be less than the number of classes, got 3");
        assert_eq!(made(&[2, 3], 0, Vec::new(), 1), "`mlp` expected the labels of shape [1 or more], got [0]");
        let refused = made(&[2, 3], 2, vec![0], 2);
        assert_eq!(refused, "the batch must be 1 or more and at most the number of rows, got 2");
    }
}

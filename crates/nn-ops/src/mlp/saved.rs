//! Networks and their trainings, saved and taken up again.

use backend_api::Real;

use super::{
    Mlp,
    layers::{DenseLayers, name},
    training::MlpTraining,
};
use crate::{
    Activation, LinalgOps, TensorOps,
    elementwise::Dropout,
    error::Result,
    io::checkpoint::{Checkpoint, CheckpointWords},
    optim::{Optimizer, Precision},
};

const LAYERS: &str = "mlp.layers";
const ACTIVATION: &str = "mlp.activation";
const DROPOUT: &str = "mlp.dropout";

impl<Q: LinalgOps> Mlp<Q> {
    /// The network and its training as they are between two steps.
    ///
    /// Waits for them. A network that [`resume`](Self::resume) makes of it, trained by what
    /// [`resume_training`](Self::resume_training) makes of it, goes on as these would, down to the
    /// bits.
    ///
    /// # Errors
    /// [`NnError::Backend`](crate::NnError::Backend) from the device.
    pub fn save<T: Real>(&self, q: &Q, training: &MlpTraining<Q, T>) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint::default();
        self.values.export(q, "", &mut checkpoint.tensors)?;
        checkpoint.put(LAYERS, &[&self.layers.layers.len()]);
        checkpoint.put(ACTIVATION, &[&self.layers.hidden.name()]);
        match &self.layers.dropout {
            None => checkpoint.put(DROPOUT, &[&"none"]),
            Some(dropout) => checkpoint.put(DROPOUT, &[&dropout.probability(), &dropout.seed()]),
        }
        training.optimizer.save(q, &mut checkpoint)?;
        Ok(checkpoint)
    }

    /// The network of a checkpoint.
    ///
    /// # Errors
    /// [`NnError::Checkpoint`](crate::NnError::Checkpoint) for text that is missing or broken;
    /// otherwise as [`import`](Self::import).
    pub fn resume(q: &Q, checkpoint: &Checkpoint) -> Result<Self> {
        let count: usize = checkpoint.read(LAYERS, "the number of layers", CheckpointWords::number)?;
        // One more than there can be is enough to miss a tensor.
        let names: Vec<String> = (0..count.min(checkpoint.tensors.len() + 1)).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let f = checkpoint.read(ACTIVATION, "the name of an activation", |words| {
            let word = words.word()?;
            Activation::ALL.into_iter().find(|f| f.name() == word).ok_or(words.refusal())
        })?;
        let network = Self::import(q, &names, &checkpoint.tensors)?.with_activation(f);
        let dropout = checkpoint.read_some(DROPOUT, "`none`, or a probability and a seed", |words| {
            Dropout::new(words.number()?, words.number()?).map_err(|_| words.refusal())
        })?;
        Ok(Self { layers: DenseLayers { dropout, ..network.layers }, ..network })
    }
}

impl<Q: LinalgOps + TensorOps> Mlp<Q> {
    /// The training of a checkpoint in `T`, by steps on batches of up to `rows` rows.
    ///
    /// # Errors
    /// As [`Optimizer::resume`] and [`training`](Self::training).
    pub fn resume_training<T: Precision>(
        &self,
        q: &Q,
        rows: usize,
        checkpoint: &Checkpoint,
    ) -> Result<MlpTraining<Q, T>> {
        let optimizer = Optimizer::resume(q, &self.layers.table, checkpoint)?;
        let mut training = self.training(q, rows, *optimizer.config())?;
        training.optimizer = optimizer;
        Ok(training)
    }
}

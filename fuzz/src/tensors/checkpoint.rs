//! Training checkpoints: writing, reading and resuming preserve all bits.
//!
//! An accepted file is written and read again unchanged. A training resumed from it is saved and
//! resumed to the same bits, before and after a step.

use backend_api::{Buffer as _, Queue as _};
use cpu_backend::CpuQueue;
use nn_ops::{
    Mlp, MlpTraining, NnError, TensorRef,
    io::{Checkpoint, SavedTensors, WeightsError},
};

use crate::queue::QUEUE;

/// Rows of a step.
const ROWS: usize = 2;

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let Ok(checkpoint) = without_digest(bytes) else { return };
    assert_eq!(bits(&reread(&checkpoint)), bits(&checkpoint));
    let q = &*QUEUE;
    let Ok(mut first) = Resumed::from(q, &checkpoint) else { return };
    let saved = first.save(q);
    let mut second = Resumed::from(q, &reread(&saved)).expect("what was saved resumes");
    assert_eq!(bits(&second.save(q)), bits(&saved), "before a step");
    // Logits beyond the memory are the only reason to reject a step.
    if first.step(q).is_ok() {
        second.step(q).expect("the same step");
        assert_eq!(bits(&second.save(q)), bits(&first.save(q)), "after a step");
    }
}

/// Reads a checkpoint without checking its digest.
///
/// A check would reject almost every input before its content is read.
fn without_digest(bytes: &[u8]) -> Result<Checkpoint, WeightsError> {
    let file = SavedTensors::read(bytes)?;
    let tensors = file.names().into_iter().map(|name| Ok((name.to_owned(), file.tensor(name)?)));
    Ok(Checkpoint { tensors: tensors.collect::<Result<_, WeightsError>>()?, text: file.text().clone() })
}

fn reread(checkpoint: &Checkpoint) -> Checkpoint {
    let bytes = checkpoint.to_bytes().expect("tensors have the lengths of their shapes");
    Checkpoint::from_bytes(&bytes).expect("the writer's output is readable")
}

/// A network and its training.
struct Resumed {
    network: Mlp<CpuQueue>,
    training: MlpTraining<CpuQueue>,
}

impl Resumed {
    fn from(q: &CpuQueue, checkpoint: &Checkpoint) -> Result<Self, NnError> {
        let network = Mlp::resume(q, checkpoint)?;
        Ok(Self { training: network.resume_training(q, ROWS, checkpoint)?, network })
    }

    fn save(&self, q: &CpuQueue) -> Checkpoint {
        self.network.save(q, &self.training).expect("a training is saved")
    }

    fn step(&mut self, q: &CpuQueue) -> Result<(), NnError> {
        let features = self.network.sizes()[0];
        let x: Vec<f32> = (0..ROWS * features).map(|i| (i % 7) as f32 - 3.0).collect();
        let (x, targets) = (q.upload(&x)?, q.upload(&[0u32; ROWS])?);
        let x = TensorRef::contiguous(x.view(), &[ROWS, features])?;
        let targets = TensorRef::contiguous(targets.view(), &[ROWS])?;
        self.network.train_step(q, &mut self.training, x, targets)
    }
}

/// A tensor by its name, its shape and its bit patterns.
type TensorBits<'a> = (&'a str, &'a [usize], Vec<u32>);

/// Tensors as bit patterns, since a NaN differs from itself, and the text.
fn bits(checkpoint: &Checkpoint) -> (Vec<TensorBits<'_>>, Vec<(&str, &str)>) {
    let words = |data: &[f32]| data.iter().map(|value| value.to_bits()).collect();
    let tensors = checkpoint.tensors.iter();
    let tensors = tensors.map(|(name, tensor)| (name.as_str(), tensor.shape.as_slice(), words(&tensor.data)));
    let text = checkpoint.text.iter().map(|(key, text)| (key.as_str(), text.as_str()));
    (tensors.collect(), text.collect())
}

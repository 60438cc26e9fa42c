//! Optimizers and arenas, saved and taken up again.

use std::sync::Arc;

use backend_api::{Buffer as _, Queue, Real};
use core_types::params::optim::StepState;

use super::{
    arena::ParameterArena,
    config::{Annealing, LossScale, OptimizerConfig, Rule, Schedule, WeightDecay},
    optimizer::Optimizer,
    table::{ParameterId, ParameterTable},
};
use crate::{
    error::{NnError, Result},
    io::{
        checkpoint::{Checkpoint, CheckpointWords},
        weights::{Tensor, Tensors},
    },
};

const RULE: &str = "optimizer.rule";
const DECAY: &str = "optimizer.decay";
const SCHEDULE: &str = "optimizer.schedule";
const CLIP: &str = "optimizer.clip";
const LOSS_SCALE: &str = "optimizer.loss_scale";
const STATE: &str = "optimizer.state";

impl<Q: Queue, T: Real> ParameterArena<Q, T> {
    /// Adds the tensors by their names after `prefix`, in f32. Waits for them.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn export(&self, q: &Q, prefix: &str, tensors: &mut Tensors) -> Result<()> {
        for id in self.table().ids() {
            let data = self.values(q, id)?.into_iter().map(T::to_f32).collect();
            let shape = self.table().layout(id)?.shape().to_vec();
            tensors.insert(format!("{prefix}{}", self.table().name(id)?), Tensor { shape, data });
        }
        Ok(())
    }

    /// Overwrites the tensors `ids` from named tensors, rounded to `T`.
    ///
    /// A tensor is found by its own name after `prefix`; `tensors` may contain others. `ids` are
    /// all or some of the table's ([`ParameterTable::ids`]).
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if one is not there, [`NnError::NamedTensor`] if it has another
    /// shape or number of elements; some may have been overwritten then. [`NnError::Backend`] from
    /// the device.
    pub fn import(
        &mut self,
        q: &Q,
        prefix: &str,
        tensors: &Tensors,
        ids: impl IntoIterator<Item = ParameterId>,
    ) -> Result<()> {
        for id in ids {
            let (name, layout) = (format!("{prefix}{}", self.table().name(id)?), *self.table().layout(id)?);
            let Some(tensor) = tensors.get(&name) else { return Err(NnError::MissingTensor { name }) };
            if tensor.shape != layout.shape() {
                return Err(NnError::named(name, NnError::shape("import", "a tensor", &layout, &tensor.shape[..])));
            }
            let values: Vec<T> = tensor.data.iter().map(|&x| T::from_f32(x)).collect();
            self.write(q, id, &values)?;
        }
        Ok(())
    }
}

impl<Q: Queue> Optimizer<Q> {
    /// Adds all state that a run needs to continue as if it had not stopped, bit for bit.
    ///
    /// This is the configuration, the record of steps and the moments, whose names begin with
    /// `optimizer.`: weights can be exported to the same checkpoint. Waits for the device.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn save(&self, q: &Q, checkpoint: &mut Checkpoint) -> Result<()> {
        put(self.config(), checkpoint);
        let StepState { step, skipped, norm, rate, loss_scale, sound, .. } = self.state(q)?;
        checkpoint.put(STATE, &[&step, &skipped, &norm, &rate, &loss_scale, &sound]);
        for (i, moment) in self.moments.iter().enumerate() {
            moment.export(q, &prefix(i), &mut checkpoint.tensors)?;
        }
        Ok(())
    }

    /// Restores the optimizer written by [`save`](Self::save), for the same tensors.
    ///
    /// # Errors
    /// [`NnError::Checkpoint`] for text that is missing or not written by an optimizer;
    /// [`NnError::Parameter`] for numbers that make no step; [`NnError::MissingTensor`] or
    /// [`NnError::NamedTensor`] for moments of other tensors; [`NnError::Backend`].
    pub fn resume(q: &Q, table: &Arc<ParameterTable>, checkpoint: &Checkpoint) -> Result<Self> {
        const EXPECTED: &str = "a step, steps left out, a norm, a rate, a loss scale and steps in a row";
        let mut optimizer = Self::new(q, config(checkpoint)?, table)?;
        let state = checkpoint.read(STATE, EXPECTED, |words| {
            let mut state = StepState { step: words.number()?, skipped: words.number()?, ..StepState::new(1.0) };
            (state.norm, state.rate) = (words.number()?, words.number()?);
            (state.loss_scale, state.sound) = (words.number()?, words.number()?);
            let is_scale = state.loss_scale.is_normal() && state.loss_scale > 0.0;
            if is_scale { Ok(state) } else { Err(words.refusal()) }
        })?;
        q.write(&[state], optimizer.state.view_mut())?;
        for (i, moment) in optimizer.moments.iter_mut().enumerate() {
            moment.import(q, &prefix(i), &checkpoint.tensors, table.ids())?;
        }
        Ok(optimizer)
    }
}

/// What stands before the names of moments.
fn prefix(moment: usize) -> String {
    format!("optimizer.moment{moment}.")
}

/// Writes the numbers of an optimizer.
fn put(config: &OptimizerConfig, checkpoint: &mut Checkpoint) {
    // The rule and the decay.
    match config.rule {
        Rule::Sgd { momentum, nesterov } => checkpoint.put(RULE, &[&"sgd", &momentum, &u8::from(nesterov)]),
        Rule::Adam { beta1, beta2, eps } => checkpoint.put(RULE, &[&"adam", &beta1, &beta2, &eps]),
    }
    match config.decay {
        WeightDecay::None => checkpoint.put(DECAY, &[&"none"]),
        WeightDecay::Decoupled(decay) => checkpoint.put(DECAY, &[&"decoupled", &decay]),
        WeightDecay::Coupled(decay) => checkpoint.put(DECAY, &[&"coupled", &decay]),
    }
    // The schedule.
    let Schedule { rate, warmup, annealing } = config.schedule;
    match annealing {
        Annealing::Constant => checkpoint.put(SCHEDULE, &[&rate, &warmup, &"constant"]),
        Annealing::Linear { steps, least } => checkpoint.put(SCHEDULE, &[&rate, &warmup, &"linear", &steps, &least]),
        Annealing::Cosine { steps, least } => checkpoint.put(SCHEDULE, &[&rate, &warmup, &"cosine", &steps, &least]),
        Annealing::Steps { every, factor } => checkpoint.put(SCHEDULE, &[&rate, &warmup, &"steps", &every, &factor]),
    }
    // The limit of the norm and the loss scale.
    match config.clip {
        None => checkpoint.put(CLIP, &[&"none"]),
        Some(clip) => checkpoint.put(CLIP, &[&clip]),
    }
    match config.loss_scale {
        None => checkpoint.put(LOSS_SCALE, &[&"none"]),
        Some(LossScale { initial, growth, backoff, interval }) => {
            checkpoint.put(LOSS_SCALE, &[&initial, &growth, &backoff, &interval]);
        }
    }
}

/// Reads the numbers of an optimizer.
fn config(checkpoint: &Checkpoint) -> Result<OptimizerConfig> {
    let rule = checkpoint.read(RULE, "`sgd` or `adam` and its numbers", |words| match words.word()? {
        "sgd" => {
            let (momentum, nesterov) = (words.number()?, words.number::<u8>()?);
            if nesterov > 1 { Err(words.refusal()) } else { Ok(Rule::Sgd { momentum, nesterov: nesterov == 1 }) }
        }
        "adam" => Ok(Rule::Adam { beta1: words.number()?, beta2: words.number()?, eps: words.number()? }),
        _ => Err(words.refusal()),
    })?;
    let decays = "`none`, or `decoupled` or `coupled` and a number";
    let decay = checkpoint.read(DECAY, decays, |words| match words.word()? {
        "none" => Ok(WeightDecay::None),
        "decoupled" => Ok(WeightDecay::Decoupled(words.number()?)),
        "coupled" => Ok(WeightDecay::Coupled(words.number()?)),
        _ => Err(words.refusal()),
    })?;
    let schedule = checkpoint.read(SCHEDULE, "a rate, steps of warm-up, and how the rate falls", |words| {
        let (rate, warmup) = (words.number()?, words.number()?);
        let annealing = match words.word()? {
            "constant" => Annealing::Constant,
            "linear" => Annealing::Linear { steps: words.number()?, least: words.number()? },
            "cosine" => Annealing::Cosine { steps: words.number()?, least: words.number()? },
            "steps" => Annealing::Steps { every: words.number()?, factor: words.number()? },
            _ => return Err(words.refusal()),
        };
        Ok(Schedule { rate, warmup, annealing })
    })?;
    let clip = checkpoint.read_some(CLIP, "`none` or a number", CheckpointWords::number)?;
    let scales = "`none`, or a scale, a growth, a backoff and an interval";
    let loss_scale = checkpoint.read_some(LOSS_SCALE, scales, |words| {
        let (initial, growth) = (words.number()?, words.number()?);
        Ok(LossScale { initial, growth, backoff: words.number()?, interval: words.number()? })
    })?;
    Ok(OptimizerConfig { rule, schedule, decay, clip, loss_scale })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::table::ParameterSpec;

    #[test]
    fn numbers_come_back_with_their_bits() {
        let scale = Some(LossScale { initial: 3.1e7, growth: 1.5, backoff: 0.3, interval: 7 });
        let mut all =
            vec![OptimizerConfig { clip: Some(f64::INFINITY), loss_scale: scale, ..OptimizerConfig::adam_w(0.1) }];
        let rate = 0.1 + 0.2;
        for annealing in [
            Annealing::Linear { steps: u64::MAX, least: 1e-300 },
            Annealing::Cosine { steps: 3, least: -0.0 },
            Annealing::Steps { every: 1, factor: 1.0 / 3.0 },
        ] {
            let schedule = Schedule { rate, warmup: 17, annealing };
            let decay = WeightDecay::Coupled(rate);
            all.push(OptimizerConfig { schedule, decay, clip: Some(rate), ..OptimizerConfig::sgd(1.0, 0.9) });
        }
        for expected in all {
            let mut checkpoint = Checkpoint::default();
            put(&expected, &mut checkpoint);
            assert_eq!(config(&checkpoint), Ok(expected));
        }
    }

    #[test]
    fn text_that_is_broken_is_refused_by_its_key() {
        let q = runtime::cpu().unwrap();
        let table = ParameterTable::new(&[ParameterSpec::new("w", &[2])]).unwrap();
        let mut whole = Checkpoint::default();
        Optimizer::new(&q, OptimizerConfig::adam(0.1), &table).unwrap().save(&q, &mut whole).unwrap();
        let refused = |change: &dyn Fn(&mut Checkpoint)| {
            let mut checkpoint = whole.clone();
            change(&mut checkpoint);
            Optimizer::resume(&q, &table, &checkpoint).map(drop).unwrap_err().to_string()
        };
        for key in [RULE, DECAY, SCHEDULE, CLIP, LOSS_SCALE, STATE] {
            let missing = refused(&|checkpoint| drop(checkpoint.text.remove(key)));
            assert!(missing.contains(key) && missing.ends_with("got nothing"), "{missing}");
            for text in
                ["", "adam", "adam 0.9 0.9 x", "sgd 0.9 2", "coupled", "1 2 sideways", "1 2 3 4 5 6 7", "none none"]
            {
                let text_of = |checkpoint: &mut Checkpoint| {
                    checkpoint.text.insert(key.to_owned(), text.to_owned());
                };
                let broken = refused(&text_of);
                assert!(broken.contains(key), "{key}, {text}: {broken}");
            }
        }
        let moved = refused(&|checkpoint| drop(checkpoint.tensors.remove("optimizer.moment1.w")));
        assert_eq!(moved, "there is no tensor `optimizer.moment1.w`");
        let shape = refused(&|checkpoint| {
            checkpoint.tensors.get_mut("optimizer.moment0.w").unwrap().shape = vec![1, 2];
        });
        assert_eq!(shape, "tensor `optimizer.moment0.w`: `import` expected a tensor of shape [2], got [1, 2]");
        let short = refused(&|checkpoint| {
            checkpoint.tensors.get_mut("optimizer.moment0.w").unwrap().data.pop();
        });
        assert!(short.contains("2 elements, got 1"), "{short}");
        let scale = refused(&|checkpoint| drop(checkpoint.text.insert(STATE.to_owned(), "1 0 0 0 0 0".to_owned())));
        assert!(scale.contains(STATE), "{scale}");
        let rule = refused(&|checkpoint| drop(checkpoint.text.insert(RULE.to_owned(), "adam 2 0.9 1".to_owned())));
        assert!(rule.contains("beta1"), "{rule}");
    }
}

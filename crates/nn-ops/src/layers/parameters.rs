//! The visitor of a model's parameters: their initial values, names and number.

use backend_api::Queue;

use crate::{
    error::Result,
    optim::{ParameterArena, ParameterId, ParameterTable},
    tensor::Init,
};

/// The values that a parameter starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Zeros, as usual for biases.
    Zeros,
    /// Ones, as usual for the factors of norms.
    Ones,
    /// Random values.
    Random(Init),
}

/// The parameters of a layer or of a model.
///
/// A model made of layers implements [`visit`](Self::visit) by a call of each layer's. The other
/// methods follow from it: the optimizer's arena, names in a file, the number of elements.
///
/// ```
/// use nn_ops::{Dense, LayerNorm, NnError, ParameterArena, ParameterId, ParameterTable, Parameters, Start};
///
/// struct Head {
///     norm: LayerNorm,
///     out: Dense,
/// }
///
/// impl Parameters for Head {
///     fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
///         self.norm.visit(visitor);
///         self.out.visit(visitor);
///     }
/// }
///
/// let q = runtime::cpu()?;
/// let mut specs = LayerNorm::specs("norm", 4).to_vec();
/// specs.extend(Dense::specs("out", [4, 2]));
/// let table = ParameterTable::new(&specs)?;
/// let head = Head { norm: LayerNorm::find(&table, "norm", 1e-5)?, out: Dense::find(&table, "out")? };
/// assert_eq!(head.count(&table)?, 4 + 4 + 4 * 2 + 2);
///
/// let mut values = ParameterArena::zeros(&q, &table)?;
/// head.initialize(&q, &mut values, 42)?;
/// assert_eq!(values.values(&q, table.id("norm.weight")?)?, [1.0; 4]);
/// let names: Result<Vec<&str>, NnError> = head.ids().into_iter().map(|id| table.name(id)).collect();
/// assert_eq!(names?, ["norm.weight", "norm.bias", "out.weight", "out.bias"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Parameters {
    /// Calls `visitor` with each parameter, in a fixed order, and the values that it starts with.
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start));

    /// The parameters in the order of the visit, for example for [`ParameterArena::import`].
    fn ids(&self) -> Vec<ParameterId> {
        let mut ids = Vec::new();
        self.visit(&mut |id, _| ids.push(id));
        ids
    }

    /// The number of elements of all parameters. A parameter that is visited twice counts once.
    ///
    /// # Errors
    /// [`NnError::Axis`](crate::NnError::Axis) for parameters of another table.
    fn count(&self, table: &ParameterTable) -> Result<usize> {
        let mut ids = self.ids();
        ids.sort_unstable();
        ids.dedup();
        let mut count = 0usize;
        for id in ids {
            count = count.saturating_add(table.layout(id)?.numel());
        }
        Ok(count)
    }

    /// Writes the values that the parameters start with.
    ///
    /// Random values are functions of the seed and of the position in the visit: see [`Init`].
    ///
    /// # Errors
    /// [`NnError::Axis`](crate::NnError::Axis) for parameters of another table than the arena's,
    /// [`NnError::Backend`](crate::NnError::Backend) from the device.
    fn initialize<Q: Queue>(&self, q: &Q, values: &mut ParameterArena<Q, f32>, seed: u64) -> Result<()>
    where
        Self: Sized,
    {
        let mut starts = Vec::new();
        self.visit(&mut |id, start| starts.push((id, start)));
        for (site, (id, start)) in (0u32..).zip(starts) {
            let layout = *values.table().layout(id)?;
            let drawn = match start {
                Start::Zeros => vec![0.0; layout.numel()],
                Start::Ones => vec![1.0; layout.numel()],
                Start::Random(init) => init.values(layout.shape(), seed, site)?,
            };
            values.write(q, id, &drawn)?;
        }
        Ok(())
    }
}
